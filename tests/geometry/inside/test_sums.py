"""Running sums, against transformers' own hidden states."""

import numpy as np
import pytest
import torch

from geometry.inside.forward import batches_of, run
from geometry.inside.layers import position_means
from geometry.inside.network import load_network
from geometry.inside.settings import SIZES, InsideError
from geometry.inside.sums import FIRST, Accumulators, Batch, Sums, value_ranges
from geometry.inside.windows import draw_windows, find_texts

DEVICES = [
    "cpu",
    pytest.param(
        "cuda", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")
    ),
]


def summed(network, windows, **more):
    sums = Sums.empty(network.n_layers, len(windows[0].ids), network.d_model)
    said = []
    run(network, batches_of(windows, 4), sums, report=said.append, save=lambda _: None, **more)
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


@pytest.mark.parametrize("device", DEVICES)
def test_every_sum_against_plain_numpy(device):
    random = np.random.default_rng(0)
    length, d_model, n_layers = 12, 5, 2
    sums = Sums.empty(n_layers, length, d_model)
    labels = random.integers(-1, 6, (2, 4, length, len(SIZES))).astype(np.int16)
    hidden = random.normal(size=(n_layers, 2, 4, length, d_model)).astype(np.float32)
    to = Accumulators(sums, device)
    for half in (0, 1):
        batch = Batch(to, [4 * half, 4 * half + 2, 4 * half + 1, 4 * half + 1], labels[half])
        for layer in range(n_layers):
            batch.add(layer, torch.from_numpy(hidden[layer, half]).to(device))
        batch.count()
    to.write()
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
        for half in (0, 1):
            own = h[4 * half : 4 * half + 4]
            later = own[:, FIRST:].reshape(-1, d_model)
            products = later.T @ later
            np.testing.assert_allclose(sums.products[half, layer], products, rtol=1e-4, atol=1e-4)
            for group, members in {0: [0], 1: [2, 3], 2: [1], 3: []}.items():
                np.testing.assert_allclose(
                    sums.groups[4 * half + group, layer], own[members].sum(axis=0), atol=1e-5
                )
    assert sums.group_windows.tolist() == [1, 2, 1, 0] * 2
    assert sums.windows.tolist() == [4, 4]


@pytest.mark.parametrize("device", DEVICES)
def test_a_stopped_run_on_any_device_goes_on_to_the_same_sums(device, sample_network, guide):
    windows = draw_windows(find_texts(guide), sample_network.splitter, 64, 12, seed=0)
    expected, _ = summed(sample_network, windows)
    network = load_network("sample", device=device)
    sums = Sums.empty(network.n_layers, 64, network.d_model)
    saved = []

    def stop(done):
        if done >= 8:
            raise KeyboardInterrupt

    def save(now):
        saved.append(Sums.of_tensors({name: one.copy() for name, one in now.tensors().items()}))

    batches = batches_of(windows, 4)
    with pytest.raises(KeyboardInterrupt):
        run(network, batches, sums, device=device, report=stop, save=save)
    assert [one.n_windows for one in saved] == [8]
    run(network, batches, saved[0], device=device, report=lambda _: None, save=save)
    for name, values in expected.tensors().items():
        found = saved[0].tensors()[name]
        assert np.abs(found - values).max() <= 1e-5 * np.abs(values).max(), name


@pytest.mark.parametrize("device", DEVICES)
def test_numbers_that_are_not_finite_are_refused_and_never_saved(device, guide):
    network = load_network("sample", device=device)
    with torch.no_grad():
        network.blocks[1].mlp.c_proj.bias[0] = np.inf
    windows = draw_windows(find_texts(guide), network.splitter, 64, 8, seed=0)
    sums, saved = Sums.empty(network.n_layers, 64, network.d_model), []
    with pytest.raises(InsideError, match="Layer 2 of sample has numbers that are not finite"):
        run(network, batches_of(windows, 4), sums, device=device, report=lambda _: None,
            save=saved.append)  # fmt: skip
    assert not saved
