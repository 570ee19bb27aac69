"""The first look agrees with the exact components, or is exact itself."""

import numpy as np
import pytest

from geometry.checkpoints.errors import RangeError
from geometry.pca.curve import place_curve
from geometry.pca.first_look import first_look
from geometry.pca.pca import fit_pca


def waves(n_positions: int, d_model: int, sizes: list[float], noise: float = 0.01) -> np.ndarray:
    random = np.random.default_rng(3)
    t = np.arange(n_positions)[:, None] / n_positions
    curve = np.cos(2 * np.pi * t * np.arange(1, len(sizes) + 1)) * sizes
    basis = np.linalg.qr(random.standard_normal((d_model, len(sizes))))[0]
    return curve @ basis.T + noise * random.standard_normal((n_positions, d_model)) + 0.5


def error(table: np.ndarray, positions: tuple[int, int]) -> float:
    seen = first_look(table, positions)
    exact = place_curve(table, fit_pca(table, positions, 3))
    np.testing.assert_allclose(seen.residual, exact.residual, atol=1e-4)
    difference = np.abs(seen.coordinates - exact.coordinates).max()
    return float(difference / np.abs(exact.coordinates).max())


@pytest.mark.parametrize("positions", [(0, 599), (1, 598), (100, 420)])
def test_agrees_with_the_exact_components(positions):
    table = waves(600, 384, [5.0, 4.0, 3.0, 0.5])
    assert not first_look(table, positions).pca.exact
    assert error(table, positions) < 1e-4


def test_agrees_on_gpt2(gpt2_table):
    assert error(gpt2_table, (1, 1023)) < 1e-4
    ratio = first_look(gpt2_table, (1, 1023)).pca.explained_variance_ratio
    np.testing.assert_allclose(
        ratio, fit_pca(gpt2_table, (1, 1023), 3).explained_variance_ratio, rtol=1e-5
    )


def test_a_table_in_single_precision_is_looked_at_as_it_is():
    wide = waves(600, 384, [5.0, 4.0, 3.0, 0.5])
    seen = first_look(wide.astype(np.float32), (1, 598))
    exact = place_curve(wide, fit_pca(wide, (1, 598), 3))
    assert not seen.pca.exact
    assert seen.pca.mean.dtype == seen.coordinates.dtype == np.float64
    np.testing.assert_allclose(seen.pca.mean, exact.pca.mean, rtol=1e-6)
    np.testing.assert_allclose(
        seen.coordinates, exact.coordinates, atol=1e-4 * np.abs(exact.coordinates).max()
    )
    np.testing.assert_array_equal(
        first_look(wide[:40].astype(np.float32), (0, 39)).coordinates,
        first_look(wide[:40].astype(np.float32).astype(np.float64), (0, 39)).coordinates,
    )


def test_same_rows_give_the_same_components():
    table = waves(600, 384, [5.0, 4.0, 3.0])
    first, second = (first_look(table, (0, 599)).pca.components for _ in range(2))
    np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("shape", [(40, 300), (300, 40), (1, 8), (2, 512)])
def test_small_ranges_are_exact(shape):
    table = np.random.default_rng(0).standard_normal(shape)
    assert first_look(table, (0, shape[0] - 1)).pca.exact


def test_unsettled_and_constant_rows_are_exact():
    table = np.random.default_rng(0).standard_normal((700, 500))
    table[:, :2] *= 0  # and not of full rank
    assert first_look(table, (0, 699)).pca.exact
    found = first_look(np.ones((400, 400)), (0, 399)).pca
    assert found.exact
    np.testing.assert_array_equal(found.explained_variance_ratio, 0.0)
    with pytest.raises(RangeError):
        first_look(np.ones((400, 400)), (0, 400))


def test_large_and_small_numbers():
    table = waves(600, 384, [5.0, 4.0, 3.0, 0.5])
    for scale in (1e-60, 1e-12, 1e-4, 1e4, 1e12, 1e60):
        assert error(scale * table, (0, 599)) < 1e-4
