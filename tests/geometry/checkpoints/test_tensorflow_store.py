"""TensorFlow's checkpoints, written here as LevelDB's tables and tensor_bundle.proto describe."""

import struct

import numpy as np
import pytest

from geometry.checkpoints import tensorflow_store
from geometry.checkpoints.errors import SourceError
from geometry.checkpoints.files import open_store
from geometry.models.sources.opening import open_model

RANDOM = np.random.default_rng(41)
DTYPES = {"float32": 1, "float64": 2, "int32": 3, "int64": 9, "float16": 19}
MAGIC = bytes.fromhex("57fb808b247547db")


def varint(n):
    out = b""
    while n > 127:
        out, n = out + bytes([n & 127 | 128]), n >> 7
    return out + bytes([n])


def field(number, value):
    """A field of a message of Protocol Buffers: a number, or a text or message."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def block(entries, restart=16):
    """A block of sorted keys: each without what it shares with the one before, with restarts."""
    out, restarts, before = b"", [], b""
    for n, (key, value) in enumerate(entries):
        shared = 0
        if n % restart:
            while shared < min(len(key), len(before)) and key[shared] == before[shared]:
                shared += 1
        else:
            restarts.append(len(out))
        own = key[shared:]
        out += varint(shared) + varint(len(own)) + varint(len(value)) + own + value
        before = key
    restarts = restarts or [0]
    return out + struct.pack(f"<{len(restarts)}I", *restarts) + struct.pack("<I", len(restarts))


def table(entries, per_block=3, compression=b"\0"):
    """A table: blocks with the kind of compression and a checksum, an index of them, a footer."""
    out, handles = b"", []
    items = sorted(entries.items())
    for first in range(0, len(items), per_block):
        some = items[first : first + per_block]
        content = block(some)
        handles.append((some[-1][0], varint(len(out)) + varint(len(content))))
        out += content + compression + bytes(4)
    places = []
    for content in (block([]), block(handles, restart=1)):
        places.append(varint(len(out)) + varint(len(content)))
        out += content + compression + bytes(4)
    return out + b"".join(places).ljust(40, b"\0") + MAGIC


def shape_of(shape):
    return b"".join(field(2, field(1, size)) for size in shape)


def entry(array, place, **changed):
    values = {"dtype": DTYPES[array.dtype.name], "shape": array.shape, "nbytes": array.nbytes}
    values |= dict(zip(("shard", "offset"), place, strict=True)) | changed
    return (
        field(1, values["dtype"])
        + field(2, shape_of(values["shape"]))
        + field(3, values["shard"])
        + field(4, values["offset"])
        + field(5, values["nbytes"])
        + bytes([6 << 3 | 5])
        + bytes(4)  # the checksum
    )


def written(folder, arrays, n_shards=1, changed=None, **options):
    """Write a checkpoint; ``changed`` replaces values of the entry of the last array."""
    numbers, entries = [b""] * n_shards, {}
    for n, (name, array) in enumerate(arrays.items()):
        shard = n % n_shards
        more = changed or {} if n == len(arrays) - 1 else {}
        entries[name.encode()] = entry(array, (shard, len(numbers[shard])), **more)
        numbers[shard] += array.tobytes()
    entries[b""] = field(1, n_shards)
    for shard, content in enumerate(numbers):
        (folder / f"model.ckpt.data-{shard:05d}-of-{n_shards:05d}").write_bytes(content)
    path = folder / "model.ckpt.index"
    path.write_bytes(table(entries, **options))
    return path


ARRAYS = {
    f"model/h{layer}/{name}": RANDOM.standard_normal(shape).astype(dtype)
    for layer in range(3)
    for name, shape, dtype in (
        ("attn/c_attn/w", (1, 8, 24), "float32"),
        ("attn/c_attn/b", (24,), "float32"),
        ("ln_1/g", (8,), "float64"),
        ("scalar", (), "float16"),
        ("empty", (0, 4), "float32"),
    )
}


@pytest.mark.parametrize("n_shards", [1, 3])
@pytest.mark.parametrize("per_block", [1, 4, 100])
def test_tensors(tmp_path, n_shards, per_block):
    store = open_store(written(tmp_path, ARRAYS, n_shards, per_block=per_block))
    assert set(store.tensors) == set(ARRAYS)
    for name, array in ARRAYS.items():
        read = store.read(name)
        np.testing.assert_array_equal(read.reshape(array.shape), array)
        assert store.tensors[name].shape == array.shape[array.ndim == 3 :]


def test_gpt2_as_openai_released_it(tmp_path):
    wpe, wte = RANDOM.standard_normal((2, 30, 8)).astype(np.float32)
    arrays = {**ARRAYS, "model/wpe": wpe, "model/wte": wte}
    arrays |= {
        f"model/h{layer}/attn/c_proj/w": RANDOM.standard_normal((1, 8, 8)).astype(np.float32)
        for layer in range(3)
    }
    written(tmp_path, arrays)
    model = open_model(tmp_path)
    np.testing.assert_array_equal(model.stored_W_pos, wpe)
    np.testing.assert_array_equal(model.W_E, wte)
    np.testing.assert_array_equal(
        model.weight("W_K", 1), arrays["model/h1/attn/c_attn/w"][0, :, 8:16].T
    )


# ---- damaged and hostile files -----------------------------------------------------------


def refusal(path):
    with pytest.raises(SourceError) as caught:
        open_store(path)
    assert "model.ckpt" in str(caught.value)
    return caught.value


def test_a_missing_part_is_named(tmp_path):
    path = written(tmp_path, ARRAYS, 3)
    (tmp_path / "model.ckpt.data-00001-of-00003").unlink()
    error = refusal(path)
    assert "model.ckpt.data-0000" in str(error)
    assert "Copy" in error.advice


def test_truncated_files(tmp_path):
    path = written(tmp_path, ARRAYS)
    whole = path.read_bytes()
    for size in (0, 10, 47, 48, len(whole) - 1, len(whole) - 8):
        path.write_bytes(whole[:size])
        refusal(path)
    path.write_bytes(whole)
    numbers = tmp_path / "model.ckpt.data-00000-of-00001"
    numbers.write_bytes(numbers.read_bytes()[:-1])
    refusal(path)


@pytest.mark.parametrize(
    "changed",
    [
        {"offset": 2**62},
        {"nbytes": 2**62},
        {"shape": (2**40, 2**40)},
        {"shape": (1,) * 100},
        {"shape": (2**63,)},
        {"shard": 7},
        {"shape": (5,)},
    ],
)
def test_entries_outside_the_files(tmp_path, changed):
    refusal(written(tmp_path, {"a": ARRAYS["model/h0/ln_1/g"]}, changed=changed))


@pytest.mark.parametrize("n_shards", [2**31, 2**62, 0])
def test_impossible_numbers_of_parts(tmp_path, n_shards):
    path = written(tmp_path, ARRAYS)
    path.write_bytes(table({b"": field(1, n_shards), b"a": entry(np.zeros(3), (0, 0))}))
    refusal(path)


def test_compressed_blocks(tmp_path):
    assert "compressed" in str(refusal(written(tmp_path, ARRAYS, compression=b"\1")))


@pytest.mark.parametrize("handle", [varint(2**60) * 2, varint(0) + varint(2**60), b"\xff" * 20])
def test_an_index_of_blocks_outside_the_file(tmp_path, handle):
    path = written(tmp_path, ARRAYS)
    path.write_bytes(path.read_bytes()[:-48] + (varint(0) * 2 + handle).ljust(40, b"\0") + MAGIC)
    refusal(path)


def test_the_bound_of_an_index(tmp_path, monkeypatch):
    path = written(tmp_path, ARRAYS)
    monkeypatch.setattr(tensorflow_store, "MAX_ENTRIES", len(ARRAYS))
    assert "more than" in str(refusal(path))


def test_an_index_that_names_a_block_many_times(tmp_path):
    path = written(tmp_path, ARRAYS)
    content = block([(b"%06d" % n, b"") for n in range(100)])
    place = varint(0) + varint(len(content))
    index = block([(b"%06d" % n, place) for n in range(100)])
    body = content + bytes(5)
    footer = (varint(0) * 2 + varint(len(body)) + varint(len(index))).ljust(40, b"\0") + MAGIC
    path.write_bytes(body + index + bytes(5) + footer)
    assert "many times" in str(refusal(path))


def test_keys_that_grow(tmp_path):
    """Each has all of the one before, and one byte more."""
    path, content = written(tmp_path, ARRAYS), b""
    for n in range(5_000):
        content += varint(n) + b"\x01\x00a"
    content += bytes(4) + struct.pack("<I", 1)
    index = block([(b"z", varint(0) + varint(len(content)))])
    body = content + bytes(5)
    footer = (varint(0) * 2 + varint(len(body)) + varint(len(index))).ljust(40, b"\0") + MAGIC
    path.write_bytes(body + index + bytes(5) + footer)
    assert "name of" in str(refusal(path))


def test_changed_bytes(tmp_path):
    path = written(tmp_path, ARRAYS)
    whole = path.read_bytes()
    for at in range(0, len(whole), 23):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 255]) + whole[at + 1 :])
        try:
            store = open_store(path)
        except SourceError:
            continue
        for name in store.tensors:
            assert store.tensors[name].nbytes <= sum(a.nbytes for a in ARRAYS.values())
