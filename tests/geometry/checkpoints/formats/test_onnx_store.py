"""Weights in ONNX files, which the onnx package writes here, and damaged ones."""

import numpy as np
import pytest

from geometry.checkpoints.errors import SourceError, TensorUnavailable
from geometry.checkpoints.files import open_store
from geometry.checkpoints.formats import onnx_store
from geometry.models.sources.opening import open_model

onnx = pytest.importorskip("onnx")
RANDOM = np.random.default_rng(51)
TABLE = RANDOM.standard_normal((40, 6)).astype(np.float32)


def written(path, tensors, **options):
    node = onnx.helper.make_node("Identity", ["x"], ["y"])
    values = [onnx.helper.make_tensor_value_info(n, 1, [1]) for n in "xy"]
    graph = onnx.helper.make_graph([node], "g", values[:1], values[1:], initializer=tensors)
    onnx.save_model(onnx.helper.make_model(graph), path, **options)
    return path


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "int8", "int32"])
@pytest.mark.parametrize("shape", [(40, 6), (), (0, 3), (300, 200)])
def test_weights(tmp_path, dtype, shape):
    array = (10 * RANDOM.standard_normal(shape)).astype(dtype)
    store = open_store(written(tmp_path / "a.onnx", [onnx.numpy_helper.from_array(array, "w")]))
    assert (store.tensors["w"].shape, len(store.tensors)) == (shape, 1)
    read = store.read if dtype.startswith("float") else store.read_stored
    np.testing.assert_array_equal(read("w").reshape(shape), array)


def test_bfloat16(tmp_path):
    bits = (TABLE.view(np.uint32) >> 16).astype(np.uint16)
    tensor = onnx.helper.make_tensor("w", 16, TABLE.shape, bits.tobytes(), raw=True)
    store = open_store(written(tmp_path / "a.onnx", [tensor]))
    np.testing.assert_array_equal(store.read("w").view(np.uint32) >> 16, bits)


@pytest.mark.parametrize("kind", [1, 11])
def test_numbers_in_fields_of_their_type(tmp_path, kind):
    tensor = onnx.helper.make_tensor("w", kind, TABLE.shape, TABLE.reshape(-1).tolist())
    store = open_store(written(tmp_path / "a.onnx", [tensor]))
    np.testing.assert_array_equal(store.read("w"), TABLE)


def test_floats_among_integers_are_only_missing_themselves(tmp_path):
    half = onnx.helper.make_tensor("half", 10, TABLE.shape, TABLE.reshape(-1).tolist())
    more = onnx.helper.make_tensor("more", 7, (3,), [1, 2**40, -5])
    table = onnx.numpy_helper.from_array(TABLE, "wpe.weight")
    store = open_store(written(tmp_path / "a.onnx", [half, more, table]))
    np.testing.assert_array_equal(store.read("wpe.weight"), TABLE)
    for name in ("half", "more"):
        with pytest.raises(TensorUnavailable):
            store.read(name)


def in_files(tmp_path, **options):
    tensors = [onnx.numpy_helper.from_array(TABLE + n, f"w{n}") for n in range(3)]
    external = {"save_as_external_data": True, "size_threshold": 0, **options}
    return written(tmp_path / "a.onnx", tensors, **external)


@pytest.mark.parametrize("together", [True, False])
def test_weights_in_files_beside_it(tmp_path, together):
    store = open_store(in_files(tmp_path, all_tensors_to_one_file=together, location="a.data"))
    for n in range(3):
        np.testing.assert_array_equal(store.read(f"w{n}"), TABLE + n)


def test_gpt2_by_its_names(tmp_path):
    tensors = [
        onnx.numpy_helper.from_array(array.astype(np.float32), name)
        for name, array in {
            "transformer.wpe.weight": TABLE,
            "transformer.wte.weight": RANDOM.standard_normal((50, 6)),
            "transformer.h.0.attn.c_attn.weight": RANDOM.standard_normal((6, 18)),
            "transformer.h.0.attn.c_proj.weight": RANDOM.standard_normal((6, 6)),
        }.items()
    ]
    np.testing.assert_array_equal(
        open_model(written(tmp_path / "a.onnx", tensors)).stored_W_pos, TABLE
    )


# ---- damaged and hostile files -----------------------------------------------------------


def refusal(path, names="a.onnx"):
    with pytest.raises(SourceError) as caught:
        open_store(path)
    assert names in str(caught.value)
    return str(caught.value)


def test_files_that_end_early(tmp_path):
    path = written(tmp_path / "a.onnx", [onnx.numpy_helper.from_array(TABLE, "w")])
    whole = path.read_bytes()
    for size in (1, 5, 40, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:size])
        refusal(path)


def test_changed_bytes(tmp_path):
    path = written(tmp_path / "a.onnx", [onnx.numpy_helper.from_array(TABLE[:2], "w")])
    whole = path.read_bytes()
    for at in range(len(whole)):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 255]) + whole[at + 1 :])
        try:
            store = open_store(path)
        except SourceError as error:
            assert "a.onnx" in str(error)  # noqa: PT017
            continue
        assert all(info.nbytes <= len(whole) for info in store.tensors.values())


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("location", "../a.data"),
        ("location", "/etc/passwd"),
        ("location", "none"),
        ("location", ""),
        ("offset", "-1"),
        ("offset", "9" * 30),
        ("offset", "9" * 9_000),
        ("offset", "x"),
        ("length", "-5"),
        ("length", str(2**60)),
    ],
)
def test_places_outside_the_files(tmp_path, key, value):
    path = in_files(tmp_path, location="a.data")
    model = onnx.load_model(path, load_external_data=False)
    places = model.graph.initializer[0].external_data
    for entry in places:
        if entry.key == key:
            places.remove(entry)
            break
    places.add(key=key, value=value)
    path.write_bytes(model.SerializeToString())
    refusal(path, "a.")


@pytest.mark.parametrize("dims", [[2**40, 2**40], [-1, 6], [40, 7], [1] * 100, [2**62] * 5_000])
def test_shapes_that_do_not_fit(tmp_path, dims):
    tensor = onnx.numpy_helper.from_array(TABLE, "w")
    del tensor.dims[:]
    tensor.dims.extend(dims)
    refusal(written(tmp_path / "a.onnx", [tensor]))


def test_the_bounds_of_a_file(tmp_path, monkeypatch):
    tensors = [onnx.numpy_helper.from_array(TABLE, f"w{n}") for n in range(9)]
    path = written(tmp_path / "a.onnx", tensors)
    for bound in ("MAX_TENSORS", "MAX_FIELDS"):
        with monkeypatch.context() as narrow:
            narrow.setattr(onnx_store, bound, 8)
            assert "more than 8" in refusal(path)
    assert len(open_store(path).tensors) == 9


def test_a_graph_without_weights(tmp_path):
    assert "no weights" in refusal(written(tmp_path / "a.onnx", []))
