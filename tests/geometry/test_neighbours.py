"""One position under the lens."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from geometry.errors import RangeError
from geometry.neighbours import position_details
from geometry.pca import fit_pca, off_subspace_residual
from geometry.sources import open_source


def random_walk(seed, n=60, d=7):
    return np.random.default_rng(seed).standard_normal((n, d)).cumsum(axis=0)


def test_gpt2(gpt2_folder):
    table = open_source(gpt2_folder).W_pos
    pca = fit_pca(table, (1, 1022))
    details = position_details(table, pca, 300)
    assert details.position == 300
    assert round(details.norm, 2) == 3.28
    assert [n.position for n in details.neighbours] == [299, 301]
    assert all(0.998 < n.cosine < 1 for n in details.neighbours)
    assert len(details.nearest) == 5
    assert details.residual == pytest.approx(off_subspace_residual(table, pca)[300])
    assert round(position_details(table, pca, 1).residual, 3) == 0.885


@settings(deadline=None, max_examples=30)
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


def test_a_tiny_table():
    details = position_details(np.ones((1, 4)), fit_pca(np.ones((1, 4)), (0, 0)), 0)
    assert details.neighbours == details.nearest == ()
    assert details.coordinates.tolist() == [0.0]
    assert details.residual == 0.0


def test_a_row_of_zeros_has_cosine_zero():
    table = np.eye(3)
    table[1] = 0.0
    details = position_details(table, fit_pca(table, (0, 2)), 0)
    assert details.neighbours[0].cosine == 0.0
    assert details.neighbours[0].distance == 1.0


def test_no_such_position():
    table = random_walk(0)
    with pytest.raises(RangeError, match="0–59"):
        position_details(table, fit_pca(table, (0, 59)), 60)
