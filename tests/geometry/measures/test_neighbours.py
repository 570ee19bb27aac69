"""One position under the lens."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from geometry.checkpoints.errors import RangeError
from geometry.measures.neighbours import PairDistance, pair_distance, position_details
from geometry.pca.pca import fit_pca, off_subspace_residual


def random_walk(seed, n=60, d=7):
    return np.random.default_rng(seed).standard_normal((n, d)).cumsum(axis=0)


def test_gpt2(gpt2_table):
    pca = fit_pca(gpt2_table, (1, 1022))
    details = position_details(gpt2_table, pca, 300)
    assert details.position == 300
    assert round(details.norm, 2) == 3.28
    assert [n.position for n in details.neighbours] == [299, 301]
    assert all(0.998 < n.cosine < 1 for n in details.neighbours)
    assert len(details.nearest) == 5
    assert details.residual == pytest.approx(off_subspace_residual(gpt2_table, pca)[300])
    assert round(position_details(gpt2_table, pca, 1).residual, 3) == 0.885


@settings(max_examples=30)
@given(st.integers(0, 99), st.integers(0, 59))
def test_as_defined(seed, position):
    table = random_walk(seed)
    pca = fit_pca(table, (5, 50))
    details = position_details(table, pca, position, (3, 1))
    np.testing.assert_allclose(
        details.coordinates, pca.project(table)[position, [2, 0]], atol=1e-12
    )
    distances = np.linalg.norm(table - table[position], axis=1)
    far = [i for i in range(60) if abs(i - position) > 8]
    assert [n.position for n in details.nearest] == sorted(far, key=lambda i: distances[i])[:5]
    for other in details.nearest + details.neighbours:
        a, b = table[position], table[other.position]
        assert other.distance == pytest.approx(distances[other.position])
        assert other.cosine == pytest.approx(a @ b / np.linalg.norm(a) / np.linalg.norm(b))


def test_the_ends_of_the_table():
    table = random_walk(0)
    pca = fit_pca(table, (0, 59))
    assert [n.position for n in position_details(table, pca, 0).neighbours] == [1]
    assert [n.position for n in position_details(table, pca, 59).neighbours] == [58]


def test_a_tiny_table_and_a_row_of_zeros():
    details = position_details(np.ones((1, 4)), fit_pca(np.ones((1, 4)), (0, 0)), 0)
    assert details.neighbours == details.nearest == ()
    assert details.coordinates.tolist() == [0.0]
    assert details.residual == 0.0
    table = np.diag([1.0, 0.0, 1.0])
    (beside,) = position_details(table, fit_pca(table, (0, 2)), 0).neighbours
    assert (beside.cosine, beside.distance) == (0.0, 1.0)


def along_the_axes():
    """A table whose components are its columns, the first one varying most."""
    table = np.zeros((9, 4))
    table[1:3, 0], table[3:5, 1], table[5:7, 2] = (9, -9), (6, -6), (3, -3)
    table[7:9, 3] = (1, -1)
    return table


def test_the_distance_of_two_positions_in_closed_form():
    table = along_the_axes()
    pca = fit_pca(table, (0, 8))
    found = pair_distance(table, pca, (1, 3))
    assert found == PairDistance((1, 3), *(pytest.approx(v) for v in (117**0.5, 117**0.5, 0.0)), 4)
    assert found.steps == 2
    back = pair_distance(table, pca, (8, 1), (1, 2, 3))
    assert (back.shown, back.distance) == (pytest.approx(9), pytest.approx(82**0.5))
    assert back.steps == -7
    assert pair_distance(table, pca, (8, 1), (2, 4)).shown == pytest.approx(1)
    assert pair_distance(table, pca, (3, 4)).cosine == pytest.approx(-1)


def test_nothing_between_equal_or_beyond_fitted():
    table = random_walk(1)
    same = pair_distance(table, fit_pca(table, (0, 59)), (7, 7))
    assert (same.shown, same.distance, same.steps) == (0.0, 0.0, 0)
    assert same.cosine == pytest.approx(1)
    two = fit_pca(table, (3, 4))
    both = pair_distance(table, two, (3, 4), (1, 2, 3))
    assert both.shown == pytest.approx(both.distance)
    table[9] = 0
    assert pair_distance(table, two, (9, 3)).cosine == 0.0


@settings(max_examples=30)
@given(st.integers(0, 99), st.tuples(st.integers(0, 59), st.integers(0, 59)))
def test_distance_is_of_points_not_of_rows(seed, positions):
    table = random_walk(seed)
    pca = fit_pca(table, (5, 50))
    first, second = positions
    found = pair_distance(table, pca, positions, (4, 1, 2))
    points = pca.project(table)[:, [3, 0, 1]]
    assert found.shown == pytest.approx(np.linalg.norm(points[second] - points[first]))
    assert found.distance == pytest.approx(np.linalg.norm(table[second] - table[first]))
    assert found.shown <= found.distance * (1 + 1e-12)
    again = pair_distance(table, pca, (second, first), (4, 1, 2))
    assert (again.shown, again.steps) == (pytest.approx(found.shown), -found.steps)


def test_positions_off_the_table_are_refused():
    table = random_walk(0)
    pca = fit_pca(table, (0, 59))
    with pytest.raises(RangeError, match="0–59"):
        position_details(table, pca, 60)
    for positions in ((0, 60), (-1, 3)):
        with pytest.raises(RangeError):
            pair_distance(table, pca, positions)
