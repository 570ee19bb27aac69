"""Cosines of positions against closed forms and the real GPT-2."""

from unittest.mock import Mock

import numpy as np
import pytest

from geometry.checkpoints.errors import RangeError
from geometry.measures import similarity as module
from geometry.measures.similarity import (
    largest_rise,
    mean_by_lag,
    mean_by_offset,
    patch_mosaic,
    similarity,
    similarity_nulls,
)
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


def test_a_mosaic_has_the_map_of_each_patch_in_its_place():
    rows, columns = 2, 3
    cosines = np.random.default_rng(0).uniform(-1, 1, (6, 6))
    shown = patch_mosaic(cosines, (rows, columns))
    assert shown.shape == (4, 9)
    for patch in range(6):
        row, column = divmod(patch, columns)
        tile = shown[rows * row : rows * (row + 1), columns * column : columns * (column + 1)]
        np.testing.assert_array_equal(tile, cosines[patch].reshape(rows, columns))


def test_by_offset_is_the_mean_of_the_pairs_as_far_apart():
    grid = (2, 3)
    table = np.random.default_rng(0).standard_normal((6, 5))
    cosines = similarity(table, (0, 5)).cosines
    means = mean_by_offset(cosines, grid)
    places = list(np.ndindex(grid))
    for down in (-1, 0, 1):
        for across in (-2, -1, 0, 1, 2):
            pairs = [
                cosines[i, j]
                for i, (r, c) in enumerate(places)
                for j, place in enumerate(places)
                if place == (r + down, c + across)
            ]
            assert means[down + 1, across + 2] == pytest.approx(np.mean(pairs))
    np.testing.assert_allclose(means, means[::-1, ::-1], err_msg="pairs count in both orders")


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


def test_gpt2(gpt2_table):
    found = similarity(gpt2_table, (100, 1022))
    assert [round(float(found.by_lag[lag]), 3) for lag in (1, 100, 300)] == [0.999, 0.498, -0.602]
    alone = mean_by_lag(gpt2_table, (100, 1022))
    np.testing.assert_allclose(alone, found.by_lag, atol=1e-13)


@pytest.mark.parametrize("measure", [similarity, mean_by_lag])
def test_ranges_off_the_table_are_refused(measure):
    with pytest.raises(RangeError):
        measure(np.ones((4, 2)), (0, 4))


def test_the_largest_rise_is_from_a_low_to_a_later_high():
    by_lag = [1.0, 0.2, 0.5, -0.4, 0.1, 0.3, -0.9, -0.8, 1.0, 1.0, 1.0]
    found = largest_rise(by_lag)  # of the first eight
    assert (found.low, found.high) == (3, 5)
    assert found.size == pytest.approx(0.7)
    falling = largest_rise(np.linspace(1.0, -1.0, 50))
    assert (falling.size, falling.low, falling.high) == (0.0, 0, 0)
    assert largest_rise([1.0]).size == 0.0


@pytest.mark.slow
def test_random_walks_are_those_that_are_drawn_column_by_column():
    rng = np.random.default_rng(0)
    steps = rng.standard_normal((120, 60)) * np.linspace(0.2, 2.0, 120)[:, None]
    table = np.cumsum(steps, axis=0) + 3.0
    drawn = similarity_nulls(table, (0, 119), kind="walk", draws=1000)
    sizes = np.sqrt(np.square(np.diff(table, axis=0)).mean(axis=1))
    brute = []
    for _ in range(1000):
        walk = np.cumsum(sizes[:, None] * rng.standard_normal((119, 60)), axis=0)
        brute.append(mean_by_lag(table[0] + np.vstack([np.zeros(60), walk]), (0, 119)))
    expected = np.percentile(brute, (5, 50, 95), axis=0)
    band = drawn.by_lag
    for found, wanted in zip((band.low, band.middle, band.high), expected, strict=True):
        np.testing.assert_allclose(found[:90], wanted[:90], atol=0.05)
    rises = [largest_rise(curve).size for curve in brute]
    assert drawn.rise.band[2] == pytest.approx(np.percentile(rises, 95), abs=0.04)


@pytest.mark.parametrize("components", [None, (1, 2, 3)])
@pytest.mark.parametrize("kind", ["process", "walk"])
def test_a_null_is_repeated_and_knows_its_size(kind, components):
    table = np.cumsum(np.random.default_rng(3).standard_normal((50, 12)), axis=0)
    one, two = (similarity_nulls(table, (5, 44), components, kind=kind, draws=20) for _ in range(2))
    assert one.by_lag.low.shape == one.by_lag.high.shape == (40,)
    assert (one.by_lag.low == two.by_lag.low).all()
    assert (one.rise.values == two.rise.values).all()
    assert (one.rise.name, one.rise.draws, one.by_lag.draws) == (kind, 20, 20)
    assert one.by_lag.low[0] == pytest.approx(1.0)


def test_a_long_range_is_thinned_and_its_band_has_every_lag():
    table = np.cumsum(np.random.default_rng(3).standard_normal((5000, 2)), axis=0)
    band = similarity_nulls(table, (0, 4999), kind="walk", draws=5).by_lag
    assert len(band.low) == len(band.high) == 5000
    assert (band.low <= band.middle).all()
    assert np.abs(np.diff(band.middle[:3000])).max() < 0.05


def test_drawing_can_be_stopped_between_two_draws():
    table = np.cumsum(np.random.default_rng(3).standard_normal((50, 12)), axis=0)
    check = Mock(side_effect=[None, None, InterruptedError])
    with pytest.raises(InterruptedError):
        similarity_nulls(table, (0, 49), check=check)
