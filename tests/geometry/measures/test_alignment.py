"""Curves laid over each other, and in each other's components."""

import numpy as np
import pytest
import scipy.spatial
from hypothesis import given, settings
from hypothesis import strategies as st

from geometry.checkpoints.errors import RangeError
from geometry.measures.alignment import (
    align,
    angles_between,
    common_positions,
    disparity,
    in_basis,
    share_held,
)
from geometry.pca.pca import fit_pca

SEEDS = st.integers(0, 10_000)
SIZES = st.integers(1, 7)


def points(k: int, seed: int, m: int = 40) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((m, k)) * 0.7 ** np.arange(k)


def orthogonal(k: int, seed: int, *, sign: float) -> np.ndarray:
    found, _ = np.linalg.qr(np.random.default_rng(seed + 7).standard_normal((k, k)))
    found[:, 0] *= sign * np.linalg.det(found)
    return found


@settings(max_examples=60)
@given(SIZES, SEEDS, st.sampled_from([1.0, -1.0]), st.floats(0.01, 100))
def test_a_turned_mirrored_grown_and_shifted_copy_has_no_disparity(k, seed, sign, scale):
    source = points(k, seed)
    rotation, shift = orthogonal(k, seed, sign=sign), np.arange(1.0, k + 1)
    target = scale * source @ rotation.T + shift
    found = align(source, target, scaled=True)
    np.testing.assert_allclose(found.rotation, rotation, atol=1e-8)
    assert found.scale == pytest.approx(scale)
    assert found.mirrors == (sign < 0)
    assert found.disparity < 1e-14
    assert found.unexplained < 1e-14
    assert found.rms < 1e-7 * scale
    assert disparity(source, target) < 1e-12
    np.testing.assert_allclose(found.carry(source), target, atol=1e-8 * max(scale, 1))


def test_without_scale_what_is_left_is_the_difference_in_size():
    """Twice as large: half of each centred row is left, a quarter of the sum of squares."""
    source = points(3, 1)
    found = align(source, 2 * source + 5)
    assert found.scale == 1
    assert found.disparity < 1e-14, "they are of one shape"
    assert found.unexplained == pytest.approx(0.25)
    centred = source - source.mean(axis=0)
    assert found.rms == pytest.approx(np.linalg.norm(centred) / np.sqrt(len(source)))
    assert align(2 * source, source).unexplained == pytest.approx(1.0)


def test_a_circle_and_the_line_that_it_would_be_from_the_side():
    """Circle (cos, sin) and (cos, 0): σ = (½, 0) once standardised, so 1 − (1/√2)² = ½."""
    t = np.arange(64) * 2 * np.pi / 64
    circle = np.column_stack([np.cos(t), np.sin(t)])
    found = align(circle, circle * [1, 0], scaled=True)
    assert found.disparity == pytest.approx(0.5)
    assert found.scale == pytest.approx(0.5)
    assert found.unexplained == pytest.approx(0.5)


@settings(max_examples=60)
@given(SIZES, SEEDS)
def test_scipy_agrees(k, seed):
    one, other = points(k, seed), points(k, seed + 1) + 3.0
    expected = scipy.spatial.procrustes(one, other)[2]
    found = align(other, one, scaled=True)
    assert found.disparity == pytest.approx(expected, abs=1e-12)
    assert disparity(one, other) == pytest.approx(expected, abs=1e-12)
    assert found.unexplained == pytest.approx(expected, abs=1e-12)
    apart = np.square(found.carry(other) - one).sum(axis=1)
    assert found.rms == pytest.approx(np.sqrt(apart.mean()))


@settings(max_examples=60)
@given(SIZES, SEEDS, st.sampled_from([1.0, -1.0]), st.floats(0.01, 100), st.booleans())
def test_disparity_is_symmetric_and_knows_no_turn_size_or_place(k, seed, sign, scale, scaled):
    one, other = points(k, seed), points(k, seed + 1)
    found = align(one, other, scaled=scaled).disparity
    moved = scale * one @ orthogonal(k, seed, sign=sign).T - 2.0
    assert 0 <= found <= 1
    assert align(other, one, scaled=not scaled).disparity == pytest.approx(found, abs=1e-9)
    assert align(moved, other, scaled=scaled).disparity == pytest.approx(found, abs=1e-9)
    assert align(one, moved, scaled=True).disparity < 1e-12


@settings(max_examples=60)
@given(SIZES, SEEDS, st.booleans())
def test_no_other_orthogonal_map_is_nearer(k, seed, scaled):
    one, other = points(k, seed), points(k, seed + 1)
    found = align(one, other, scaled=scaled)
    np.testing.assert_allclose(found.rotation @ found.rotation.T, np.eye(k), atol=1e-10)
    best = np.linalg.norm(found.carry(one) - other)
    centred, middle = one - one.mean(axis=0), other.mean(axis=0)
    for number, sign in enumerate([1.0, -1.0] * 3):
        turn = orthogonal(k, seed + number, sign=sign)
        assert np.linalg.norm(found.scale * centred @ turn.T + middle - other) >= best - 1e-9


@settings(max_examples=60)
@given(st.integers(2, 6), SEEDS, st.booleans())
def test_it_mirrors_only_where_it_may(k, seed, scaled):
    one = points(k, seed)
    other = one * np.where(np.arange(k) == 0, -1.0, 1.0)
    may, may_not = (align(one, other, scaled=scaled, mirrored=m) for m in (True, False))
    assert may.mirrors
    assert may.disparity < 1e-13
    assert not may_not.mirrors
    assert may_not.disparity > 1e-3
    assert may_not.unexplained >= may_not.disparity - 1e-12
    # In one dimension it shrinks to nothing instead.
    flat = align([[0.0], [1.0]], [[1.0], [0.0]], scaled=True, mirrored=False)
    assert flat.scale == 0
    assert (flat.disparity, flat.unexplained) == pytest.approx((1, 1))


@pytest.mark.parametrize(("m", "d"), [(12, 40), (40, 12), (20, 20), (2, 9)])
def test_in_many_dimensions_it_is_the_same(m, d):
    one, other = (np.random.default_rng(s).normal(size=(m, d)) for s in (1, 2))
    assert disparity(one, other) == pytest.approx(align(one, other).disparity, abs=1e-12)
    assert disparity(one, one @ orthogonal(d, 3, sign=-1.0)) < 1e-12


@pytest.mark.parametrize("function", [align, disparity])
def test_what_cannot_be_aligned_is_refused(function):
    with pytest.raises(ValueError, match="one shape"):
        function(np.zeros((4, 3)), np.zeros((5, 3)))
    with pytest.raises(ValueError, match="rows that differ"):
        function(np.ones((4, 3)), points(3, 1, 4))
    with pytest.raises(ValueError, match="rows that differ"):
        function(points(3, 1, 1), points(3, 2, 1))
    with pytest.raises(ValueError, match="rows that differ"):
        function(np.zeros((0, 3)), np.zeros((0, 3)))


def test_common_positions():
    assert common_positions((0, 9), (5, 20)) == (5, 9)
    assert common_positions((5, 5)) == (5, 5)
    with pytest.raises(RangeError, match="0–4 and 5–9 do not overlap"):
        common_positions((0, 4), (5, 9))


@pytest.fixture
def table() -> np.ndarray:
    return points(8, 3, 60) + 2.0


def test_its_own_rows_are_where_its_curve_is(table):
    pca = fit_pca(table, (10, 49), 8)
    rows = table[10:50]
    expected = pca.project(rows)[:, [3, 0, 1]]
    np.testing.assert_allclose(in_basis(rows, pca, (4, 1, 2)), expected, atol=1e-12)
    np.testing.assert_allclose(in_basis(rows, pca, (4, 1, 2), "own"), expected, atol=1e-12)
    assert share_held(rows, pca) == pytest.approx(pca.explained_variance_ratio[:3].sum())
    assert share_held(rows, pca, range(1, 9)) == pytest.approx(1)
    # A component that a short range lacks is zero.
    pair = fit_pca(table, (0, 1), 3)
    assert len(pair.components) == 2
    assert not in_basis(table, pair)[:, 2].any()


def test_rows_elsewhere_keep_their_place_or_lose_it(table):
    pca, moved = fit_pca(table, (0, 59), 3), table + 10.0
    there = in_basis(moved, pca, middle="basis")
    np.testing.assert_allclose(there - in_basis(table, pca), 10 * pca.components.sum(axis=1) +
                               np.zeros((60, 3)), atol=1e-10)  # fmt: skip
    own = in_basis(moved, pca, middle="own")
    np.testing.assert_allclose(own, in_basis(table, pca), atol=1e-10)
    assert share_held(moved, pca) == pytest.approx(share_held(table, pca))


def test_what_lies_across_the_basis_is_not_held():
    rng = np.random.default_rng(2)
    one, other = np.zeros((30, 6)), np.zeros((30, 6))
    one[:, :3], other[:, 3:] = rng.normal(size=(2, 30, 3))
    pca, across = (fit_pca(rows, (0, 29), 3) for rows in (one, other))
    assert share_held(other, pca) < 1e-20
    assert share_held(one + other, pca) == pytest.approx(
        np.var(one, axis=0).sum() / np.var(one + other, axis=0).sum()
    )
    np.testing.assert_allclose(in_basis(other, pca, middle="own"), 0, atol=1e-10)
    np.testing.assert_allclose(angles_between(pca, across), np.pi / 2)
    np.testing.assert_allclose(angles_between(pca, pca, (1, 2), (2, 1)), 0, atol=1e-7)
    assert share_held(np.ones((5, 6)), pca) == 0


def test_the_angle_is_the_one_that_was_turned_by():
    angle = 0.3
    rng = np.random.default_rng(4)
    rows = rng.normal(size=(50, 5)) * [5, 3, 0, 0, 0]
    turn = np.eye(5)
    turn[1:3, 1:3] = [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]
    one, other = fit_pca(rows, (0, 49), 2), fit_pca(rows @ turn.T, (0, 49), 2)
    np.testing.assert_allclose(angles_between(one, other, (1, 2)), [0, angle], atol=1e-7)
    assert len(angles_between(one, other, (1, 2, 3), (2,))) == 1


def test_another_width_is_refused(table):
    pca = fit_pca(table, (0, 59), 3)
    narrow = fit_pca(table[:, :5], (0, 59), 3)
    for call in (in_basis, share_held):
        with pytest.raises(ValueError, match=r"rows \(m, 8\)"):
            call(table[:, :5], pca)
    with pytest.raises(ValueError, match="width 8 and 5"):
        angles_between(pca, narrow)
    with pytest.raises(ValueError, match="none of these"):
        angles_between(pca, pca, (9, 10))


def test_gpt2s_halves(gpt2_table):
    """The components of one half of the positions, applied to the other one."""
    early, late = fit_pca(gpt2_table, (1, 511), 3), fit_pca(gpt2_table, (512, 1022), 3)
    rows = gpt2_table[512:1023]
    held = share_held(rows, early)
    assert held < share_held(rows, late) == pytest.approx(late.explained_variance_ratio.sum())
    assert held > 10 * 3 / gpt2_table.shape[1], "far more than three directions at random"
    angles = angles_between(early, late)
    assert (np.diff(angles) >= 0).all()
    assert 0 < angles[0] < angles[2] < np.pi / 2
    whole = disparity(gpt2_table[1:512], rows)
    assert 0 < whole < 1
    assert whole == pytest.approx(scipy.spatial.procrustes(gpt2_table[1:512], rows)[2], abs=1e-9)
