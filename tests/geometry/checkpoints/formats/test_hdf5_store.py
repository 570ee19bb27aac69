"""HDF5: arrays as h5py writes them, and Keras's and TensorFlow's files, in archives or not."""

import os
import zipfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import numpy as np
import pytest

from geometry.checkpoints.errors import HelixscopeError, SourceError
from geometry.checkpoints.files import open_store
from geometry.checkpoints.formats import hdf5_store
from geometry.checkpoints.transfer import Cancelled, Transfer, local_reads
from geometry.models.sources.opening import open_model

h5py = pytest.importorskip("h5py")
RANDOM = np.random.default_rng(31)
TABLE = RANDOM.standard_normal((40, 6)).astype(np.float32)


@pytest.mark.parametrize("dtype", ["<f8", "<f4", ">f4", "<f2"])
@pytest.mark.parametrize("options", [{}, {"chunks": (7, 6), "compression": "gzip"}])
def test_arrays(tmp_path, dtype, options):
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("a/b/ü", data=TABLE.astype(dtype), **options)
        file["a/scalar"], file["a/text"], file["a/empty"] = 3.0, "text", h5py.Empty("f4")
        file["again"] = file["a"]
    store = open_store(tmp_path / "a.h5")
    (name,) = (name for name, info in store.tensors.items() if info.shape == TABLE.shape)
    assert name.endswith("b/ü")
    read = store.read(name)
    np.testing.assert_array_equal(read, TABLE.astype(dtype))
    assert read.dtype == (np.float64 if dtype == "<f8" else np.float32)


def of_keras(path, method):
    """Write an archive like Keras 3's, whose layers have their weights in "vars"."""
    with h5py.File(path.with_suffix(".weights.h5"), "w") as file:
        file["position_embedding/vars/0"] = TABLE
        file["embedding/vars/0"] = np.ones((50, 6), np.float32)
    with zipfile.ZipFile(path, "w", method) as archive:
        archive.writestr("config.json", "{}")
        archive.write(path.with_suffix(".weights.h5"), "model.weights.h5")
    return path


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_an_archive_of_keras(tmp_path, method):
    path = of_keras(tmp_path / "m.keras", method)
    for source in (path, path.with_suffix(".weights.h5")):
        np.testing.assert_array_equal(open_model(source).stored_W_pos, TABLE)


def test_what_is_unpacked_is_reported_and_can_be_cancelled(tmp_path):
    path = of_keras(tmp_path / "m.keras", zipfile.ZIP_DEFLATED)
    size = path.with_suffix(".weights.h5").stat().st_size
    seen = []
    with local_reads(Transfer(seen.append)):
        open_store(path)
    assert {progress.verb for progress in seen} == {"Unpacking"}
    assert (seen[0].done, seen[0].total, seen[-1].done) == (0, size, size)
    transfer = Transfer(lambda progress: transfer.cancel())
    with local_reads(transfer), pytest.raises(Cancelled):
        open_store(path)


def test_arrays_are_read_on_several_threads(tmp_path):
    store = open_store(of_keras(tmp_path / "m.keras", zipfile.ZIP_DEFLATED))
    with ThreadPoolExecutor(4) as threads:
        for read in threads.map(store.read, ["position_embedding/vars/0"] * 60):
            np.testing.assert_array_equal(read, TABLE)


# ---- damaged and hostile files -----------------------------------------------------------


def refusal(path):
    with pytest.raises(SourceError) as caught:
        open_store(path)
    assert path.name in str(caught.value)
    return str(caught.value)


def test_what_is_in_other_files_is_not_opened(tmp_path):
    with h5py.File(tmp_path / "other.h5", "w") as other:
        other["x"] = TABLE
    (tmp_path / "raw").write_bytes(TABLE.tobytes())
    with h5py.File(tmp_path / "a.h5", "w") as file:
        layout = h5py.VirtualLayout(TABLE.shape, "f4")
        layout[:] = h5py.VirtualSource(tmp_path / "other.h5", "x", TABLE.shape)
        file.create_virtual_dataset("virtual", layout)
        external = [(os.fsencode(tmp_path / "raw"), 0, TABLE.nbytes)]
        file.create_dataset("external", TABLE.shape, "f4", external=external)
        file["link"] = h5py.ExternalLink(str(tmp_path / "other.h5"), "x")
        file["soft"] = h5py.SoftLink("/link")
    assert "no arrays of its own" in refusal(tmp_path / "a.h5")
    with h5py.File(tmp_path / "a.h5", "a") as file:
        file["own"] = TABLE
    assert list(open_store(tmp_path / "a.h5").tensors) == ["own"]


@pytest.mark.parametrize("depth", [100, 3_000])
def test_groups_in_groups(tmp_path, depth):
    with h5py.File(tmp_path / "a.h5", "w") as file:
        group = file
        for _ in range(depth):
            group = group.create_group("a")
        group["x"] = TABLE
    assert "more arrays or groups" in refusal(tmp_path / "a.h5")


def test_groups_in_circles(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["a/b/x"] = TABLE
        file["a/b/a"] = file["a"]
    assert len(open_store(tmp_path / "a.h5").tensors) == 1


@pytest.mark.parametrize("bound", ["MAX_DATASETS", "MAX_OBJECTS"])
def test_the_bounds_of_a_file(tmp_path, monkeypatch, bound):
    with h5py.File(tmp_path / "a.h5", "w") as file:
        for n in range(20):
            file[f"x{n}"] = TABLE
    assert len(open_store(tmp_path / "a.h5").tensors) == 20
    monkeypatch.setattr(hdf5_store, bound, 15)
    assert "more arrays or groups" in refusal(tmp_path / "a.h5")


@pytest.mark.parametrize("chunks", [(100, 100), True])
def test_arrays_that_unpack_to_far_more_than_the_file_holds(tmp_path, monkeypatch, chunks):
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("x", (10_000, 10_000), "f4", chunks=chunks, compression="gzip")
    monkeypatch.setattr(hdf5_store, "ALWAYS_UNPACKED", 10_000)
    store = open_store(tmp_path / "a.h5")
    with pytest.raises(SourceError, match="far more than a"):
        store.read("x")


def test_damaged_files(tmp_path):
    original = of_keras(tmp_path / "m.keras", zipfile.ZIP_STORED)
    for path in (original, original.with_suffix(".weights.h5")):
        whole = path.read_bytes()
        for size in (10, 100, len(whole) // 2, len(whole) - 100):
            path.write_bytes(whole[:size])
            refusal(path)
        for at in range(0, min(len(whole), 3_000), 101):
            path.write_bytes(whole[:at] + bytes([whole[at] ^ 255]) + whole[at + 1 :])
            with suppress(HelixscopeError):
                store = open_store(path)
                for name in store.tensors:
                    store.read(name)
    with zipfile.ZipFile(original, "w") as archive:
        archive.writestr("config.json", "{}")
    assert "has no model.weights.h5" in refusal(original)
