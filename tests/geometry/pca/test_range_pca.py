"""The fast path: as exact as it says, for every range of every kind of table."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from geometry.checkpoints.errors import RangeError
from geometry.pca import range_pca, reduced_table
from geometry.pca.pca import fit_pca
from geometry.pca.range_pca import RangePCA
from geometry.pca.reduced_table import ReducedTable
from geometry.pca.ritz_bounds import coordinate_errors
from geometry.pca.subspace import krylov_subspaces, spectral_norm_bound

TOLERANCE = 1e-4
TIE = 4e-3
"""Twice the largest error of an entry of a fast component of GPT-2, over its largest entry."""


@pytest.fixture(scope="module")
def fast_gpt2(gpt2_table):
    return RangePCA(gpt2_table)


@pytest.fixture
def bounds(monkeypatch):
    """The bounds of errors that are found meanwhile."""
    found = []

    def recorded(*arguments):
        found.append(coordinate_errors(*arguments))
        return found[-1]

    monkeypatch.setattr(reduced_table, "coordinate_errors", recorded)
    return found


@pytest.fixture(scope="module")
def fast_minilm(minilm_table):
    return RangePCA(minilm_table)


def error(table, fast, positions, k, shown=None, bounds=()):
    """Largest difference of a coordinate over the largest coordinate, signs included.

    Signs are free where two entries of a component nearly tie. And no coordinate is off by more
    than the bound that was found for it, if these are recorded.
    """
    pca, exact = fast.fit(positions, k, certified=shown), fit_pca(table, positions, k)
    rows = table[positions[0] : positions[1] + 1]
    shown = shown or k
    ours, truth = pca.project(rows)[:, :shown], exact.project(rows)[:, :shown]
    up, down = exact.components[:shown].max(axis=1), -exact.components[:shown].min(axis=1)
    tied = np.abs(up - down) < TIE * np.maximum(up, down)
    same = np.einsum("ij,ij->j", ours, truth) >= 0.0
    ours = np.where(tied & ~same, -ours, ours)
    off, largest = np.abs(ours - truth), np.abs(truth).max()
    np.testing.assert_allclose(
        pca.explained_variance_ratio, exact.explained_variance_ratio, atol=1e-3
    )
    np.testing.assert_allclose(pca.mean, exact.mean, atol=1e-10)
    np.testing.assert_allclose(
        pca.components @ pca.components.T, np.eye(len(pca.components)), atol=1e-10
    )
    if bounds and not pca.exact:
        errors, refined = bounds[-1]
        bound = errors if errors.max() <= TOLERANCE * largest else refined
        assert (off.max(axis=0) <= bound[:shown] + 1e-11).all()
    return float(off.max() / max(largest, 1e-9))


def helix(n, d, noise, seed=0):
    random = np.random.default_rng(seed)
    i = np.arange(n) / n
    curve = np.column_stack([np.cos(9 * i), np.sin(9 * i), i, 0.2 * np.cos(31 * i)])
    directions = np.linalg.qr(random.standard_normal((d, 4)))[0]
    return curve[:, : directions.shape[1]] @ directions.T + noise * random.standard_normal((n, d))


ranges = st.tuples(st.integers(0, 1023), st.integers(0, 1023)).map(lambda ends: tuple(sorted(ends)))


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(ranges, st.integers(1, 10))
def test_any_range_of_gpt2(gpt2_table, fast_gpt2, bounds, positions, k):
    k = min(k, positions[1] - positions[0] or 1)
    assert error(gpt2_table, fast_gpt2, positions, k, bounds=bounds) <= TOLERANCE


def test_a_sign_is_free_where_two_entries_nearly_tie(gpt2_table, fast_gpt2):
    assert error(gpt2_table, fast_gpt2, (14, 269), 2) <= TOLERANCE


@settings(max_examples=40)
@given(ranges, st.integers(1, 10))
def test_any_range_of_minilm(minilm_table, fast_minilm, positions, k):
    positions = (positions[0] // 2, positions[1] // 2)
    k = min(k, positions[1] - positions[0] or 1)
    assert error(minilm_table, fast_minilm, positions, k) <= TOLERANCE


@settings(max_examples=20)
@given(ranges)
def test_ten_components_of_which_three_are_shown(gpt2_table, fast_gpt2, positions):
    if positions[1] - positions[0] > 10:
        assert error(gpt2_table, fast_gpt2, positions, 10, shown=3) <= TOLERANCE


def test_the_fast_path_is_taken(fast_gpt2, monkeypatch):
    def refuse(*_):
        raise AssertionError("the exact decomposition was asked for")

    monkeypatch.setattr(range_pca, "fit_pca", refuse)
    for first in range(0, 600, 50):
        for length in (300, 400, 424):
            pca = fast_gpt2.fit((first, first + length - 1))
            assert not pca.exact
            assert pca.components.shape == (3, 768)


def test_long_range_is_prepared_with_equal_answers(gpt2_table, fast_gpt2):
    fast = RangePCA(gpt2_table)
    assert fast.is_ready((10, 10 + range_pca.SHORT - 2))
    assert not fast.is_ready((10, 10 + range_pca.SHORT - 1))
    fast.fit((10, 100))
    assert not fast.is_ready((1, 1023)), "what is short took no preparing"
    fast.prepare()
    assert fast.is_ready((1, 1023))
    ahead, lazily = (one.fit((1, 1000)).components for one in (fast, fast_gpt2))
    assert np.array_equal(ahead, lazily)


def test_nothing_depends_on_the_tick_before(gpt2_table, fast_gpt2):
    fast_gpt2.fit((400, 900))
    after_a_jump = fast_gpt2.fit((1, 1000)).components
    fast_gpt2.fit((1, 999))
    assert np.array_equal(fast_gpt2.fit((1, 1000)).components, after_a_jump)


@pytest.mark.parametrize("d", [3, 64, 128, 129, 300])
@pytest.mark.parametrize("shift", [0.0, 1000.0])
def test_any_width(d, shift):
    table = helix(2500, d, 0.02) + shift
    fast = RangePCA(table)
    for positions in [(0, 2499), (1, 1500), (1030, 2040), (1100, 1400), (2, 20), (5, 5)]:
        assert error(table, fast, positions, min(3, positions[1] - positions[0] or 1)) <= TOLERANCE


def test_a_large_table():
    table = helix(100_000, 64, 0.05)
    fast = RangePCA(table)
    for positions in [(0, 99_999), (1, 70_000), (55_555, 66_666), (500, 900)]:
        assert error(table, fast, positions, 3) <= TOLERANCE


@pytest.mark.parametrize("d", [60, 300])
def test_equal_singular_values_are_left_to_the_exact_path(d):
    angle = 2 * np.pi * np.arange(720) / 720
    circle = np.column_stack([np.cos(angle), np.sin(angle), np.zeros((720, d - 2))])
    pca = RangePCA(circle).fit((0, 719), 2)
    assert pca.exact
    np.testing.assert_allclose(pca.explained_variance_ratio, [0.5, 0.5])
    still = RangePCA(np.full((500, d), 2.0)).fit((0, 499))
    assert still.explained_variance_ratio.tolist() == [0.0, 0.0, 0.0]
    assert np.isfinite(still.components).all()


def test_no_gap_at_all_and_fewer_directions_than_components():
    noise = np.random.default_rng(0).standard_normal((400, 300))
    assert error(noise, RangePCA(noise), (10, 390), 3) <= TOLERANCE
    pca = RangePCA(helix(500, 300, 0.0)).fit((0, 499), 10)
    assert pca.explained_variance_ratio[:4].sum() == pytest.approx(1.0)
    for positions, k in (((0, 5), 3), ((0, 4), 0)):
        with pytest.raises(RangeError):
            RangePCA(np.eye(5)).fit(positions, k)


def test_the_bound_holds_and_not_by_miles(gpt2_table):
    reduced = ReducedTable(gpt2_table)
    B = reduced._basis
    truth = np.linalg.norm((gpt2_table - gpt2_table.mean(axis=0)) @ (np.eye(768) - B @ B.T), 2)
    assert truth <= reduced._missed <= 3 * truth


@settings(max_examples=20)
@given(st.integers(0, 99), st.sampled_from([1e-6, 1.0, 1e9]))
def test_bound_of_a_spectral_norm(seed, scale):
    X = scale * np.random.default_rng(seed).standard_normal((30, 20))
    bound = spectral_norm_bound(lambda V: X @ V, lambda Z: X.T @ Z, 20)
    assert np.linalg.norm(X, 2) <= bound <= 3 * np.linalg.norm(X, 2)
    assert spectral_norm_bound(lambda V: 0 * V, lambda Z: 0 * Z, 20) == 0.0


def test_krylov_subspaces_end_where_there_is_no_more():
    X = np.outer(np.arange(9.0), np.arange(7.0))
    *_, (Q, Y) = krylov_subspaces(lambda V: X @ V, lambda Z: X.T @ Z, 7, 3)
    assert Q.shape == (7, 1)
    np.testing.assert_allclose(Y, X @ Q)
    assert list(krylov_subspaces(lambda V: 0 * X @ V, lambda Z: 0 * X.T @ Z, 7, 3)) == []
