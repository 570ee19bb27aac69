"""What a network loses by a change, against transformers alone."""

import numpy as np
import pytest
import torch

from geometry.emergent import intervene as module
from geometry.emergent.intervene import find_table, intervene
from geometry.emergent.network import load_network
from geometry.emergent.settings import EmergentError
from geometry.emergent.windows import draw_windows, find_texts
from geometry.models.sources import open_source

CHANGES = ("identity", "top 128", "top 0", "fitted helix", "shift 10")


@pytest.fixture(scope="module")
def found(guide):
    return intervene("sample", guide, CHANGES, length=96, texts_at_most=12)


def test_the_loss_is_that_of_transformers(found, guide):
    network = load_network("sample", head=True)
    windows = draw_windows(find_texts(guide), network.splitter, 96, 12, seed=0)
    tokens = torch.from_numpy(np.stack([one.ids for one in windows]))
    with torch.inference_mode():
        expected = float(network.module(input_ids=tokens, labels=tokens).loss)
    assert found.baseline == pytest.approx(expected, rel=1e-5)
    assert found.windows == 12


def test_what_changes_nothing_costs_nothing_and_no_positions_cost_much(found):
    effects = {one.name: one for one in found.effects}
    assert [one.name for one in found.effects] == list(CHANGES)
    assert effects["identity"].delta == 0
    assert abs(effects["top 128"].delta) < 1e-5
    assert effects["top 0"].low > 0.3
    assert effects["top 0"].low < effects["top 0"].delta < effects["top 0"].high
    assert effects["fitted helix"].delta < 0.2 * effects["top 0"].delta


def test_the_loss_without_positions_is_that_of_a_changed_checkpoint(found, guide):
    """By hand: the table's weight replaced by its mean row."""
    network = load_network("sample", head=True)
    model = open_source("sample")
    weight, first = find_table(network, model)
    windows = draw_windows(find_texts(guide), network.splitter, 96, 12, seed=0)
    tokens = torch.from_numpy(np.stack([one.ids for one in windows]))
    from geometry.emergent.interventions import Table

    rows = Table(model.W_pos, 96).rows
    assert first == 0
    with torch.no_grad():
        mean = weight[torch.from_numpy(rows)].mean(dim=0)
        weight[torch.from_numpy(rows)] = mean
        changed = float(network.module(input_ids=tokens, labels=tokens).loss)
    delta = next(one.delta for one in found.effects if one.name == "top 0")
    assert changed - found.baseline == pytest.approx(delta, rel=1e-4)


def test_the_network_is_as_before_whatever_happens(guide, monkeypatch):
    networks = []
    load = module.load_network

    def loaded(*args, **options):
        networks.append(load(*args, **options))
        return networks[-1]

    monkeypatch.setattr(module, "load_network", loaded)

    def tell(name, done, total):
        if done == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        intervene("sample", guide, ("top 0", "top 1"), length=64, texts_at_most=4, tell=tell)
    weight, first = find_table(networks[0], open_source("sample"))
    np.testing.assert_allclose(weight.detach().numpy()[first:], open_source("sample").W_pos)


def test_an_encoder_has_no_loss_but_states(minilm_folder, guide):
    found = intervene(
        str(minilm_folder), guide, ("identity", "top 0", "top 384"), length=48, texts_at_most=6
    )
    assert found.baseline is None
    same, none, whole = (one.delta for one in found.effects)
    assert same == 0
    assert none > 0.1
    assert whole < 1e-4


def test_what_cannot_be_changed(guide):
    (effect,) = intervene("sample", guide, ("shift 300",), length=64, texts_at_most=4).effects
    assert np.isnan(effect.delta)
    assert effect.why.startswith("A shift by 300 needs 364 positions")
    with pytest.raises(EmergentError, match="no change 'bottom'"):
        intervene("sample", guide, ("bottom",))


@pytest.mark.parametrize(("kind", "offset"), [("opt", 2), ("gpt2", 0), ("roberta", 2)])
def test_the_table_is_found_in_the_network(kind, offset, write):
    folder = str(write(kind))
    network = load_network(folder, head=True)
    weight, first = find_table(network, open_source(folder))
    assert first == offset
    assert weight.shape == (40 + offset, 32)


def test_a_network_without_a_table_is_a_sentence(write):
    folder = str(write("bert"))
    rotary = load_network(str(write("llama", head=True)), head=True)
    assert rotary.head
    with pytest.raises(EmergentError, match="no table of learned positions"):
        find_table(rotary, open_source(folder))


def test_a_checkpoint_without_its_head_is_not_completed_at_random(write):
    with pytest.raises(EmergentError, match="is not complete: 1 tensors are missing, lm_head"):
        load_network(str(write("llama")), head=True)
