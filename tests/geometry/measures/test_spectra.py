"""Singular values, stable rank and energy; singular values by chance."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from geometry.measures.spectra import gaussian_singular_values, spectrum


def test_gpt2(gpt2_table):
    found = spectrum(gpt2_table)
    values = found.singular_values
    assert values.shape == (768,)
    assert np.round(values[:6], 2).tolist() == [61.95, 60.94, 53.24, 22.70, 15.98, 14.88]
    assert np.round(values[[29, 99]], 3).tolist() == [0.553, 0.191]
    assert round(float(values[767]), 4) == 0.0099
    assert round(100 * found.energy_top30, 2) == 99.91
    assert not values.flags.writeable


def test_closed_forms():
    found = spectrum(np.diag([4.0, 2.0, 2.0, 0.0]))
    assert found.singular_values.tolist() == [4.0, 2.0, 2.0, 0.0]
    assert (found.stable_rank, found.energy_top30) == (1.5, 1.0)
    assert spectrum(np.eye(3, 7)).singular_values.tolist() == [1.0, 1.0, 1.0]
    zero = spectrum(np.zeros((5, 4)))
    assert (zero.stable_rank, zero.energy_top30) == (0.0, 0.0)
    assert zero.effective_rank == zero.participation_ratio == 0
    with pytest.raises(ValueError, match=r"\(4,\)"):
        spectrum(np.ones(4))


def test_a_tall_float32_matrix_is_summed_in_float64():
    random = np.random.default_rng(0)
    scale = np.geomspace(100, 0.01, 16)
    tall = (random.standard_normal((10_000, 16)) * scale).astype(np.float32)
    exact = np.linalg.svd(tall.astype(np.float64), compute_uv=False)
    np.testing.assert_allclose(spectrum(tall).singular_values, exact, rtol=1e-6)


@given(st.integers(0, 99), st.floats(1e-3, 1e3))
def test_turned_scaled_and_permuted(seed, scale):
    random = np.random.default_rng(seed)
    matrix = random.standard_normal((40, 35)) * 0.9 ** np.arange(35)
    rotation = np.linalg.qr(random.standard_normal((35, 35)))[0]
    found = spectrum(matrix)
    for changed in (matrix @ rotation, matrix[:, random.permutation(35)], matrix * scale):
        other = spectrum(changed)
        assert other.stable_rank == pytest.approx(found.stable_rank)
        assert other.energy_top30 == pytest.approx(found.energy_top30)
    np.testing.assert_allclose(
        spectrum(matrix * scale).singular_values, scale * found.singular_values
    )


def test_ranks_count_equal_directions_and_weigh_unequal_ones():
    equal = spectrum(3 * np.eye(7))
    assert equal.effective_rank == pytest.approx(7)
    assert equal.participation_ratio == pytest.approx(7)
    found = spectrum(np.diag([3.0, 1.0, 0.0]))
    assert found.effective_rank == pytest.approx(4 / 3**0.75)
    assert found.participation_ratio == pytest.approx(100 / 82)


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
