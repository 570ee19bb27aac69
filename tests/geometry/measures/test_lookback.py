"""Looking back on curves and heads whose motions are known, and on GPT-2."""

from unittest.mock import Mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from geometry.checkpoints.errors import RangeError, TensorUnavailable
from geometry.claims.claim_lookback import in_heads
from geometry.claims.claim_measures import CannotTell
from geometry.claims.measurements import Measurements, Scope
from geometry.measures.head_lookback import look_back_heads, preferred_lags
from geometry.measures.heads import HeadProjections
from geometry.measures.lookback import (
    KINDS,
    all_lags,
    follow_turning,
    longest_lag,
    look_back,
    look_back_each,
)
from geometry.measures.rigid_motion import fit_motion
from geometry.models.head_projections import project_heads
from geometry.models.sources.opening import open_model

SCORINGS = ("even_odd", "halves")


def pose(k: int, seed: int) -> np.ndarray:
    found, _ = np.linalg.qr(np.random.default_rng(seed).standard_normal((k, k)))
    found[:, 0] *= np.linalg.det(found)
    return found


def helix(m: int = 400, omega: float = 0.05, climb: float = 0.01, seed: int = 0) -> np.ndarray:
    i = np.arange(m)
    curve = np.column_stack([2 * np.cos(omega * i), 2 * np.sin(omega * i), climb * i])
    return curve @ pose(3, seed).T + [3, -1, 5]


@pytest.mark.parametrize("scoring", SCORINGS)
@pytest.mark.parametrize("omega", [0.011, 0.3, 1.9])
@pytest.mark.parametrize("climb", [-0.02, 0.004])
def test_a_helix_looks_back_by_a_screw(scoring, omega, climb):
    """The angle is ωN however often it goes round, the step is −cN, and nothing is left over."""
    found = look_back(helix(omega=omega, climb=climb), scoring=scoring)
    np.testing.assert_allclose(found.r2["screw"], 1, atol=1e-8)
    folded = np.abs((omega * found.lags + np.pi) % (2 * np.pi) - np.pi)
    np.testing.assert_allclose(found.angles[:, 0], folded, atol=1e-6)
    turning = follow_turning(found)
    assert (turning.slope, turning.r2) == pytest.approx((omega, 1))
    np.testing.assert_allclose(turning.angles, omega * found.lags, atol=1e-6)
    # Looking back turns the other way about the curve's axis, and goes against its climb.
    axis = pose(3, 0)[:, 2]
    np.testing.assert_allclose(turning.axis, -axis, atol=1e-7)
    np.testing.assert_allclose(turning.steps, climb * found.lags, atol=1e-7)
    screw = found.motion(7).screw
    assert screw.step * np.sign(screw.axis @ axis) == pytest.approx(-7 * climb, abs=1e-7)


@pytest.mark.parametrize("scoring", SCORINGS)
def test_neither_a_shift_nor_a_turn_alone_does_it(scoring):
    found = look_back(helix(omega=0.02, climb=0.02), scoring=scoring)
    at = found.index(60)
    assert found.r2["translation"][at] < 0.5
    assert found.r2["rotation"][at] < 0.9


@pytest.mark.parametrize("scoring", SCORINGS)
def test_a_circle_needs_no_shift(scoring):
    whole_turns = helix(m=400, omega=2 * np.pi / 100, climb=0)
    found = look_back(whole_turns, range(1, 60), scoring=scoring)
    for kind in ("screw", "rotation"):
        np.testing.assert_allclose(found.r2[kind], 1, atol=1e-9)
    turning = follow_turning(found)
    assert turning.slope == pytest.approx(2 * np.pi / 100)
    np.testing.assert_allclose(turning.steps, 0, atol=1e-9)


@pytest.mark.parametrize("scoring", SCORINGS)
def test_of_a_line_the_shift_is_all(scoring):
    line = np.outer(np.arange(200.0), [0.1, 0.2, -0.2]) + 4
    found = look_back(line, scoring=scoring)
    for kind in ("screw", "translation"):
        np.testing.assert_allclose(found.r2[kind], 1, atol=1e-9)
    np.testing.assert_allclose(
        found.rotations, np.eye(3)[None].repeat(len(found.lags), 0), atol=1e-6
    )
    np.testing.assert_allclose(found.shifts, np.outer(-found.lags, [0.1, 0.2, -0.2]), atol=1e-9)
    assert (found.r2["rotation"][100:] < 0.5).all()
    turning = follow_turning(found)
    assert turning.slope == pytest.approx(0, abs=1e-6)


def test_three_frequencies_turn_three_planes():
    i, omegas = np.arange(600), (0.31, 0.17, 0.05)
    curve = np.column_stack([f(omega * i) for omega in omegas for f in (np.cos, np.sin)])
    found = look_back(curve @ pose(6, 1).T, range(1, 10))
    np.testing.assert_allclose(found.r2["screw"], 1, atol=1e-9)
    np.testing.assert_allclose(found.angles, np.outer(found.lags, omegas), atol=1e-6)


@settings(max_examples=25)
@given(
    st.integers(0, 1000), st.floats(0.1, 10), st.floats(-20, 20),
    st.sampled_from(SCORINGS), st.integers(1, 60),
)  # fmt: skip
def test_pose_place_and_size_do_not_matter(seed, scale, place, scoring, lag):
    noise = np.random.default_rng(seed).standard_normal((160, 3))
    curve = helix(160) + 0.2 * noise
    moved = scale * curve @ pose(3, seed).T + place
    one, other = (look_back(x, [lag], scoring=scoring) for x in (curve, moved))
    for kind in one.r2:
        assert one.r2[kind] == pytest.approx(other.r2[kind], abs=1e-8)
    assert one.angles == pytest.approx(other.angles, abs=1e-6)


@pytest.mark.parametrize("scoring", SCORINGS)
@pytest.mark.parametrize("first", [0, 7])
def test_moments_give_what_the_pairs_themselves_give(scoring, first):
    """Against the definition, pair by pair."""
    rng = np.random.default_rng(3)
    points = helix(90) + 0.1 * rng.standard_normal((90, 3))
    points -= points.mean(axis=0)
    for lag in (1, 2, 31):
        i = np.arange(lag, 90)
        fitted = (first + i) % 2 == 0 if scoring == "even_odd" else np.arange(len(i)) < len(i) // 2
        source, target = points[i], points[i - lag]
        motion = fit_motion(source[fitted], target[fitted])
        carried, there = motion.carry(source[~fitted]), target[~fitted]
        shifted = source[~fitted] + (target - source)[fitted].mean(axis=0)
        spread = ((there - there.mean(axis=0)) ** 2).sum()
        found = look_back(points + 5, [lag], scoring=scoring, first=first)
        assert found.r2["screw"][0] == pytest.approx(1 - ((carried - there) ** 2).sum() / spread)
        assert found.r2["translation"][0] == pytest.approx(
            1 - ((shifted - there) ** 2).sum() / spread
        )
        np.testing.assert_allclose(found.motion(lag).rotation, motion.rotation, atol=1e-9)
        U, _, Vh = np.linalg.svd(target[fitted].T @ source[fitted])
        turn = U @ np.diag([1, 1, np.linalg.det(U @ Vh)]) @ Vh
        turned = source[~fitted] @ turn.T
        assert found.r2["rotation"][0] == pytest.approx(1 - ((turned - there) ** 2).sum() / spread)


def test_an_angle_is_followed_only_as_far_as_the_screw_fits():
    """Behind the first lag that fits badly an angle could be anything."""
    i = np.arange(400)
    phase = 0.05 * i + 2 * np.sin(i / 40)
    found = look_back(np.column_stack([np.cos(phase), np.sin(phase), 0.001 * i]))
    turning = follow_turning(found)
    n = len(turning.angles)
    assert 10 < n < 200
    assert (found.r2["screw"][:n] >= 0.5).all()
    assert found.r2["screw"][n] < 0.5
    assert follow_turning(look_back(np.random.default_rng(0).standard_normal((80, 3)))) is None


def test_lags_that_leave_too_few_pairs():
    assert longest_lag(20, 3) == 12
    assert len(look_back(helix(20), [12], scoring="halves").lags) == 1
    for wrong in ([13], [0], []):
        with pytest.raises(ValueError, match="lags from 1 to 12 for 20 points of 3"):
            look_back(helix(20), wrong)
    with pytest.raises(ValueError, match="coordinates"):
        look_back(np.zeros(5))
    assert list(all_lags(20, 3)) == list(range(1, 13))
    assert list(all_lags(1000, 3)) == list(range(1, 751))


def test_it_can_be_given_up():
    with pytest.raises(InterruptedError):
        look_back(helix(400), tell=Mock(side_effect=[None, None, InterruptedError]))


def test_lags_are_found_by_the_nearest_and_one_point_fits_nothing():
    found = look_back(helix(), [1, 10, 100])
    assert [found.index(lag) for lag in (0, 4, 7, 10, 1000)] == [0, 0, 1, 1, 2]
    assert all((values == 0).all() for values in look_back(np.ones((40, 3))).r2.values())


def test_several_curves_at_once_are_what_each_is_alone():
    curves = np.stack([helix(80, omega) for omega in (0.02, 0.3)])
    for curve, found in zip(curves, look_back_each(curves, first=1), strict=True):
        alone = look_back(curve, first=1)
        np.testing.assert_allclose(found.rotations, alone.rotations, atol=1e-9)
        for kind in KINDS:
            np.testing.assert_allclose(found.r2[kind], alone.r2[kind], atol=1e-9)


def rotary(lags: tuple[int, ...], omega: float = 0.07, n: int = 300) -> HeadProjections:
    """Heads whose keys are their queries of so many tokens later, on a circle that climbs."""
    basis, i = np.linalg.qr(np.random.default_rng(0).standard_normal((8, 8)))[0][:3], np.arange(n)

    def at(position):
        circle = [np.cos(omega * position), np.sin(omega * position), 0.001 * position]
        return np.column_stack(circle) @ basis

    queries = np.stack([at(i) for _ in lags])
    keys = np.stack([at(i + lag) for lag in lags])
    return HeadProjections(0, queries, keys, 0.5, True)


def test_each_head_moves_by_a_screw_and_prefers_its_own_lag():
    heads = rotary((0, 3, 21))
    found = look_back_heads(heads, (10, 250), scoring="halves")
    assert list(found.preferred) == [0, 3, 21]
    assert (found.n_heads, found.positions, found.layer) == (3, (10, 250), 0)
    for one in (*found.queries, *found.keys):
        np.testing.assert_allclose(one.r2["screw"], 1, atol=1e-7)
        turning = follow_turning(one)
        assert turning.slope == pytest.approx(0.07)
    assert found.query_share == pytest.approx(np.ones(3))
    assert found.key_share == pytest.approx(np.ones(3))


def test_the_preferred_lag_is_that_of_all_pairs():
    """Against the definition, pair by pair; keys are of all positions."""
    rng = np.random.default_rng(1)
    queries, keys = rng.standard_normal((2, 4, 60, 5)).cumsum(axis=2)
    heads = HeadProjections(0, queries, keys, 0.3, True)
    found = preferred_lags(heads, (12, 49))
    for head in range(4):
        scores = queries[head] @ keys[head].T
        kernel = [np.mean([scores[i, i - d] for i in range(max(12, d), 50)]) for d in range(29)]
        assert found[head] == int(np.argmax(kernel))


def test_a_window_ends_what_a_head_may_prefer():
    heads = rotary((21,))
    near = HeadProjections(0, heads.queries, heads.keys, 0.5, True, (5, 0))
    assert list(preferred_lags(near, (10, 250))) == [5]


def test_only_three_components_count_and_their_share_is_told():
    heads = rotary((0,))
    noise = 0.1 * np.random.default_rng(0).standard_normal(heads.queries.shape)
    noisy = HeadProjections(0, heads.queries + noise, heads.keys, 0.5, True)
    found = look_back_heads(noisy, (0, 299), (1, 5))
    assert found.queries[0].rotations.shape == (2, 3, 3)
    assert 0.8 < found.query_share[0] < found.key_share[0]


def test_short_ranges_and_flat_heads():
    heads = rotary((0, 1))
    with pytest.raises(RangeError, match="at least 9 positions"):
        look_back_heads(heads, (0, 7))
    with pytest.raises(RangeError, match="0–299"):
        look_back_heads(heads, (0, 300))
    flat = HeadProjections(0, heads.queries[:, :, :2], heads.keys[:, :, :2], 1.0, True)
    assert look_back_heads(flat, (0, 99), (1,)).keys[1].rotations.shape == (1, 2, 2)


def test_gpt2(gpt2_folder):
    """Most of the first layer's heads look back by a rotation and a shift, within a few tokens."""
    model = open_model(gpt2_folder)
    found = look_back_heads(project_heads(model), (1, 1023), (10, 50), scoring="halves")
    assert found.n_heads == 12
    for one in (*found.queries, *found.keys):
        assert one.r2["screw"][0] > 0.95
    assert in_heads(Measurements(model)) > 0.97


def test_claims_need_queries_and_keys(open_array):
    measured = Measurements(open_array(np.random.default_rng(0).standard_normal((64, 8))))
    with pytest.raises(TensorUnavailable):
        in_heads(measured)
    with pytest.raises(CannotTell, match="too few"):
        in_heads(Measurements(measured.model, Scope((0, 9))))
