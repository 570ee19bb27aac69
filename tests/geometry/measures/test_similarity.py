"""Cosines of positions against closed forms and the real GPT-2."""

import numpy as np
import pytest

from geometry.checkpoints.errors import RangeError
from geometry.measures import similarity as module
from geometry.measures.similarity import mean_by_lag, similarity
from geometry.models.sources import open_source
from geometry.pca.pca import fit_pca


def test_a_circle_has_the_cosine_of_its_angle():
    angle = 2 * np.pi * np.arange(60) / 24
    circle = np.column_stack([np.cos(angle), np.sin(angle), np.zeros(60)])
    found = similarity(circle, (3, 50))
    np.testing.assert_allclose(found.by_lag, np.cos(2 * np.pi * np.arange(48) / 24), atol=1e-12)
    np.testing.assert_allclose(found.cosines[5, 17], np.cos(np.pi), atol=1e-12)


def test_by_lag_is_the_mean_of_a_diagonal():
    rows = np.random.default_rng(0).standard_normal((12, 5))
    found = similarity(rows, (0, 11))
    for lag in range(12):
        pairs = [found.cosines[i, i + lag] for i in range(12 - lag)]
        assert found.by_lag[lag] == pytest.approx(np.mean(pairs))


@pytest.mark.parametrize("shape", [(1, 3), (2, 3), (40, 5), (130, 70), (97, 200)])
@pytest.mark.parametrize("projected", [False, True])
def test_the_mean_needs_no_matrix_of_all_pairs(shape, projected):
    rows = np.random.default_rng(0).standard_normal(shape) + 0.3
    rows[len(rows) // 2] = 0.0
    positions = (len(rows) // 10, len(rows) - 1)
    pca = fit_pca(rows, positions, 2) if projected else None
    expected = similarity(rows, positions, pca).by_lag
    np.testing.assert_allclose(mean_by_lag(rows, positions, pca), expected, atol=1e-13)


@pytest.mark.parametrize("m", [31, 40, 41])
def test_of_many_rows_blocks_are_compared(m, monkeypatch):
    rows = np.random.default_rng(m).standard_normal((m + 5, 6)) + 0.5
    rows[7] = 0.0
    whole = similarity(rows, (3, m + 2))
    monkeypatch.setattr(module, "MOST", 30)
    monkeypatch.setattr(module, "BLOCKS", 10)
    found = similarity(rows, (3, m + 2))
    assert (whole.block, found.block) == (1, -(-m // 10))
    blocks = range(0, m, found.block)
    expected = [
        [whole.cosines[i : i + found.block, j : j + found.block].mean() for j in blocks]
        for i in blocks
    ]
    np.testing.assert_allclose(found.cosines, expected, atol=1e-12)
    np.testing.assert_allclose(found.by_lag, whole.by_lag, atol=1e-12)


def test_rows_of_zeros_are_like_nothing():
    found = similarity(np.vstack([np.zeros(4), np.ones(4), np.ones(4)]), (0, 2))
    np.testing.assert_allclose(found.cosines, [[0, 0, 0], [0, 1, 1], [0, 1, 1]], atol=1e-12)


def test_projection_on_all_components_changes_nothing():
    rows = np.random.default_rng(1).standard_normal((30, 6)) + 2
    plain = similarity(rows, (4, 25))
    projected = similarity(rows, (4, 25), fit_pca(rows, (4, 25), 6))
    np.testing.assert_allclose(projected.cosines, plain.cosines, atol=1e-12)


def test_gpt2(gpt2_folder):
    found = similarity(open_source(gpt2_folder).W_pos, (100, 1022))
    assert [round(float(found.by_lag[lag]), 3) for lag in (1, 100, 300)] == [0.999, 0.498, -0.602]
    alone = mean_by_lag(open_source(gpt2_folder).W_pos, (100, 1022))
    np.testing.assert_allclose(alone, found.by_lag, atol=1e-13)


@pytest.mark.parametrize("measure", [similarity, mean_by_lag])
def test_ranges_off_the_table_are_refused(measure):
    with pytest.raises(RangeError):
        measure(np.ones((4, 2)), (0, 4))
