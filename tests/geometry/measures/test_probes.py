"""Linear probes: closed forms, scikit-learn's definition in plain numpy, invariance, GPT-2."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from geometry.checkpoints.errors import RangeError
from geometry.measures.probes import (
    DRAWS,
    FEWEST,
    FOLDS,
    SHUFFLES,
    _logistic,
    centred_stable_rank,
    neighbour_mean_r2,
    order_probe,
    position_probe,
)
from geometry.measures.sinusoids import sinusoid


def smooth(n: int, d: int, seed: int) -> np.ndarray:
    """Slow waves of random phases in random directions, and a little noise."""
    random = np.random.default_rng(seed)
    waves = np.cos(np.outer(np.arange(n), np.pi * np.arange(1, 8) / n) + random.uniform(0, 6, 7))
    return waves @ random.normal(size=(7, d)) + 0.05 * random.normal(size=(n, d))


def rotation(d: int, seed: int) -> np.ndarray:
    return np.linalg.qr(np.random.default_rng(seed).normal(size=(d, d)))[0]


@pytest.mark.slow
def test_gpt2(gpt2_table):
    position, order = position_probe(gpt2_table), order_probe(gpt2_table)
    assert position.error == pytest.approx(1.02, abs=0.05)
    assert position.spread == pytest.approx(0.05, abs=0.01)
    assert position.folds.shape == (SHUFFLES, FOLDS)
    assert order.folds.shape == (DRAWS, FOLDS)
    # The paper drew pairs once, and got 1.56 %.
    assert abs(order.error - 1.56) < 1.5 * order.spread
    assert order.error < 3
    assert not position.folds.flags.writeable
    assert centred_stable_rank(gpt2_table[1:512]) == pytest.approx(2.054, abs=5e-4)
    assert neighbour_mean_r2(gpt2_table[1:1023]) == pytest.approx(0.998, abs=5e-4)


@pytest.mark.slow
def test_the_sinusoidal_table():
    table = sinusoid("interleaved", 512, 768)
    assert position_probe(table).error == 0
    assert order_probe(table).error == pytest.approx(5.08, abs=0.5)


@pytest.mark.slow
@pytest.mark.parametrize("n", [FEWEST, 99, 700])
def test_where_position_is_linear_it_is_read_without_error(n):
    line = np.outer(np.arange(n), [1.0, -2.0, 0.5]) + np.array([3.0, 0.0, 1e3])
    assert position_probe(line).error == 0
    # The few pairs of a short table leave open where the boundary lies.
    assert order_probe(line).error < (15 if n < 50 else 2)


@pytest.mark.slow
def test_rows_without_position_are_placed_in_the_middle():
    # Uniform positions are n/4 from their middle in the mean.
    assert position_probe(np.ones((400, 3))).error == pytest.approx(100, abs=1)
    noise = np.random.default_rng(0).normal(size=(400, 3))
    assert position_probe(noise).error == pytest.approx(100, abs=4)
    assert order_probe(noise).error == pytest.approx(50, abs=6)
    assert order_probe(np.ones((400, 3))).error == pytest.approx(50, abs=6)


@pytest.mark.slow
def test_rows_beyond_the_first_512_are_not_read():
    table = smooth(600, 12, 0)
    other = table.copy()
    other[512:] = 1e9
    assert np.array_equal(position_probe(table).folds, position_probe(other).folds)
    assert np.array_equal(order_probe(table).folds, order_probe(other).folds)


@pytest.mark.parametrize(("n", "d"), [(60, 90), (60, 7)])
def test_positions_are_those_of_least_squares_of_least_norm(n, d):
    table = smooth(n, d, 1) + 5
    found = position_probe(table).folds
    for seed in range(SHUFFLES):
        order = np.random.default_rng(seed).permutation(n)
        for fold, test in enumerate(np.array_split(order, FOLDS)):
            train = np.setdiff1d(order, test)
            mean, middle = table[train].mean(axis=0), train.mean()
            slope = np.linalg.lstsq(table[train] - mean, train - middle, rcond=1e-9)[0]
            guess = np.round((table[test] - mean) @ slope + middle)
            assert found[seed, fold] == pytest.approx(np.abs(guess - test).mean(), abs=1e-9)


@pytest.mark.parametrize("scale", [0.1, 1.0, 30.0])
def test_the_logistic_map_has_the_least_loss(scale):
    random = np.random.default_rng(2)
    X = scale * random.normal(size=(40, 6))
    y = np.where(X[:, 0] + scale * random.normal(size=40) > 0, 1.0, -1.0)

    def loss(at: np.ndarray) -> tuple[float, np.ndarray]:
        f = X @ at[:-1] + at[-1]
        slope = -y * np.exp(-np.logaddexp(0, y * f))
        value = np.logaddexp(0, -y * f).sum() + at[:-1] @ at[:-1] / 2
        return value, np.append(X.T @ slope + at[:-1], slope.sum())

    best = minimize(loss, np.zeros(7), jac=True, method="BFGS", options={"gtol": 1e-9})
    weights, intercept = _logistic(X @ X.T, y)
    np.testing.assert_allclose(np.append(X.T @ weights, intercept), best.x, atol=1e-5 * scale**-1)


def test_labels_that_are_all_the_same_are_predicted():
    weights, intercept = _logistic(np.eye(8), np.ones(8))
    assert np.abs(weights).max() < 1e-6
    assert intercept > 5


@pytest.mark.slow
@settings(max_examples=15)
@given(st.integers(0, 99), st.integers(FEWEST, 80), st.integers(1, 100))
def test_turned_and_moved(seed, n, d):
    table = smooth(n, d, seed)
    turned = table @ rotation(d, seed)
    # Guesses are rounded to positions: one of them may fall on the other side of a half.
    np.testing.assert_allclose(position_probe(turned).error, position_probe(table).error, rtol=0.02)
    np.testing.assert_allclose(order_probe(turned).error, order_probe(table).error, rtol=0.02)
    moved = turned * 1e6 + 1e5
    np.testing.assert_allclose(position_probe(moved).error, position_probe(table).error, rtol=0.02)
    assert centred_stable_rank(moved) == pytest.approx(centred_stable_rank(table), rel=1e-6)
    assert neighbour_mean_r2(moved) == pytest.approx(neighbour_mean_r2(table), abs=1e-6)


@pytest.mark.parametrize("scale", [1e-200, 1e200, 1e300])
def test_extreme_numbers(scale):
    table = smooth(60, 5, 3)
    assert position_probe(scale * table).error == pytest.approx(position_probe(table).error)
    assert 0 <= order_probe(scale * table).error < 60
    assert neighbour_mean_r2(scale * table) == pytest.approx(neighbour_mean_r2(table))


def test_short_tables_are_refused_in_words():
    for probe in (position_probe, order_probe):
        with pytest.raises(RangeError, match="needs 20 positions, and this table has 19"):
            probe(np.ones((FEWEST - 1, 4)))
        with pytest.raises(ValueError, match=r"\(30,\)"):
            probe(np.ones(30))
    with pytest.raises(ValueError, match="at least 5 rows"):
        neighbour_mean_r2(np.ones((4, 3)))


def test_neighbours():
    line = np.outer(np.arange(9), [1.0, 2.0])
    assert neighbour_mean_r2(line) == pytest.approx(1)
    assert neighbour_mean_r2(np.ones((9, 2))) == 0
    noise = np.random.default_rng(0).normal(size=(4001, 8))
    assert neighbour_mean_r2(noise) == pytest.approx(-0.5, abs=0.05)
    assert neighbour_mean_r2([[0.0], [1.0], [0.0], [3.0], [4.0]]) == pytest.approx(1 - 2 / 2)


def test_stable_rank_without_the_mean():
    assert centred_stable_rank(np.eye(3) + 7) == pytest.approx(2)
    assert centred_stable_rank(np.full((7, 3), 0.1)) == 0
