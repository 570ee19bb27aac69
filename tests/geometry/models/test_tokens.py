"""Prompts, split as each model's own tokenizer does it."""

import json
import shutil
from collections.abc import Callable

import numpy as np
import pytest

from geometry.checkpoints.errors import HelixscopeError, TensorUnavailable
from geometry.models.model import PositionalModel
from geometry.models.sources.opening import open_model
from geometry.models.tokens import readable, readable_bytes

PROMPT = "Hello my name is Adam"


@pytest.fixture(scope="module")
def gpt2(gpt2_folder) -> PositionalModel:
    """GPT-2's part; its tokenizer takes a while to read."""
    return open_model(gpt2_folder)


@pytest.fixture
def tiny(written) -> Callable[..., PositionalModel]:
    """Open a checkpoint of a family with eight positions, beside the files already there."""

    def make(family: str, **settings: object) -> PositionalModel:
        names = {"gpt2": "wpe.weight", "bert": "embeddings.position_embeddings.weight"}
        tensors = {names[family]: np.eye(8, 4, dtype=np.float32)}
        return open_model(written(tensors, {"model_type": family, **settings}))

    return make


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        (PROMPT, (50256, 15496, 616, 1438, 318, 7244)),
        ("<|endoftext|>Hello", (50256, 15496)),  # the beginning is not doubled
        ("", (50256,)),
    ],
)
def test_gpt2_begins_with_its_token(gpt2, text, ids):
    prompt = gpt2.tokenize(text)
    assert prompt.ids == ids
    texts = ("<|endoftext|>", "Hello", " my", " name", " is", " Adam")
    assert prompt.texts == texts[: len(ids)]
    assert prompt.truncated == 0


def test_minilm_begins_and_ends_with_its_tokens(minilm_folder):
    prompt = open_model(minilm_folder).tokenize(PROMPT + " embeddings")
    assert prompt.texts[:3] == ("[CLS]", "hello", "my")
    assert prompt.texts[-3:] == ("##bed", "##ding", "##s", "[SEP]")[-3:]
    assert prompt.ids[0] == 101
    assert prompt.ids[-1] == 102


def test_long_prompts_are_cut_and_the_rest_counted(minilm_folder):
    """MiniLM's tokenizer file asks for 128 tokens, padded; the table has 512 positions."""
    model = open_model(minilm_folder)
    assert len(model.tokenize("hello " * 300).ids) == 302
    long = model.tokenize("hello " * 600)
    assert len(long.ids) == len(long.texts) == 512
    assert long.truncated == 602 - 512


def test_odd_characters_survive(gpt2):
    prompt = gpt2.tokenize("naïve 🙂\n\tx")
    assert len(prompt.ids) == len(prompt.texts)
    assert "".join(prompt.texts).startswith("<|endoftext|>na")
    assert all(isinstance(text, str) for text in prompt.texts)
    # The bytes of a character that is split are shown.
    texts = gpt2.tokenize(" my 🧬 helix").texts
    assert texts[1:] == (" my", " ⟨F0⟩⟨9F⟩", "⟨A7⟩", "⟨AC⟩", " hel", "ix")


def test_a_text_alone_has_no_tokens_of_the_family_around_it(gpt2, minilm_folder):
    minilm = open_model(minilm_folder)
    assert gpt2.token_ids(" my") == (616,)
    assert gpt2.token_ids("my") == (1820,)
    assert gpt2.token_ids("<|endoftext|>") == (50256,)
    assert gpt2.token_ids("") == ()
    assert minilm.token_ids("Hello Adam") == minilm.tokenize("Hello Adam").ids[1:-1]
    assert minilm.token_ids("[SEP]") == (102,)


@pytest.mark.parametrize(
    ("shown", "piece", "text"),
    [
        (readable_bytes, "Ġmy", " my"), (readable_bytes, "Ċ", "\n"), (readable_bytes, "Ã¯", "ï"),
        (readable_bytes, "ð", "⟨F0⟩"), (readable_bytes, "<|▁|>", "<|▁|>"), (readable_bytes, "", ""),
        (readable, "<0xF0>", "⟨F0⟩"), (readable, "<0xF>", "<0xF>"),
    ],
)  # fmt: skip
def test_pieces_of_a_vocabulary(shown, piece, text):
    assert shown(piece) == text


def test_the_tokenizer_is_read_when_first_asked_for(gpt2_folder, tmp_path):
    for name in ("config.json", "model.safetensors"):
        shutil.copy(gpt2_folder / name, tmp_path)
    model = open_model(tmp_path)
    with pytest.raises(TensorUnavailable, match="no tokenizer in its folder"):
        model.tokenize(PROMPT)
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(gpt2_folder / name, tmp_path)
    assert model.tokenize(PROMPT).ids[1] == 15496


@pytest.mark.parametrize("content", ["", "{", "{}", "[1]", '{"model": {"type": "BPE"}}'])
def test_broken_tokenizer_is_one_sentence(content, tiny, tmp_path):
    (tmp_path / "tokenizer.json").write_text(content)
    with pytest.raises(HelixscopeError, match=r"^tokenizer.json in ") as error:
        tiny("gpt2").tokenize(PROMPT)
    assert error.value.advice
    assert "\n" not in str(error.value)


def test_vocabulary_and_merges_without_a_tokenizer_file(gpt2_folder, tiny, tmp_path):
    """GPT-2's first release has no tokenizer.json."""
    content = json.loads((gpt2_folder / "tokenizer.json").read_text("utf-8"))["model"]
    (tmp_path / "vocab.json").write_text(json.dumps(content["vocab"]))
    merges = [pair if isinstance(pair, str) else " ".join(pair) for pair in content["merges"]]
    (tmp_path / "merges.txt").write_text("\n".join(["#version: 0.2", *merges]), "utf-8")
    prompt = tiny("gpt2", bos_token_id=50256).tokenize(PROMPT)
    assert prompt.ids == (50256, 15496, 616, 1438, 318, 7244)
    assert prompt.texts[1:] == ("Hello", " my", " name", " is", " Adam")


def test_word_list_without_a_tokenizer_file(minilm_folder, tiny, tmp_path):
    shutil.copy(minilm_folder / "vocab.txt", tmp_path)
    prompt = tiny("bert").tokenize("Hello Adam")
    assert prompt.texts == ("[CLS]", "hello", "adam", "[SEP]")


def test_code_beside_a_model_is_never_run(tiny, tmp_path):
    trace = tmp_path / "trace"
    (tmp_path / "evil.py").write_text(f"open({str(trace)!r}, 'w').close()\nclass T: pass\n")
    (tmp_path / "vocab.json").write_text("{}")
    settings = {"tokenizer_class": "T", "auto_map": {"AutoTokenizer": ["evil.T", None]}}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(settings))
    with pytest.raises(HelixscopeError):
        tiny("gpt2", auto_map={"AutoConfig": "evil.T"}).tokenize(PROMPT)
    assert not trace.exists()
