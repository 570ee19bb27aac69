"""Stores read an index, then single tensors, and count the bytes."""

import json
import os
import tracemalloc

import numpy as np
import pytest
import torch
from safetensors.torch import save_file as save_torch_file
from safetensors.torch import save_model

from geometry.checkpoints.errors import SourceError
from geometry.checkpoints.files import open_store
from geometry.checkpoints.formats.array_store import NpzStore, open_npy
from geometry.checkpoints.formats.safetensors_store import open_safetensors
from geometry.checkpoints.formats.sharded_store import open_sharded
from geometry.checkpoints.formats.torch_store import open_torch
from geometry.checkpoints.formats.zip_records import Record
from geometry.checkpoints.stores import LocalFile
from tests.small_models import write_raw


@pytest.fixture
def tensors() -> dict[str, torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    values = torch.randn(6, 5, generator=generator)
    return {
        "double": values.double(),
        "single": values,
        "half": values.half(),
        "brain": values.bfloat16(),
        "vector": values[0].clone(),
        "empty": torch.zeros(0, 5),
        "scalar": torch.tensor(2.5),
        "whole": torch.arange(6),
    }


FLOATS = ("double", "single", "half", "brain", "vector", "empty", "scalar")


def test_safetensors_reads_every_float_type(tensors, tmp_path):
    path = tmp_path / "model.safetensors"
    save_torch_file(tensors, path)
    store = open_safetensors(path)
    assert store.bytes_read == 0
    assert set(store.tensors) == set(tensors)
    assert store.tensors["brain"].dtype == "BF16"
    assert store.tensors["brain"].shape == (6, 5)
    assert store.tensors["brain"].nbytes == 60
    for name in FLOATS:
        read = store.read(name)
        assert read.dtype == (np.float64 if name == "double" else np.float32)
        assert read.flags.c_contiguous
        np.testing.assert_array_equal(read, tensors[name].to(torch.float64).numpy())
    assert store.bytes_read == sum(store.tensors[name].nbytes for name in FLOATS)


@pytest.mark.parametrize(
    ("metadata", "settings"),
    [
        ({"config": '{"n_head": 2, "sizes": [1]}'}, {"n_head": 2, "sizes": [1]}),
        ({"config": '\n {"n_head": 2}'}, {"n_head": 2}),
        ({"config": "gpt2.json", "format": "pt"}, {}),
        ({"config": "{"}, {}),
        ({"config": "{" * 100_000}, {}),
        (None, {}),
    ],
)
def test_settings_in_the_metadata_of_safetensors(metadata, settings, tmp_path):
    save_torch_file({"a": torch.ones(2, 2)}, tmp_path / "a.safetensors", metadata)
    assert open_store(tmp_path / "a.safetensors").settings == settings


def test_damaged_settings_in_the_metadata_end_no_file(tmp_path):
    path = tmp_path / "a.safetensors"
    save_torch_file({"a": torch.ones(2, 2)}, path, {"config": '{"name": "??????"}'})
    path.write_bytes(path.read_bytes().replace(b"??????", b"\\ud800"))
    assert open_store(path).settings == {}


def test_other_names_of_tied_tensors(tmp_path):
    tied = torch.nn.Linear(3, 4, bias=False)
    model = torch.nn.ModuleDict({"wte": tied, "lm_head": tied, "other": torch.nn.Linear(2, 2)})
    save_model(model, tmp_path / "a.safetensors", {"other.bias": "wte.weight", "x": "lm_head"})
    torch.save(model.state_dict(), tmp_path / "a.pt")
    for name in ("a.safetensors", "a.pt"):
        store = open_store(tmp_path / name)
        assert set(store.tensors) == set(model.state_dict())
        for key, values in model.state_dict().items():
            np.testing.assert_array_equal(store.read(key), values)
            assert store.tensors[key].name == key


def test_aliases_of_aliases_are_no_names(tmp_path):
    chain = {"a": "a", "b": "a", "c": "b", "d": "e", "e": "d", "f": "nowhere"}
    save_torch_file({"a": torch.ones(2, 2)}, tmp_path / "a.safetensors", chain)
    assert list(open_store(tmp_path / "a.safetensors").tensors) == ["a", "b"]


def test_torch_files_are_read_by_place(tensors, tmp_path):
    path = tmp_path / "pytorch_model.bin"
    base = torch.arange(600.0).reshape(30, 20)
    views = {
        "view.whole": base,
        "view.transposed": base.T,
        "view.part": base[3:7, 2:9],
        "view.column": base[:, 4],
        "view.expanded": torch.ones(1, 3).expand(4, 3),
        "parameter": torch.nn.Parameter(torch.ones(3, 2)),
    }
    torch.save({"state_dict": {**tensors, **views}, "epoch": 3, "name": "x"}, path)
    store = open_torch(path)
    assert store.bytes_read == 0
    assert store.tensors["state_dict.half"].dtype == "F16"
    for name, value in {**{n: tensors[n] for n in FLOATS}, **views}.items():
        read = store.read(f"state_dict.{name}")
        assert read.flags.c_contiguous
        np.testing.assert_array_equal(read, value.detach().to(torch.float64).numpy(), name)
    # One bare tensor is a table.
    torch.save(torch.ones(4, 3), tmp_path / "positions.pt")
    store = open_store(tmp_path / "positions.pt")
    assert [info.shape for info in store.tensors.values()] == [(4, 3)]


def test_reading_one_tensor_reads_its_bytes_only(tmp_path):
    big, small = torch.zeros(1000, 1000), torch.ones(10, 10)
    torch.save({"big": big, "small": small}, tmp_path / "model.bin")
    save_torch_file({"big": big, "small": small}, tmp_path / "model.safetensors")
    for path in (tmp_path / "model.bin", tmp_path / "model.safetensors"):
        store = open_store(path)
        store.read("small")
        assert store.bytes_read == 400


def test_memory_does_not_grow_with_the_file(tmp_path):
    """A sparse file of 2 GB: opening it and reading 400 bytes takes next to no memory."""
    path, size = tmp_path / "model.safetensors", 2_000_000_000
    tensors = {
        "small": {"dtype": "F32", "shape": [10, 10], "data_offsets": [0, 400]},
        "big": {"dtype": "F32", "shape": [size // 4], "data_offsets": [400, 400 + size]},
    }
    write_raw(path, tensors)
    os.truncate(path, path.stat().st_size + 400 + size)
    tracemalloc.start()
    try:
        open_store(path).read("small")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 200_000


def test_shards_are_read_through_their_index(write_safetensors, tmp_path):
    write_safetensors(tmp_path / "model-1.safetensors", {"a": np.ones((2, 3), np.float32)})
    torch.save({"b": torch.full((4, 2), 5.0)}, tmp_path / "model-2.bin")
    index = tmp_path / "model.safetensors.index.json"
    places = {"a": "model-1.safetensors", "b": "model-2.bin"}
    index.write_text(json.dumps({"metadata": {}, "weight_map": places}))
    store = open_store(index)
    assert store.read("b")[0, 0] == 5
    assert store.bytes_read == 32
    assert store.tensors["a"].shape == (2, 3)


@pytest.mark.parametrize(
    ("places", "words"),
    [
        ({"a": "gone.safetensors"}, r"1 files, and 1 of them \(gone.safetensors\) are not beside"),
        ({"a": "../model-1.safetensors"}, "not a file name"),
        ({"a": 3}, "not a file name"),
        ({"z": "model-1.safetensors"}, "'z' in model-1.safetensors, which lacks it"),
        ({}, "no weight_map"),
        ([], "no weight_map"),
    ],
)
def test_a_wrong_index_says_what_is_wrong(places, words, write_safetensors, tmp_path):
    write_safetensors(tmp_path / "model-1.safetensors", {"a": np.ones((2, 3), np.float32)})
    index = tmp_path / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": places}))
    with pytest.raises(SourceError, match=words):
        open_sharded(index)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", ["<f8", "<f4", "<f2", ">f4"])
def test_arrays_of_every_layout(order, dtype, tmp_path):
    array = np.asarray(np.arange(12).reshape(3, 4), dtype=dtype, order=order)
    np.save(tmp_path / "table.npy", array)
    store = open_npy(tmp_path / "table.npy")
    assert store.bytes_read == 0
    np.testing.assert_array_equal(store.read("table"), array)
    assert store.bytes_read == array.nbytes
    assert store.read("table").dtype.isnative


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_archives_of_arrays(save, tmp_path):
    array = np.arange(12.0, dtype=np.float32).reshape(3, 4)
    save(tmp_path / "tables.npz", a=array, b=array[0])
    store = NpzStore(tmp_path / "tables.npz")
    assert {name: info.shape for name, info in store.tensors.items()} == {"a": (3, 4), "b": (4,)}
    assert store.bytes_read == 0
    np.testing.assert_array_equal(store.read("a"), array)
    assert store.bytes_read == array.nbytes


def test_kind_is_told_by_content_not_by_name(write_safetensors, tmp_path):
    array = np.ones((3, 4), np.float32)
    np.save(tmp_path / "a.npy", array)
    np.savez(tmp_path / "b.npz", b=array)
    torch.save({"c": torch.from_numpy(array)}, tmp_path / "c.pt")
    write_safetensors(tmp_path / "d.safetensors", {"d": array})
    for path in list(tmp_path.iterdir()):
        blob = path.rename(tmp_path / f"{path.stem}0123456789abcdef")
        assert len(open_store(blob).tensors) == 1


@pytest.mark.parametrize("extra", range(0, 256, 5))
def test_a_header_of_any_length_is_told_from_other_kinds(extra, write_safetensors, tmp_path):
    """The first byte of the header's length may look like a pickle, a web page, a zip file."""
    for length in range(256 + extra, 256 + extra + 5):
        entry = {"x": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}
        header = json.dumps(entry).encode().ljust(length)
        path = write_raw(tmp_path / "blob", header, bytes(4))
        assert open_store(path).read("x").shape == (1,)


def test_opening_safetensors_needs_no_heavy_library(run_python):
    loaded = run_python(
        "import sys, geometry.models.sources.opening, geometry.models.sources.catalogue\n"
        "geometry.models.sources.catalogue.read_catalogue()\n"
        "print(sorted(m for m in ('torch', 'transformers', 'tokenizers', 'safetensors', "
        "'huggingface_hub', 'scipy') if m in sys.modules))"
    )
    assert loaded.strip() == "[]"


def test_a_file_that_is_damaged_cut_or_gone_is_said(tmp_path):
    path = tmp_path / "pytorch_model.bin"
    torch.save({"table": torch.arange(64.0).reshape(8, 8)}, path)
    path.write_bytes(path.read_bytes().replace(b"PK\3\4", b"PK\0\0"))
    record = Record(LocalFile(path), 0, 8, 0)
    with pytest.raises(SourceError, match="its directory is invalid"):
        record.read_at(0, 8)
    path.write_bytes(b"abc")
    file = LocalFile(path)
    with pytest.raises(SourceError, match="truncated: 8 bytes expected at offset 0, got 3"):
        file.read_at(0, 8)
    with pytest.raises(SourceError, match="truncated or damaged"):
        open_torch(path)
    path.unlink()
    for read in (lambda: LocalFile(path), lambda: file.read_at(0, 8)):
        with pytest.raises(SourceError, match="does not exist"):
            read()
