"""A tokenizer with more tokens than the network has embeddings: a sentence before any pass."""

import pytest
import torch
from tokenizers import Tokenizer

from geometry.inside.intervene import intervene
from geometry.inside.positions_run import measure_positions
from geometry.inside.prompt import run_prompt
from geometry.inside.settings import InsideError, PositionsSettings

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
