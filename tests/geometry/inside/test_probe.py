"""The linear probe of the position, against scikit-learn and planted positions."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from geometry.inside.forward import batches_of, run
from geometry.inside.layers import measure_layer
from geometry.inside.probe import fit_probe, run_probes
from geometry.inside.sums import FIRST, Sums
from geometry.inside.windows import draw_windows, find_texts
from tests.geometry.inside.small_networks import add_windows

LENGTH, D_MODEL = 50, 12


def states(strength, n_windows=24, seed=0):
    """A line of positions in noise."""
    random = np.random.default_rng(seed)
    line = np.linspace(-1, 1, LENGTH)[:, None] * random.normal(size=D_MODEL)
    return strength * line + random.normal(size=(n_windows, LENGTH, D_MODEL)) + 5


def test_the_probe_is_a_ridge_regression():
    from sklearn.linear_model import Ridge

    h = states(0.5).astype(np.float32)
    sums = Sums.empty(1, LENGTH, D_MODEL)
    add_windows(sums, 0, h)
    X = h[:, FIRST:].reshape(-1, D_MODEL).astype(np.float64)
    penalty = X.var(axis=0).sum()  # over all tokens, as scikit-learn counts it
    y = np.tile(np.arange(FIRST, LENGTH), len(h))
    expected = Ridge(alpha=penalty).fit(X, y)
    weights, constant = fit_probe(sums, 0, 0)
    np.testing.assert_allclose(weights, expected.coef_, rtol=1e-3)
    assert constant == pytest.approx(expected.intercept_, rel=1e-3)


def test_states_without_variance_are_read_as_the_middle():
    sums = Sums.empty(1, LENGTH, D_MODEL)
    add_windows(sums, 0, np.full((2, LENGTH, D_MODEL), 0.0))
    weights, constant = fit_probe(sums, 0, 0)
    assert not weights.any()
    assert constant == np.arange(FIRST, LENGTH).mean()


class Planted:
    """A network whose only layer is states that were made before, by the number of the window."""

    def __init__(self, h):
        self.h = torch.tensor(h, dtype=torch.float32)

    def watched(self, look):
        from contextlib import nullcontext

        self.look = look
        return nullcontext()

    def module(self, input_ids):
        self.look(0, self.h[input_ids[:, 0]])


@pytest.mark.parametrize(("strength", "readable"), [(0.0, False), (3.0, True)])
def test_the_error_is_that_of_texts_it_was_not_fitted_to(strength, readable):
    h = states(strength, 48)
    sums = Sums.empty(1, LENGTH, D_MODEL)
    batches = []
    for at in range(0, 48, 8):
        half = at // 8 % 2
        add_windows(sums, half, h[at : at + 8])
        ids = [np.full(LENGTH, number) for number in range(at, at + 8)]
        batches.append([SimpleNamespace(half=half, ids=one) for one in ids])
    run_probes(Planted(h), batches, sums, report=lambda *_: None)
    assert sums.probed[0] == 48
    of_half = np.arange(48) // 8 % 2
    expected = np.zeros((48, LENGTH))
    for half in (0, 1):
        weights, constant = fit_probe(sums, 0, half)
        other = of_half != half
        expected[other] = np.abs(h[other] @ weights + constant - np.arange(LENGTH))
    found = measure_layer(sums, 0)
    rows = np.setdiff1d(np.arange(FIRST, LENGTH), found.outliers)
    assert found.probe_error == pytest.approx(expected[:, rows].mean(), rel=1e-4)
    assert found.probe_chance == pytest.approx(np.abs(rows - np.median(rows)).mean())
    assert (found.probe_error < found.probe_chance / 3) == readable
    assert found.probe_error < 1.1 * found.probe_chance


def test_the_bundled_model_loses_positions_in_its_last_layer(sample_network, guide):
    windows = draw_windows(find_texts(guide), sample_network.splitter, 128, 32, seed=0)
    sums = Sums.empty(sample_network.n_layers, 128, sample_network.d_model)
    batches = batches_of(windows)
    run(sample_network, batches, sums, report=lambda _: None, save=lambda _: None)
    seen = []
    run_probes(sample_network, batches, sums, report=lambda *now: seen.append(now))
    assert seen[0] == (0, 32)
    assert seen[-1] == (32, 32)
    found = [measure_layer(sums, layer) for layer in range(3)]
    errors = [layer.probe_error / layer.probe_chance for layer in found]
    assert errors[0] < errors[1] < 0.5 < errors[2] < 1.2
    assert found[1].energy > 3 * found[0].energy
