"""GGUF files: written by the package gguf, read by us, and compared with its own conversion."""

import numpy as np
import pytest
from gguf import GGML_QUANT_SIZES, GGMLQuantizationType, GGUFWriter
from gguf.quants import dequantize, quantize

from geometry.checkpoints.errors import SourceError, TensorUnavailable
from geometry.checkpoints.files import choose_weights, open_store
from geometry.checkpoints.formats.gguf_store import (
    MAX_KEPT,
    QUANTISED,
    TYPES,
    GgufStore,
    open_gguf,
    part_names,
)

Kind = GGMLQuantizationType
WRITTEN = (Kind.F32, Kind.F16, Kind.BF16, Kind.Q8_0, Kind.Q4_0, Kind.Q4_1, Kind.Q5_0)


def write(path, tensors, settings=(), arch="llama", **options):
    """Write tensors, each an array or raw blocks with their type."""
    writer = GGUFWriter(path, arch, **options)
    for key, value in settings:
        if isinstance(value, str):
            writer.add_string(key, value)
        elif isinstance(value, list):
            writer.add_array(key, value)
        elif isinstance(value, bool):
            writer.add_bool(key, value)
        elif isinstance(value, float):
            writer.add_float32(key, value)
        else:
            writer.add_uint32(key, value)
    for name, value in tensors.items():
        data, kind = value if isinstance(value, tuple) else (value, None)
        writer.add_tensor(name, data, raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def write_parts(folder, tensors, settings=(), arch="llama"):
    """Write a file in three parts, whose settings are in the first."""
    write(folder / "split.gguf", tensors, settings, arch, split_max_tensors=-(-len(tensors) // 3))
    return sorted(folder.glob("split-*.gguf"))


@pytest.fixture
def values():
    return np.random.default_rng(0).standard_normal((6, 64)).astype(np.float32)


@pytest.mark.parametrize("kind", WRITTEN, ids=lambda kind: kind.name)
def test_each_type_is_read_as_the_package_converts_it(tmp_path, values, kind):
    raw = quantize(values, kind)
    store = open_gguf(write(tmp_path / "a.gguf", {"one": (raw, kind), "two": values}))
    info = store.tensors["one"]
    assert (info.shape, info.dtype, info.nbytes) == ((6, 64), kind.name, raw.nbytes)
    read = store.read("one")
    np.testing.assert_array_equal(read, dequantize(raw, kind).reshape(6, 64))
    assert read.dtype == np.float32
    assert np.abs(read - values).max() < 0.5
    np.testing.assert_array_equal(store.read("two"), values)
    assert store.bytes_read == raw.nbytes + values.nbytes


def test_blocks_of_q4_k_which_the_package_does_not_make(tmp_path):
    _, nbytes = GGML_QUANT_SIZES[Kind.Q4_K]
    raw = np.random.default_rng(1).integers(0, 120, (3, 2 * nbytes), dtype=np.uint8)
    store = open_gguf(write(tmp_path / "a.gguf", {"one": (raw, Kind.Q4_K)}))
    assert store.tensors["one"].shape == (3, 512)
    np.testing.assert_array_equal(store.read("one"), dequantize(raw, Kind.Q4_K))


def test_all_types_have_the_sizes_of_the_package():
    own = {int(kind): (kind.name, *sizes) for kind, sizes in GGML_QUANT_SIZES.items()}
    assert dict(TYPES) == own
    assert "Q4_K" in QUANTISED
    assert not QUANTISED & {"F32", "F16", "BF16", "F64", "I32"}


def test_settings_are_kept_and_long_lists_only_counted(tmp_path, values):
    tokens = [f"token {i}" for i in range(1000)]
    path = write(tmp_path / "a.gguf", {"one": values}, [
        ("llama.context_length", 2048), ("llama.rope.freq_base", 1e5),
        ("general.name", "a model"), ("llama.some", True),
        ("llama.attention.head_count_kv", [2, 4, 2]),
        ("tokenizer.ggml.tokens", tokens), ("tokenizer.ggml.scores", [0.5] * (MAX_KEPT + 1)),
    ])  # fmt: skip
    index = open_gguf(path).index
    assert index.settings["general.architecture"] == "llama"
    assert index.settings["llama.context_length"] == 2048
    assert index.settings["llama.rope.freq_base"] == 1e5
    assert index.settings["llama.some"] is True
    assert index.settings["llama.attention.head_count_kv"] == (2, 4, 2)
    assert index.lengths["tokenizer.ggml.tokens"] == 1000
    assert index.lengths["tokenizer.ggml.scores"] == MAX_KEPT + 1
    assert "tokenizer.ggml.tokens" not in index.settings
    assert "tokenizer.ggml.scores" not in index.settings


def test_the_format_is_known_by_its_first_bytes(tmp_path, values):
    path = write(tmp_path / "blob", {"one": values})
    assert isinstance(open_store(path), GgufStore)


def test_a_file_cut_anywhere_in_its_index_or_tensors_says_so(tmp_path, values):
    path = write(tmp_path / "a.gguf", {"one": values}, [("tokenizer.ggml.tokens", ["a", "b"])])
    whole = path.read_bytes()
    for length in (*range(4, len(whole) - values.nbytes, 7), len(whole) - values.nbytes):
        path.write_bytes(whole[:length])
        with pytest.raises(SourceError, match="truncated") as error:
            open_store(path)
        assert len(str(error.value)) <= 200


@pytest.mark.parametrize(("place", "value", "says"), [
    (4, (99).to_bytes(4, "little"), "version 99"),
    (8, (2**60).to_bytes(8, "little"), "more than any model has"),
    (16, (2**60).to_bytes(8, "little"), "more than any model has"),
    (24, (2**60).to_bytes(8, "little"), "a name of"),
])  # fmt: skip
def test_numbers_that_cannot_be_are_named(tmp_path, values, place, value, says):
    path = write(tmp_path / "a.gguf", {"one": values})
    content = bytearray(path.read_bytes())
    content[place : place + len(value)] = value
    path.write_bytes(content)
    with pytest.raises(SourceError, match=says):
        open_store(path)


def test_any_flipped_byte_of_the_index_gives_a_sentence_or_a_store(tmp_path, values):
    path = write(tmp_path / "a.gguf", {"one": values, "two": values[:1]}, [
        ("llama.context_length", 2048), ("tokenizer.ggml.tokens", ["a", "bc"]),
    ])  # fmt: skip
    whole = path.read_bytes()
    end = len(whole) - values.nbytes - 256
    random, refused = np.random.default_rng(0), []
    for place in range(end):
        content = bytearray(whole)
        content[place] ^= int(random.integers(1, 256))
        path.write_bytes(content)
        try:
            open_store(path)
        except SourceError as error:
            refused.append(str(error))
    assert refused
    assert max(map(len, refused)) <= 200


def test_a_type_that_cannot_be_converted_says_so(tmp_path):
    raw = np.zeros((1, 292), np.uint8)
    store = open_gguf(write(tmp_path / "a.gguf", {"one": (raw, Kind.Q8_K)}))
    with pytest.raises(TensorUnavailable, match="Q8_K, which cannot be converted"):
        store.read("one")


def test_without_the_package_only_floats_are_read(tmp_path, values, monkeypatch):
    raw = quantize(values, Kind.Q8_0)
    store = open_gguf(write(tmp_path / "a.gguf", {"one": (raw, Kind.Q8_0), "two": values}))
    monkeypatch.setitem(__import__("sys").modules, "gguf", None)
    np.testing.assert_array_equal(store.read("two"), values)
    with pytest.raises(TensorUnavailable, match="needs the package gguf"):
        store.read("one")


def test_a_split_file_is_opened_by_any_of_its_parts(tmp_path, values):
    tensors = {f"t{i}": values + i for i in range(6)}
    parts = write_parts(tmp_path, tensors, [("llama.context_length", 7)])
    assert [path.name for path in parts] == list(part_names("split-00002-of-00003.gguf"))
    for path in parts:
        store = open_gguf(path)
        assert list(store.tensors) == list(tensors)
        assert store.index.settings["llama.context_length"] == 7
        assert [file.name for file in store.files] == [path.name for path in parts]
        for name, expected in tensors.items():
            np.testing.assert_array_equal(store.read(name), expected)
    assert choose_weights([path.name for path in parts], "It", suffixes=(".gguf",)) == parts[0].name


def test_a_missing_part_is_named_and_one_of_another_file_refused(tmp_path, values):
    tensors = {f"t{i}": values for i in range(6)}
    parts = write_parts(tmp_path, tensors)
    content = parts[1].read_bytes()
    parts[1].unlink()
    with pytest.raises(SourceError, match=f"{parts[1].name} is missing"):
        open_gguf(parts[0])
    write(parts[1], {"other": values})
    with pytest.raises(SourceError, match="do not belong together"):
        open_gguf(parts[0])
    parts[1].write_bytes(content)
    assert len(open_gguf(parts[2]).tensors) == 6
    for name in ("x-00000-of-00000.gguf", "x-00001-of-99999.gguf", "x-1-of-3.gguf", "x.gguf"):
        assert part_names(name) == (name,)
