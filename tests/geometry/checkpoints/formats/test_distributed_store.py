"""Folders of torch.distributed.checkpoint, written by torch itself."""

import pickle
import re

import numpy as np
import pytest
import torch
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint.metadata import ChunkStorageMetadata

from geometry.checkpoints.errors import FileChanged, SourceError
from geometry.checkpoints.files import open_store, weights_in

pytestmark = pytest.mark.filterwarnings("ignore:torch.distributed is disabled")

RANDOM = np.random.default_rng(3)


@pytest.fixture
def tensors():
    """Tensors of several types, and settings, as a training keeps them."""
    return {
        "model": {
            "wpe.weight": torch.from_numpy(RANDOM.standard_normal((12, 8))),
            "wte.weight": torch.from_numpy(RANDOM.standard_normal((20, 8))).to(torch.bfloat16),
            "turned": torch.from_numpy(RANDOM.standard_normal((8, 6))).T,
            "scale": torch.tensor(2.0),
        },
        "config": {"n_head": 2, "block_size": 12},
        "step": 7,
    }


@pytest.fixture
def folder(tmp_path, tensors):
    dcp.save(tensors, checkpoint_id=tmp_path / "dcp")
    return tmp_path / "dcp"


def metadata_of(folder):
    return pickle.loads((folder / ".metadata").read_bytes())


def rewrite(folder, metadata):
    (folder / ".metadata").write_bytes(pickle.dumps(metadata))


def test_all_tensors_are_read_as_torch_reads_them(folder, tensors):
    store = open_store(weights_in(folder))
    assert set(store.tensors) == {f"model.{name}" for name in tensors["model"]}
    for name, tensor in tensors["model"].items():
        read = store.read(f"model.{name}")
        assert read.flags.c_contiguous
        np.testing.assert_array_equal(read, tensor.double().numpy())
    assert store.settings == {"n_head": 2, "block_size": 12}


def test_a_tensor_in_several_parts_is_put_together(tmp_path, tensors):
    """As several processes write it: here, each half is stored under a name of its own at first."""
    whole, folder = tensors["model"]["wpe.weight"], tmp_path / "parts"
    parts = {"top": whole[:5].clone(), "rest": whole[5:].clone()}
    dcp.save(parts, checkpoint_id=folder)
    metadata = metadata_of(folder)
    listed, places = metadata.state_dict_metadata, metadata.storage_data
    entry = listed.pop("top")
    del listed["rest"]
    entry.size = whole.shape
    entry.chunks = [
        ChunkStorageMetadata(torch.Size([0, 0]), torch.Size([5, 8])),
        ChunkStorageMetadata(torch.Size([5, 0]), torch.Size([7, 8])),
    ]
    listed["whole"] = entry
    for index in list(places):
        place, first = places.pop(index), 0 if index.fqn == "top" else 5
        places[type(index)("whole", torch.Size([first, 0]), 0)] = place
    rewrite(folder, metadata)
    np.testing.assert_array_equal(open_store(folder / ".metadata").read("whole"), whole.numpy())


def test_what_is_missing_or_damaged_is_named(folder):
    (part,) = folder.glob("*.distcp")
    store = open_store(folder / ".metadata")
    data = part.read_bytes()
    part.write_bytes(data[: len(data) // 2])
    with pytest.raises(FileChanged):
        store.read("model.wpe.weight")
    with pytest.raises(SourceError, match="beyond its end"):
        open_store(folder / ".metadata")
    part.unlink()
    with pytest.raises(SourceError, match="are not beside it"):
        open_store(folder / ".metadata")
    (folder / ".metadata").unlink()
    part.write_bytes(data)
    with pytest.raises(SourceError, match=re.escape("and no .metadata")):
        weights_in(folder)


def same_bytes(metadata):
    """Cut a tensor into parts that all are at the same place."""
    listed, places = metadata.state_dict_metadata, metadata.storage_data
    index, place = next((i, p) for i, p in places.items() if i.fqn == "model.wpe.weight")
    entry = listed["model.wpe.weight"]
    entry.size = torch.Size([12 * 1000, 8])
    offsets = [torch.Size([12 * n, 0]) for n in range(1000)]
    entry.chunks = [ChunkStorageMetadata(first, torch.Size([12, 8])) for first in offsets]
    places |= {type(index)("model.wpe.weight", first): place for first in offsets}


def nested_tuple():
    """A tuple whose hash takes 2 to the depth."""
    value = ()
    for _ in range(60):
        value = (value, value)
    return value


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda m: m.state_dict_metadata.clear(), "not the index"),
        (lambda m: m.storage_data.clear(), "not the index"),
        (
            lambda m: setattr(m.state_dict_metadata["model.wpe.weight"], "size", (13, 8)),
            "do not fill it",
        ),
        (
            lambda m: [
                setattr(place, "relative_path", "../other.distcp")
                for place in m.storage_data.values()
            ],
            "not a file name",
        ),
        (
            lambda m: [
                setattr(place, "relative_path", nested_tuple()) for place in m.storage_data.values()
            ],
            "not a file name",
        ),
        (same_bytes, "the same bytes"),
    ],
)
def test_an_impossible_index_is_refused(folder, change, words):
    metadata = metadata_of(folder)
    change(metadata)
    rewrite(folder, metadata)
    with pytest.raises(SourceError, match=words):
        open_store(folder / ".metadata")


def test_offsets_that_take_forever_to_hash(folder):
    metadata = metadata_of(folder)
    for index in metadata.storage_data:
        object.__setattr__(index, "offset", nested_tuple())
    rewrite(folder, metadata)
    assert "model.wpe.weight" in open_store(folder / ".metadata").tensors


def test_a_part_with_several_tensors_is_damaged(folder):
    (part,) = folder.glob("*.distcp")
    torch.save({"a": torch.ones(3), "b": torch.ones(3)}, part)
    metadata = metadata_of(folder)
    for place in metadata.storage_data.values():
        place.offset, place.length = 0, part.stat().st_size
    for name in set(metadata.state_dict_metadata) - {"model.wpe.weight"}:
        del metadata.state_dict_metadata[name]
    rewrite(folder, metadata)
    with pytest.raises(SourceError, match="damaged"):
        open_store(folder / ".metadata").read("model.wpe.weight")
