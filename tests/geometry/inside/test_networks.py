"""Networks of many architectures: rotary, ALiBi, relative positions, learned ones, encoders."""

import json

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer

from geometry.checkpoints.errors import HelixscopeError
from geometry.inside.forward import batches_of, run
from geometry.inside.intervene import intervene
from geometry.inside.layers import position_means
from geometry.inside.network import load_network
from geometry.inside.positions_run import measure_positions
from geometry.inside.prompt import run_prompt
from geometry.inside.settings import InsideError, PositionsSettings
from geometry.inside.sums import Sums
from geometry.inside.windows import TextFile, draw_windows
from tests.geometry.inside.small_networks import ARCHITECTURES

ENCODERS = {"bert", "roberta", "distilbert", "electra", "mpnet", "t5", "bart"}
LIMITLESS = {"bloom", "t5"}
TEXTS = [TextFile(f"{i}", None, " ".join(f"w{i * j % 59}" for j in range(300))) for i in (1, 7, 11)]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ARCHITECTURES)
def test_each_layer_is_that_of_transformers(kind, write):
    network = load_network(str(write(kind)))
    assert network.n_layers == 4
    assert network.causal == (kind not in ENCODERS)
    assert network.longest == (None if kind in LIMITLESS else 40)
    windows = draw_windows(TEXTS, network.splitter, 24, 6, seed=0)
    sums = Sums.empty(4, 24, 32)
    run(network, batches_of(windows, 2), sums, report=lambda _: None, save=lambda _: None)
    tokens = torch.from_numpy(np.stack([one.ids for one in windows]))
    with torch.inference_mode():
        states = network.module(input_ids=tokens, output_hidden_states=True).hidden_states
    for layer, state in enumerate(states[:-1]):  # the last one may be normalised once more
        expected = state.mean(dim=0).numpy()
        found = position_means(sums, layer)[2]
        assert np.abs(found - expected).max() < 1e-5 * np.abs(expected).max(), layer
    assert np.abs(position_means(sums, 3)[2]).max() > 0


def test_random_weights_are_those_of_the_seed_and_no_others(write):
    folder = str(write("llama"))
    first, again, other = (
        next(load_network(folder, weights="random", seed=seed).module.parameters())
        for seed in (1, 1, 2)
    )
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
    trained = next(load_network(folder).module.parameters())
    assert not torch.equal(first, trained)


def test_shuffled_weights_are_the_trained_entries_of_each_matrix(write):
    folder = str(write("gpt2"))
    trained, shuffled, again, other = (
        dict(load_network(folder, weights=weights, seed=seed).module.named_parameters())
        for weights, seed in (("trained", 0), ("shuffled", 1), ("shuffled", 1), ("shuffled", 2))
    )
    for name, matrix in trained.items():
        assert torch.equal(shuffled[name], again[name])
        if matrix.ndim == 1:
            assert torch.equal(shuffled[name], matrix)
            continue
        assert torch.equal(shuffled[name].flatten().sort()[0], matrix.flatten().sort()[0])
        assert not torch.equal(shuffled[name], matrix)
        assert not torch.equal(shuffled[name], other[name])


@pytest.mark.slow
def test_a_part_of_a_checkpoint_is_no_network(gpt2_folder):
    with pytest.raises(InsideError, match="is not complete"):
        load_network(str(gpt2_folder))


def test_what_is_no_network_is_a_sentence(tmp_path, write):
    (tmp_path / "empty").mkdir()
    (tmp_path / "table.npy").write_bytes(b"")
    (tmp_path / "damaged.gguf").write_bytes(b"GGUF" + bytes(40))
    folder = write("gpt2")
    (folder / "tokenizer.json").unlink()
    broken = write("opt")
    weights = broken / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-100])
    strange = write("bert")
    (strange / "config.json").write_text('{"model_type": "nothing-like-it"}', "utf-8")
    (tmp_path / "adapter").mkdir()
    (tmp_path / "adapter" / "adapter_config.json").write_text("{}", "utf-8")
    for source, said in (
        (str(tmp_path / "adapter"), "is an adapter"),
        ("nobody/nothing-here", "is not complete on this machine"),
        ("/no/such/folder", "There is no"),
        (str(tmp_path / "table.npy"), "is a file of weights"),
        (str(tmp_path / "empty"), "cannot be loaded"),
        (str(tmp_path / "damaged.gguf"), "cannot be loaded"),
        (str(folder), "has no tokenizer"),
        (str(broken), "cannot be loaded"),
        (str(strange), "cannot be loaded"),
    ):
        with pytest.raises(HelixscopeError, match=said) as caught:
            load_network(source)
        assert len(str(caught.value)) <= 200


def test_no_code_from_a_model_is_run(tmp_path, write):
    folder = write("gpt2")
    about = json.loads((folder / "config.json").read_text("utf-8"))
    marks = {"AutoConfig": "own.Config", "AutoModel": "own.Model", "AutoTokenizer": ["own.T", None]}
    (folder / "own.py").write_text(f"open({str(tmp_path / 'run')!r}, 'w')", "utf-8")
    (folder / "config.json").write_text(json.dumps(about | {"auto_map": marks}), "utf-8")
    assert load_network(str(folder)).n_layers == 4, "transformers knows GPT-2 itself"
    about |= {"auto_map": marks, "model_type": "own"}
    (folder / "config.json").write_text(json.dumps(about), "utf-8")
    with pytest.raises(InsideError, match="needs Python code of its own"):
        load_network(str(folder))
    assert not (tmp_path / "run").exists()


WORDS = " ".join(f"w{i}" for i in range(60))
SAID = r"has token 65 \(<user>\); \S+ has rows for tokens 0 to 63\."


@pytest.fixture(scope="module")
def folder(write):
    """A small GPT-2 of 64 tokens, whose tokenizer has 66."""
    folder = write("gpt2", head=True)
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.add_tokens([f"more{i}" for i in range(4)] + ["<user>"])
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder


@pytest.fixture
def texts(tmp_path):
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts" / "a.txt").write_text(f"{WORDS} <user> " * 12)
    return tmp_path / "texts"


@pytest.fixture
def no_pass(monkeypatch):
    def run(*_, **__):
        raise AssertionError("a forward pass")

    monkeypatch.setattr(torch.nn.Embedding, "forward", run)


def test_positions_inside_are_not_measured(folder, texts, tmp_path, no_pass):
    settings = PositionsSettings(str(folder), str(texts), 32, 8, control=False)
    with pytest.raises(InsideError, match=rf"^a\.txt {SAID}") as raised:
        measure_positions(settings, tmp_path / "out")
    assert raised.value.advice


def test_effects_are_not_measured(folder, texts, no_pass):
    with pytest.raises(InsideError, match=rf"^a\.txt {SAID}"):
        intervene(str(folder), str(texts), ["top 1"], length=32, texts_at_most=8)


def test_a_prompt_is_not_run(folder, no_pass):
    with pytest.raises(InsideError, match=f"^The text {SAID}"):
        run_prompt(str(folder), "w1 w2 <user> w3")


def test_texts_without_such_tokens_are_run(folder, texts, tmp_path):
    (texts / "a.txt").write_text(f"{WORDS} " * 12)
    assert run_prompt(str(folder), "w1 w2").ids == (1, 2)
    assert intervene(str(folder), str(texts), ["top 1"], length=32, texts_at_most=8).windows
