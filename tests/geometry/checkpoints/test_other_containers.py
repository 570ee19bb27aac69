"""Containers of other libraries: llm.c, TensorFlow, pickles, ONNX, Arrow, texts of vectors."""

import bz2
import gzip
import lzma
import pickle
import struct
import sys
import time
import types

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import feather, parquet

from geometry.checkpoints.arrow_files import read_arrow
from geometry.checkpoints.column_files import labels_beside, read_rows
from geometry.checkpoints.errors import SourceError
from geometry.checkpoints.files import open_store, weights_in
from geometry.models.sources.opening import open_model
from tools.campaigns.weight_kinds import block, hdf5, message, onnx, tensorflow, varint

RANDOM = np.random.default_rng(11)
P = RANDOM.standard_normal((9, 4))


# ---- llm.c -------------------------------------------------------------------------------


def write_llmc(path, version=3, n_layer=2, vocab=10, padded=16):
    d, n = 4, 6
    rows = vocab if version == 1 else padded
    shapes = [(rows, d), (n, d)]
    for n_out, n_in in ((d, 0), (3 * d, d), (d, d), (d, 0), (4 * d, d), (d, 4 * d)):
        shapes += [(n_layer, n_out, n_in) if n_in else (n_layer, n_out), (n_layer, n_out)]
    parts = [RANDOM.standard_normal(shape).astype(np.float32) for shape in (*shapes, (d,), (d,))]
    header = struct.pack("<256i", 20240326, version, n, vocab, n_layer, 2, d, padded, *[0] * 248)
    stored = parts
    if version == 5:
        stored = [(part.view(np.uint32) >> 16).astype(np.uint16) for part in parts]
        parts = [(part.astype(np.uint32) << 16).view(np.float32) for part in stored]
    path.write_bytes(header + b"".join(part.tobytes() for part in stored))
    return parts


@pytest.mark.parametrize("version", [1, 3, 5])
def test_llmc(tmp_path, version):
    parts = write_llmc(tmp_path / "model.bin", version)
    store = open_store(tmp_path / "model.bin")
    np.testing.assert_array_equal(store.read("transformer.wte.weight"), parts[0][:10])
    np.testing.assert_array_equal(store.read("transformer.wpe.weight"), parts[1])
    for layer in (0, 1):
        name = f"transformer.h.{layer}."
        np.testing.assert_array_equal(store.read(f"{name}attn.c_attn.weight"), parts[4][layer])
        np.testing.assert_array_equal(store.read(f"{name}mlp.c_proj.bias"), parts[13][layer])
    np.testing.assert_array_equal(store.read("transformer.ln_f.bias"), parts[15])
    assert store.settings == {
        "block_size": 6, "vocab_size": 10, "n_layer": 2, "n_head": 2, "n_embd": 4
    }  # fmt: skip


def test_llmc_of_another_size_is_refused(tmp_path):
    path = tmp_path / "model.bin"
    write_llmc(path)
    data = path.read_bytes()
    for changed in (data[:-4], data + b"\0\0\0\0", data[:16] + b"\xff\xff\xff\x7f" + data[20:]):
        path.write_bytes(changed)
        with pytest.raises(SourceError, match="do not fit its header"):
            open_store(path)
    path.write_bytes(data[:4] + b"\x09" + data[5:])
    with pytest.raises(SourceError, match="version 9"):
        open_store(path)


# ---- pickles -----------------------------------------------------------------------------


@pytest.mark.parametrize("protocol", range(6))
@pytest.mark.parametrize("dtype", ["<f4", ">f8", "<f2"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_arrays_in_pickles(tmp_path, protocol, dtype, order):
    content = {"blocks": ({"w": P.astype(dtype, order=order)},), "wpe": P[:5].astype(dtype)}
    (tmp_path / "a.pkl").write_bytes(pickle.dumps(content, protocol))
    store = open_store(tmp_path / "a.pkl")
    assert list(store.tensors) == ["blocks.0.w", "wpe"]
    np.testing.assert_array_equal(store.read("blocks.0.w"), P.astype(dtype))


@pytest.mark.parametrize("suffix", [".npy", ".npz", ".pkl"])
def test_arrays_of_bfloat16(tmp_path, suffix):
    values, path = P.astype(pytest.importorskip("ml_dtypes").bfloat16), tmp_path / f"a{suffix}"
    if suffix == ".pkl":
        path.write_bytes(pickle.dumps({"a": values}))
    else:
        np.save(path, values) if suffix == ".npy" else np.savez(path, a=values)
    np.testing.assert_array_equal(open_store(path).read("a"), values.astype(np.float32))


def test_arrays_of_jax_in_pickles(tmp_path, monkeypatch):
    """Which pickles them as NumPy's, with a function of its own."""

    def reconstruct():
        pytest.fail("it was called")

    class Array:
        def __reduce__(self):
            return reconstruct, (*P.__reduce__(), {"weak_type": False})

    reconstruct.__module__, reconstruct.__qualname__ = "jax._src.array", "_reconstruct_array"
    module = types.ModuleType("jax._src.array")
    module._reconstruct_array = reconstruct
    for name, value in (("jax", module), ("jax._src", module), ("jax._src.array", module)):
        monkeypatch.setitem(sys.modules, name, value)
    (tmp_path / "a.pkl").write_bytes(pickle.dumps({"params": {"wpe": Array()}}))
    np.testing.assert_array_equal(open_store(tmp_path / "a.pkl").read("params.wpe"), P)


@pytest.mark.parametrize("content", [{"wpe": P}, [{"wpe": P}, {"wpe": P + 1}]])
def test_objects_in_an_array_of_numpy(tmp_path, content):
    objects = np.array(content, object)
    np.save(tmp_path / "a.npy", objects, allow_pickle=True)
    store = open_store(tmp_path / "a.npy")
    np.testing.assert_array_equal(store.read("0.wpe" if objects.ndim else "wpe"), P)
    if not objects.ndim:
        np.testing.assert_array_equal(open_model(tmp_path / "a.npy").W_pos, P)


def test_objects_beside_the_arrays_of_an_archive_are_not_read(tmp_path):
    np.savez(tmp_path / "a.npz", wpe=P, config=np.array({"n_head": 2}, object))
    store = open_store(tmp_path / "a.npz")
    assert list(store.tensors) == ["wpe"]
    np.testing.assert_array_equal(store.read("wpe"), P)


@pytest.mark.parametrize("packed", [gzip, bz2, lzma])
def test_compressed_files_are_named(tmp_path, packed):
    (tmp_path / "a.pkl").write_bytes(packed.compress(pickle.dumps({"wpe": P})))
    with pytest.raises(SourceError, match=r"a\.pkl is compressed"):
        open_store(tmp_path / "a.pkl")


def test_a_pickle_without_arrays_is_named_and_not_run(tmp_path, capsys):
    class Hostile:
        def __reduce__(self):
            return (print, ("it was run",))

    (tmp_path / "a.pkl").write_bytes(pickle.dumps(Hostile()))
    with pytest.raises(SourceError, match=r"of builtins\.print.*not run"):
        open_store(tmp_path / "a.pkl")
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("protocol", range(6))
def test_large_arrays_in_pickles(tmp_path, protocol):
    """Of more than a window, whose bytes are escaped, or not, in every way."""
    large = RANDOM.integers(0, 2**32, (300, 100), np.uint32).view(np.float32)
    content = {"wte": large, "ln": P, "wpe": large.T, "lm_head": large}
    (tmp_path / "a.pkl").write_bytes(pickle.dumps(content, protocol))
    store = open_store(tmp_path / "a.pkl")
    assert list(store.tensors) == list(content)
    for name, array in content.items():
        assert store.read(name).tobytes() == array.tobytes()


class OfPython2(pickle._Pickler):
    """Writes as Python 2 did, where bytes and texts had the same type."""

    dispatch = pickle._Pickler.dispatch.copy()

    def save_text(self, value):
        raw = value.encode() if isinstance(value, str) else value
        if not self.proto:
            self.write(f"S{repr(raw)[1:]}\n".encode())
        else:
            short = len(raw) < 256
            self.write(struct.pack(*("<cB", b"U") if short else ("<cI", b"T"), len(raw)) + raw)
        self.memoize(value)

    dispatch[bytes] = dispatch[str] = save_text


@pytest.mark.parametrize("protocol", [0, 2])
@pytest.mark.parametrize(
    "array",
    [
        RANDOM.integers(0, 2**32, (900, 50), np.uint32).view(np.float32),
        np.full((900, 50), np.frombuffer(b"\\'\n\\", np.float32)),
        RANDOM.standard_normal((5, 4)).astype(np.float32),
        RANDOM.standard_normal((50, 4)).astype(np.float32),
        np.frombuffer(b"\xc3\xa9\0\0" * 12, np.float32).reshape(4, 3),
    ],
    ids=["large", "escapes", "short", "longer", "utf-8"],
)
def test_arrays_that_python_2_pickled(tmp_path, protocol, array):
    with (tmp_path / "a.pkl").open("wb") as file:
        OfPython2(file, protocol).dump({"wpe": array})
    loaded = pickle.loads((tmp_path / "a.pkl").read_bytes(), encoding="latin1")
    assert loaded["wpe"].tobytes() == array.tobytes()
    assert open_store(tmp_path / "a.pkl").read("wpe").tobytes() == array.tobytes()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"\xc2\xbf", b"\xc2\xc2"),
        (b"\xc2\xbf", b"\xc4\xbf"),
        (b"\xc2\xbf", b"??"),
        (b"??", b"\xc2\xbf"),
    ],
    ids=["no text", "another character", "more bytes", "fewer bytes"],
)
def test_texts_that_are_not_the_bytes_of_their_array(tmp_path, before, after):
    array = np.full((300, 100), np.frombuffer(b"??\xbf?", np.float32))
    data = pickle.dumps({"wpe": array}, 2)
    at = data.index(before, len(data) // 2)
    (tmp_path / "a.pkl").write_bytes(data[:at] + after + data[at + 2 :])
    with pytest.raises(SourceError, match=r"a\.pkl is a damaged pickle"):
        open_model(tmp_path / "a.pkl")


@pytest.mark.parametrize("nbytes", [2**62, 2**64 - 1])
def test_a_pickle_with_a_value_beyond_its_end_is_damaged(tmp_path, nbytes):
    (tmp_path / "a.pkl").write_bytes(b"\x80\x04\x8e" + nbytes.to_bytes(8, "little") + b".")
    with pytest.raises(SourceError, match=r"a\.pkl is a damaged pickle"):
        open_store(tmp_path / "a.pkl")


# ---- tables ------------------------------------------------------------------------------


def write_stream(table, path, compression=None):
    """Write a table as datasets does, which also calls such files ".arrow"."""
    options = pa.ipc.IpcWriteOptions(compression=compression)
    with (
        pa.OSFile(str(path), "wb") as file,
        pa.ipc.new_stream(file, table.schema, options=options) as stream,
    ):
        stream.write_table(table)


def test_columns_and_lists_of_arrow(tmp_path):
    columns = pa.table({"token": list("abcdefghi"), **{f"x{i}": P[:, i] for i in range(4)}})
    lists = pa.table({"token": list("abcdefghi"), "embedding": P.tolist()})
    for table in (columns, lists):
        parquet.write_table(table, tmp_path / "a.parquet")
        feather.write_feather(table, tmp_path / "a.feather")
        write_stream(table, tmp_path / "a.arrow")
        for name in ("a.parquet", "a.feather", "a.arrow"):
            rows = read_arrow(tmp_path / name)
            np.testing.assert_array_equal(rows.values, P)
            assert rows.columns[0].values == tuple("abcdefghi")


def test_arrow_without_numbers_is_refused(tmp_path):
    parquet.write_table(pa.table({"token": ["a"]}), tmp_path / "a.parquet")
    with pytest.raises(SourceError, match="no columns of numbers"):
        read_arrow(tmp_path / "a.parquet")
    (tmp_path / "a.parquet").write_bytes(b"PAR1 and nothing else")
    with pytest.raises(SourceError, match="cannot be read as a table"):
        read_arrow(tmp_path / "a.parquet")


@pytest.mark.parametrize(
    "name", ["a.parquet", "lz4.feather", "zstd.feather", "uncompressed.feather", "zstd.arrow"]
)
def test_more_entries_than_are_read_are_refused_before_they_are_unpacked(
    name, tmp_path, monkeypatch
):
    """Equal numbers take hardly any bytes in a file."""
    table = pa.table({"x": np.zeros(5_000), "y": np.zeros(5_000)})
    if name.endswith(".feather"):
        feather.write_feather(table, tmp_path / name, compression=name.partition(".")[0])
    elif name.endswith(".arrow"):
        write_stream(table, tmp_path / name, name.partition(".")[0])
    else:
        parquet.write_table(table, tmp_path / name)
    assert read_arrow(tmp_path / name).values.shape == (5_000, 2)
    monkeypatch.setattr("geometry.checkpoints.arrow_files.MAX_NUMBERS", 9_999)
    for reader in ("parquet.ParquetFile.iter_batches", "feather.read_table", "ipc.open_stream"):
        monkeypatch.setattr(f"pyarrow.{reader}", pytest.fail)
    with pytest.raises(SourceError, match="entries; at most"):
        read_arrow(tmp_path / name)


def test_a_dictionary_of_arrow_counts_before_it_is_unpacked(tmp_path, monkeypatch):
    labels = pa.DictionaryArray.from_arrays(pa.array(np.zeros(9, "i4")), pa.array(np.zeros(5_000)))
    table = pa.table({"x": P[:, 0], "y": P[:, 1], "label": labels})
    feather.write_feather(table, tmp_path / "a.feather", compression="zstd")
    assert read_arrow(tmp_path / "a.feather").values.shape == (9, 2)
    monkeypatch.setattr("geometry.checkpoints.arrow_files.MAX_NUMBERS", 4_999)
    monkeypatch.setattr("pyarrow.ipc.open_file", pytest.fail)
    with pytest.raises(SourceError, match="entries; at most"):
        read_arrow(tmp_path / "a.feather")


def test_columns_of_lists_are_no_labels(tmp_path):
    tokens = [list(range(9_000))] * len(P)
    table = pa.table({"tokens": tokens, "e": P.tolist(), "half": P[:, 0].astype("f2")})
    parquet.write_table(table, tmp_path / "a.parquet")
    rows = read_arrow(tmp_path / "a.parquet")
    np.testing.assert_array_equal(rows.values, P)
    assert [column.name for column in rows.columns] == ["half"]


@pytest.mark.parametrize("name", ["a.parquet", "a.feather"])
@pytest.mark.parametrize("what", ["one long text", "one long row"])
def test_what_is_short_in_the_file_and_long_in_memory_is_refused(what, name, tmp_path):
    """A text of a megabyte in all rows, and a list of equal numbers."""
    n = 2_000
    if what == "one long text":
        indices = pa.array(np.zeros(n, np.int32))
        text = pa.DictionaryArray.from_arrays(indices, pa.array(["x" * 1_000_000]))
        table = pa.table({"x": np.zeros(n), "token": text})
    else:
        ends = pa.array(np.array([0, 1, 6_000_000], np.int32))
        table = pa.table({"e": pa.ListArray.from_arrays(ends, pa.array(np.zeros(6_000_000, "f2")))})
    write = feather.write_feather if name.endswith(".feather") else parquet.write_table
    write(table, tmp_path / name, compression="zstd")
    del table
    assert (tmp_path / name).stat().st_size < 1_000_000
    begun = time.process_time()
    with pytest.raises(SourceError, match=r"a text of|entries; at most|different lengths"):
        read_arrow(tmp_path / name)
    assert time.process_time() - begun < 5


def test_texts_beyond_their_bytes_are_refused(tmp_path):
    """pyarrow reads what is beside them in memory, unless it is asked to check."""
    table = pa.table({"token": list("abcdefghi"), "x": P[:, 0]})
    feather.write_feather(table, tmp_path / "a.feather", compression="uncompressed")
    data = (tmp_path / "a.feather").read_bytes()
    ends = np.arange(10, dtype="<i4").tobytes()
    assert ends in data
    damaged = np.array([*range(9), 2**28], "<i4").tobytes()
    (tmp_path / "a.feather").write_bytes(data.replace(ends, damaged))
    with pytest.raises(SourceError, match="cannot be read as a table"):
        read_arrow(tmp_path / "a.feather")


LABELLED = "\n".join(f"w{n} " + " ".join(map(repr, row)) for n, row in enumerate(P.tolist()))


@pytest.mark.parametrize("text", [LABELLED, f"9 4\n{LABELLED}"], ids=["GloVe", "word2vec"])
def test_texts_of_vectors(tmp_path, text):
    (tmp_path / "a.txt").write_text(text, "utf-8")
    rows = read_rows(tmp_path / "a.txt")
    np.testing.assert_array_equal(rows.values, P)
    assert rows.values.flags.c_contiguous
    assert rows.columns[0].values[:2] == ("w0", "w1")


def test_labels_of_rows_can_have_any_characters_but_spaces(tmp_path):
    """As GloVe's: tags, and spaces and ends of lines that only Unicode has."""
    labels = ["the", "#", "#tag", "a\u00a0b", "a\u2028b", "a\x85b"]
    rows = RANDOM.standard_normal((len(labels), 4))
    lines = (f"{label} {' '.join(map(str, row))}" for label, row in zip(labels, rows, strict=True))
    (tmp_path / "a.txt").write_text("# a comment\n" + "\n".join(lines), "utf-8")
    np.testing.assert_array_equal(read_rows(tmp_path / "a.txt").values, rows)


def test_numbers_with_spaces(tmp_path):
    np.savetxt(tmp_path / "a.txt", P, header="a comment")
    np.testing.assert_allclose(read_rows(tmp_path / "a.txt").values, P)


def test_the_projectors_tables(tmp_path):
    np.savetxt(tmp_path / "tensors.tsv", P, delimiter="\t")
    path = weights_in(tmp_path)
    np.testing.assert_allclose(read_rows(path).values, P)
    assert labels_beside(path, 9) == ()
    (tmp_path / "metadata.tsv").write_text("\n".join("abcdefghi"), "utf-8")
    assert labels_beside(path, 9)[0].values == tuple("abcdefghi")
    table = "word\tcount\n" + "\n".join(f"{c}\t{n}" for n, c in enumerate("abcdefghi"))
    (tmp_path / "metadata.tsv").write_text(table, "utf-8")
    assert [column.name for column in labels_beside(path, 9)] == ["word", "count"]
    assert labels_beside(path, 8) == ()


# ---- TensorFlow --------------------------------------------------------------------------

TABLES = {"model/wpe": P.astype("f4"), "model/wte": P[:5].astype("f4")}


def write_tensorflow(folder, files):
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return folder / "model.ckpt.index"


def test_tensorflows_tables(tmp_path):
    store = open_store(write_tensorflow(tmp_path, tensorflow(TABLES)))
    for name, values in TABLES.items():
        np.testing.assert_array_equal(store.read(name), values)


@pytest.mark.parametrize("growing", [True, False])
def test_an_index_that_takes_long_is_refused(growing, tmp_path):
    """Keys that each repeat the one before, and a block that is read a million times."""
    entries = b"\0\1\0a" + b"".join(
        varint(n) + b"\1\0a" for n in range(1, 300_000 if growing else 200)
    )
    data = block(entries)
    handle = varint(0) + varint(len(data) - 5)
    rows = b"\0\1" + varint(len(handle)) + b"k" + handle
    index = block(rows * (1 if growing else 500_000))
    places = b"".join(map(varint, (0, len(data) - 5, len(data), len(index) - 5)))
    footer = places.ljust(40, b"\0") + (0xDB4775248B80FB57).to_bytes(8, "little")
    path = write_tensorflow(tmp_path, {"model.ckpt.index": data + index + footer})
    begun = time.process_time()
    with pytest.raises(SourceError, match="is damaged"):
        open_store(path)
    assert time.process_time() - begun < 2


# ---- ONNX and HDF5 -----------------------------------------------------------------------


@pytest.mark.parametrize("write", [onnx, hdf5])
def test_arrays_of_other_libraries(write, tmp_path):
    ((name, content),) = write(TABLES).items()
    (tmp_path / name).write_bytes(content)
    store = open_store(tmp_path / name)
    for table, values in TABLES.items():
        np.testing.assert_array_equal(store.read(table), values)


def test_the_campaigns_onnx_is_that_of_the_onnx_package():
    package = pytest.importorskip("onnx", reason="onnx is not installed")
    model = package.load_model_from_string(onnx(TABLES)["a.onnx"])
    for weight in model.graph.initializer:
        np.testing.assert_array_equal(package.numpy_helper.to_array(weight), TABLES[weight.name])


def test_a_shape_of_a_million_sizes_is_refused(tmp_path):
    sizes = message((1, bytes(1_000_000)), (2, 1), (8, b"x"), (9, b""))
    (tmp_path / "a.onnx").write_bytes(message((7, message((5, sizes)))))
    begun = time.process_time()
    with pytest.raises(SourceError, match="is damaged"):
        open_store(tmp_path / "a.onnx")
    assert time.process_time() - begun < 0.2
