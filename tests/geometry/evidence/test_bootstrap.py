"""Intervals of one table: against closed forms, and their coverage."""

from dataclasses import replace

import numpy as np
import pytest

from geometry.evidence.bootstrap import DRAWS, FEWEST, intervals
from geometry.evidence.turning_share import turning_share
from geometry.measures.shape import fit_shapes, shape_intervals
from geometry.models.sources.opening import open_model
from geometry.pca.pca import fit_pca
from tools.study_intervals import NAMES, Case, coverage

CASE = Case(256, 24, turns=2, correlation=0.0, noise=0.3)


def resampled(table, **options):
    points = fit_pca(table, (0, len(table) - 1), 3).project(table)
    shapes = fit_shapes(points, turning_share(table, points))
    return shapes, shape_intervals(table, shapes, **options)


def width(interval):
    return interval[1] - interval[0]


@pytest.mark.parametrize("correlation", [0.0, 0.8])
def test_the_width_is_that_of_a_wave_in_noise(correlation):
    """The lower bound of Cramér and Rao for the frequency of a complex wave, at its own noise.

    An autoregression has (1 + ρ)/(1 − ρ) times its variance at low frequencies.
    """
    case = replace(CASE, correlation=correlation)
    random = np.random.default_rng(1)
    n, sd = case.rows, case.noise / np.sqrt(case.columns)
    sd *= np.sqrt((1 + correlation) / (1 - correlation))
    expected = 2 * 1.96 * np.sqrt(12 * sd**2 / n**3) * n / (2 * np.pi)
    found = [width(resampled(case.draw(random))[1].turns) for _ in range(4)]
    assert 0.75 * expected <= np.median(found) <= 1.6 * expected


def test_it_depends_on_neither_axes_nor_units():
    random = np.random.default_rng(2)
    table = CASE.draw(random)
    rotation = np.linalg.qr(random.standard_normal((24, 24)))[0]
    _, found = resampled(table)
    _, other = resampled(1e3 * table @ rotation + 5.0)
    assert other.turns == pytest.approx(found.turns, abs=0.02)
    assert other.radius == pytest.approx(1e3 * np.array(found.radius), rel=0.02)
    assert other.b == pytest.approx(found.b, abs=0.01)
    assert resampled(table)[1] == found  # its random numbers have a seed


def test_it_contains_the_value_and_is_exact_without_departures():
    shapes, found = resampled(CASE.draw(np.random.default_rng(3)))
    assert shapes.turning is not None
    for name in ("turns", "radius", "r2"):
        low, high = getattr(found, name)
        assert low < getattr(shapes.turning, name) < high
    assert found.b[0] < shapes.evidence.b < found.b[1]
    assert found.correlation < 0.5
    assert found.draws == DRAWS
    exact = replace(CASE, noise=0.0).draw(np.random.default_rng(3))
    shapes, found = resampled(exact)
    assert found.turns == pytest.approx((2, 2), abs=1e-6)
    assert found.radius == pytest.approx((1, 1), abs=1e-6)
    assert found.angle < 1e-3


def test_more_noise_gives_wider_intervals():
    found = [resampled(replace(CASE, noise=noise).draw(np.random.default_rng(4)))[1]
             for noise in (0.1, 0.4)]  # fmt: skip
    for name in NAMES:
        assert width(getattr(found[0], name)) < width(getattr(found[1], name))
    assert found[0].angle < found[1].angle


def test_what_has_none():
    random = np.random.default_rng(5)
    table = CASE.draw(random)
    assert resampled(table[: FEWEST - 1])[1] is None
    assert intervals(np.ones((64, 8)), turning_share(np.ones((64, 8)))) is None
    assert intervals(table[:, :2], turning_share(table[:, :2])) is None
    # No curve turns in noise: only B has an interval.
    noise = random.standard_normal((128, 16))
    shapes, found = resampled(noise)
    assert shapes.turning is None
    assert (found.turns, found.radius, found.r2) == (None, None, None)
    assert 0 <= found.b[0] <= found.b[1] < 0.5


def test_it_can_be_stopped():
    calls = []

    def stop():
        calls.append(1)
        if len(calls) > 20:
            raise KeyboardInterrupt

    table = CASE.draw(np.random.default_rng(6))
    evidence = turning_share(table)
    with pytest.raises(KeyboardInterrupt):
        intervals(table, evidence, check=stop)
    assert len(calls) < 30


def test_real_tables(gpt2_folder):
    """Departures of GPT-2's rows are as slow as its helix, so that little is certain."""
    P = open_model(gpt2_folder).W_pos
    _, whole = resampled(P[1:1023])
    _, later = resampled(P[100:1023])
    assert whole.correlation == pytest.approx(0.984, abs=0.005)
    assert whole.turns[0] < 1.84 < whole.turns[1]
    assert width(later.turns) < width(whole.turns)


@pytest.mark.slow
@pytest.mark.parametrize(
    "case",
    [
        Case(128, 24, 2, 0.0, 0.3),
        Case(256, 24, 2, 0.9, 0.3),
        Case(256, 24, 2, 0.9, 0.4, "AR(1) + white"),
        Case(256, 24, 3, 0.9, 0.3, "smooth"),
    ],
)
def test_coverage(case):
    covered, _ = coverage(case, 60)
    assert (covered >= 0.87).all(), covered
