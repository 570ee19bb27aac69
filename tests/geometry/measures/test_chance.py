"""Singular values by chance: against matrices that are really made."""

import numpy as np
import pytest

from geometry.measures.chance import gaussian_singular_values


@pytest.mark.parametrize("shape", [(400, 60), (60, 400), (64, 64), (5, 1), (1, 1)])
def test_shape_norm_and_order(shape):
    values = gaussian_singular_values(shape, 7.5, seed=3)
    assert values.shape == (min(shape),)
    assert (np.diff(values) <= 0).all()
    assert (values >= 0).all()
    assert np.sqrt((values**2).sum()) == pytest.approx(7.5)
    assert not values.flags.writeable


def test_distribution_is_that_of_matrices_that_are_made():
    """Each singular value's mean over many samples; the spread of either mean is far below 1 %."""
    rng = np.random.default_rng(0)
    made, sampled = [], []
    for seed in range(300):
        sigma = np.linalg.svd(rng.standard_normal((60, 20)), compute_uv=False)
        made.append(sigma / np.linalg.norm(sigma))
        sampled.append(gaussian_singular_values((60, 20), 1.0, seed))
    np.testing.assert_allclose(np.mean(sampled, axis=0), np.mean(made, axis=0), rtol=0.015)
    np.testing.assert_allclose(np.std(sampled, axis=0), np.std(made, axis=0), rtol=0.25)


def test_a_tall_matrix_has_the_known_edges():
    """Marchenko and Pastur: √n ± √d, for the shape of GPT-2's E."""
    n, d = 50257, 768
    values = gaussian_singular_values((n, d), np.sqrt(n * d))
    assert values[0] == pytest.approx(np.sqrt(n) + np.sqrt(d), rel=0.01)
    assert values[-1] == pytest.approx(np.sqrt(n) - np.sqrt(d), rel=0.01)


def test_equal_seeds_give_equal_values():
    first = gaussian_singular_values((50, 10), 1.0, seed=1)
    assert (first == gaussian_singular_values((50, 10), 1.0, seed=1)).all()
    assert (first != gaussian_singular_values((50, 10), 1.0, seed=2)).any()
    assert (gaussian_singular_values((9, 4), 0.0) == 0.0).all()
