"""Curves are told apart, and their turns counted, whatever the phase, the pose and the noise."""

import tracemalloc
from unittest.mock import Mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from geometry.evidence.turning_share import turning_share
from geometry.measures.shape import fit_shapes, rotation_derivatives, rotation_of
from geometry.pca.pca import fit_pca
from tools.random_tables import matern_3_2, squared_exponential, walk


def pose(seed: int) -> np.ndarray:
    return np.linalg.qr(np.random.default_rng(seed).standard_normal((3, 3)))[0]


def helix(
    m: int = 400, turns: float = 3, radius: float = 2, climb: float = 4, drift: float = 0,
    phase: float = 0, seed: int = 0, noise: float = 0,
) -> np.ndarray:  # fmt: skip
    t = np.linspace(-0.5, 0.5, m)
    angle = 2 * np.pi * turns * t + phase
    r = radius + drift * t
    points = np.column_stack([r * np.cos(angle), r * np.sin(angle), climb * t])
    jitter = noise * np.random.default_rng(seed + 1).standard_normal((m, 3))
    return points @ pose(seed) + [3, -1, 5] + jitter


def test_a_pure_helix_is_found_to_rounding():
    shapes = fit_shapes(helix(turns=2.3, radius=1.5, climb=3))
    fit = shapes.fits["helix"]
    assert shapes.best == "helix"
    assert fit.r2 == pytest.approx(1, abs=1e-10)
    assert (fit.turns, fit.radius) == pytest.approx((2.3, 1.5))
    assert fit.climb_per_turn == pytest.approx(3 / 2.3)
    np.testing.assert_allclose(fit.frame @ fit.frame.T, np.eye(3), atol=1e-9)


def test_a_radius_that_drifts():
    shapes = fit_shapes(helix(drift=2.5, noise=0.05))
    assert shapes.best == "drifting_helix"
    fit = shapes.fits["drifting_helix"]
    assert abs(fit.drift) * 399 == pytest.approx(2.5, rel=0.05)


def test_line_and_circle():
    t = np.linspace(0, 1, 200)[:, None]
    line = fit_shapes(t * [1, 2, -2] + 0.01 * np.random.default_rng(0).standard_normal((200, 3)))
    assert line.best == "line"
    assert line.fits["line"].climb * 199 == pytest.approx(3, rel=0.01)
    circle = fit_shapes(helix(turns=1.7, climb=0, noise=0.05))
    assert circle.best == "circle"
    assert circle.fits["circle"].turns == pytest.approx(1.7, abs=0.02)


def test_what_is_no_curve():
    noise = fit_shapes(np.random.default_rng(0).standard_normal((300, 3)))
    assert (noise.best, noise.described, noise.evidence.remarkable) == ("none", None, False)
    one_point = fit_shapes(np.ones((20, 3)))
    assert one_point.best == "none"
    few = fit_shapes(helix(m=7))
    assert (few.best, few.evidence) == ("none", None)
    assert all(np.isnan(fit.score) for fit in few.fits.values())


@pytest.mark.parametrize("turns", [0.3, 0.5, 0.9])
@pytest.mark.parametrize("noise", [0.0, 0.05])
def test_less_than_a_turn_of_a_circle_is_an_arc(turns, noise):
    shapes = fit_shapes(helix(turns=turns, climb=0, noise=noise))
    assert shapes.best == "arc"
    assert shapes.described is shapes.fits["circle"]
    assert shapes.described.turns == pytest.approx(turns, abs=0.05)


@pytest.mark.parametrize("climb", [0.0, 2.0])
def test_of_a_turn_or_a_little_more_nothing_can_be_told(climb):
    shapes = fit_shapes(helix(turns=1.1, climb=climb))
    assert (shapes.best, shapes.evidence.remarkable) == ("none", None)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
def test_random_curves_are_no_helices_though_one_fits_them(seed):
    rng = np.random.default_rng(seed)
    for draw in (squared_exponential, matern_3_2, walk):
        rows = draw(np.linspace(0, 1, 1022), 50, rng)
        points = fit_pca(rows, (0, len(rows) - 1), 3).project(rows)
        shapes = fit_shapes(points, turning_share(rows))
        assert shapes.best in ("none", "arc")
        assert shapes.fits["drifting_helix"].r2 > 0.7


@pytest.mark.slow
def test_a_drift_has_to_earn_its_parameter():
    """In the sample it always fits better, if only the noise."""
    for seed in range(8):
        shapes = fit_shapes(helix(noise=0.3, seed=seed))
        helices = shapes.fits["helix"], shapes.fits["drifting_helix"]
        assert helices[1].r2 > helices[0].r2
        assert shapes.best == "helix"


def test_the_score_is_that_of_points_that_were_left_out():
    """Of a line in closed form: the others' least squares at the block's places."""
    points = np.linspace(0, 1, 64)[:, None] * [1, 2, 0] + np.sin(np.arange(192)).reshape(64, 3)
    at, sse = np.arange(64.0), 0.0
    for block in np.array_split(np.arange(64), 8):
        kept = np.setdiff1d(np.arange(64), block)
        for column in points.T:
            line = np.polynomial.Polynomial.fit(at[kept], column[kept], 1)
            sse += np.square(line(at[block]) - column[block]).sum()
    sst = np.square(points - points.mean(axis=0)).sum()
    assert fit_shapes(points).fits["line"].score == pytest.approx(1 - sse / sst)


@settings(max_examples=8)
@given(st.integers(0, 1000), st.floats(1e-3, 1e3))
def test_pose_and_size_do_not_matter(seed, size):
    points = helix(200, 2.4, noise=0.2, seed=3)
    plain = fit_shapes(points)
    moved = fit_shapes(size * points @ pose(seed) + size)
    assert moved.best == plain.best
    for name, fit in plain.fits.items():
        assert moved.fits[name].r2 == pytest.approx(fit.r2, abs=1e-6)


@pytest.mark.parametrize(
    ("positions", "r2", "turns"),
    [
        ((1, 1022), [0.275, 0.642, 0.896, 0.908], 1.84),
        ((100, 1022), [0.240, 0.738, 0.969, 0.969], 1.62),
    ],
)  # fmt: skip
def test_gpt2(gpt2_table, positions, r2, turns):
    rows = gpt2_table[positions[0] : positions[1] + 1]
    shapes = fit_shapes(fit_pca(gpt2_table, positions, 3).project(rows))
    assert [round(fit.r2, 3) for fit in shapes.fits.values()] == r2
    assert round(shapes.fits["helix"].turns, 2) == turns
    assert shapes.best == "helix"
    assert shapes.described is shapes.fits["helix"]


def test_minilm_has_no_helix(minilm_table):
    shapes = fit_shapes(fit_pca(minilm_table, (1, 511), 3).project(minilm_table[1:]))
    assert shapes.best == "none"


def test_a_long_range_needs_little_memory():
    """Sines and cosines of every frequency at every point would be 800 MB."""
    points = helix(4096, 40, noise=0.1)
    tracemalloc.start()
    try:
        found = fit_shapes(points)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert found.fits["helix"].turns == pytest.approx(40, abs=0.01)
    assert peak < 60e6


@pytest.mark.parametrize("bad", [np.zeros((3, 3)), np.zeros((10, 2)), np.zeros(9)])
def test_too_little_is_refused(bad):
    with pytest.raises(ValueError, match="at least 4 points"):
        fit_shapes(bad)


@pytest.mark.parametrize("size", [0.0, 1e-9, 1e-6, 9e-5, 1.1e-4, 0.3, 3.0, 40.0])
def test_rotations_and_derivatives_agree_with_scipy(size):
    vector, steps = size * np.random.default_rng(3).normal(size=3), 1e-6 * np.eye(3)

    def expected(v):
        return Rotation.from_rotvec(v).as_matrix()

    np.testing.assert_allclose(rotation_of(vector), expected(vector), atol=1e-14)
    numeric = [(expected(vector + step) - expected(vector - step)) / 2e-6 for step in steps]
    np.testing.assert_allclose(rotation_derivatives(vector), numeric, atol=1e-8)


def test_a_curve_goes_on_between_its_points_and_beyond():
    points = helix(60, turns=2, drift=0.7)
    for fit in fit_shapes(points).fits.values():
        np.testing.assert_allclose(fit.at(np.arange(60)), fit.values, atol=1e-12)
    fit = fit_shapes(points[10:50]).fits["drifting_helix"]
    np.testing.assert_allclose(fit.at(np.arange(-10, 50)), points, atol=1e-6)
    finer = helix(119, turns=2, drift=0.7)
    np.testing.assert_allclose(fit.at(np.arange(0, 39.5, 0.5)), finer[20:99], atol=1e-6)


def test_distances_add_up_to_the_error():
    points = helix(noise=0.2)
    sst = np.square(points - points.mean(axis=0)).sum()
    for fit in fit_shapes(points).fits.values():
        distances = fit.distances(points)
        assert distances.shape == (400,)
        assert distances[7] == pytest.approx(np.linalg.norm(points[7] - fit.values[7]))
        sse = np.square(distances).sum()
        assert sse == pytest.approx((1 - fit.r2) * sst)
        assert fit.score < fit.r2


def test_a_fit_can_be_stopped_at_every_step():
    points = helix(m=61, noise=0.1)
    calls = []
    found = fit_shapes(points[:60], check=lambda: calls.append(None))
    assert len(calls) > 60
    for steps in (1, len(calls) // 2, len(calls)):
        other = points[1:] + steps
        check = Mock(side_effect=[*[None] * (steps - 1), InterruptedError])
        with pytest.raises(InterruptedError):
            fit_shapes(other, check=check)
        assert fit_shapes(other).fits["helix"].r2 > 0.9, "one that failed was kept"
    assert fit_shapes(points[:60]).fits is found.fits


def test_the_same_points_are_fitted_once():
    points = helix(m=60)
    first, again = fit_shapes(points), fit_shapes(points.copy())
    assert again.fits is first.fits
    assert not first.fits["helix"].values.flags.writeable
    other = fit_shapes(points + 1e-9)
    assert other.fits is not first.fits
    np.testing.assert_allclose(other.fits["helix"].r2, first.fits["helix"].r2)
    many = helix(m=1100)
    assert fit_shapes(many).fits is not fit_shapes(many).fits, "large ones would take much memory"


MORE = 1 + 1e-9
LENGTHS = (200, 333, 512, 1023)
NOISES = (0.0, 0.1, 0.2, 0.3)
"""Of each coordinate, in radii."""


def made(m, turns, climb, drift, noise, seed):
    """Return points around a curve of radius 1 in a random pose, and the curve."""
    rng = np.random.default_rng(seed)
    t = np.linspace(-0.5, 0.5, m)
    angle = 2 * np.pi * turns * t + rng.uniform(0, 2 * np.pi)
    reach = 1 + drift * t
    local = np.column_stack([reach * np.cos(angle), reach * np.sin(angle), climb * t])
    turned = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    truth = local @ turned + rng.uniform(-5, 5, 3)
    return truth + noise * rng.standard_normal((m, 3)), truth


def sse(points, curve):
    return float(np.square(points - curve).sum()) + 1e-18 * float(np.square(points).sum())


@pytest.mark.slow
@pytest.mark.parametrize("turns", range(1, 61))
def test_every_number_of_turns(turns):
    """Lengths, climbs and noises take their turns, so that each meets each."""
    m, noise = LENGTHS[turns % 4], NOISES[turns // 4 % 4]
    climb, drift = (0.5, 2.0, 8.0)[turns % 3], (0.0, 0.8)[turns // 2 % 2]
    points, truth = made(m, turns, climb, drift, noise, seed=turns)
    fits = fit_shapes(points).fits
    found = fits["drifting_helix"]
    assert sse(points, found.values) <= MORE * sse(points, truth)
    assert found.turns == pytest.approx(turns, abs=0.04)
    assert abs(found.drift) * (m - 1) == pytest.approx(drift, abs=0.02 + 0.5 * noise)
    if not drift:
        assert sse(points, fits["helix"].values) <= MORE * sse(points, truth)
        assert fits["helix"].radius == pytest.approx(1, abs=0.02 + 0.2 * noise)
    assert fits["helix"].turns == pytest.approx(turns, abs=0.06)


@pytest.mark.parametrize("turns", [1, 2.5, 7, 19.3, 33.4, 60])
@pytest.mark.parametrize("noise", [0.0, 0.25])
def test_a_circle_that_goes_round_as_often(turns, noise):
    points, truth = made(250, turns, 0.0, 0.0, noise, seed=round(10 * turns))
    shapes = fit_shapes(points)
    assert sse(points, shapes.fits["circle"].values) <= MORE * sse(points, truth)
    assert shapes.fits["circle"].turns == pytest.approx(turns, abs=0.04)
    assert shapes.best == ("circle" if turns > 1 else "none")


@pytest.mark.slow
@settings(max_examples=15)
@given(
    m=st.integers(200, 1100),
    turns=st.floats(1, 60),
    climb=st.floats(0, 30),
    drift=st.floats(-1.9, 1.9),
    noise=st.floats(0, 0.3),
    seed=st.integers(0, 2**32 - 1),
)
def test_no_fit_is_worse_than_the_truth(m, turns, climb, drift, noise, seed):
    points, truth = made(m, turns, climb, drift, noise, seed)
    found = fit_shapes(points).fits["drifting_helix"]
    assert sse(points, found.values) <= MORE * sse(points, truth)
    # Around one turn a slow wave and a tilt of the axis are nearly alike.
    assert found.turns == pytest.approx(turns, abs=0.06 if turns > 1.5 else 0.25)


def test_a_radius_that_passes_through_nothing():
    """It shrinks to a point on the way and grows again on the other side: still one curve."""
    points, truth = made(400, 12, 3.0, 2.6, 0.1, seed=5)
    found = fit_shapes(points).fits["drifting_helix"]
    assert sse(points, found.values) <= MORE * sse(points, truth)
    assert found.turns == pytest.approx(12, abs=0.05)
