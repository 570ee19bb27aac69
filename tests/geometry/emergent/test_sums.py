"""Running sums, against transformers' own hidden states."""

import numpy as np
import pytest
import torch

from geometry.emergent.forward import batches_of, run
from geometry.emergent.layers import position_means
from geometry.emergent.network import load_network
from geometry.emergent.settings import SIZES
from geometry.emergent.sums import COVARIANCE_STRIDE, FIRST, Batch, Sums, value_ranges
from geometry.emergent.windows import draw_windows, find_texts


def summed(network, windows, **more):
    sums = Sums.empty(network.n_layers, len(windows[0].ids), network.d_model)
    said = []
    run(network, batches_of(windows, 4), sums, tell=said.append, save=lambda _: None, **more)
    return sums, said


def hidden_states(network, windows):
    """The residual stream by transformers alone, (n_windows, n_layers + 1, length, d_model)."""
    found = []
    for one in windows:
        with torch.inference_mode():
            output = network.module(torch.from_numpy(one.ids)[None], output_hidden_states=True)
        found.append(torch.stack(output.hidden_states)[:, 0].numpy())
    return np.stack(found)


@pytest.mark.parametrize("source", ["sample", "minilm"])
def test_means_are_those_of_transformers(source, guide, minilm_folder):
    network = load_network(str(minilm_folder) if source == "minilm" else source)
    windows = draw_windows(find_texts(guide), network.splitter, 64, 10, seed=0)
    sums, said = summed(network, windows)
    assert said == sorted(said)
    assert (said[0], said[-1]) == (0, 10)
    states = hidden_states(network, windows)
    # GPT-2 normalises the last state once more; only the residual stream itself is summed.
    last = network.n_layers - (source == "sample")
    for layer in range(last):
        for mean, half in zip(position_means(sums, layer), (0, 1, None), strict=True):
            chosen = [i for i, one in enumerate(windows) if half in (one.half, None)]
            expected = states[chosen, layer].mean(axis=0)
            assert np.abs(mean - expected).max() < 1e-5 * np.abs(expected).max()


def test_the_last_layer_is_what_the_final_norm_reads(sample_network, guide):
    windows = draw_windows(find_texts(guide), sample_network.splitter, 64, 4, seed=0)
    sums, _ = summed(sample_network, windows)
    read = []
    hook = sample_network.module.ln_f.register_forward_pre_hook(
        lambda _, args: read.append(args[0])
    )
    hidden_states(sample_network, windows)
    hook.remove()
    expected = torch.cat(read).mean(dim=0).numpy()
    found = position_means(sums, sample_network.n_layers - 1)[2]
    assert np.abs(found - expected).max() < 1e-5 * np.abs(expected).max()


def test_every_sum_against_plain_numpy():
    random = np.random.default_rng(0)
    length, d_model, n_layers = 12, 5, 2
    sums = Sums.empty(n_layers, length, d_model)
    labels = random.integers(-1, 6, (2, 4, length, len(SIZES))).astype(np.int16)
    hidden = random.normal(size=(n_layers, 2, 4, length, d_model)).astype(np.float32)
    for half in (0, 1):
        batch = Batch(sums, half, labels[half])
        for layer in range(n_layers):
            batch.add(layer, torch.from_numpy(hidden[layer, half]))
        batch.count()
    places = value_ranges(length)
    for half in (0, 1):
        for number, name in enumerate(SIZES):
            for value in range(6):
                chosen = labels[half, ..., number] == value
                place = places[name].start + value
                assert sums.together[half, place, place] == chosen.sum()
                for layer in range(n_layers):
                    expected = hidden[layer, half][chosen].sum(axis=0)
                    np.testing.assert_allclose(sums.totals[half, layer, place], expected, atol=1e-5)
        both = (labels[half, ..., 0] == 2) & (labels[half, ..., 3] == 1)
        first, second = places["sentence"].start + 2, places["brackets"].start + 1
        assert sums.together[half, first, second] == both.sum()
        assert sums.together[half, second, first] == both.sum()
        assert sums.together[half, 3, 3] == 4
    for layer in range(n_layers):
        h = hidden[layer].reshape(8, length, d_model).astype(np.float64)
        np.testing.assert_allclose(sums.energy[layer], (h**2).sum(axis=(0, 2)), rtol=1e-5)
        context = (h[:, FIRST:].sum(axis=1) ** 2).sum()
        np.testing.assert_allclose(sums.context[layer], context, rtol=1e-5)
        some = np.concatenate(
            [one[FIRST + i % COVARIANCE_STRIDE :: COVARIANCE_STRIDE] for i, one in enumerate(h)]
        )
        np.testing.assert_allclose(sums.products[layer], some.T @ some, rtol=1e-4, atol=1e-4)
        assert sums.product_tokens[0] == len(some)


def test_sums_survive_being_written():
    sums = Sums.empty(2, 8, 3)
    sums.totals += 1.5
    again = Sums.of_tensors(sums.tensors())
    assert again.length == 8
    assert (again.totals == 1.5).all()
