"""Damaged and foreign input: one plain sentence each, and never anything else."""

import io
import json
import os
import pickle
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils.serialization import config

from geometry.checkpoints.config import first_int
from geometry.checkpoints.errors import SourceError
from geometry.checkpoints.stores import LocalFile, cannot_read
from geometry.models.sources.opening import UnknownArchitecture, open_model
from tests.small_models import write_model, write_raw

CONFIG = {"model_type": "gpt2", "n_embd": 4, "n_positions": 8, "n_layer": 1, "n_head": 2}


@pytest.fixture
def checkpoint(tmp_path) -> Path:
    """A tiny GPT-2 folder with nothing but positions."""
    return write_model(tmp_path / "tiny", CONFIG, {"wpe.weight": np.arange(32.0).reshape(8, 4)})


def refusal(source: Path | str, **options: Any) -> SourceError:
    """The error for a source: one sentence, with something to do next."""
    with pytest.raises(SourceError) as caught:
        open_model(source, **options)
    sentence = str(caught.value)
    assert sentence.endswith(".")
    assert "\n" not in sentence
    assert caught.value.advice.endswith(".")
    return caught.value


@pytest.mark.parametrize("shape", [(), (8,), (2, 3, 4), (1, 1, 1, 1, 1)])
@pytest.mark.parametrize(("name", "config", "table"), [
    ("wpe.weight", {"model_type": "gpt2"}, None),
    ("wpe.weight", {"model_type": "gpt2"}, "wpe.weight"),
    ("wpe.weight", {"model_type": "gpt2"}, "wpe.weight[1:]"),
    ("embeddings.position_embeddings", {"model_type": "vit"}, None),
    ("embeddings.position_embeddings", {"model_type": "vit"}, "embeddings.position_embeddings[1:]"),
    ("pos_embed", {}, None), ("pos_embed", {}, "pos_embed"),
    ("embeddings.position_embeddings.weight", {}, None),
    ("embeddings.position_embeddings.weight", {}, "embeddings.position_embeddings.weight[2:]"),
])  # fmt: skip
def test_a_table_that_is_no_matrix(shape, name, config, table, written):
    others = {"cls_token": np.ones((1, 1, 4), "f4"), "patch_embed.proj.weight": np.ones(4, "f4"),
              "blocks.0.attn.qkv.weight": np.ones((12, 4), "f4"),
              "encoder.layer.0.attention.self.query.weight": np.eye(4, dtype="f4")}  # fmt: skip
    error = refusal(written({name: np.ones(shape, "f4"), **others}, config), table=table)
    assert "damaged" not in str(error)


@pytest.mark.parametrize("dtype", ["i8", "u1"])
def test_a_table_of_whole_numbers(dtype, written):
    name = "embeddings.position_embeddings.weight"
    tensors = {name: np.ones((42, 4), dtype),
               "encoder.layer.0.attention.self.query.weight": np.eye(4, dtype="f4")}  # fmt: skip
    assert name in str(refusal(written(tensors, {})))


def test_more_class_tokens_than_rows(written):
    tensors = {"pos_embed": np.ones((1, 3, 4), "f4"), "reg_token": np.ones((1, 5, 4), "f4"),
               "cls_token": np.ones((1, 1, 4), "f4"), "conv.weight": np.ones(4, "f4")}  # fmt: skip
    assert open_model(written(tensors, {}), table="pos_embed[1:]").n_positions == 2


@pytest.mark.parametrize("source", ["\0", "a" * 5000, "no such model", "x.safetensors"])
def test_no_path_at_all(source):
    refusal(source)


def test_an_installation_without_its_model(monkeypatch):
    monkeypatch.setattr("geometry.models.sources.local_models._in_package", lambda entry: None)
    assert str(refusal("sample")) == "The bundled model is missing."


@pytest.mark.parametrize(
    ("names", "words"),
    [
        ([], "is empty"),
        (["notes.txt"], "has no weights, only notes.txt"),
        (["config.json", "model.safetensors.crdownload"], "part of a download"),
        ([f"model-0000{n}-of-00002.safetensors" for n in (1, 2)], "parts of a model"),
        (["manifest.ocdbt", "_METADATA"], "Orbax"),
        ([".zgroup", ".zattrs"], "Zarr"),
        (["a.bin", "b.bin", "training_args.bin"], "holds 2 weights files"),
        (["__0_0.distcp", "__1_0.distcp"], "parts of a distributed checkpoint"),
    ],
)
def test_folder_without_weights(tmp_path, names, words):
    for name in names:
        (tmp_path / name).write_text("x")
    assert words in str(refusal(tmp_path))


LFS = b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 548105171\n"


@pytest.mark.parametrize(
    ("content", "words", "advice"),
    [
        (b"", "model.safetensors is empty.", ""),
        (LFS, "Git LFS pointer", "git lfs pull"),
        (b"<!DOCTYPE html><html></html>", "web page", ""),
    ],
    ids=["empty", "pointer", "web page"],
)
def test_what_stands_in_for_weights(checkpoint, content, words, advice):
    (checkpoint / "model.safetensors").write_bytes(content)
    error = refusal(checkpoint)
    assert words in str(error)
    assert advice in error.advice


def save_compressed(path: Path) -> None:
    torch.save({"wpe.weight": torch.ones(8, 4)}, path)
    with zipfile.ZipFile(path) as source:
        parts = {name: source.read(name) for name in source.namelist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as target:
        for name, part in parts.items():
            target.writestr(name, part)


def save_zip(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("readme.txt", "hello")


EXPANDED = torch.ones(1, 1).expand(10_000_000, 10_000)


@pytest.mark.parametrize(
    ("name", "save", "words"),
    [
        ("m.bin", lambda path: torch.save({"epoch": 3}, path,
                                          _use_new_zipfile_serialization=False),
         "holds no tensors"),
        ("m.pt", lambda path: torch.save(torch.nn.Linear(2, 2), path), "It was not run"),
        ("m.pt", lambda path: torch.save({"epoch": 3}, path), "holds no tensors"),
        ("m.bin", lambda path: torch.save({"wpe": EXPANDED}, path), "more memory than m.bin holds"),
        ("m.bin", save_zip, "zip archive without torch weights"),
        ("m.bin", save_compressed, "was compressed"),
        ("t.npy", lambda path: np.save(path, np.zeros(8)), "no tensor is a floating-point matrix"),
        ("t.npy", lambda path: np.save(path, np.zeros((8, 4), np.int64)),
         "no tensor is a floating-point matrix"),
        ("t.npy", lambda path: np.save(path, np.zeros((8, 4), np.complex64)),
         "no tensor is a floating-point matrix"),
        ("t.npy", lambda path: np.save(path, np.array([{}, {}]), allow_pickle=True),
         "without arrays of numbers"),
        ("notes.txt", lambda path: path.write_text("hello, this is a text"),
         "has a header but no rows"),
        ("notes.md", lambda path: path.write_text("hello, this is a text"),
         "is not a weights file"),
    ],
)  # fmt: skip
def test_files_that_hold_no_table(tmp_path, name, save, words):
    save(tmp_path / name)
    assert words in str(refusal(tmp_path / name))


def test_truncated_file(checkpoint):
    path = checkpoint / "model.safetensors"
    whole = path.read_bytes()
    for keep in (3, 8, 20, 60, -1):
        path.write_bytes(whole[:keep])
        error = refusal(checkpoint)
        assert "truncated" in str(error) or "holds 3 bytes" in str(error)
        assert "again" in error.advice
    path.write_bytes(whole + b"more")
    assert "describes only" in str(refusal(checkpoint))


@pytest.mark.parametrize("length", [2**63, 2**40, 100_000_001, 95_000_000])
def test_absurd_header_length(checkpoint, length):
    path = checkpoint / "model.safetensors"
    path.write_bytes(length.to_bytes(8, "little") + path.read_bytes()[8:])
    assert f"header would be {length} bytes long" in str(refusal(checkpoint))


def entry(begin: int = 0, end: int = 128, dtype: Any = "F32", shape: Any = (8, 4)) -> dict:
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


@pytest.mark.parametrize(
    ("header", "words"),
    [
        (b"{not json", "is not valid JSON"),
        (b'{"\xff": 1}', "is not valid JSON"),
        (b"[" * 100_000, "is not valid JSON"),
        (b"[1, 2]", "should be a JSON object"),
        (b'{"a": 1}', "does not describe 'a'"),
        (b'{"a": {}, "a": {}}', "names 'a' twice"),
        ({"a": entry(shape=7)}, "does not describe 'a'"),
        ({"a": entry(dtype=3)}, "does not describe 'a'"),
        ({"a": {"dtype": "F32", "shape": [8, 4], "data_offsets": [0]}}, "does not describe"),
        ({"a": entry(end=127)}, "takes 128 bytes, and its data_offsets give 127"),
        ({"a": entry(128, 0)}, "contradicts itself"),
        ({"a": entry(shape=[2**40, 2**40])}, "contradicts itself"),
        ({"a": entry(), "b": entry()}, "overlaps 'a'"),
        ({"a": entry(), "b": entry(64, 192)}, "overlaps 'a'"),
        ({"a": entry(0, 64, shape=[16]), "b": entry(96, 128, shape=[8])}, "gap after 'a'"),
        ({"a": entry(0, 256, shape=[64])}, "truncated"),
    ],
)
def test_wrong_header(checkpoint, header, words):
    write_raw(checkpoint / "model.safetensors", header, bytes(128))
    assert words in str(refusal(checkpoint))


@pytest.mark.parametrize("text", ["{", "[]", "\x00", "[" * 100_000])
def test_config_is_not_json(checkpoint, text):
    (checkpoint / "config.json").write_text(text)
    words = "should be a JSON object, got list" if text == "[]" else "is not valid JSON"
    assert f"config.json {words}" in str(refusal(checkpoint))
    refusal(checkpoint / "config.json")  # which alone is no model


def test_rows_that_are_not_finite_and_whole_numbers(checkpoint, write_safetensors):
    table = np.zeros((8, 4), np.float32)
    for value in (np.nan, np.inf, -np.inf):
        table[5, 2] = value
        write_safetensors(checkpoint / "model.safetensors", {"wpe.weight": table})
        said = str(refusal(checkpoint))
        assert "NaN or infinite numbers in 1 of its rows, the first at position 5" in said
    for dtype, words in {"i8": "is of type I64", "i1": "quantised (I8)", "?": "BOOL"}.items():
        whole = np.zeros((8, 4), dtype)
        write_safetensors(checkpoint / "model.safetensors", {"wpe.weight": whole})
        assert words in str(refusal(checkpoint))


@pytest.mark.parametrize(
    ("shape", "words"),
    [
        ((8, 3), r"should have shape (8, 4) by config.json, got (8, 3)"),
        ((9, 4), r"should have shape (8, 4) by config.json, got (9, 4)"),
        ((32,), r"should have shape (n_positions, d_model), got (32,)"),
        ((2, 4, 4), r"should have shape (n_positions, d_model), got (2, 4, 4)"),
        ((0, 4), "has no positions"),
    ],
)
def test_wrong_shape(checkpoint, write_safetensors, shape, words):
    if not shape[0]:
        (checkpoint / "config.json").write_text(json.dumps({"model_type": "gpt2"}))
    write_safetensors(checkpoint / "model.safetensors", {"wpe.weight": np.zeros(shape, "f4")})
    assert words in str(refusal(checkpoint))


def test_unknown_architecture_offers_its_tables(checkpoint, write_safetensors):
    (checkpoint / "config.json").write_text(json.dumps({"model_type": "brandnew", "d_model": 4}))
    table = np.arange(32, dtype=np.float32).reshape(8, 4)
    tensors = {"mix.weight": np.ones((4, 4), np.float32), "where_pos": table,
               "bias": np.ones(4, np.float32), "ids": np.zeros((1, 8), np.int64)}  # fmt: skip
    write_safetensors(checkpoint / "model.safetensors", tensors)
    error = refusal(checkpoint)
    assert isinstance(error, UnknownArchitecture)
    assert [info.name for info in error.candidates] == ["where_pos", "mix.weight"]
    assert "'brandnew' is unknown; 2 tensors could be" in str(error)

    model = open_model(checkpoint, table="where_pos")
    np.testing.assert_array_equal(model.W_pos, table)
    assert model.table == "where_pos"
    assert set(model.missing) == {"W_E", "W_Q", "W_K", "W_V", "W_O", "W_in"}


@pytest.mark.parametrize(
    ("table", "words"),
    [("nowhere", "no tensor 'nowhere'"), ("bias", "bias cannot be a position table")],
)
def test_a_table_that_cannot_be_one(checkpoint, write_safetensors, table, words):
    tensors = {"wpe.weight": np.ones((8, 4), np.float32), "bias": np.ones(4, np.float32)}
    write_safetensors(checkpoint / "model.safetensors", tensors)
    error = refusal(checkpoint, table=table)
    assert words in str(error)
    assert "wpe.weight" in error.advice


class Evil:
    """Leaves a trace if it is ever unpickled."""

    def __init__(self, trace: Path) -> None:
        self.trace = trace

    def __reduce__(self) -> tuple[Callable[..., None], tuple[str]]:
        return os.mkdir, (str(self.trace),)


@pytest.mark.parametrize("form", ["legacy", "bare pickle", "bare protocol 0"])
def test_a_pickle_is_never_run(form, tmp_path):
    trace, path = tmp_path / "trace", tmp_path / "pytorch_model.bin"
    content = {"wpe.weight": torch.ones(8, 4), "x": Evil(trace)}
    if form.startswith("bare"):
        path.write_bytes(pickle.dumps(content["x"], protocol=0 if form.endswith("0") else 4))
    else:
        torch.save(content, path, _use_new_zipfile_serialization=False)
        assert open_model(path).W_pos.shape == (8, 4)
    if form.startswith("bare"):
        error = refusal(path)
        assert ("a pickle without arrays" in str(error)) == (form == "bare pickle")
    assert not trace.exists()


def test_truncated_arrays_and_torch_files(tmp_path):
    np.save(tmp_path / "table.npy", np.zeros((8, 4)))
    np.savez(tmp_path / "tables.npz", a=np.zeros((8, 4)))
    for path in (tmp_path / "table.npy", tmp_path / "tables.npz"):
        whole = path.read_bytes()
        for keep in (9, 70, 150, len(whole) - 1):
            path.write_bytes(whole[:keep])
            assert "truncated" in str(refusal(path))
    path = tmp_path / "pytorch_model.bin"
    torch.save({"wpe.weight": torch.ones(80, 40)}, path)
    whole = path.read_bytes()
    for share in (0.2, 0.6, 0.95, 0.999):
        path.write_bytes(whole[: int(len(whole) * share)])
        assert "truncated or damaged" in str(refusal(path))


def packed(content: dict[str, Any]) -> bytes:
    file = io.BytesIO()
    torch.save(content, file)
    return file.getvalue()


ONE, OTHER = packed({"wpe.weight": torch.ones(8, 4)}), packed({"wte.weight": torch.zeros(9, 4)})
_DIRECTORY = ONE.index(b"PK\1\2")


@pytest.mark.parametrize(
    "content",
    [
        OTHER + ONE,
        b"PK\3\4" + ONE,
        ONE + b"\0",
        ONE + OTHER[:100],
        ONE + bytes(70_000),
        ONE[:_DIRECTORY] + OTHER * 4 + ONE[_DIRECTORY:],
    ],
)
@pytest.mark.parametrize("name", ["a.pt", "a.npz", "a.bin"])
def test_a_file_with_more_than_its_archive_is_refused(name, content, tmp_path):
    path = tmp_path / name
    path.write_bytes(content)
    said = str(refusal(path))
    assert "is not one archive" in said or "truncated or damaged" in said


@pytest.mark.parametrize("alignment", [64, 4096])
def test_an_archive_is_padded_between_its_entries(alignment, tmp_path):
    with config.patch("save.storage_alignment", alignment):
        (tmp_path / "a.pt").write_bytes(packed({"wpe.weight": torch.ones(8, 4)}))
    np.testing.assert_array_equal(open_model(tmp_path / "a.pt").W_pos, np.ones((8, 4)))


def test_a_part_of_a_distributed_checkpoint_is_refused(tmp_path):
    (tmp_path / "__0_0.distcp").write_bytes(packed({"wpe.weight": torch.ones(8, 4)}))
    error = refusal(tmp_path / "__0_0.distcp")
    assert "distributed checkpoint" in str(error)
    assert ".metadata" in str(error)
    assert error.advice == "Open its folder."


def test_archive_with_several_tables_asks_which(tmp_path):
    np.savez(tmp_path / "t.npz", a=np.zeros((8, 4)), b=np.ones((6, 4)), c=np.zeros(3))
    error = refusal(tmp_path / "t.npz")
    assert isinstance(error, UnknownArchitecture)
    assert [info.name for info in error.candidates] == ["a", "b"]
    assert open_model(tmp_path / "t.npz", table="b").n_positions == 6


def test_unreadable_file_says_so(checkpoint, monkeypatch):
    def refuse(*args: object, **options: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "open", refuse)
    error = refusal(checkpoint)
    assert "model.safetensors cannot be read: permission denied." in str(error)
    monkeypatch.setattr(np, "fromfile", refuse)
    with pytest.raises(SourceError, match="permission denied"):
        LocalFile(checkpoint / "model.safetensors").read_at(0, 1)
    assert "Input/output error" in str(cannot_read(checkpoint, OSError(5, "Input/output error")))


@pytest.mark.parametrize("value", [10**12, -1, 10**400, 2_001], ids=["1e12", "-1", "1e400", "1"])
def test_numbers_of_layers_and_heads_that_no_model_has_are_unknown(value, checkpoint):
    config = json.loads((checkpoint / "config.json").read_text())
    for key in ("n_layer", "n_head"):
        (checkpoint / "config.json").write_text(json.dumps({**config, key: value}))
        model = open_model(checkpoint)
        assert {"n_layer": model.n_layers, "n_head": model.n_heads}[key] is None
        assert model.n_positions == 8


@pytest.mark.parametrize(("value", "least"), [([4, -1], 0), ([4, 4.0], 0), (-1, 0), (0, 1)])
def test_a_number_below_the_least_is_refused(value, least):
    with pytest.raises(SourceError, match=f"a whole number from {least} is"):
        first_int({"n": value}, ("n",), minimum=least, listed=True)
