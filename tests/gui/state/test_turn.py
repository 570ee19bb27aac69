"""The display transform: orthogonal, continuous where components flip or swap, eased to true."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import ortho_group

from geometry.pca.curve import Curve, place_curve
from geometry.pca.pca import PositionPCA, fit_pca
from gui.state.turn import ease_to_true, turn_onto

EYE = np.eye(3)
SEEDS = st.integers(0, 2**32 - 1)


def orthogonal(seed):
    return ortho_group.rvs(3, random_state=seed)


@pytest.fixture(scope="module")
def curve():
    rng = np.random.default_rng(3)
    table = np.cumsum(rng.normal(size=(80, 12)) * 0.9 ** np.arange(12), axis=0)
    return place_curve(table, fit_pca(table, (5, 70)))


def transformed(curve, matrix, positions=None):
    """The same curve, as if its components had come out turned, flipped or swapped."""
    pca = curve.pca
    components = np.vstack([matrix @ pca.components[:3], pca.components[3:]])
    moved = PositionPCA(positions or pca.positions, pca.mean, components, pca.singular_values,
                        pca.explained_variance_ratio, exact=False)  # fmt: skip
    return Curve(moved, curve.components, curve.coordinates @ matrix.T, curve.residual)


SWAPS = {
    "flip": np.diag([-1.0, 1, 1]),
    "two flips": np.diag([-1.0, 1, -1]),
    "swap": EYE[[1, 0, 2]],
    "cycle": EYE[[1, 2, 0]],
    "swap and flip": EYE[[0, 2, 1]] * [1, -1, 1],
}


@pytest.mark.parametrize("name", SWAPS)
@pytest.mark.parametrize("seed", [None, 1, 2])
def test_components_that_flip_or_swap_show_the_same_curve(curve, name, seed):
    before = EYE if seed is None else orthogonal(seed)
    found = transformed(curve, SWAPS[name])
    turn = turn_onto(found, curve, before)
    np.testing.assert_allclose(found.coordinates @ turn.T, curve.coordinates @ before.T, atol=1e-9)


@given(SEEDS, SEEDS)
def test_the_turn_is_orthogonal_and_read_only(curve, a, b):
    turn = turn_onto(transformed(curve, orthogonal(a)), curve, orthogonal(b))
    np.testing.assert_allclose(turn @ turn.T, EYE, atol=1e-12)
    assert not turn.flags.writeable


def test_ranges_that_share_little_or_nothing_are_compared_over_the_new_one(curve):
    for positions in ((71, 79), (68, 79), (0, 6), (40, 40)):
        found = transformed(curve, SWAPS["swap and flip"], positions)
        turn = turn_onto(found, curve, EYE)
        np.testing.assert_allclose(turn @ turn.T, EYE, atol=1e-12)
        if positions != (40, 40):  # one point decides nothing
            np.testing.assert_allclose(found.coordinates @ turn.T, curve.coordinates, atol=1e-9)


def test_a_curve_without_extent_is_left_alone():
    table = np.ones((6, 4))
    flat = place_curve(table, fit_pca(table, (0, 5)))
    np.testing.assert_allclose(turn_onto(flat, flat, EYE), EYE, atol=1e-12)


def test_what_differs_by_rounding_is_not_turned_at_all(curve):
    angle = 1e-9
    rounded = EYE + angle * np.array([[0, -1, 0], [1, 0, 0], [0, 0, 0]])
    assert np.array_equal(turn_onto(transformed(curve, rounded), curve, EYE), EYE)
    assert not np.array_equal(turn_onto(transformed(curve, SWAPS["swap"]), curve, EYE), EYE)


@settings(max_examples=30)
@given(SEEDS)
def test_the_way_back_begins_where_it_is_ends_true_and_has_no_jump(seed):
    turn = orthogonal(seed)
    way = [ease_to_true(turn, f) for f in np.linspace(0, 1, 101)]
    np.testing.assert_allclose(way[0], turn, atol=1e-9)
    np.testing.assert_allclose(way[-1], EYE, atol=1e-12)
    steps = [np.linalg.norm(b - a, 2) for a, b in itertools.pairwise(way)]
    # Half a turn in 100 steps, and an axis folded over at the same time.
    assert max(steps) < (np.pi + 2) / 100 * 1.05


@given(SEEDS, st.floats(0, 1))
def test_a_rotation_stays_one_on_its_way(seed, fraction):
    turn = orthogonal(seed)
    turn = turn * np.linalg.det(turn)
    eased = ease_to_true(turn, fraction)
    np.testing.assert_allclose(eased @ eased.T, EYE, atol=1e-9)
    assert np.linalg.det(eased) > 0


@given(st.sampled_from([m for m in SWAPS.values() if np.linalg.det(m) < 0]), st.floats(0, 1))
def test_a_mirrored_axis_is_folded_over(turn, fraction):
    assert np.linalg.norm(ease_to_true(turn, fraction), 2) < 1 + 1e-9
    np.testing.assert_allclose(ease_to_true(turn, 0.0), turn, atol=1e-9)
    # A single flip does not turn the other axes.
    eased = ease_to_true(np.diag([1.0, -1.0, 1.0]), 0.3)
    np.testing.assert_allclose(eased, np.diag([1.0, -0.4, 1.0]), atol=1e-12)
