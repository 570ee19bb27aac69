"""Results are kept within a bound of bytes; what was not used for longest goes first."""

from dataclasses import dataclass

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from geometry.pca.curve import place_curve
from geometry.pca.pca import fit_pca
from gui.services.cache import ResultCache, array_bytes


@dataclass(frozen=True, eq=False, slots=True)
class Result:
    array: np.ndarray
    title: str = ""


def result(n_bytes):
    return Result(np.zeros(n_bytes, np.uint8))


def test_returns_what_was_put_and_counts_what_is_put_again_once():
    cache, kept = ResultCache(100), result(10)
    assert cache.put(("f", 1), kept) is kept
    assert cache.get(("f", 1)) is kept
    assert cache.get(("f", 2)) is None
    assert cache.n_bytes == 10
    cache = ResultCache(100)
    cache.put("a", result(10))
    newer = cache.put("a", result(20))
    assert cache.get("a") is newer
    assert cache.n_bytes == 20


def test_forgets_what_was_not_used_for_longest_and_keeps_nothing_too_large():
    cache = ResultCache(30)
    for key in "abc":
        cache.put(key, result(10))
    cache.get("a")
    cache.put("d", result(10))
    assert [key for key in "abcd" if cache.get(key) is not None] == ["a", "c", "d"]
    cache = ResultCache(30)
    cache.put("a", result(10))
    too_large = result(31)
    assert cache.put("b", too_large) is too_large
    assert cache.get("b") is None
    assert cache.get("a") is not None
    cache.put("a", too_large)
    assert cache.get("a") is None
    assert cache.n_bytes == 0


def test_results_without_arrays_are_few_too():
    cache = ResultCache(100, max_results=3)
    for number in range(50):
        cache.put(number, Result(None, "a verdict"))
        cache.get(0)
    assert [number for number in range(50) if cache.get(number) is not None] == [0, 48, 49]
    cache.put(49, Result(None, "another"))
    assert cache.get(48) is not None


def test_counts_the_arrays_of_nested_results():
    W_pos = np.random.default_rng(0).normal(size=(30, 8))
    pca = fit_pca(W_pos, (0, 29), 4)
    own = pca.mean, pca.components, pca.singular_values, pca.explained_variance_ratio
    assert array_bytes(pca) == sum(a.nbytes for a in own)
    curve = place_curve(W_pos, pca)
    assert array_bytes(curve) == array_bytes(pca) + curve.coordinates.nbytes + 30 * 8
    assert array_bytes("text") == 0


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 60), st.booleans()), max_size=40))
def test_the_bound_holds_whatever_happens(steps):
    cache = ResultCache(100)
    for key, n_bytes, put in steps:
        if put:
            cache.put(key, result(n_bytes))
        else:
            cache.get(key)
        kept = [cache.get(k) for k in range(7)]
        assert cache.n_bytes == sum(array_bytes(r) for r in kept if r is not None) <= 100
