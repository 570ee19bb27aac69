"""GGUF files on a Hub, by range: what is asked for, the same model, and its tokenizer."""

import numpy as np
import pytest
from gguf import GGMLQuantizationType
from gguf.quants import quantize

from geometry.checkpoints.errors import SourceError, TensorUnavailable
from geometry.hub.faults import NotOnHub, Offline
from geometry.hub.keeping import wait_until_kept
from geometry.models.sources.locating import is_here, may_ask_hub
from geometry.models.sources.opening import open_model
from geometry.models.sources.source import Source
from tests.geometry.checkpoints.formats.test_gguf_store import write, write_parts
from tests.geometry.hub_opening import ALLOWANCE, asked, assert_same, kept, network_of
from tests.geometry.models.test_gguf_models import EYE, LLAMA

Q8 = GGMLQuantizationType.Q8_0
WORDS = ["<unk>", "<s>", "</s>", "\u2581a", "\u2581b", "a", "b", "\u2581"]
TOKENIZER = [
    ("tokenizer.ggml.model", "llama"), ("tokenizer.ggml.tokens", WORDS),
    ("tokenizer.ggml.scores", [float(-one) for one in range(len(WORDS))]),
    ("tokenizer.ggml.token_type", [2, 3, 3, 1, 1, 1, 1, 1]),
    ("tokenizer.ggml.bos_token_id", 1), ("tokenizer.ggml.unknown_token_id", 0),
]  # fmt: skip


@pytest.fixture
def gpt2(tmp_path):
    """A GPT-2 whose token embeddings are quantised."""
    rng = np.random.default_rng(0)
    tensors = {
        "token_embd.weight": (quantize(rng.normal(size=(900, 64)).astype("f4"), Q8), Q8),
        "position_embd.weight": rng.normal(size=(48, 64)).astype("f4"),
        "blk.0.attn_qkv.weight": rng.normal(size=(192, 64)).astype("f2"),
    }
    settings = [
        ("gpt2.context_length", 48), ("gpt2.embedding_length", 64), ("gpt2.block_count", 1),
        ("gpt2.attention.head_count", 4),
    ]  # fmt: skip
    return write(tmp_path / "gpt2-q8.gguf", tensors, settings, arch="gpt2")


def serve(hub, *files, name="someone/model"):
    return hub.add(name, {file.name: file for file in files})


def test_a_table_is_read_by_range(loopback_hub, gpt2, opened):
    commit = serve(loopback_hub, gpt2)
    model = opened("someone/model/gpt2-q8.gguf")
    local = open_model(gpt2)
    assert set(asked(loopback_hub)) == {"gpt2-q8.gguf"}
    assert (model.name, model.commit) == ("gpt2-q8", commit)
    assert model.warnings == local.warnings
    assert_same(model, local)
    np.testing.assert_array_equal(model.weight("W_Q"), local.weight("W_Q"))


def test_it_opens_again_without_the_network(loopback_hub, gpt2, opened, cache):
    serve(loopback_hub, gpt2)
    source = "someone/model/gpt2-q8.gguf"
    assert may_ask_hub(Source.parse(source))
    tokens = opened(source).W_E
    wait_until_kept(cache)
    before = len(loopback_hub.requests)
    again = opened(source)
    np.testing.assert_array_equal(again.W_E, tokens)
    assert len(loopback_hub.requests) == before
    with pytest.raises(TensorUnavailable):
        again.tokenize("a")


def test_the_only_file_of_a_repository_needs_no_name(loopback_hub, gpt2, opened):
    serve(loopback_hub, gpt2)
    assert_same(opened("someone/model"), open_model(gpt2))


def test_of_several_files_one_has_to_be_named(loopback_hub, gpt2, tmp_path, opened, cache):
    rotary = write(tmp_path / "llama.gguf", {"token_embd.weight": EYE}, LLAMA)
    serve(loopback_hub, gpt2, rotary)
    with pytest.raises(SourceError, match="holds 2 GGUF files: gpt2-q8") as raised:
        opened("someone/model")
    assert raised.value.advice == "Name one of them, such as someone/model/gpt2-q8.gguf."
    assert not kept(cache)
    assert opened("someone/model/llama.gguf").rotary is not None
    assert opened("someone/model/gpt2-q8.gguf").rotary is None
    with pytest.raises(NotOnHub, match=r"has no file other\.gguf"):
        opened("someone/model/other.gguf")


def test_factors_of_pairs_and_the_tokenizer_come_along(loopback_hub, tmp_path, opened, cache):
    tensors = {"token_embd.weight": EYE, "rope_freqs.weight": np.array([1, 2, 4, 8], "f4")}
    path = write(tmp_path / "llama.gguf", tensors, [*LLAMA, *TOKENIZER])
    serve(loopback_hub, path)
    model, local = opened("someone/model/llama.gguf"), open_model(path)
    np.testing.assert_array_equal(model.rotary.rates, local.rotary.rates)
    prompt = local.tokenize("a b")
    assert prompt.texts == ("<s>", " a", " b")
    before = len(loopback_hub.requests)
    assert model.tokenize("a b") == prompt
    assert len(loopback_hub.requests) == before
    wait_until_kept(cache)
    assert opened("someone/model/llama.gguf").tokenize("a b") == prompt
    assert len(loopback_hub.requests) == before


def test_what_left_the_cache_is_read_again(loopback_hub, tmp_path, opened, cache):
    path = write(tmp_path / "llama.gguf", {"token_embd.weight": EYE}, [*LLAMA, *TOKENIZER])
    serve(loopback_hub, path)
    source = "someone/model/llama.gguf"
    first = opened(source)
    wait_until_kept(cache)
    network = network_of(loopback_hub, cache)
    (commit,) = (one.commit for one in network.cache.commits())
    for name in ("settings 1/llama.gguf", "gguf tokenizer/llama.gguf"):
        network.cache.discard("someone/model", commit, name)
        again = opened(source)
        np.testing.assert_array_equal(again.rotary.rates, first.rotary.rates)
        assert again.tokenize("b").texts == ("<s>", " b")


def test_a_model_in_the_user_s_own_cache_is_found_there(hub_home, gpt2, opened, loopback_hub):
    snapshot = hub_home / "hub" / "models--someone--model" / "snapshots" / ("0" * 40)
    snapshot.mkdir(parents=True)
    (snapshot.parents[1] / "refs").mkdir()
    (snapshot.parents[1] / "refs" / "main").write_text("0" * 40)
    (snapshot / gpt2.name).write_bytes(gpt2.read_bytes())
    assert is_here(Source.parse("someone/model/gpt2-q8.gguf"))
    assert not is_here(Source.parse("someone/model/other.gguf"))
    assert_same(opened("someone/model/gpt2-q8.gguf"), open_model(gpt2))
    assert not loopback_hub.requests


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"GGUF" + bytes(40), "version 0"), (b"", "is empty|truncated"),
        (b"<!DOCTYPE html>" * 9, "is not a GGUF file"),
    ],
)  # fmt: skip
def test_what_is_no_gguf_file_says_so(loopback_hub, opened, cache, content, said):
    loopback_hub.add("someone/model", {"x.gguf": content})
    with pytest.raises(SourceError, match=said):
        opened("someone/model/x.gguf")
    assert not kept(cache)


@pytest.mark.slow
def test_a_real_model_by_range(loopback_hub, opened, smollm2):
    """SmolLM2, 98 MB: its settings and tokenizer, and then one layer's weights."""
    serve(loopback_hub, smollm2, name="someone/smollm2")
    source = f"someone/smollm2/{smollm2.name}"
    model, local = opened(source), open_model(smollm2)
    assert loopback_hub.bytes_sent < 4_000_000 + ALLOWANCE
    assert len(loopback_hub.requests) <= 4
    np.testing.assert_array_equal(model.rotary.rates, local.rotary.rates)
    before = loopback_hub.bytes_sent
    name = "blk.3.attn_q.weight"
    cost = model.store.bytes_to_fetch(name)
    np.testing.assert_array_equal(model.store.read(name), local.store.read(name))
    assert loopback_hub.bytes_sent - before == cost < 300_000
    texts = model.tokenize("Hello, my name is Adam: 12 naïve cafés").texts
    assert texts == local.tokenize("Hello, my name is Adam: 12 naïve cafés").texts
    assert texts[:4] == ("Hello", ",", " my", " name")


def test_offline_says_so(loopback_hub, opened, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(Offline, match=r"someone/model/x\.gguf is not on this machine"):
        open_model("someone/model/x.gguf")


def test_a_split_file_opens_by_its_first_part(loopback_hub, tmp_path, opened, cache):
    tensors = {"token_embd.weight": EYE, "a": EYE, "b": 2 * EYE}
    parts = write_parts(tmp_path, tensors, LLAMA)
    serve(loopback_hub, *parts)
    local = open_model(parts[0])
    for source in ("someone/model", f"someone/model/{parts[0].name}"):
        model = opened(source)
        assert model.rotary is not None
        assert_same(model, local)
        np.testing.assert_array_equal(model.store.read("b"), 2 * EYE)
    assert (model.name, local.name) == ("split", "split")
    wait_until_kept(cache)
    before = len(loopback_hub.requests)
    assert_same(opened("someone/model"), local)
    assert len(loopback_hub.requests) == before
