"""Sinusoids in single entries: found again, never beaten by a brute search."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from geometry.measures.single_dimensions import _inverse_grams, best_sinusoids, r2_after_projection
from geometry.pca.pca import fit_pca


def brute_r2(column: np.ndarray, cycles: np.ndarray) -> float:
    m = len(column)
    centred = column - column.mean()
    best = 0.0
    for c in cycles:
        angle = 2 * np.pi * c / m * np.arange(m)
        A = np.column_stack([np.ones(m), np.cos(angle), np.sin(angle)])
        rest = column - A @ np.linalg.lstsq(A, column, rcond=None)[0]
        best = max(best, 1 - float(rest @ rest) / float(centred @ centred))
    return best


@given(
    st.floats(0.5, 30), st.floats(0, 2 * np.pi), st.floats(0.1, 100), st.floats(-50, 50),
    st.integers(64, 200),
)  # fmt: skip
@settings(max_examples=50)
def test_a_pure_wave_is_found_again(cycles, phase, amplitude, mean, m):
    i = np.arange(m)
    wave = mean + amplitude * np.cos(2 * np.pi * cycles / m * i + phase)
    found = best_sinusoids(wave[:, None], (0, m - 1))
    assert found.r2[0] > 1 - 1e-6
    np.testing.assert_allclose(found.values(0), wave, atol=1e-2 * amplitude)
    if cycles > 1:  # of less than one cycle several waves look alike
        assert found.cycles[0] == pytest.approx(cycles, abs=1e-3)
        assert found.amplitude[0] == pytest.approx(amplitude, rel=1e-2)


@pytest.mark.slow
def test_no_worse_than_a_brute_search():
    rng = np.random.default_rng(2)
    table = rng.standard_normal((90, 12)).cumsum(axis=0)
    found = best_sinusoids(table, (5, 84))
    for column in range(12):
        brute = brute_r2(table[5:85, column], np.arange(0.5, 40, 0.02))
        assert found.r2[column] > brute - 1e-4


def dense_r2(rows: np.ndarray, per_cycle: int = 64) -> np.ndarray:
    """The best R² of each column over a dense grid of frequencies, by its own least squares."""
    m, d = rows.shape
    centred = rows - rows.mean(axis=0)
    total = np.square(centred).sum(axis=0)
    best = np.zeros(d)
    for c in np.arange(per_cycle // 2, per_cycle * m // 2 + 1) / per_cycle:
        angle = 2 * np.pi * c / m * np.arange(m)
        A = np.column_stack([np.ones(m), np.cos(angle), np.sin(angle)])
        U, strengths, _ = np.linalg.svd(A, full_matrices=False)
        Q = U[:, strengths > 1e-6]  # at the Nyquist limit the sine vanishes
        best = np.maximum(best, np.square(Q.T @ centred).sum(axis=0) / total)
    return best


@pytest.mark.slow
@given(
    st.integers(20, 90), st.integers(0, 2**32 - 1),
    st.sampled_from(["noise", "walk", "two waves", "spikes"]),
)  # fmt: skip
@example(m=62, seed=2519, kind="noise")  # the best of one column is just before the Nyquist limit
@settings(max_examples=60, deadline=None)
def test_no_worse_than_a_dense_search(m, seed, kind):
    random = np.random.default_rng(seed)
    table = random.standard_normal((m, 6))
    if kind == "walk":
        table = table.cumsum(axis=0)
    elif kind == "two waves":
        i, cycles = np.arange(m)[:, None], random.uniform(0.5, m / 2, (2, 6))
        phases, close = random.uniform(0, 7, (2, 6)), random.uniform(0.97, 1.03, 6)
        one, other = (
            np.cos(2 * np.pi * i * c / m + p) for c, p in zip(cycles, phases, strict=True)
        )
        table = one + close * other
    elif kind == "spikes":
        table *= random.random((m, 6)) > 0.8
        table[0] += 1.0
    found = best_sinusoids(table, (0, m - 1))
    assert (found.r2 > dense_r2(table) - 1e-6).all()


def test_wave_between_grid_frequencies():
    i = np.arange(400)
    wave = np.cos(2 * np.pi * i * (20 + 1 / 16) / 400) + 0.998 * np.cos(2 * np.pi * i * 90 / 400)
    found = best_sinusoids(wave[:, None], (0, 399))
    assert found.cycles[0] == pytest.approx(20 + 1 / 16, abs=0.01)


def test_the_ends_of_the_search_are_reached():
    i = np.arange(64)
    table = np.column_stack([i, np.cos(np.pi * i)])
    found = best_sinusoids(table, (0, 63))
    assert found.cycles[0] == 0.5
    assert found.cycles[1] == pytest.approx(32, abs=1e-3)


def test_single_rows_that_stand_out_have_no_end_of_peaks():
    found = best_sinusoids(np.eye(300), (0, 299))
    assert np.isfinite(found.r2).all()
    assert (found.r2[::60] > dense_r2(np.eye(300)[:, ::60], 8) - 1e-6).all()


@pytest.mark.slow
def test_gpt2s_dimensions_have_their_best_waves(gpt2_table):
    rows = gpt2_table[1:1023].astype(np.float64)
    found = best_sinusoids(rows, (0, 1021))
    # Two entries of the first 256 have two peaks of nearly the same height.
    some = [int(k) for k in np.argsort(-found.r2[:256])[-12:]]
    assert (found.r2[some] > dense_r2(rows[:, some], 16) - 1e-6).all()


def test_r2_is_that_of_the_fitted_values(gpt2_table):
    found = best_sinusoids(gpt2_table, (1, 1022))
    for column in (0, 138, 300, 767):
        values = gpt2_table[1:1023, column]
        sse = ((values - found.values(column)) ** 2).sum()
        expected = 1 - sse / ((values - values.mean()) ** 2).sum()
        assert found.r2[column] == pytest.approx(expected, abs=1e-9)


def test_few_rows_and_a_constant_entry():
    for m in (1, 2, 3, 4):
        found = best_sinusoids(np.random.default_rng(0).standard_normal((m, 3)), (0, m - 1))
        assert np.isfinite(found.r2).all()
        assert ((found.r2 >= 0) & (found.r2 <= 1)).all()
    found = best_sinusoids(np.full((40, 2), 3.5), (0, 39))
    np.testing.assert_array_equal(found.r2, 0)
    np.testing.assert_allclose(found.values(0), 3.5)


def test_projection_explains_what_it_spans():
    rng = np.random.default_rng(0)
    table = np.zeros((50, 6))
    table[:, :3] = rng.standard_normal((50, 3)) * [5, 4, 3]
    table[:, 3] = 0.01 * rng.standard_normal(50)
    table[:, 4] = 2.0
    r2 = r2_after_projection(table, fit_pca(table, (0, 49), 6))
    np.testing.assert_allclose(r2[:3], 1, atol=1e-4)
    assert r2[3] < 0.5
    assert r2[4] == r2[5] == 0


@pytest.mark.parametrize("m", [20, 21, 62, 63])
@pytest.mark.parametrize("before", [0.0, 1e-5, 1e-3, 0.1])
def test_the_gram_matrix_near_the_nyquist_limit_is_that_of_the_columns(m, before):
    """There the closed forms are differences of large numbers."""
    cycles = m / 2 - before
    angle = 2 * np.pi * cycles / m * np.arange(m)
    A = np.column_stack([np.ones(m), np.cos(angle), np.sin(angle)])
    (inverse,) = _inverse_grams(np.array([cycles]), m)
    x = np.random.default_rng(m).standard_normal(m)
    x -= x.mean()
    U, strengths, _ = np.linalg.svd(A, full_matrices=False)
    expected = np.square(U[:, strengths > 1e-9 * strengths[0]].T @ x).sum()
    sums = A.T @ x
    assert sums @ inverse @ sums == pytest.approx(expected, rel=1e-6)
