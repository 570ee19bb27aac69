"""What a network makes of a text, against transformers alone."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch
from transformers import AutoModel, AutoModelForCausalLM

from geometry.checkpoints.errors import FileChanged, HelixscopeError
from geometry.inside import prompt as module
from geometry.inside.intervene import changed_table
from geometry.inside.network import load_network
from geometry.inside.prompt import MAX_WEIGHTS, from_json, max_tokens, run_prompt, to_json
from geometry.inside.settings import InsideError
from geometry.inside.worker import run_in_subprocess
from geometry.models.sources.local_models import locate
from geometry.models.sources.opening import open_model
from tests.geometry.inside.small_networks import outcome, write_run

TEXT = "Hello my name is Adam, and the curve of positions is a helix."


@pytest.fixture(scope="module")
def plain():
    """The bundled model of transformers alone."""
    return AutoModelForCausalLM.from_pretrained(locate("sample"), attn_implementation="eager")


@pytest.fixture(scope="module")
def found():
    return run_prompt("sample", TEXT, "top 0")


def output_of(network, ids):
    with torch.inference_mode():
        return network(input_ids=torch.tensor([ids]), output_attentions=True)


def with_positions(network, rows, ids):
    """The output with other rows in the table of positions."""
    weight = network.transformer.wpe.weight
    before = weight.detach().clone()
    with torch.no_grad():
        weight[: len(rows)] = torch.from_numpy(rows).float()
        made = output_of(network, ids)
        weight.copy_(before)
    return made


def probabilities(output):
    return output.logits[0, -1].double().softmax(-1).numpy()


def attention(output):
    return torch.cat(output.attentions).numpy()


def test_tokens_are_those_of_the_panel(found):
    shown = open_model("sample").tokenize(TEXT)
    assert (found.ids, found.texts) == (shown.ids, shown.texts)
    assert shown.texts[0] == "<|endoftext|>"
    assert found.causal


def test_probabilities_and_attention_are_those_of_transformers(found, plain):
    before = output_of(plain, found.ids)
    after = with_positions(plain, changed_table(open_model("sample"), "top 0", 240), found.ids)
    one, other = probabilities(before), probabilities(after)
    T = len(found.ids)
    assert found.attention.shape == (2, 4, T, T)
    assert found.attention.dtype == np.float32
    np.testing.assert_allclose(found.attention, attention(before), atol=1e-5)
    np.testing.assert_allclose(found.attention_after, attention(after), atol=1e-5)
    assert np.abs(found.attention - found.attention_after).max() > 0.1
    assert np.triu(found.attention, 1).max() == 0
    for token in found.next_tokens:
        assert token.before == pytest.approx(one[token.token], abs=1e-5)
        assert token.after == pytest.approx(other[token.token], abs=1e-5)
        assert token.text == open_model("sample").token_text(token.token)
    assert found.moved == pytest.approx(np.abs(one - other).sum() / 2, abs=1e-5)
    assert 0.05 < found.moved < 1


def test_the_likeliest_tokens_before_or_after(found, plain):
    one = probabilities(output_of(plain, found.ids))
    after = with_positions(plain, changed_table(open_model("sample"), "top 0", 240), found.ids)
    largest = np.maximum(one, probabilities(after))
    assert len(found.next_tokens) == module.TOP
    expected = set(np.argsort(-largest)[: module.TOP].tolist())
    assert {token.token for token in found.next_tokens} == expected
    before = [token.before for token in found.next_tokens]
    assert before == sorted(before, reverse=True)
    alone = run_prompt("sample", TEXT, top=3)
    assert [token.token for token in alone.next_tokens] == np.argsort(-one)[:3].tolist()
    assert {token.after for token in alone.next_tokens} == {None}
    assert (alone.change, alone.moved, alone.attention_after) == (None, None, None)
    np.testing.assert_array_equal(alone.attention, found.attention)


def test_what_changes_nothing_moves_nothing():
    same = run_prompt("sample", TEXT, "identity")
    assert same.moved == 0
    np.testing.assert_array_equal(same.attention_after, same.attention)


def test_an_encoder_has_attention_alone(minilm_folder):
    run = run_prompt(str(minilm_folder), TEXT, "top 0")
    assert (run.next_tokens, run.moved, run.causal) == ((), None, False)
    network = AutoModel.from_pretrained(minilm_folder, attn_implementation="eager")
    np.testing.assert_allclose(run.attention, attention(output_of(network, run.ids)), atol=1e-5)
    assert run.texts[0] == "[CLS]"
    assert np.abs(run.attention_after - run.attention).max() > 0.05


@pytest.mark.parametrize("kind", ["llama", "bloom"])
def test_positions_of_a_layer_are_changed_without_a_table(kind, write, tmp_path):
    folder = write(kind, head=True)
    t = np.linspace(0, 3, 24)[:, None] * np.arange(1, 33)
    layers = np.stack([5 * np.cos(t + i) for i in range(4)]).astype(np.float32)
    write_run(tmp_path, folder.name, layers)
    text = " ".join(f"w{i}" for i in range(12))
    run = run_prompt(str(folder), text, "top 0", layer=str(tmp_path / "layer 2"))
    assert run.ids == tuple(range(12))
    assert run.texts[3] == "w3"
    network = AutoModelForCausalLM.from_pretrained(folder, attn_implementation="eager")
    plain = output_of(network, run.ids)
    by = layers[2][1:].mean(axis=0) - layers[2][:12]
    by[0] = 0
    moving = torch.from_numpy(by)
    block = (network.model.layers if kind == "llama" else network.transformer.h)[1]
    block.register_forward_hook(
        lambda _, args, out: (out[0] + moving, *out[1:]) if isinstance(out, tuple) else out + moving
    )
    changed = output_of(network, run.ids)
    np.testing.assert_allclose(run.attention, attention(plain), atol=1e-5)
    np.testing.assert_allclose(run.attention_after, attention(changed), atol=1e-5)
    np.testing.assert_array_equal(run.attention[:2], run.attention_after[:2])
    assert np.abs(run.attention[2] - run.attention_after[2]).max() > 1e-4
    moved = np.abs(probabilities(plain) - probabilities(changed)).sum() / 2
    assert run.moved == pytest.approx(moved, abs=1e-5)
    with pytest.raises(InsideError, match="25 tokens; positions were measured in windows of 24"):
        run_prompt(str(folder), "w1 " * 25, "top 0", layer=str(tmp_path / "layer 2"))


def test_special_tokens_at_the_end_do_not_move(minilm_folder, tmp_path):
    t = np.linspace(0, 3, 48)[:, None] * np.arange(1, 385)
    network = load_network(str(minilm_folder))
    write_run(tmp_path, network.name, np.stack([9 * np.cos(t)] * 7).astype(np.float32), (0, 47))
    moved = []
    replaced = module.find_place

    def watched(*args):
        place, size = replaced(*args)
        put = place.put
        return replace(place, put=lambda r: moved.append(r) or put(r)), size

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(module, "find_place", watched)
        run = run_prompt(str(minilm_folder), TEXT, "top 0", layer=str(tmp_path / "layer 0"))
    place, _ = replaced(network, str(tmp_path / "layer 0"), 48)
    by = np.abs(moved[0] - place.table.P).max(axis=1)
    end = len(run.ids) - 1
    assert by[0] == 0
    assert (by[1:end] > 0.1).all()
    assert (by[end:] == 0).all()


@pytest.mark.parametrize(
    ("text", "change", "said"),
    [
        ("", None, "The text is empty."),
        (TEXT, "bottom", "There is no change 'bottom'."),
        (TEXT, "shift 300", "A shift by 300 needs 540 positions; there are 256."),
    ],
)
def test_a_text_or_a_change_that_is_none(text, change, said):
    with pytest.raises(InsideError) as raised:
        run_prompt("sample", text, change)
    assert str(raised.value) == said


def test_a_text_of_other_tokens_than_those_shown():
    shown = open_model("sample").tokenize(TEXT).ids
    assert run_prompt("sample", TEXT, ids=shown).ids == shown
    with pytest.raises(InsideError, match="other tokens than when it was split"):
        run_prompt("sample", TEXT, ids=shown[:-1])


def test_a_text_whose_attention_would_be_too_large(monkeypatch):
    assert max_tokens(144) == 341
    assert 144 * 341**2 <= MAX_WEIGHTS < 144 * 342**2
    monkeypatch.setattr(module, "MAX_WEIGHTS", 8 * 20**2)
    count = len(open_model("sample").tokenize(TEXT).ids)
    assert count > 20
    with pytest.raises(InsideError) as raised:
        run_prompt("sample", TEXT)
    assert str(raised.value) == (
        f"The text has {count} tokens; attention of sample is kept for up to 20."
    )
    assert raised.value.advice


def test_as_many_tokens_as_there_are_positions():
    run = run_prompt("sample", "helix " * 400, "top 1")
    assert len(run.ids) == 256
    assert run.moved > 0


@pytest.mark.slow
def test_models_without_a_head_a_table_or_all_weights(write, gpt2_folder):
    folder = write("gpt2")
    config = json.loads((folder / "config.json").read_text("utf-8"))
    (folder / "config.json").write_text(json.dumps({**config, "tie_word_embeddings": False}))
    with pytest.raises(InsideError, match="is not complete: 1 tensors are missing, lm_head"):
        run_prompt(str(folder), "w1 w2")
    with pytest.raises(HelixscopeError) as raised:
        run_prompt(str(write("llama", head=True)), "w1 w2", change="top 0")
    assert str(raised.value).count(".") == 1
    with pytest.raises(InsideError, match="is not complete: 137 tensors are missing"):
        run_prompt(str(gpt2_folder), TEXT)
    with pytest.raises(HelixscopeError):
        run_prompt("synthetic:helix,n=90,d=16,turns=2,climb=0.3", TEXT)


def test_json_keeps_all_but_digits_of_attention(found):
    again = from_json(to_json(found))
    assert (again.ids, again.texts, again.causal) == (found.ids, found.texts, True)
    assert (again.change, again.moved) == ("top 0", found.moved)
    assert again.next_tokens == found.next_tokens
    assert again.attention_after is None
    np.testing.assert_allclose(again.attention, found.attention, rtol=1e-3, atol=1e-7)


@pytest.mark.slow
def test_a_process_of_its_own_finds_the_same(found):
    request = {"source": "sample", "text": TEXT, "change": "top 0", "ids": found.ids}
    fingerprint = open_model("sample").fingerprint
    told, result = outcome(run_in_subprocess("prompt", fingerprint=fingerprint, **request))
    run = from_json(result)
    assert (run.next_tokens, run.moved) == (found.next_tokens, found.moved)
    np.testing.assert_allclose(run.attention, found.attention, rtol=1e-3, atol=1e-7)
    assert list(dict.fromkeys(one.what for one in told)) == [
        "Starting",
        "Loading the network",
        "as it is",
        "top 0",
    ]
    with pytest.raises(FileChanged):
        outcome(run_in_subprocess("prompt", fingerprint="another", **request))
