"""What is measured of positions, on planted residual streams."""

import numpy as np
import pytest

from geometry.inside.layers import components_above_noise, measure_layer
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


def autocorrelated(shape, correlation, random):
    """Unit noise that depends on the noise at the position before."""
    noise = random.normal(size=shape)
    for t in range(1, shape[1]):
        noise[:, t] *= np.sqrt(1 - correlation**2)
        noise[:, t] += correlation * noise[:, t - 1]
    return noise


@pytest.mark.parametrize("correlation", [0.0, 0.9])
@pytest.mark.parametrize("rank", [0, 1, 3])
def test_the_rank_counts_no_noise_of_texts(rank, correlation):
    """Texts whose states depend on the state before, as those of any text do."""
    signal = np.linalg.svd(helix()[1:], full_matrices=False)
    table = np.zeros((LENGTH, D_MODEL))
    table[1:] = signal[0][:, :rank] * signal[1][:rank] @ signal[2][:rank]
    ranks = []
    for seed in range(20):
        random = np.random.default_rng(seed)
        sums = Sums.empty(1, LENGTH, D_MODEL)
        for number in range(16):
            noise = autocorrelated((8, LENGTH, D_MODEL), correlation, random)
            add_windows(sums, number % 2, table + noise / np.sqrt(D_MODEL))
        ranks.append(components_above_noise(sums, 0, np.arange(1, LENGTH)))
    assert np.mean(np.array(ranks) == rank) >= 0.9
    assert max(ranks) <= rank + 1


def test_the_rank_does_not_depend_on_the_unit():
    for scale in (1e-4, 1.0, 1e4):
        sums = streamed(scale * helix(), 160, noise=scale, mean=0)
        assert components_above_noise(sums, 0, np.arange(1, LENGTH)) == 3


def test_the_shape_of_noise_is_not_shown():
    found = measure_layer(streamed(np.zeros((LENGTH, D_MODEL)), 40), 0)
    assert np.isnan([found.stable_rank, found.top3]).all()
    assert found.rank == 0


def test_amounts_stand_beside_the_share():
    """Everything is three times as long: the share is the same, and the energy nine times."""
    one, large = (
        measure_layer(streamed(scale * helix(), 200, noise=scale), 0) for scale in (1.0, 3.0)
    )
    assert one.share == pytest.approx(large.share, rel=1e-3)
    assert one.energy == pytest.approx(1, rel=0.03)
    assert large.energy == pytest.approx(9 * one.energy, rel=1e-3)
    assert one.energy / one.token_variance == pytest.approx(one.share)
    assert np.isnan(one.probe_error), "no probe was run"
