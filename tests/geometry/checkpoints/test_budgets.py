"""Small files that would take the memory or the time of this machine are refused in a sentence."""

import gc
import io
import json
import os
import pickle
import socket
import struct
import sys
import tracemalloc
import zipfile

import numpy as np
import pytest
import torch

from geometry.checkpoints.arrow_files import read_arrow
from geometry.checkpoints.column_files import read_rows
from geometry.checkpoints.errors import SourceError
from geometry.checkpoints.files import open_store
from geometry.checkpoints.formats import array_store, torch_pickle, zip_records
from geometry.checkpoints.formats.array_store import NpzStore
from geometry.checkpoints.formats.torch_store import open_torch
from geometry.checkpoints.plain_text import MAX_SENTENCE_LENGTH
from geometry.history.trainer_log import read_log
from geometry.models.sources.opening import open_model
from tests.small_models import write_raw


def refusal(path):
    """The error for a source: one sentence that names the file."""
    with pytest.raises(SourceError) as caught:
        open_model(path)
    assert path.name in str(caught.value)
    assert len(str(caught.value)) <= MAX_SENTENCE_LENGTH
    return str(caught.value)


def archive(path, files, method=zipfile.ZIP_STORED):
    with zipfile.ZipFile(path, "w", method) as packed:
        for name, content in files.items():
            packed.writestr(name, content)
    return path


@pytest.mark.parametrize(
    "shape", [[2**62] * 80_000, [1] * 65, [0] * 17, [2**63], [-1, -1], [1.0, 4], [True, 4]]
)
def test_shapes_that_no_tensor_has(shape, tmp_path):
    entry = {"dtype": "F32", "shape": shape, "data_offsets": [0, 4]}
    path = write_raw(tmp_path / "model.safetensors", {"wpe.weight": entry}, bytes(4))
    assert "does not describe" in refusal(path)


def test_numbers_of_thousands_of_digits(tmp_path):
    raw = b'{"wpe.weight":{"dtype":"F32","shape":[%s],"data_offsets":[0,4]}}' % (b"9" * 5000)
    path = write_raw(tmp_path / "model.safetensors", raw, bytes(4))
    assert "is not valid JSON" in refusal(path)


def test_more_tensors_than_any_checkpoint_has(tmp_path, monkeypatch):
    monkeypatch.setattr("geometry.checkpoints.formats.safetensors_store.MAX_TENSORS", 3)
    entry = {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]}
    path = write_raw(tmp_path / "model.safetensors", dict.fromkeys("abcd", entry))
    assert "describes 4 tensors; at most 3" in refusal(path)


def torch_archive(path, pickled, **more):
    files = {"archive/data.pkl": pickled, "archive/data/0": bytes(64), "archive/version": b"3\n"}
    return archive(path, {**files, **{f"archive/{name}": body for name, body in more.items()}})


def shared_dicts(depth):
    inner = {"a": 1}
    for _ in range(depth):
        inner = {"x": inner, "y": inner}
    return pickle.dumps(inner, protocol=2)


def own_dict():
    content = {}
    content["me"] = content
    return pickle.dumps(content, protocol=2)


def same_steps():
    # The same numbers, none of which is a state dict, for each of many steps.
    n = 40_000
    numbers = b"}q\x01(" + b"".join(b"J" + struct.pack("<i", i) + b"N" for i in range(n)) + b"u"
    steps = b"".join(b"J" + struct.pack("<i", i) + b"h\x01" for i in range(n))
    return b"\x80\x02" + numbers + b"0}(" + steps + b"u."


def tuple_as_key():
    # ((((), ()), …), …) as a key: its hash takes 2 to the depth.
    return b"\x80\x02})" + b"2\x86" * 60 + b"K\x01s."


def equal_hashes():
    # Written without such a dictionary, which takes seconds to make.
    keys = (pickle.dumps(n * (2**61 - 1), protocol=2)[2:-1] for n in range(20_000))
    return b"\x80\x02}(" + b"".join(key + b"K\x00" for key in keys) + b"u."


@pytest.mark.parametrize(
    "pickled",
    [
        shared_dicts(40),
        own_dict(),
        tuple_as_key(),
        equal_hashes(),
        same_steps(),
        b"\x80\x05\x96" + struct.pack("<Q", 2**40) + b".",  # a bytearray of 2⁴⁰ bytes
        b"\x80\x05\x8e" + struct.pack("<Q", 2**40) + b".",  # bytes, likewise
        b"\x80\x02}r\xff\xff\xff\xff.",  # entry 2³² − 1 of the memo
        b"cbuiltins\nbytearray\n(J\x00\x00\x00\x7ftR.",
        b"cos\nsystem\n(S'touch run'\ntR.",
        b"ctorch._utils\n_rebuild_tensor_v2\n}b.",  # a state for a function
        b"]" * 2000 + b".",
        b"",
    ],
)
def test_pickles_without_end(pickled, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    refusal(torch_archive(tmp_path / "pytorch_model.bin", pickled))
    assert not (tmp_path / "run").exists()


def test_the_bounds_of_a_pickle(tmp_path, monkeypatch):
    path = tmp_path / "pytorch_model.bin"
    torch.save({"model": {f"h.{i}": torch.ones(2, 2) for i in range(20)}}, path)
    assert len(open_torch(path).tensors) == 20
    for name, bound in (("MAX_ENTRIES", 20), ("MAX_DEPTH", 1), ("MAX_NAME", 5)):
        with monkeypatch.context() as narrow:
            narrow.setattr(torch_pickle, name, bound)
            assert "more entries than any model" in refusal(path)
    monkeypatch.setattr("geometry.checkpoints.formats.torch_store.MAX_PICKLE", 100)
    assert "at most 100 are read" in refusal(path)


def test_a_version_of_2_to_the_40_bytes(tmp_path):
    path = tmp_path / "pytorch_model.bin"
    torch.save({"wpe.weight": torch.ones(4, 3)}, path)
    with zipfile.ZipFile(path, "a") as packed:
        packed.writestr("pytorch_model/more", b"")  # so that the directory is written again
        version = packed.getinfo("pytorch_model/version")
        version.file_size = version.compress_size = 2**40
    np.testing.assert_array_equal(open_torch(path).read("wpe.weight"), np.ones((4, 3)))


def test_a_directory_without_end(tmp_path, monkeypatch):
    monkeypatch.setattr(zip_records, "MAX_DIRECTORY", 300)
    files = {f"archive/{n}": b"" for n in range(20)}
    path = archive(tmp_path / "pytorch_model.bin", {"archive/data.pkl": b"", **files})
    assert "has a directory of" in refusal(path)


def test_tensors_of_all_kinds_are_found_without_torch(tmp_path):
    path = tmp_path / "pytorch_model.bin"
    kinds = {
        "table": torch.arange(6.0).reshape(2, 3),
        "half": torch.ones(2, dtype=torch.float16),
        "bfloat": torch.ones(2, dtype=torch.bfloat16),
        "float8": torch.ones(2).to(torch.float8_e4m3fn),
        "uint16": torch.ones(2, dtype=torch.uint16),
        "complex": torch.ones(2, dtype=torch.complex64),
        "sparse": torch.eye(2).to_sparse(),
        "meta": torch.ones(2, device="meta"),
        "parameter": torch.nn.Parameter(torch.ones(2, 2)),
        "more": {"size": torch.Size([1]), "dtype": torch.float16, "bytes": b"x", "list": [1]},
    }
    torch.save(kinds, path)
    found = open_torch(path).tensors
    assert {name: (info.dtype, info.shape) for name, info in found.items()} == {
        "table": ("F32", (2, 3)), "half": ("F16", (2,)), "bfloat": ("BF16", (2,)),
        "float8": ("F8_E4M3", (2,)), "uint16": ("U16", (2,)), "complex": ("C64", (2,)),
        "parameter": ("F32", (2, 2)),
    }  # fmt: skip


@pytest.fixture
def most_memory():
    """A function: the most bytes that were allocated since the last call."""
    tracemalloc.start()
    yield lambda: (tracemalloc.get_traced_memory()[1], tracemalloc.reset_peak())[0]
    tracemalloc.stop()


def test_metadata_larger_than_any_are_not_read(tmp_path, most_memory):
    path = tmp_path / "model.safetensors"
    with path.open("wb") as file:
        file.write(struct.pack("<Q", 95_000_000) + b'{"__metadata__": {')
        file.truncate(95_000_100)
    assert "at most 32000000 are allowed" in refusal(path)
    assert most_memory() < 10_000_000


@pytest.mark.slow
def test_the_largest_metadata_that_are_read_take_less_than_300_mb(tmp_path, most_memory):
    path = tmp_path / "model.safetensors"
    metadata = dict.fromkeys(map(str, range(900_000)), "")
    tensor = {"dtype": "F32", "shape": [4, 2], "data_offsets": [0, 32]}
    write_raw(path, {"__metadata__": metadata, "wpe.weight": tensor}, bytes(32))
    del metadata
    gc.collect()
    most_memory()
    assert list(open_store(path).tensors) == ["wpe.weight"]
    assert most_memory() < 300_000_000


@pytest.mark.parametrize("protocol", [0, 2, 4])
def test_of_a_pickle_only_the_array_that_is_read_is_in_memory(tmp_path, most_memory, protocol):
    array = np.random.default_rng(1).standard_normal((1000, 1000))
    wpe = array[:100].copy()
    (tmp_path / "a.pkl").write_bytes(pickle.dumps({"wte": array, "wpe": wpe}, protocol))
    most_memory()
    read = open_store(tmp_path / "a.pkl").read("wpe")
    assert most_memory() < array.nbytes + 3 * wpe.nbytes
    np.testing.assert_array_equal(read, wpe)


def test_of_a_text_of_numbers_only_the_numbers_are_in_memory(tmp_path, most_memory):
    values = np.random.default_rng(1).standard_normal((300, 100))
    np.savetxt(tmp_path / "a.txt", values, "%.6f")
    before = values.nbytes
    most_memory()
    read = read_rows(tmp_path / "a.txt").values
    assert most_memory() < before + 6 * values.nbytes
    np.testing.assert_allclose(read, values, atol=1e-6)


def test_columns_of_parquet_are_unpacked_in_groups(tmp_path):
    """Each has a dictionary, which is longer than its numbers."""
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    columns = np.random.default_rng(1).standard_normal((300, 3_000))
    parquet.write_table(
        pa.table({f"x{n}": x for n, x in enumerate(columns)}), tmp_path / "a.parquet"
    )
    default = pa.default_memory_pool()
    pool = pa.proxy_memory_pool(default)
    pa.set_memory_pool(pool)
    try:
        np.testing.assert_array_equal(read_arrow(tmp_path / "a.parquet").values, columns.T)
    finally:
        pa.set_memory_pool(default)
    assert pool.max_memory() < 1.5 * columns.nbytes


def npy(header):
    raw = header.encode("latin1")
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(raw)) + raw


@pytest.mark.parametrize(
    "header",
    [
        "{'descr': '|V0', 'fortran_order': False, 'shape': (4, 3), }\n",
        "{'descr': '<U0', 'fortran_order': False, 'shape': (4, 3), }\n",
        "{'descr': '|O', 'fortran_order': False, 'shape': (4, 3), }\n",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (%s), }\n" % (f"{2**62}," * 9),
        "{'descr': '<f4', 'fortran_order': False, 'shape': (%s), }\n" % ("1," * 65),
        "{'descr': '<f4', 'fortran_order': False, 'shape': (-1, 3), }\n",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (%s,), }\n" % ("9" * 5000),
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2*3,), }\n",
        "(" * 5000,
        "-" * 5000 + "1",
        "{'descr': '<f4'",
    ],
)  # fmt: skip
def test_headers_that_no_array_has(header, tmp_path):
    path = tmp_path / "table.npy"
    path.write_bytes(npy(header) + bytes(64))
    assert "ast." not in refusal(path)
    archive(tmp_path / "tables.npz", {"table.npy": npy(header) + bytes(64)})
    refusal(tmp_path / "tables.npz")


def test_arrays_that_unpack_to_far_more_than_the_file_holds(tmp_path, monkeypatch):
    monkeypatch.setattr(array_store, "ALWAYS_UNPACKED", 10_000)
    path = tmp_path / "tables.npz"
    np.savez_compressed(path, wpe=np.zeros((100, 100)), small=np.zeros((10, 10)))
    store = NpzStore(path)
    assert store.read("small").shape == (10, 10)
    with pytest.raises(SourceError, match="far more than tables"):
        store.read("wpe")


def test_a_header_that_announces_more_than_its_member_holds(tmp_path):
    header = "{'descr': '<f4', 'fortran_order': False, 'shape': (1000, 1000), }\n"
    path = archive(tmp_path / "tables.npz", {"table.npy": npy(header) + bytes(64)})
    assert "does not have the size in its header" in refusal(path)


def test_archives_packed_like_no_array_are_refused(tmp_path):
    content = io.BytesIO()
    np.save(content, np.zeros((4, 3)))
    path = archive(tmp_path / "t.npz", {"table.npy": content.getvalue()}, zipfile.ZIP_LZMA)
    assert "compression method that is not supported" in refusal(path)


def test_more_arrays_than_any_model_has(tmp_path, monkeypatch):
    monkeypatch.setattr(array_store, "MAX_ARRAYS", 2)
    np.savez(tmp_path / "t.npz", a=np.zeros(1), b=np.zeros(1), c=np.zeros(1))
    assert "holds 3 arrays; at most 2" in refusal(tmp_path / "t.npz")


@pytest.mark.skipif(sys.platform == "win32", reason="has no such files")
@pytest.mark.parametrize("name", ["model.safetensors", "pytorch_model.bin", "t.npy", "t.npz",
                                  "model.safetensors.index.json",
                                  "t.parquet", "t.arrow"])  # fmt: skip
def test_pipes_and_sockets_are_refused_at_once(name, tmp_path, monkeypatch):
    os.mkfifo(tmp_path / name)
    assert "is a pipe" in refusal(tmp_path / name)
    os.unlink(tmp_path / name)
    monkeypatch.chdir(tmp_path)  # a socket's path is short
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(name)
        assert "is a pipe" in refusal(tmp_path / name)


@pytest.mark.skipif(sys.platform == "win32", reason="has no such files")
def test_a_device_is_refused(tmp_path):
    (tmp_path / "model.safetensors").symlink_to("/dev/zero")
    assert "is a pipe" in refusal(tmp_path / "model.safetensors")


@pytest.mark.parametrize("shard", ["s" * 300, "a/b", "..", "", "a\0b", "é" * 200, "\ud800" * 100])
def test_names_of_shards_that_are_no_file_names(shard, tmp_path):
    path = tmp_path / "model.safetensors.index.json"
    path.write_text(json.dumps({"weight_map": {"wpe.weight": shard}}))
    assert "not a file name" in refusal(path)


@pytest.mark.parametrize(
    "history",
    ["true", "1", '"x"', "[1, null, []]", '[{"step": 1%s, "loss": 2}]' % ("0" * 400),
     '[{"step": 1, "loss": 1%s}]' % ("0" * 400), '[{"step": NaN, "loss": Infinity}]',
     '[{"step": true, "loss": "x"}]', '[{"step": 1, "num_input_tokens_seen": 1e300}]'],
)  # fmt: skip
def test_logs_of_any_content(history, tmp_path):
    (tmp_path / "trainer_state.json").write_text(f'{{"log_history": {history}}}')
    assert read_log([tmp_path], [1, 2]) == (None, None)


def test_a_log_in_place_of_which_there_is_a_folder(tmp_path):
    (tmp_path / "trainer_state.json").mkdir()
    assert read_log([tmp_path], [1]) == (None, None)


def test_open_store_turns_anything_into_a_sentence(tmp_path, monkeypatch):
    def panic(path):
        raise BaseException("index out of bounds")

    monkeypatch.setattr("geometry.checkpoints.files.open_safetensors", panic)
    (tmp_path / "model.safetensors").write_bytes(bytes(8) + b"{}")
    with pytest.raises(SourceError, match=r"model\.safetensors is damaged\."):
        open_store(tmp_path / "model.safetensors")
