"""TensorFlow's checkpoints, written here as LevelDB's tables and tensor_bundle.proto describe."""

import json
import struct

import numpy as np
import pytest

from geometry.checkpoints.errors import SourceError
from geometry.checkpoints.files import open_store
from geometry.checkpoints.formats import tensorflow_store
from geometry.models.sources.opening import open_model
from tests.containers import MAGIC, block, entry, field, table, varint

RANDOM = np.random.default_rng(41)


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
        assert store.tensors[name].shape == array.shape


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


def test_bert_as_google_released_it(tmp_path):
    shapes = {
        "position_embeddings": (30, 8),
        "word_embeddings": (50, 8),
        "token_type_embeddings": (2, 8),
    }
    arrays = {
        f"bert/embeddings/{name}": RANDOM.standard_normal(shape).astype(np.float32)
        for name, shape in shapes.items()
    }
    arrays |= {
        f"bert/embeddings/LayerNorm/{name}": RANDOM.standard_normal(8).astype(np.float32)
        for name in ("gamma", "beta")
    }
    sizes = {"self/query": (8, 8), "self/key": (8, 8), "self/value": (8, 8), "output/dense": (8, 8)}
    for layer in range(2):
        for name, shape in sizes.items():
            begin = f"bert/encoder/layer_{layer}/attention/{name}"
            arrays[f"{begin}/kernel"] = RANDOM.standard_normal(shape).astype(np.float32)
            arrays[f"{begin}/bias"] = RANDOM.standard_normal(8).astype(np.float32)
            arrays[f"{begin}/kernel/adam_m"] = np.zeros(shape, np.float32)
    arrays["bert/embeddings/position_embeddings/adam_m"] = np.zeros((30, 8), np.float32)
    written(tmp_path, arrays)
    settings = {"hidden_size": 8, "num_attention_heads": 4, "max_position_embeddings": 30}
    (tmp_path / "bert_config.json").write_text(json.dumps(settings))
    model = open_model(tmp_path)
    assert (model.family, model.n_heads) == ("bert", 4)
    np.testing.assert_array_equal(model.stored_W_pos, arrays["bert/embeddings/position_embeddings"])
    np.testing.assert_array_equal(model.W_E, arrays["bert/embeddings/word_embeddings"])
    for name, part in (("W_Q", "self/query"), ("W_O", "output/dense")):
        kernel = arrays[f"bert/encoder/layer_1/attention/{part}/kernel"]
        np.testing.assert_array_equal(model.weight(name, 1), kernel.T)


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
    assert "overlap" in str(refusal(path))


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
    assert "a name has" in str(refusal(path))


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


def graph_of(names):
    """Return the objects of TensorFlow 2, whose variables have names of their own, as a text."""
    attributes = (
        field(2, field(1, b"VARIABLE_VALUE") + field(2, own.encode()) + field(3, key.encode()))
        for key, own in names.items()
    )
    graph = b"".join(field(1, field(1, b"child") + attribute) for attribute in attributes)
    return np.frombuffer(varint(len(graph)) + bytes(4) + graph, np.uint8)


END = "/.ATTRIBUTES/VARIABLE_VALUE"


def test_variables_of_tensorflow_2_have_their_own_names(tmp_path):
    """As of a SavedModel that Keras exports, which lists variables twice, and of a checkpoint."""
    wpe, wte = RANDOM.standard_normal((2, 30, 8)).astype(np.float32)
    arrays = {f"variables/{n}{END}": array for n, array in enumerate((wpe, wte, wte + 1, wte + 2))}
    arrays |= {f"_all_variables/0{END}": wpe, f"step{END}": np.float32(3).reshape(())}
    own = ("gpt/wpe/embeddings", "gpt/wte/embeddings", "dense", "dense", "gpt/wpe/embeddings")
    graph = graph_of(dict(zip(arrays, own, strict=False)))
    arrays["_CHECKPOINTABLE_OBJECT_GRAPH"] = graph
    store = open_store(written(tmp_path, arrays, changed={"dtype": 7, "shape": ()}))
    read = {name: store.read(name) for name in store.tensors}
    assert set(read) == {*own[:2], "variables/2", "variables/3", "step"}
    np.testing.assert_array_equal(read["gpt/wpe/embeddings"], wpe)
    np.testing.assert_array_equal(read["variables/3"], wte + 2)
