"""What a network loses by a change, against transformers alone; the file of effects."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch

from geometry.checkpoints.errors import HelixscopeError
from geometry.inside import intervene as module
from geometry.inside.effects import Effect, Effects
from geometry.inside.effects_file import read_effects, write_effects
from geometry.inside.intervene import find_table, intervene
from geometry.inside.network import load_network
from geometry.inside.settings import InsideError
from geometry.inside.windows import draw_windows, find_texts
from geometry.models.sources.computed import model_of_table
from geometry.models.sources.opening import open_model
from tests.geometry.inside.small_networks import write_run

WORDS = "\n".join(" ".join(f"w{i * j % 59}" for j in range(400)) for i in (1, 7, 11))
CHANGES = ("identity", "top 128", "top 0", "fitted helix", "shift 200")


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
    assert found.fingerprint == open_model("sample").fingerprint


def test_each_window_is_told_at_the_end_and_not_before(found, guide, monkeypatch):
    """By itself, in another batch, a window loses the same."""
    monkeypatch.setattr(module, "FOLLOW_S", 0.0)
    monkeypatch.setattr(module, "BATCH", 3)
    parts = []
    again = intervene(
        "sample", guide, CHANGES[2:], length=96, texts_at_most=12, follow=parts.append
    )
    for one, other in zip(found.effects[2:], again.effects, strict=True):
        assert len(one.by_window) == (0 if one.why else 12)
        np.testing.assert_allclose(other.by_window, one.by_window, atol=1e-5)
        if not one.why:
            assert np.mean(one.by_window) == pytest.approx(one.delta)
    assert len({len(one.effects[0].by_window) for one in parts}) == 1
    assert not parts[-1].effects[0].by_window


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
    model = open_model("sample")
    weight, first = find_table(network, model)
    windows = draw_windows(find_texts(guide), network.splitter, 96, 12, seed=0)
    tokens = torch.from_numpy(np.stack([one.ids for one in windows]))
    from geometry.inside.interventions import Table

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
    weight, first = find_table(networks[0], open_model("sample"))
    np.testing.assert_allclose(weight.detach().numpy()[first:], open_model("sample").W_pos)


@pytest.mark.slow
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
    with pytest.raises(InsideError, match="no change 'bottom'"):
        intervene("sample", guide, ("bottom",))


@pytest.mark.parametrize(("kind", "offset"), [("opt", 2), ("gpt2", 0), ("roberta", 2)])
def test_the_table_is_found_in_the_network(kind, offset, write):
    folder = str(write(kind))
    network = load_network(folder, head=True)
    weight, first = find_table(network, open_model(folder))
    assert first == offset
    assert weight.shape == (40 + offset, 32)


def test_a_network_without_a_table_is_a_sentence(write):
    folder = str(write("bert"))
    rotary = load_network(str(write("llama", head=True)), head=True)
    assert rotary.head
    with pytest.raises(InsideError, match="no table of learned positions"):
        find_table(rotary, open_model(folder))


def test_a_checkpoint_without_its_head_is_not_completed_at_random(write):
    with pytest.raises(InsideError, match="is not complete: 1 tensors are missing, lm_head"):
        load_network(str(write("llama")), head=True)


@pytest.fixture
def words(tmp_path):
    """A text of the words that small networks know."""
    (tmp_path / "words.txt").write_text(WORDS, "utf-8")
    return tmp_path / "words.txt"


@pytest.fixture
def run_of(tmp_path):
    """Write a run with planted positions: ``run_of(network, layers)``, its folder."""
    (tmp_path / "run").mkdir()
    return lambda network, *planted: write_run(tmp_path / "run", network.name, *planted)


def curve(n, d_model, seed=0):
    """A curve in a few directions about a mean, without outliers."""
    t = np.linspace(0, 3, n)[:, None] * np.arange(1, 5)
    basis = np.linalg.qr(np.random.default_rng(seed).normal(size=(d_model, 8)))[0]
    return np.concatenate([np.cos(t), np.sin(t)], axis=1) @ basis.T


def with_table(folder, P):
    """Put a table of positions into a checkpoint of GPT-2."""
    from transformers import AutoModelForCausalLM

    network = AutoModelForCausalLM.from_pretrained(folder)
    with torch.no_grad():
        network.transformer.wpe.weight.copy_(torch.from_numpy(P))
    network.save_pretrained(folder)


def test_the_table_and_pos_in_layer_0_are_the_same_change(write, words, run_of):
    """Of GPT-2, whose residual stream begins as token plus position."""
    folder = write("gpt2", head=True)
    P = curve(40, 32)
    with_table(folder, P)
    network = load_network(str(folder))
    run = run_of(network, [P] * 4)
    changes = ("top 0", "top 2", "without 1-3", "fitted helix", "random turn", "into E",
               "without position 0")  # fmt: skip
    options = {"length": 32, "texts_at_most": 6}
    of_table = intervene(str(folder), words, changes, **options)
    of_layer = intervene(str(folder), words, changes, layer=f"{run}/layer 0", **options)
    assert (of_table.layer, of_layer.layer) == (None, 0)
    assert of_table.fingerprint == open_model(folder).fingerprint
    assert of_layer.fingerprint == open_model(f"{run}/layer 0").fingerprint
    assert of_table.baseline == of_layer.baseline
    for one, other in zip(of_table.effects, of_layer.effects, strict=True):
        assert other.name == one.name
        assert one.high - one.low > 1e-4
        expected = pytest.approx((one.delta, one.low, one.high), abs=1e-5)
        assert (other.delta, other.low, other.high) == expected, one.name


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["llama", "bloom", "gptj", "gpt2"])
@pytest.mark.parametrize("layer", [0, 2, 3])
def test_a_layer_is_changed_as_by_hand(kind, layer, write, words, run_of):
    """The block's output with pos replaced by its mean, by a hook of our own."""
    folder = write(kind, head=True)
    network = load_network(str(folder), head=True)
    pos = np.stack([5 * curve(24, 32, seed) for seed in range(4)])
    run = run_of(network, pos)
    found = intervene(
        str(folder), words, ("identity", "top 0", "shift 4"), layer=f"{run}/layer {layer}",
        length=24, texts_at_most=6,
    )  # fmt: skip
    same, none, shift = found.effects
    assert (same.delta, same.low, same.high) == (0, 0, 0)
    assert shift.length == 20, "windows are shorter"
    windows = draw_windows(find_texts(words), network.splitter, 24, 6, seed=0)
    tokens = torch.from_numpy(np.stack([one.ids for one in windows]))
    kept = pos[layer][1:]
    by = torch.from_numpy(np.concatenate([[0 * kept[0]], kept.mean(axis=0) - kept])).float()
    block = network.blocks[max(layer - 1, 0)]
    if layer == 0:
        hook = block.register_forward_pre_hook(lambda _, args: (args[0] + by, *args[1:]))
    else:
        hook = block.register_forward_hook(
            lambda _, args, out: (out[0] + by, *out[1:]) if isinstance(out, tuple) else out + by
        )
    with torch.inference_mode():
        changed = float(network.module(input_ids=tokens, labels=tokens).loss)
        hook.remove()
        plain = float(network.module(input_ids=tokens, labels=tokens).loss)
    assert found.baseline == pytest.approx(plain, rel=1e-5)
    assert abs(none.delta) > 1e-3
    assert none.delta == pytest.approx(changed - plain, abs=1e-5)


def test_an_attention_sink_stays_and_is_not_averaged_with_others():
    P = 50 + curve(40, 8)
    P[0] *= 1000
    P[2] *= 300
    table = module.Table(P, 30, sinks=(0, 2))
    for name in ("blocks of 10", "stretched", "shift 3", "shift 1", "top 1"):
        changed = module.find_change(name)(table)
        np.testing.assert_array_equal(changed[[0, 2]], P[[0, 2]])
        assert np.abs(changed[[1, *range(3, 30)]]).max() < 60, name
    assert np.abs(module.find_change("without position 0")(table)[0]).max() < 60
    with pytest.raises(InsideError, match="special token"):
        module.find_change("without position 0")(module.Table(P, 30, special=1, sinks=(0, 2)))


def test_special_tokens_of_an_encoder_stay_where_windows_are_shorter(minilm_folder, guide, run_of):
    network = load_network(str(minilm_folder))
    pos = np.stack([curve(48, 384)] * 7)
    pos[:, [0, 47]] *= 500
    run = run_of(network, pos, (0, 47))
    for length in (48, 40):
        place, size = module._layer_place(network, f"{run}/layer 2", length, 0)
        assert size == length
        windows = draw_windows(find_texts(guide), network.splitter, length, 4, seed=0)
        tokens = torch.from_numpy(np.stack([one.ids for one in windows]))
        plain = layer_2(network, tokens)
        with place.put(module.find_change("top 0")(place.table)):
            moved = layer_2(network, tokens)
        ordinary = pos[2, 1 : length - 1]
        if length == 48:
            expected = ordinary.mean(axis=0) - ordinary
            difference = moved[:, 1:-1] - plain[:, 1:-1]
            np.testing.assert_allclose(difference, np.stack([expected] * 4), atol=1e-4)
        assert np.abs(moved[:, 1:-1] - plain[:, 1:-1]).max() > 0.1
        np.testing.assert_array_equal(moved[:, [0, -1]], plain[:, [0, -1]])
    assert module._layer_place(network, str(run), 100, 0)[0].layer == 6, "where the halves agree"


def layer_2(network, tokens):
    """The residual stream in layer 2, (batch, length, d_model)."""
    seen = {}
    look = network.watched(lambda layer, h: seen.__setitem__(layer, h.numpy().copy()))
    with look, torch.inference_mode():
        network.module(input_ids=tokens)
    return seen[2]


def test_a_run_of_another_model_is_a_sentence(write, words, run_of, tmp_path):
    folder = str(write("llama", head=True))
    network = load_network(folder)
    run = run_of(network, [curve(24, 32)] * 4)
    for path, source, said in (
        (run / "layer 4", folder, "there is no layer 4"),
        (tmp_path, folder, "is no finished run of"),
        (run, "sample", "not of sample"),
    ):
        with pytest.raises(InsideError, match=said):
            intervene(source, words, ("top 0",), layer=str(path), length=20, texts_at_most=4)


ATTENTION = {"llama": 3, "bloom": 1, "gpt2": 0, "t5": 2}
"""Networks, and a layer that is changed."""


@pytest.mark.parametrize(("kind", "layer"), ATTENTION.items())
def test_attention_changes_as_that_of_transformers(kind, layer, write, words, run_of):
    """By hand: patterns with and without pos in the layer, and their total variation distance."""
    folder = str(write(kind, head=kind != "t5"))
    network = load_network(folder, head=True, attention=True)
    run = run_of(network, np.stack([5 * curve(24, 32, seed) for seed in range(4)]))
    path = f"{run}/layer {layer}"
    same, none = intervene(
        folder, words, ("identity", "top 0"), layer=path, attention=True,
        length=24, texts_at_most=6,
    ).effects  # fmt: skip
    place, _ = module._layer_place(network, path, 24, 0)
    windows = draw_windows(find_texts(words), network.splitter, 24, 6, seed=0)
    tokens = torch.from_numpy(np.stack([one.ids for one in windows]))

    def patterns():
        with torch.inference_mode():
            found = network.module(input_ids=tokens, output_attentions=True).attentions
        return np.stack([one.numpy() for one in found])

    before = patterns()
    with place.put(module.find_change("top 0")(place.table)):
        after = patterns()
    assert before.shape == (3, 6, 4, 24, 24)
    expected = np.maximum(after - before, 0).sum(axis=-1)[..., 1:].mean(axis=(1, 3))
    np.testing.assert_allclose(none.attention, expected, atol=1e-6)
    assert not np.any(same.attention)
    assert not np.any(expected[:layer]), "layers before the change are the same"
    if layer < 3:
        assert expected[layer:].min() > 1e-3
        first = none.heads()[0]
        assert expected[first] == expected.max()
    assert len(none.heads()) == 12


def test_the_distance_of_attention_is_from_0_to_1():
    same = torch.eye(5).expand(2, 3, 5, 5)
    other = same.roll(1, dims=-1)
    half = (same + other) / 2
    ((none,), (whole,), (some,)) = (
        module.attention_distances([same], [one]) for one in (same, other, half)
    )
    assert none.shape == (2, 3)
    assert (none == 0).all()
    assert (whole == 1).all()
    assert (some == 0.5).all()


EFFECTS = (
    Effect("top 0", 1.25, 1.0, 1.5, by_window=(1.0, 1.5)),
    Effect("into E", *[float("nan")] * 3, "This model has no token embeddings."),
    Effect("shift 1", 0.1, 0.0, 0.2, attention=((0.5, 0.25),)),
)


@pytest.fixture
def model():
    return model_of_table("rows", np.eye(9))


@pytest.fixture
def path(model, tmp_path):
    out = tmp_path / "effects.json"
    write_effects(out, Effects(4.0, EFFECTS, 2, 1, model.fingerprint))
    return out


def change(path, **changes):
    path.write_text(json.dumps({**json.loads(path.read_text("utf-8")), **changes}), "utf-8")


def test_what_is_read_is_what_was_written(path, model):
    found = read_effects(path, model)
    assert (found.baseline, found.windows, found.layer) == (4.0, 2, 1)
    first, impossible, last = found.effects
    assert first == EFFECTS[0]
    assert np.isnan([impossible.delta, impossible.low, impossible.high]).all()
    assert (impossible.name, impossible.why) == (EFFECTS[1].name, EFFECTS[1].why)
    assert last == replace(EFFECTS[2], attention=())
    write_effects(path, replace(found, baseline=None, layer=None))
    encoder = read_effects(path, model)
    assert encoder.baseline is encoder.layer is None


def test_effects_of_another_model_are_refused(path, tmp_path):
    other = model_of_table("rows", np.eye(9)[::-1].copy(), name="other")
    with pytest.raises(HelixscopeError, match=r"effects.json has the effects of another model"):
        read_effects(path, other)


def test_a_file_that_does_not_tell_the_model_is_refused(path, model):
    """As that of an earlier version."""
    content = json.loads(path.read_text("utf-8"))
    del content["fingerprint"]
    path.write_text(json.dumps(content), "utf-8")
    with pytest.raises(HelixscopeError, match="does not tell which model") as found:
        read_effects(path, model)
    assert "helixscope intervene" in found.value.advice


@pytest.mark.parametrize(
    "changes",
    [
        {"windows": "2"}, {"windows": -1}, {"windows": True}, {"baseline": "4"},
        {"baseline": float("inf")}, {"layer": 1.5}, {"changes": 3}, {"changes": [1]},
        {"changes": [{"name": "top 0"}]}, {"fingerprint": 7},
        {"changes": [{"name": 1, "delta": 1, "low": 1, "high": 1}]},
        {"changes": [{"name": "a", "delta": None, "low": 1, "high": 1}]},
        {"changes": [{"name": "a", "delta": 1, "low": 1, "high": 1, "by_window": [1]}]},
        {"changes": [{"name": "a", "delta": 1, "low": 1, "high": 1, "by_window": [1, "x"]}]},
        {"changes": [{"name": "a", "delta": 1, "low": 1, "high": 10**400}]},
    ],
)  # fmt: skip
def test_what_has_another_form_is_a_sentence(path, model, changes):
    change(path, **changes)
    with pytest.raises(HelixscopeError, match=r"effects.json does not hold the effects of"):
        read_effects(path, model)


def test_what_is_no_json_or_no_file_is_a_sentence(path, model, tmp_path):
    path.write_text("[1, 2", "utf-8")
    with pytest.raises(HelixscopeError, match="not valid JSON"):
        read_effects(path, model)
    path.write_text("[1, 2]", "utf-8")
    with pytest.raises(HelixscopeError, match="should be a JSON object"):
        read_effects(path, model)
    for absent in (tmp_path / "absent.json", tmp_path):
        with pytest.raises(HelixscopeError):
            read_effects(absent, model)
