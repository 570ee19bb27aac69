"""What is no model on a Hub, or none with positions: what is said, and that none of it is kept."""

import numpy as np
import pytest
import torch

from geometry.checkpoints.errors import NoPositionalEmbeddings, SourceError
from geometry.hub.faults import NotOnHub
from geometry.models.architecture import UnknownArchitecture
from geometry.models.sources import open_source
from tests.geometry.hub_opening import ALLOWANCE, add_files, asked, kept, network_of, serve
from tests.geometry.models.test_families import module  # noqa: F401, a fixture
from tests.stand_ins import OPENAI, STANFORD, write_stand_in

GPT2, ALIAS = OPENAI[0], STANFORD[0]


def test_a_model_without_positions_says_so_before_any_tensor(loopback_hub, tmp_path, cache):
    weights = {f"model.layers.{i}.self_attn.q_proj.weight": np.ones((256, 256), "f4")
               for i in range(4)}  # fmt: skip
    files = {"model.safetensors": weights, "config.json": {"model_type": "llama"}}
    add_files(loopback_hub, tmp_path / "files", files)
    with pytest.raises(NoPositionalEmbeddings, match="llama stores no positional embeddings"):
        open_source("someone/model", network=network_of(loopback_hub, cache))
    assert asked(loopback_hub) == ["model.safetensors", "config.json"]
    assert loopback_hub.bytes_sent < ALLOWANCE


def test_a_model_in_shards_without_positions_reads_no_shard(loopback_hub, tmp_path, cache):
    places = {"model.layers.0.self_attn.q_proj.weight": "model-1-of-2.safetensors"}
    files = {"model.safetensors.index.json": {"weight_map": places},
             "config.json": {"model_type": "llama"}}  # fmt: skip
    add_files(loopback_hub, tmp_path / "files", files)
    with pytest.raises(NoPositionalEmbeddings):
        open_source("someone/model", network=network_of(loopback_hub, cache))


def test_an_unknown_model_offers_tables_and_fetches_the_chosen_one(loopback_hub, tmp_path, cache):
    table = np.arange(4096, dtype=np.float32).reshape(64, 64)
    tensors = {"mix.weight": np.ones((300, 300), "f4"), "where_pos": table}
    files = {"model.safetensors": tensors, "config.json": {"model_type": "brandnew"}}
    add_files(loopback_hub, tmp_path / "files", files)
    network = network_of(loopback_hub, cache)
    with pytest.raises(UnknownArchitecture) as error:
        open_source("someone/model", network=network)
    assert [info.name for info in error.value.candidates] == ["where_pos", "mix.weight"]
    loopback_hub.forget_requests()
    model = open_source("someone/model", table="where_pos", network=network)
    np.testing.assert_array_equal(model.W_pos, table)
    assert len(loopback_hub.requests) <= 3
    loopback_hub.forget_requests()
    assert open_source("someone/model", table="where_pos", network=network).n_positions == 64
    assert loopback_hub.requests == []


def test_an_unknown_model_in_shards_offers_the_tables_of_all(loopback_hub, tmp_path, cache):
    table = np.eye(8, 4, dtype="f4")
    shards = {f"model-{i}-of-3.safetensors": {f"where.{i}": (i + 1) * table} for i in range(3)}
    places = {f"where.{i}": f"model-{i}-of-3.safetensors" for i in range(3)}
    files = {**shards, "config.json": {"model_type": "brandnew"},
             "model.safetensors.index.json": {"weight_map": places}}  # fmt: skip
    add_files(loopback_hub, tmp_path / "files", files)
    network = network_of(loopback_hub, cache)
    with pytest.raises(UnknownArchitecture) as error:
        open_source("someone/model", network=network)
    assert [info.name for info in error.value.candidates] == ["where.0", "where.1", "where.2"]
    loopback_hub.forget_requests()
    model = open_source("someone/model", table="where.2", network=network)
    np.testing.assert_array_equal(model.W_pos, 3 * table)
    assert [name for name in asked(loopback_hub) if "-of-3" in name] == ["model-2-of-3.safetensors"]


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_positions_that_are_not_finite_are_not_kept(value, loopback_hub, tmp_path, cache):
    table = np.zeros((8, 4), np.float32)
    table[5, 2] = value
    config = {"model_type": "gpt2", "n_embd": 4, "n_positions": 8}
    files = {"model.safetensors": {"wpe.weight": table}, "config.json": config}
    add_files(loopback_hub, tmp_path / "files", files)
    with pytest.raises(SourceError, match="NaN or infinite numbers in 1 of its rows"):
        open_source("someone/model", network=network_of(loopback_hub, cache))
    assert not kept(cache)


def test_another_tensor_that_is_not_finite_is_given_but_not_kept(loopback_hub, tmp_path, cache):
    tensors = {"wpe.weight": np.eye(8, 4, dtype="f4"), "wte.weight": np.full((9, 4), np.nan, "f4")}
    files = {"model.safetensors": tensors, "config.json": {"model_type": "gpt2"}}
    add_files(loopback_hub, tmp_path / "files", files)
    model = open_source("someone/model", network=network_of(loopback_hub, cache))
    assert np.isnan(model.W_E).all()
    assert model.bytes_to_fetch("W_E") == 9 * 4 * 4


def test_weights_and_configuration_that_contradict_each_other_are_not_kept(
    loopback_hub, tmp_path, cache
):
    config = {"model_type": "gpt2", "n_embd": 4, "n_positions": 9}
    tensors = {"wpe.weight": np.zeros((8, 4), "f4")}
    files = {"model.safetensors": tensors, "config.json": config}
    add_files(loopback_hub, tmp_path / "files", files)
    with pytest.raises(SourceError, match=r"by config\.json"):
        open_source("someone/model", network=network_of(loopback_hub, cache))
    assert not kept(cache)


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({"README.md": b"hello"}, "someone/model holds no weights, only README.md"),
        ({"a.bin": b"x", "b.bin": b"x"}, "someone/model holds 2 weights files"),
        ({"tf_model.h5": b"x"}, "someone/model holds weights of another framework only"),
        ({"model.safetensors": b""}, "model.safetensors is empty"),
        ({"model.safetensors": b"<!DOCTYPE html>"}, "is a web page"),
        ({"model.safetensors": b"\xff" * 99}, "is no safetensors file"),
        ({"model.safetensors": b"\x50" + bytes(7) + b"{" + bytes(99)}, "is not JSON"),
        ({"pytorch_model.bin": b"GGUF" * 9}, "is a GGUF file"),
        ({"pytorch_model.bin": b"PK\3\4" + bytes(99)}, "truncated or damaged"),
        ({"pytorch_model.bin": b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19."}, "torch's old format"),
        ({"table.npy": b"\x93NUMPY\1\0"}, "is read on this machine only"),
        ({"model.safetensors.index.json": {}}, "has no weight_map"),
        ({"model.safetensors.index.json": {"weight_map": {"wpe.weight": "../x"}}}, "no file name"),
        ({"model.safetensors": {"wpe.weight": np.eye(8, 4, dtype="f4")}, "config.json": b"{"},
         "config.json is not JSON"),
    ],
)  # fmt: skip
def test_what_is_no_model_says_what_it_is(files, words, loopback_hub, tmp_path, cache):
    add_files(loopback_hub, tmp_path / "files", files)
    with pytest.raises(SourceError, match=words) as error:
        open_source("someone/model", network=network_of(loopback_hub, cache))
    assert str(error.value).endswith(".")
    assert error.value.advice.endswith(".")
    assert not kept(cache)


def test_a_pickle_from_the_network_is_never_run(loopback_hub, tmp_path, cache):
    trace = tmp_path / "trace"

    class Evil:
        def __reduce__(self) -> tuple[object, tuple[str]]:
            import os

            return os.mkdir, (str(trace),)

    folder = tmp_path / "files"
    folder.mkdir()
    torch.save({"wpe.weight": torch.ones(8, 4), "x": Evil()}, folder / "pytorch_model.bin")
    serve(loopback_hub, folder)
    with pytest.raises(SourceError, match="It was not run"):
        open_source("someone/model", network=network_of(loopback_hub, cache))
    assert not trace.exists()


def test_nothing_of_that_name_anywhere(loopback_hub, cache):
    network = network_of(loopback_hub, cache)
    for text in ("gtp2", "models/gtp2"):
        with pytest.raises(NotOnHub) as error:
            open_source(text, network=network)
        sentence = str(error.value)
        assert sentence.startswith(f"There is no file or folder '{text}' here, and ")
        assert sentence.endswith(f" has no model {text}, or it is private.")
    loopback_hub.forget_requests()
    for text in ("./gtp2", "gtp2.safetensors", "a/b/c", "/nowhere/at/all", ""):
        with pytest.raises(SourceError, match="There is nothing at"):
            open_source(text, network=network)
    assert loopback_hub.requests == []


def test_no_such_revision(loopback_hub, tmp_path, cache):
    loopback_hub.add(GPT2, write_stand_in(tmp_path / "files", GPT2))
    with pytest.raises(NotOnHub, match="has no revision 'mian'") as error:
        open_source("gpt2@mian", network=network_of(loopback_hub, cache))
    assert error.value.missing == "revision"


def test_a_model_without_a_configuration_is_told_by_its_names(loopback_hub, tmp_path, cache):
    files = write_stand_in(tmp_path / "files", GPT2)
    del files["config.json"]
    loopback_hub.add(GPT2, files)
    model = open_source(GPT2, network=network_of(loopback_hub, cache))
    assert (model.family, len(model.warnings)) == ("gpt2", 1)
    loopback_hub.forget_requests()
    assert open_source(GPT2, network=network_of(loopback_hub, cache)).warnings == model.warnings
    assert loopback_hub.requests == []
