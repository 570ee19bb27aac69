"""Files that are read whole: with progress, until they are cancelled."""

import pickle

import numpy as np
import pytest

from geometry.checkpoints.files import open_store
from geometry.checkpoints.formats import array_store, hdf5_store, pickled_store
from geometry.checkpoints.transfer import Cancelled, Transfer, local_reads
from geometry.models.sources.opening import open_model


def stopped_while(verb):
    transfer = Transfer(lambda progress: progress.verb == verb and transfer.cancel())
    return transfer


def test_a_pickle_is_read_with_progress_and_can_be_cancelled(tmp_path):
    (tmp_path / "a.pkl").write_bytes(pickle.dumps({"wpe": np.ones((9, 4))}))
    seen = []
    with local_reads(Transfer(seen.append)):
        open_store(tmp_path / "a.pkl")
    assert (seen[0].done, seen[-1].done) == (0, (tmp_path / "a.pkl").stat().st_size)
    with local_reads(stopped_while("Reading")), pytest.raises(Cancelled):
        open_store(tmp_path / "a.pkl")


@pytest.mark.parametrize("suffix", [".h5", ".hdf5", ".npz", ".pkl"])
def test_a_large_array_is_unpacked_with_progress_and_can_be_cancelled(
    tmp_path, monkeypatch, suffix
):
    array = np.random.default_rng(1).standard_normal((1000, 500)).astype(np.float32)
    path = tmp_path / f"a{suffix}"
    if suffix == ".npz":
        np.savez_compressed(path, wpe=array)
    elif suffix == ".pkl":
        path.write_bytes(pickle.dumps({"wpe": array}, 2))
    else:
        h5py = pytest.importorskip("h5py")
        with h5py.File(path, "w") as file:
            chunks = (30, 70) if suffix == ".h5" else (1000, 20)
            file.create_dataset("wpe", data=array, chunks=chunks, compression="gzip")
    store = open_store(path)
    for module in (array_store, hdf5_store, pickled_store):
        monkeypatch.setattr(module, "LARGE", 100_000)
    seen = []
    with local_reads(Transfer(seen.append, interval_s=0)):
        np.testing.assert_array_equal(store.read("wpe"), array)
    assert len(seen) > 2
    assert (seen[0].done, seen[0].total, seen[-1].done) == (0, array.nbytes, array.nbytes)
    with local_reads(stopped_while(seen[0].verb)), pytest.raises(Cancelled):
        store.read("wpe")


def write_arrow(table, path):
    """Write a table compressed, in parts."""
    pa = pytest.importorskip("pyarrow")
    if path.suffix == ".parquet":
        pytest.importorskip("pyarrow.parquet").write_table(table, path)
        return
    kind = pa.ipc.new_file if path.suffix == ".feather" else pa.ipc.new_stream
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    with kind(path, table.schema, options=options) as out:
        out.write_table(table, max_chunksize=50)


@pytest.mark.parametrize("suffix", [".parquet", ".feather", ".arrow", ".txt"])
def test_a_table_is_read_with_progress_and_can_be_cancelled(tmp_path, suffix):
    numbers = np.random.default_rng(1).standard_normal((300, 4))
    path = tmp_path / f"a{suffix}"
    if suffix == ".txt":
        np.savetxt(path, numbers)
    else:
        pa = pytest.importorskip("pyarrow")
        write_arrow(pa.table({"token": ["a"] * 300, "e": numbers.tolist()}), path)
    seen = []
    with local_reads(Transfer(seen.append, interval_s=0)):
        assert open_model(path).W_pos.shape == numbers.shape
    assert len(seen) > 2
    assert seen[0].done == 0 < seen[-1].done <= seen[-1].total
    for verb in {progress.verb for progress in seen}:
        with local_reads(stopped_while(verb)), pytest.raises(Cancelled):
            open_model(path)


@pytest.mark.parametrize("suffix", [".feather", ".arrow"])
def test_a_compressed_table_says_its_size_before_it_is_unpacked(tmp_path, suffix):
    pa = pytest.importorskip("pyarrow")
    table, path = pa.table({"x": np.zeros(500), "y": np.ones(500)}), tmp_path / f"a{suffix}"
    write_arrow(table, path)
    seen = []
    with local_reads(Transfer(seen.append, interval_s=0)):
        open_model(path)
    unpacked = [progress for progress in seen if progress.verb == "Unpacking"]
    assert (unpacked[0].done, unpacked[0].total) == (0, table.nbytes)
    assert len(unpacked) == 11


@pytest.mark.parametrize("suffix", [".txt", ".csv"])
def test_a_text_is_read_with_progress_also_where_it_has_no_rows(tmp_path, suffix):
    path = tmp_path / f"a{suffix}"
    path.write_text("1 2\n3 4\n5 6\n" + "\n" * 300_000)
    seen = []
    with local_reads(Transfer(seen.append, interval_s=0)):
        open_model(path)
    reading = [progress.done for progress in seen if progress.verb == "Reading"]
    assert len(set(reading)) > 5
