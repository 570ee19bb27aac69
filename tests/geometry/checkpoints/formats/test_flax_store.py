"""Files of Flax, written as flax.serialization does: a tree of maps, with arrays as extensions."""

import json
import struct

import msgpack
import numpy as np
import pytest

from geometry.checkpoints.errors import SourceError
from geometry.checkpoints.files import open_store, weights_in
from geometry.checkpoints.formats import flax_store
from geometry.models.sources.opening import open_model

RANDOM = np.random.default_rng(21)
TABLE = RANDOM.standard_normal((30, 8)).astype(np.float32)


def extension(array, dtype=None, shape=None):
    parts = (array.shape if shape is None else shape, dtype or array.dtype.name, array.tobytes())
    return msgpack.ExtType(1, msgpack.packb(parts, use_bin_type=True))


def written(path, tree):
    path.write_bytes(msgpack.packb(tree, default=extension, strict_types=True))
    return path


def in_parts(array, size):
    flat = array.reshape(-1)
    chunks = [flat[at : at + size] for at in range(0, flat.size, size)]
    return {
        "__msgpack_chunked_array__": True,
        "shape": {str(axis): n for axis, n in enumerate(array.shape)},
        "chunks": {str(number): chunk for number, chunk in enumerate(chunks)},
    }


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "int8", "uint8", "int32"])
@pytest.mark.parametrize("shape", [(3, 5), (), (0, 4), (300, 70)])
def test_arrays(tmp_path, dtype, shape):
    array = (100 * RANDOM.standard_normal(shape)).astype(dtype)
    tree = {"step": 7, "a" * 40: {"0": {"w": array}}, "text": "x" * 300, "none": [None, -1, 2.5]}
    store = open_store(written(tmp_path / "a.msgpack", tree))
    name = f"{'a' * 40}/0/w"
    assert list(store.tensors) == [name]
    read = store.read if dtype.startswith("float") else store.read_stored
    np.testing.assert_array_equal(read(name), array)


def test_bfloat16(tmp_path):
    bits = (TABLE.view(np.uint32) >> 16).astype(np.uint16)
    store = open_store(written(tmp_path / "a.msgpack", {"w": extension(bits, "bfloat16")}))
    np.testing.assert_array_equal(store.read("w").view(np.uint32) >> 16, bits)


@pytest.mark.parametrize("size", [7, 8, 100, 239, 240])
def test_arrays_in_parts(tmp_path, size):
    store = open_store(
        written(tmp_path / "a.msgpack", {"p": {"w": in_parts(TABLE, size)}, "b": TABLE})
    )
    assert list(store.tensors) == ["p/w", "b"]
    np.testing.assert_array_equal(store.read("p/w"), TABLE)


def test_the_optimisers_state_is_left_out(tmp_path):
    moments = {"0": {"mu": {"wpe": TABLE, "wte": in_parts(TABLE, 50)}}}
    tree = {"params": {"wpe": TABLE}, "opt_state": moments}
    assert [*open_store(written(tmp_path / "checkpoint_7", tree)).tensors] == ["params/wpe"]


GPT2 = {
    "wpe": {"embedding": TABLE},
    "wte": {"embedding": RANDOM.standard_normal((50, 8)).astype(np.float32)},
    "h": {
        "0": {
            "attn": {
                "c_attn": {"kernel": RANDOM.standard_normal((24, 8)).astype(np.float32)},
                "c_proj": {"kernel": RANDOM.standard_normal((8, 8)).astype(np.float32)},
            },
            "ln_1": {"scale": np.full(8, 2, np.float32), "bias": np.full(8, 3, np.float32)},
        }
    },
}


@pytest.mark.parametrize("root", [(), ("transformer",), ("params", "transformer")])
def test_gpt2_of_transformers(tmp_path, root):
    """Its convolutions have kernels of (out, in) in Flax, and weights of (in, out) in PyTorch."""
    tree = GPT2
    for name in reversed(root):
        tree = {name: tree}
    written(tmp_path / "flax_model.msgpack", tree)
    config = {"model_type": "gpt2", "n_embd": 8, "n_head": 2, "n_layer": 1}
    (tmp_path / "config.json").write_text(json.dumps(config))
    model = open_model(tmp_path)
    np.testing.assert_array_equal(model.stored_W_pos, TABLE)
    np.testing.assert_array_equal(model.W_E, GPT2["wte"]["embedding"])
    attention = GPT2["h"]["0"]["attn"]
    q, k, v = np.split(attention["c_attn"]["kernel"], 3)
    for name, expected in (("W_Q", q), ("W_K", k), ("W_V", v)):
        np.testing.assert_array_equal(model.weight(name, 0), expected)
    np.testing.assert_array_equal(model.weight("W_O", 0), attention["c_proj"]["kernel"])


def test_of_two_libraries_files_one_is_opened(tmp_path):
    for name in ("flax_model.msgpack", "model.onnx", "tf_model.h5"):
        (tmp_path / name).touch()
    assert weights_in(tmp_path).name == "tf_model.h5"
    (tmp_path / "tf_model.h5").unlink()
    assert weights_in(tmp_path).name == "flax_model.msgpack"


def test_what_flax_writes(tmp_path):
    serialization = pytest.importorskip("flax.serialization")
    tree = {"params": {"w": TABLE, "half": TABLE.astype(np.float16), "scalar": np.float32(2)}}
    (tmp_path / "a.msgpack").write_bytes(serialization.to_bytes(tree))
    np.testing.assert_array_equal(open_store(tmp_path / "a.msgpack").read("params/w"), TABLE)


# ---- damaged and hostile files -----------------------------------------------------------


def refusal(path):
    with pytest.raises(SourceError) as caught:
        open_store(path)
    assert path.name in str(caught.value)
    return str(caught.value)


def test_a_file_that_ends_early(tmp_path):
    path = written(tmp_path / "a.msgpack", {"a": {"w": TABLE}, "b": in_parts(TABLE, 50), "c": 1})
    whole = path.read_bytes()
    for size in (1, 2, 5, 10, 20, 500, len(whole) - 1):
        path.write_bytes(whole[:size])
        refusal(path)
    path.write_bytes(whole + b"\0")
    refusal(path)


@pytest.mark.parametrize(
    "tree",
    [
        {"w": extension(TABLE, shape=(30, 9))},
        {"w": extension(TABLE, shape=(2**40, 2**40))},
        {"w": extension(TABLE, "float64")},
        {"w": msgpack.ExtType(1, b"")},
        {"w": msgpack.ExtType(1, msgpack.packb(["x", "float32", b""]))},
        {"w": {**in_parts(TABLE, 50), "shape": {"0": 31, "1": 8}}},
        {"w": {**in_parts(TABLE, 50), "shape": {"a": 30}}},
        {"w": {**in_parts(TABLE, 50), "chunks": {}}},
        {"w": {**in_parts(TABLE, 50), "chunks": {"x": TABLE}}},
        {"w": {**in_parts(TABLE, 50), "chunks": {"0": TABLE, "1": TABLE.astype(np.float16)}}},
        {"w" * 20_000: TABLE},
        {"step": 1, "params": {}},
        [1, 2],
    ],
)
def test_trees_that_flax_does_not_write(tmp_path, tree):
    refusal(written(tmp_path / "a.msgpack", tree))


@pytest.mark.parametrize(
    "content",
    [
        b"\x81\xa1a" * 100_000,  # maps in each other
        b"\x91" * 100_000,
        b"\xdf\xff\xff\xff\xff",  # 2³² − 1 entries
        b"\xdd\xff\xff\xff\xff" + bytes(1000),
        b"\x81\xa1a\xc9\xff\xff\xff\xff\x01",
        b"\x81\xa1a\xc7\x05\x01\x93\xdd\xff\xff\xff",
        b"\xc1",
        b"not MessagePack",
    ],
)
def test_bytes_that_announce_more_than_there_is(tmp_path, content):
    (tmp_path / "a.msgpack").write_bytes(content)
    refusal(tmp_path / "a.msgpack")


def test_the_bound_of_a_tree(tmp_path, monkeypatch):
    path = written(tmp_path / "a.msgpack", {"w": TABLE, "more": list(range(300))})
    assert list(open_store(path).tensors) == ["w"]
    monkeypatch.setattr(flax_store, "MAX_ITEMS", 200)
    assert "more than 200 items" in refusal(path)


def test_arrays_are_not_read_for_the_index(tmp_path):
    """The table of 8 GB takes no room on the disk, and would not fit into the memory twice."""
    path, chunk, n = tmp_path / "a.msgpack", 2**31, 4
    head = b"\x93" + msgpack.packb([chunk // 4]) + msgpack.packb("float32")
    head += b"\xc6" + struct.pack(">I", chunk)
    with path.open("wb") as file:
        file.write(b"\x81\xa1w\x83" + msgpack.packb("__msgpack_chunked_array__") + b"\xc3")
        file.write(msgpack.packb("shape") + msgpack.packb({"0": n, "1": chunk // 4}))
        file.write(msgpack.packb("chunks") + b"\x84")
        for number in range(n):
            file.write(msgpack.packb(str(number)))
            file.write(b"\xc9" + struct.pack(">I", len(head) + chunk) + b"\x01" + head)
            file.seek(chunk, 1)
        file.truncate(file.tell())
    info = open_store(path).tensors["w"]
    assert (info.shape, info.nbytes) == ((n, chunk // 4), n * chunk)
