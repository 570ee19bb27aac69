"""Quantised matrices, packed here as their layouts are published, and read back."""

import json
import sys
import types

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from geometry.checkpoints.errors import TensorUnavailable
from geometry.checkpoints.files import open_store
from geometry.checkpoints.quantised import dequantised
from geometry.models.sources.opening import open_model

N_OUT, N_IN, GROUP = 16, 64, 32
RANDOM = np.random.default_rng(5)
WHOLE = RANDOM.integers(0, 16, (N_OUT, N_IN))
SCALES = RANDOM.uniform(0.01, 0.1, (N_OUT, N_IN // GROUP)).astype(np.float16)
ZEROS = RANDOM.integers(1, 16, (N_OUT, N_IN // GROUP))
EXPECTED = ((WHOLE - ZEROS.repeat(GROUP, 1)) * SCALES.repeat(GROUP, 1).astype(np.float32)).astype(
    np.float32
)


def packed(numbers, axis, order=range(8)):
    """Pack numbers of four bits into integers along an axis, the n-th of eight at ``order[n]``."""
    eights = np.moveaxis(numbers, axis, -1).reshape(*np.delete(numbers.shape, axis), -1, 8)
    words = sum(eights[..., n].astype(np.uint32) << np.uint32(4 * at) for n, at in enumerate(order))
    return np.moveaxis(words.astype(np.uint32), -1, axis).view(np.int32)


def stream(numbers, bits, axis):
    """Pack numbers into integers along an axis, one after the other, the lowest bit first."""
    rows = np.moveaxis(numbers, axis, -1)
    each = (rows[..., None] >> np.arange(bits)) & 1
    flat = each.reshape(*rows.shape[:-1], -1).astype(np.uint8)
    filled = np.pad(flat, [(0, 0)] * (rows.ndim - 1) + [(0, -flat.shape[-1] % 32)])
    words = np.packbits(filled, axis=-1, bitorder="little").view(np.int32)
    return np.moveaxis(words, -1, axis)


def opened(tmp_path, tensors, quant_method=None, **settings):
    tensors = {
        f"q_proj.{name}": torch.from_numpy(np.ascontiguousarray(value))
        if isinstance(value, np.ndarray)
        else value
        for name, value in tensors.items()
    }
    save_file(tensors, tmp_path / "model.safetensors")
    config = {"quantization_config": {"quant_method": quant_method, **settings}}
    return dequantised(open_store(tmp_path / "model.safetensors"), config)[0]


def assert_read(store, expected, tolerance=1e-6):
    info, values = store.tensors["q_proj.weight"], store.read("q_proj.weight")
    assert (info.shape, info.dtype, values.dtype) == (expected.shape, "F32", np.float32)
    np.testing.assert_allclose(values, expected, atol=tolerance)


@pytest.mark.parametrize("bits", [2, 3, 4, 8])
@pytest.mark.parametrize(
    ("form", "less"),
    [
        ({"quant_method": "gptq", "checkpoint_format": "gptq"}, 1),
        ({"quant_method": "gptq", "checkpoint_format": "gptq_v2"}, 0),
        ({"quant_method": "auto-round", "packing_format": "auto_round:auto_gptq"}, 1),
        ({"quant_method": "auto-round", "packing_format": "auto_round:gptqmodel"}, 0),
        ({"quant_method": "auto-round", "packing_format": "auto_round"}, 0),
        ({}, 1),
    ],
)
def test_gptq(tmp_path, form, less, bits):
    """A module's bits are those of its shapes: GPTQModel's differ between modules."""
    n_out = 32  # of which three bits fill whole integers
    whole = RANDOM.integers(0, 2**bits, (n_out, N_IN))
    zeros = RANDOM.integers(0, 2**bits, (n_out, N_IN // GROUP))
    scales = RANDOM.uniform(0.01, 0.1, zeros.shape).astype(np.float16)
    order = RANDOM.permutation(N_IN) // GROUP  # groups in the order of activations
    expected = (whole - zeros[:, order]) * scales[:, order].astype(np.float32)
    stored = (zeros.T - less) % 2**bits
    store = opened(
        tmp_path,
        {
            "qweight": stream(whole.T, bits, 0),
            "qzeros": stream(stored, bits, 1),
            "scales": scales.T,
            "g_idx": order.astype(np.int32),
        },
        bits=4,
        **form,
    )
    assert_read(store, expected, 1e-5)


def test_other_forms_of_gptq_stay_unreadable(tmp_path):
    tensors = {
        "qweight": packed(WHOLE.T, 0),
        "qzeros": packed(ZEROS.T - 1, 1),
        "scales": SCALES.T,
    }
    store = opened(tmp_path, tensors, "gptq", bits=4, checkpoint_format="gptq_p")
    assert "q_proj.weight" not in store.tensors


def test_awq(tmp_path):
    order = (0, 4, 1, 5, 2, 6, 3, 7)
    tensors = {
        "qweight": packed(WHOLE.T, 1, order),
        "qzeros": packed(ZEROS.T, 1, order),
        "scales": SCALES.T,
    }
    assert_read(opened(tmp_path, tensors, "awq", bits=4), EXPECTED)
    settings = {"bits": 4, "packing_format": "auto_round:auto_awq"}
    assert_read(opened(tmp_path, tensors, "auto-round", **settings), EXPECTED)


@pytest.mark.parametrize("bits", [1, 2, 3, 4, 8])
@pytest.mark.parametrize("axis", [0, 1])
def test_hqq(tmp_path, bits, axis):
    """As ``hqq.core.bitpack.BitPack``: numbers of as many blocks of rows, the first one on top."""
    n_groups, per = N_OUT * N_IN // GROUP, 10 if bits == 3 else 8 // bits
    shape = (n_groups, GROUP) if axis else (GROUP, n_groups)
    scale = (n_groups, 1) if axis else (1, n_groups)
    whole = RANDOM.integers(0, 2**bits, shape)
    scales, zeros = (RANDOM.uniform(0.1, 1, scale).astype(np.float32) for _ in range(2))
    filled = np.pad(whole, [(0, -len(whole) % per), (0, 0)]).reshape(per, -1, shape[1])
    places = bits * np.arange(per)[::-1, None, None]
    tensors = {
        "W_q": (filled << places).sum(0).astype(np.int32 if bits == 3 else np.uint8),
        "scale": scales,
        "zero": zeros,
        "shape": np.array([N_OUT, N_IN]),
    }
    assert_read(opened(tmp_path, tensors), ((whole - zeros) * scales).reshape(N_OUT, N_IN), 1e-5)


@pytest.mark.parametrize("kind", [torch.int8, torch.float8_e4m3fn])
def test_quanto(tmp_path, kind):
    q = torch.from_numpy(RANDOM.integers(-9, 9, (N_OUT, N_IN))).to(kind)
    scale = RANDOM.uniform(0.01, 0.1, (N_OUT, 1)).astype(np.float32)
    store = opened(tmp_path, {"weight._data": q, "weight._scale": scale})
    assert_read(store, q.float().numpy() * scale, 1e-5)


def test_a_method_that_is_not_read_is_named(tmp_path):
    table = torch.from_numpy(RANDOM.standard_normal((20, 16))).float()
    tensors = {
        "wpe.weight": table, "wte.weight": table + 1, "h.0.ln_1.weight": torch.ones(16),
        "h.0.attn.c_attn.weight": torch.ones(16, 48, dtype=torch.int8),
        "h.0.attn.c_attn.weight_scales": torch.ones(48),
    }  # fmt: skip
    save_file(tensors, tmp_path / "model.safetensors")
    config = {"model_type": "gpt2", "n_head": 2, "quantization_config": {"quant_method": "eetq"}}
    (tmp_path / "config.json").write_text(json.dumps(config))
    model = open_model(tmp_path)
    assert any("eetq" in note for note in model.warnings)
    assert "quantised (I8)" in model.missing["W_Q"]


def test_settings_of_a_quantisation_beside(tmp_path):
    """AutoGPTQ and GPTQModel write them into a file of their own."""
    zeros = packed(ZEROS.T, 1)
    tensors = {"qweight": packed(WHOLE.T, 0), "qzeros": zeros, "scales": SCALES.T}
    tensors = {
        f"model.layers.0.self_attn.q_proj.{name}": torch.from_numpy(np.ascontiguousarray(value))
        for name, value in tensors.items()
    }
    tensors["wpe.weight"] = torch.ones(30, N_OUT)
    save_file(tensors, tmp_path / "model.safetensors")
    (tmp_path / "config.json").write_text(json.dumps({"hidden_size": N_OUT}))
    settings = {"bits": 4, "checkpoint_format": "gptq_v2"}
    (tmp_path / "quantize_config.json").write_text(json.dumps(settings))
    model = open_model(tmp_path, table="wpe.weight")
    read = model.store.read("model.layers.0.self_attn.q_proj.weight")
    np.testing.assert_allclose(read, EXPECTED, atol=1e-5)


@pytest.mark.parametrize("bits", [3, 4, 8])
@pytest.mark.parametrize("kind", ["symmetric", "with zeros", "ordered", "without order"])
def test_compressed_tensors(tmp_path, kind, bits):
    whole = RANDOM.integers(0, 2**bits, (N_OUT, N_IN))
    tensors = {
        "weight_packed": stream(whole, bits, 1),
        "weight_scale": SCALES,
        "weight_shape": np.array([N_OUT, N_IN]),
    }
    group, zeros = np.arange(N_IN) // GROUP, np.full_like(ZEROS, 2 ** (bits - 1))
    if kind != "symmetric":
        zeros = RANDOM.integers(0, 2**bits, ZEROS.shape)
        tensors["weight_zero_point"] = stream(zeros, bits, 0)
    if kind == "ordered":
        group = RANDOM.permutation(group)
        tensors["weight_g_idx"] = group.astype(np.int32)
    if kind == "without order":
        tensors["weight_g_idx"] = np.full(N_IN, -1, np.int32)
    expected = (whole - zeros[:, group]) * SCALES[:, group].astype(np.float32)
    assert_read(opened(tmp_path, tensors, "compressed-tensors"), expected, 1e-5)


@pytest.mark.parametrize("bits", [2, 3, 4, 5, 6, 8])
@pytest.mark.parametrize("own", [True, False], ids=["of its own", "of all"])
def test_mlx(tmp_path, bits, own):
    """A module's own bits and groups, as of mixed quantisations, come before those of all."""
    whole = RANDOM.integers(0, 2**bits, (N_OUT, N_IN))
    biases = RANDOM.standard_normal(SCALES.shape).astype(np.float16)
    words = torch.from_numpy(stream(whole, bits, 1)).view(torch.uint32)
    groups = {"bits": bits, "group_size": GROUP}
    settings = {"bits": 4, "group_size": 64, "q_proj": groups} if own else groups
    tensors = {"weight": words, "scales": SCALES, "biases": biases}
    expected = whole * SCALES.repeat(GROUP, 1).astype(np.float32) + biases.repeat(GROUP, 1)
    assert_read(opened(tmp_path, tensors, **settings), expected, 1e-4)


def test_bitsandbytes_by_rows(tmp_path):
    q = RANDOM.integers(-127, 128, (N_OUT, N_IN)).astype(np.int8)
    largest = RANDOM.uniform(0.1, 1, N_OUT).astype(np.float32)
    assert_read(opened(tmp_path, {"weight": q, "SCB": largest}), q * largest[:, None] / 127)


@pytest.mark.parametrize("nested", [False, True])
def test_bitsandbytes_by_blocks(tmp_path, nested):
    table = np.sort(RANDOM.uniform(-1, 1, 16)).astype(np.float32)
    flat = WHOLE.reshape(-1)
    n_blocks = flat.size // 64
    state = {"quant_type": "nf4", "blocksize": 64, "shape": [N_OUT, N_IN]}
    tensors = {
        "weight": (flat[::2] << 4 | flat[1::2]).astype(np.uint8)[:, None],
        "weight.quant_map": table,
    }
    largest = RANDOM.uniform(0.1, 1, n_blocks).astype(np.float32)
    if nested:
        inner = np.linspace(-1, 1, 256, dtype=np.float32)
        codes = RANDOM.integers(0, 256, n_blocks).astype(np.uint8)
        outer = RANDOM.uniform(0.1, 1, -(-n_blocks // 8)).astype(np.float32)
        state |= {"nested_blocksize": 8, "nested_offset": 0.25}
        largest = inner[codes] * outer.repeat(8)[:n_blocks] + np.float32(0.25)
        tensors |= {
            "weight.absmax": codes,
            "weight.nested_absmax": outer,
            "weight.nested_quant_map": inner,
        }
    else:
        tensors["weight.absmax"] = largest
    name = "weight.quant_state.bitsandbytes__nf4"
    tensors[name] = np.frombuffer(json.dumps(state).encode(), np.uint8).copy()
    expected = (table[flat] * largest.repeat(64)).reshape(N_OUT, N_IN)
    assert_read(opened(tmp_path, tensors), expected)


@pytest.mark.parametrize("kind", [torch.float8_e4m3fn, torch.float8_e5m2])
@pytest.mark.parametrize("scale", [(), (1,), (N_OUT,), (N_OUT, 1), (4, 2)])
def test_numbers_of_8_bits(tmp_path, kind, scale):
    q = torch.from_numpy(RANDOM.standard_normal((N_OUT, N_IN))).to(kind)
    scales = RANDOM.uniform(0.5, 2, scale).astype(np.float32)
    store = opened(tmp_path, {"weight": q, "weight_scale": scales})
    wide = scales.repeat(4, 0).repeat(32, 1) if scale == (4, 2) else scales.reshape(-1, 1)
    assert_read(store, q.float().numpy() * wide)


@pytest.mark.parametrize("given", [None, [96, 100]])
def test_last_blocks_of_numbers_of_8_bits_are_shorter(tmp_path, given):
    """As DeepSeek's 576 rows in five blocks of 128."""
    shape, (rows, columns) = (576, 200), given or (128, 128)
    q = torch.from_numpy(RANDOM.standard_normal(shape)).to(torch.float8_e4m3fn)
    counts = -(-shape[0] // rows), -(-shape[1] // columns)
    scales = RANDOM.uniform(0.5, 2, counts).astype(np.float32)
    settings = {} if given is None else {"weight_block_size": given}
    store = opened(tmp_path, {"weight": q, "weight_scale_inv": scales}, "fp8", **settings)
    wide = scales[np.arange(shape[0])[:, None] // rows, np.arange(shape[1]) // columns]
    assert_read(store, q.float().numpy() * wide)


@pytest.mark.parametrize("name", ["weight_scale", "scale", "scale_weight"])
def test_scales_of_8_bits_are_exponents(tmp_path, name):
    q = torch.from_numpy(RANDOM.standard_normal((N_OUT, N_IN))).to(torch.float8_e4m3fn)
    store = opened(tmp_path, {"weight": q, name: EXPONENTS}, "compressed-tensors")
    assert_read(store, q.float().numpy() * 2.0 ** (EXPONENTS.astype(int) - 127).repeat(GROUP, 1))


@pytest.mark.parametrize("zeros", [True, False])
def test_integers_of_8_bits_with_scales_of_rows(tmp_path, zeros):
    q = RANDOM.integers(-128, 128, (N_OUT, N_IN)).astype(np.int8)
    zero = RANDOM.integers(-9, 9, (N_OUT, 1)).astype(np.int8) * np.int8(zeros)
    tensors = {"weight": q, "weight_scale": SCALES[:, :1]}
    tensors |= {"weight_zero_point": zero} if zeros else {}
    store = opened(tmp_path, tensors, "compressed-tensors")
    assert_read(store, (q.astype(int) - zero) * SCALES[:, :1].astype(np.float32), 1e-5)


FP4 = [0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6]
EXPONENTS = RANDOM.integers(120, 135, SCALES.shape).astype(np.uint8)
PAIRS = (WHOLE[:, 1::2] << 4 | WHOLE[:, ::2]).astype(np.uint8)
MXFP4 = np.take(FP4, WHOLE) * 2.0 ** (EXPONENTS.astype(int) - 127).repeat(GROUP, 1)


@pytest.mark.parametrize("between", ["_", "."])
def test_experts_of_gpt_oss(tmp_path, between):
    """With "_" as of transformers, which uses them transposed, with "." as of OpenAI."""
    shape = (2, N_OUT // 2, N_IN // GROUP)
    tensors = {
        f"experts.x{between}blocks": PAIRS.reshape(*shape, GROUP // 2),
        f"experts.x{between}scales": EXPONENTS.reshape(shape),
    }
    store = opened(tmp_path, tensors, "mxfp4")
    expected = MXFP4.reshape(2, -1, N_IN)
    read = store.read("q_proj.experts.x")
    np.testing.assert_array_equal(read, expected.swapaxes(1, 2) if between == "_" else expected)
    assert store.tensors["q_proj.experts.x"].shape == read.shape
    assert read.flags.c_contiguous


def test_mxfp4_of_rows(tmp_path):
    tensors = {"weight_packed": PAIRS, "weight_scale": EXPONENTS}
    assert_read(opened(tmp_path, tensors, "compressed-tensors"), MXFP4)
    tensors = {"weight": torch.from_numpy(PAIRS).view(torch.uint32), "scales": EXPONENTS}
    assert_read(opened(tmp_path, tensors, mode="mxfp4"), MXFP4)
    with_nan = EXPONENTS.copy()
    with_nan[0, 0] = 255
    tensors = {"weight_packed": PAIRS, "weight_scale": with_nan}
    read = opened(tmp_path, tensors, "compressed-tensors").read("q_proj.weight")
    assert np.isnan(read[0, :GROUP]).all()
    np.testing.assert_array_equal(read[1:], MXFP4[1:])


@pytest.mark.parametrize("divided", [True, False], ids=["compressed-tensors", "ModelOpt"])
def test_nvfp4(tmp_path, divided):
    whole = np.array([0.375], np.float32)
    scales = torch.from_numpy(RANDOM.uniform(1, 400, (N_OUT, N_IN // 16))).to(torch.float8_e4m3fn)
    names = ["weight_packed", "weight_scale", "weight_global_scale"]
    if not divided:
        names = ["weight", "weight_scale", "weight_scale_2"]
    store = opened(tmp_path, dict(zip(names, (PAIRS, scales, whole), strict=True)))
    scale = scales.float().numpy().repeat(16, 1) * (1 / whole if divided else whole)
    assert_read(store, np.take(FP4, WHOLE) * scale, 1e-3)


@pytest.mark.parametrize("kind", [torch.float8_e4m3fn, torch.float8_e5m2])
def test_every_number_of_8_bits_is_that_of_torch(tmp_path, kind):
    every = torch.arange(256, dtype=torch.uint8).view(kind)
    save_file({"every": every}, tmp_path / "x.safetensors")
    read = open_store(tmp_path / "x.safetensors").read("every")
    np.testing.assert_array_equal(read, every.float().numpy())


def save_of_torchao(path, monkeypatch, kind, attributes, name="q_proj.weight", **beside):
    """Save a tensor as torchao's are: a subclass without numbers, with tensors as attributes."""

    class Made:
        def __reduce_ex__(self, protocol):
            args = (Made, torch.float32, (N_OUT, N_IN), (N_IN, 1), 0, None, None, False)
            whole = torch._utils._rebuild_wrapper_subclass
            return torch._tensor._rebuild_from_type_v2, (whole, Made, args, attributes)

    Made.__module__, Made.__qualname__ = "torchao.quantization", kind
    module = types.ModuleType("torchao.quantization")
    setattr(module, kind, Made)
    with monkeypatch.context() as while_saved:
        while_saved.setitem(sys.modules, "torchao", types.ModuleType("torchao"))
        while_saved.setitem(sys.modules, "torchao.quantization", module)
        torch.save({name: Made(), **beside}, path)


def saved_of_torchao(tmp_path, monkeypatch, kind, **attributes):
    save_of_torchao(tmp_path / "a.bin", monkeypatch, kind, attributes)
    return dequantised(open_store(tmp_path / "a.bin"), {})[0]


@pytest.mark.parametrize("zeros", [True, False])
@pytest.mark.parametrize("shape", [(N_OUT, 1), (N_OUT, N_IN // GROUP), (1, 1)])
def test_int8_of_torchao(tmp_path, monkeypatch, shape, zeros):
    q = RANDOM.integers(-127, 128, (N_OUT, N_IN)).astype(np.int8)
    scale = RANDOM.uniform(0.01, 0.1, shape).astype(np.float32)
    zero = RANDOM.integers(-9, 9, shape).astype(np.int8)
    attributes = {"qdata": q, "scale": scale, **({"zero_point": zero} if zeros else {})}
    tensors = {name: torch.from_numpy(value) for name, value in attributes.items()}
    store = saved_of_torchao(tmp_path, monkeypatch, "Int8Tensor", block_size=[1, GROUP], **tensors)
    repeats = N_OUT // shape[0], N_IN // shape[1]
    wide = [a.astype(np.float32).repeat(repeats[0], 0).repeat(repeats[1], 1) for a in (scale, zero)]
    assert_read(store, (q - wide[1] * zeros) * wide[0], 1e-5)


def test_float8_of_torchao(tmp_path, monkeypatch):
    q = torch.from_numpy(RANDOM.standard_normal((N_OUT, N_IN))).to(torch.float8_e4m3fn)
    scale = torch.from_numpy(RANDOM.uniform(0.5, 2, (N_OUT, 1)).astype(np.float32))
    store = saved_of_torchao(tmp_path, monkeypatch, "Float8Tensor", qdata=q, scale=scale)
    assert_read(store, (q.float() * scale).numpy())


@pytest.mark.parametrize("kind", [torch.int8, torch.float8_e4m3fn])
def test_torchao_in_safetensors(tmp_path, kind):
    q = torch.from_numpy(RANDOM.integers(-9, 9, (N_OUT, N_IN))).to(kind)
    scale = RANDOM.uniform(0.01, 0.1, (N_OUT, 1)).astype(np.float32)
    store = opened(tmp_path, {"_weight_qdata": q, "_weight_scale": scale}, "torchao")
    assert_read(store, q.float().numpy() * scale, 1e-5)


def test_other_tensors_of_torchao_are_named(tmp_path, monkeypatch):
    parts = {"qdata": torch.zeros(N_OUT, N_IN // 2, dtype=torch.uint8), "scale": torch.ones(2, 8)}
    store = saved_of_torchao(tmp_path, monkeypatch, "Int4Tensor", **parts)
    assert list(store.tensors) == [
        "q_proj.weight.Int4Tensor.qdata",
        "q_proj.weight.Int4Tensor.scale",
    ]
    with pytest.raises(TensorUnavailable, match="quantised"):
        store.read("q_proj.weight.Int4Tensor.qdata")
    table = torch.ones(20, 16)
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "gpt2", "n_head": 2}))
    save_of_torchao(
        tmp_path / "a.bin",
        monkeypatch,
        "Int4Tensor",
        parts,
        "h.0.attn.c_attn.weight",
        **{"wpe.weight": table, "wte.weight": table, "h.0.ln_1.weight": torch.ones(16)},
    )
    assert "quantised (Int4Tensor)" in open_model(tmp_path).missing["W_Q"]


def test_what_does_not_fit_stays_unreadable(tmp_path):
    zeros = packed(ZEROS.T, 1)[:1]
    tensors = {"qweight": packed(WHOLE.T, 0), "qzeros": zeros, "scales": SCALES.T}
    store = opened(tmp_path, tensors, "gptq", bits=4)
    assert "q_proj.weight" not in store.tensors
    with pytest.raises(TensorUnavailable, match="quantised"):
        store.read("q_proj.qweight")


@pytest.mark.parametrize("change", ["index", "nested_blocksize"])
def test_numbers_that_do_not_fit_are_unavailable(tmp_path, change):
    tensors = {
        "qweight": packed(WHOLE.T, 0),
        "qzeros": packed(ZEROS.T, 1),
        "scales": SCALES.T,
        "g_idx": np.full(N_IN, 9, np.int32),
    }
    if change == "nested_blocksize":
        state = {"blocksize": 64, "shape": [N_OUT, N_IN], "nested_blocksize": "x"}
        tensors = {
            "weight": PAIRS.reshape(-1, 1),
            "weight.absmax": np.ones(16, np.uint8),
            "weight.quant_map": np.ones(16, np.float32),
            "weight.nested_absmax": np.ones(1, np.float32),
            "weight.nested_quant_map": np.ones(256, np.float32),
            "weight.quant_state.bitsandbytes__nf4": np.frombuffer(
                json.dumps(state).encode(), np.uint8
            ).copy(),
        }
    store = opened(tmp_path, tensors, "gptq")
    with pytest.raises(TensorUnavailable, match="weight"):
        store.read("q_proj.weight")


def test_user_sees_that_numbers_are_approximate(tmp_path):
    table = torch.from_numpy(RANDOM.standard_normal((20, 16))).float()
    q = torch.ones(48, 16, dtype=torch.int8)
    tensors = {"wpe.weight": table, "wte.weight": table + 1, "h.0.ln_1.weight": torch.ones(16)}
    tensors |= {"h.0.attn.c_attn.weight": q.T.contiguous(), "h.0.attn.c_attn.SCB": torch.ones(16)}
    save_file(tensors, tmp_path / "model.safetensors")
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "gpt2", "n_head": 2}))
    assert any("1 as I8" in note for note in open_model(tmp_path).warnings)
