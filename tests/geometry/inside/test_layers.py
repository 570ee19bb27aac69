"""What is measured of positions, on planted residual streams."""

import numpy as np
import pytest

from geometry.inside.layers import measure_layer, screenot_rank
from geometry.inside.sums import Sums
from tests.geometry.inside.small_networks import add_windows

LENGTH, D_MODEL = 60, 40


def helix(length=LENGTH, d_model=D_MODEL, turns=3.0, seed=1):
    """A helix about its mean in random directions, of mean squared length 1."""
    t = np.arange(length) / length
    curve = np.stack([np.cos(2 * np.pi * turns * t), np.sin(2 * np.pi * turns * t), t], axis=1)
    basis = np.linalg.qr(np.random.default_rng(seed).normal(size=(d_model, 3)))[0]
    table = (curve - curve.mean(axis=0)) @ basis.T
    return table / np.sqrt((table**2).sum(axis=1).mean())


def streamed(table, n_windows, *, noise=1.0, context=0.0, seed=0, mean=3.0):
    """Sums over windows of a planted table, a vector of each window, and noise."""
    random = np.random.default_rng(seed)
    length, d_model = table.shape
    sums = Sums.empty(1, length, d_model)
    for number in range(0, n_windows, 10):
        shape = (10, length, d_model)
        h = table + noise * random.normal(size=shape) / np.sqrt(d_model) + mean
        h = h + context * random.normal(size=(10, 1, d_model)) / np.sqrt(d_model)
        add_windows(sums, number // 10 % 2, h)
    return sums


def test_planted_positions_are_found():
    found = measure_layer(streamed(helix(), 400, context=0.7), 0)
    total = 1 + 1 + 0.49
    assert found.share == pytest.approx(1 / total, rel=0.03)
    assert found.share_context == pytest.approx(0.49 / total, rel=0.15)
    assert found.share_noise == pytest.approx(1 / total / 400, rel=0.7)
    assert found.share_rest == pytest.approx(1 / total, rel=0.05)
    assert found.resolved
    assert found.halves_cosine > 0.98
    assert found.top3 == pytest.approx(1, abs=0.01)
    assert found.rank == 3
    table = helix()[1:]
    values = np.linalg.svd(table - table.mean(axis=0), compute_uv=False)
    assert found.stable_rank == pytest.approx((values**2).sum() / values[0] ** 2, rel=0.05)
    assert found.outliers == ()
    assert found.standard_error == pytest.approx(np.sqrt(1.49 / 400), rel=0.1)


def test_planted_noise_is_not_found():
    found = measure_layer(streamed(np.zeros((LENGTH, D_MODEL)), 40), 0)
    assert not found.resolved
    assert abs(found.halves_cosine) < 0.1
    assert abs(found.share) < 0.005
    assert found.share_noise == pytest.approx(1 / 40, rel=0.2), "what a naive mean would show"


def test_the_estimate_is_without_bias():
    """Over many draws, while the energy of the mean is too large by the noise."""
    table = 0.2 * helix()
    shares, naive = [], []
    for seed in range(60):
        found = measure_layer(streamed(table, 20, seed=seed), 0)
        shares.append(found.share * (1 + 0.04))
        naive.append((found.share + found.share_noise) * (1 + 0.04))
    error = np.std(shares) / np.sqrt(len(shares))
    own = table[1:] - table[1:].mean(axis=0)
    true = (own**2).sum() / len(own)
    assert abs(np.mean(shares) - true) < 3 * error
    assert np.mean(naive) - true > 0.8 / 20


def test_texts_needed_suffice():
    table = 0.15 * helix()
    few = measure_layer(streamed(table, 60), 0)
    assert not few.resolved
    assert few.texts_needed is not None
    enough = round(few.texts_needed * 1.5, -1)
    assert measure_layer(streamed(table, int(enough), seed=5), 0).resolved


def test_the_relative_norm_is_that_of_the_whole_stream():
    random = np.random.default_rng(2)
    table, n = helix(), 80
    h = table + 0.5 * random.normal(size=(n, LENGTH, D_MODEL)) / np.sqrt(D_MODEL)
    sums = Sums.empty(1, LENGTH, D_MODEL)
    for number in range(0, n, 4):
        add_windows(sums, number // 4 % 2, h[number : number + 4])
    used = h[:, 4:].reshape(-1, D_MODEL)
    whole = np.linalg.norm(used - used.mean(axis=0), 2) / np.sqrt(len(used))
    rows = table[1:] - table[1:].mean(axis=0)
    pos = np.linalg.norm(rows, 2) / np.sqrt(len(rows))
    assert measure_layer(sums, 0).relative_norm == pytest.approx(pos / whole, rel=0.03)


def test_an_attention_sink_is_left_out():
    table = helix()
    table[0] += 1000
    table[1] += 300
    found = measure_layer(streamed(table, 100, mean=0), 0)
    assert found.outliers == (1,)
    assert found.share == pytest.approx(0.5, rel=0.1)
    assert measure_layer(streamed(table, 100, mean=0), 0, with_first=True).outliers == (0, 1)


@pytest.mark.parametrize("rank", [0, 1, 4])
def test_screenot_counts_components_above_noise(rank):
    random = np.random.default_rng(rank)
    left = np.linalg.qr(random.normal(size=(120, max(rank, 1))))[0]
    right = np.linalg.qr(random.normal(size=(80, max(rank, 1))))[0]
    signal = 4.0 * np.sqrt(120) * left @ right.T if rank else np.zeros((120, 80))
    noise = random.normal(size=(120, 80))
    for scale in (1e-4, 1.0, 1e5):
        assert screenot_rank(scale * (signal + noise)) == rank
    assert screenot_rank(np.zeros((10, 10))) == 0
