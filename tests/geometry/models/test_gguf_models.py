"""Models in GGUF files: their tables, their turning, and what is quantised."""

import numpy as np
import pytest
import torch
from gguf import MODEL_TENSOR, TENSOR_NAMES, GGMLQuantizationType
from gguf.quants import quantize
from transformers import LlamaConfig, LlamaModel

from geometry.checkpoints.errors import NoPositionalEmbeddings, SourceError, TensorUnavailable
from geometry.measures.rotary import turning_rates
from geometry.models.pair_use import pair_use
from geometry.models.sources.opening import open_model
from tests.geometry.checkpoints.formats.test_gguf_store import write

LLAMA = [
    ("llama.context_length", 128), ("llama.embedding_length", 32), ("llama.block_count", 1),
    ("llama.attention.head_count", 4), ("llama.attention.head_count_kv", 2),
    ("llama.rope.freq_base", 5e5), ("llama.rope.dimension_count", 8),
]  # fmt: skip
EYE = np.eye(32, dtype=np.float32)


def permuted(weight, heads):
    """Return rows as llama.cpp's conversion orders them: a head's halves, entry by entry."""
    d = weight.shape[0] // heads
    return weight.reshape(heads, 2, d // 2, -1).swapaxes(1, 2).reshape(weight.shape)


def test_a_table_of_positions(tmp_path):
    rng = np.random.default_rng(0)
    table = rng.standard_normal((16, 32)).astype(np.float32)
    tokens = rng.standard_normal((9, 32)).astype(np.float32)
    qkv = rng.standard_normal((96, 32)).astype(np.float32)
    path = write(tmp_path / "gpt2.gguf", {
        "position_embd.weight": table, "token_embd.weight": tokens, "blk.0.attn_qkv.weight": qkv,
    }, [("gpt2.context_length", 16), ("gpt2.embedding_length", 32), ("gpt2.block_count", 1),
        ("gpt2.attention.head_count", 4)], arch="gpt2")  # fmt: skip
    model = open_model(path)
    np.testing.assert_array_equal(model.W_pos, table)
    np.testing.assert_array_equal(model.W_E, tokens)
    np.testing.assert_array_equal(model.weight("W_K"), qkv[32:64])
    assert (model.family, model.n_layers, model.n_heads) == ("gpt2", 1, 4)
    assert not model.warnings
    with pytest.raises(TensorUnavailable):
        model.tokenize("a")


@pytest.mark.parametrize("n_class_rows", [0, 1])
def test_a_projector_of_pictures(n_class_rows, tmp_path):
    rng = np.random.default_rng(0)

    def random(*shape):
        return rng.standard_normal(shape).astype(np.float32)

    def name(tensor):
        return TENSOR_NAMES[tensor].format(bid=0)

    table = random(16 + n_class_rows, 32)
    maps = {weight: (name(getattr(MODEL_TENSOR, f"V_ENC_{part}")), random(32, 32))
            for weight, part in (("W_Q", "ATTN_Q"), ("W_K", "ATTN_K"), ("W_V", "ATTN_V"),
                                 ("W_O", "ATTN_O"))}  # fmt: skip
    maps["W_in"] = name(MODEL_TENSOR.V_ENC_FFN_UP), random(64, 32)
    tensors = {f"{name(MODEL_TENSOR.V_ENC_EMBD_POS)}.weight": table,
               f"{name(MODEL_TENSOR.V_ENC_INPUT_NORM)}.weight": random(32),
               f"{name(MODEL_TENSOR.V_ENC_POST_ATTN_NORM)}.weight": random(32),
               **{f"{stem}.weight": matrix for stem, matrix in maps.values()}}  # fmt: skip
    if n_class_rows:
        tensors[name(MODEL_TENSOR.V_ENC_EMBD_CLS)] = random(32)
    settings = {"image_size": 32, "patch_size": 8, "embedding_length": 32, "block_count": 1,
                "attention.head_count": 4, "feed_forward_length": 64}  # fmt: skip
    path = write(tmp_path / "mmproj-a.gguf", tensors,
                 [(f"clip.vision.{key}", value) for key, value in settings.items()],
                 arch="clip")  # fmt: skip
    model = open_model(path)
    np.testing.assert_array_equal(model.W_pos, table[n_class_rows:])
    assert (model.grid, model.n_heads, model.n_layers, model.causal) == ((4, 4), 4, 1, False)
    for weight, (_, matrix) in maps.items():
        np.testing.assert_array_equal(model.weight(weight), matrix)


def test_rotary_settings(tmp_path):
    model = open_model(write(tmp_path / "llama.gguf", {"token_embd.weight": EYE}, LLAMA))
    assert (model.family, model.n_positions, model.rotary.d_head) == ("llama", 128, 8)
    np.testing.assert_allclose(model.rotary.rates, turning_rates(5e5, 8))
    assert model.rotary.pairing == "interleaved"


def test_factors_by_pair_are_a_tensor(tmp_path):
    factors = np.array([1.0, 1.0, 4.0, 8.0], np.float32)
    tensors = {"token_embd.weight": EYE, "rope_freqs.weight": factors}
    model = open_model(write(tmp_path / "llama.gguf", tensors, LLAMA))
    np.testing.assert_allclose(model.rotary.rates, turning_rates(5e5, 8) / factors)
    assert model.rotary.scaling == "factors"
    assert not model.rotary.note


def test_the_permuted_queries_and_keys_of_llama_files_are_put_right(tmp_path):
    torch.manual_seed(0)
    config = LlamaConfig(hidden_size=32, num_attention_heads=4, num_key_value_heads=2,
                         num_hidden_layers=1, intermediate_size=32, vocab_size=32,
                         max_position_embeddings=128, pad_token_id=0)  # fmt: skip
    own = LlamaModel(config)
    own.save_pretrained(tmp_path / "llama")
    attention = own.layers[0].self_attn
    tensors = {
        "token_embd.weight": EYE,
        "blk.0.attn_q.weight": permuted(attention.q_proj.weight.detach().numpy(), 4),
        "blk.0.attn_k.weight": permuted(attention.k_proj.weight.detach().numpy(), 2),
    }
    model = open_model(write(tmp_path / "llama.gguf", tensors, LLAMA))
    expected = pair_use(open_model(tmp_path / "llama"))
    np.testing.assert_allclose(pair_use(model).use, expected.use, rtol=1e-6)


def test_what_is_quantised_is_said(tmp_path):
    raw = quantize(EYE, GGMLQuantizationType.Q8_0)
    tensors = {"token_embd.weight": EYE, "blk.0.attn_q.weight": (raw, GGMLQuantizationType.Q8_0),
               "blk.0.attn_k.weight": (raw, GGMLQuantizationType.Q8_0)}  # fmt: skip
    model = open_model(write(tmp_path / "llama.gguf", tensors, LLAMA))
    assert model.warnings == ("Tensors are quantised, and their numbers approximate: 2 as Q8_0.",)


def test_alibi_and_nothing(tmp_path):
    heads = [("bloom.attention.head_count", 4)]
    path = write(tmp_path / "a.gguf", {"token_embd.weight": EYE}, heads, arch="bloom")
    assert open_model(path).lags.slopes == (2**-2, 2**-4, 2**-6, 2**-8)
    path = write(tmp_path / "b.gguf", {"token_embd.weight": EYE}, arch="mamba")
    with pytest.raises(NoPositionalEmbeddings, match="recurrent"):
        open_model(path)


def test_a_folder_with_several_quantisations_asks_for_one(tmp_path):
    for name in ("a-Q4_0.gguf", "a-Q8_0.gguf"):
        write(tmp_path / name, {"token_embd.weight": EYE}, LLAMA)
    with pytest.raises(SourceError, match="2 weights files"):
        open_model(tmp_path)
    (tmp_path / "a-Q4_0.gguf").rename(tmp_path / "mmproj-a.gguf")
    assert open_model(tmp_path).rotary.base == 5e5


def test_the_real_smollm2(smollm2):
    model = open_model(smollm2)
    assert (model.family, model.n_layers, model.n_heads) == ("llama", 30, 9)
    assert (model.rotary.base, model.rotary.d_head) == (100_000.0, 64)
    assert model.d_vocab == 49_152
    use = pair_use(model, 3).use
    assert use.shape == (9, 32)
    assert (use > 0).all()


def opened(folder, arch, *settings):
    own = [("context_length", 128), ("embedding_length", 64), ("block_count", 12),
           ("attention.head_count", 4)]  # fmt: skip
    named = [(f"{arch}.{key}", value) for key, value in [*own, *settings]]
    return open_model(write(folder / "m.gguf", {"token_embd.weight": EYE}, named, arch=arch))


@pytest.mark.parametrize("arch", ["mpt", "jais"])
@pytest.mark.parametrize("most", [4.0, 8.0, 16.0])
def test_the_exponent_of_alibi_is_that_of_the_file(tmp_path, arch, most):
    lags = opened(tmp_path, arch, ("attention.max_alibi_bias", most)).lags
    np.testing.assert_allclose(lags.slopes, 2.0 ** (-most * np.arange(1, 5) / 4))


@pytest.mark.parametrize("arch", ["mpt", "refact", "bloom", "jina-bert-v2"])
def test_without_an_exponent_the_usual_one_of_alibi(tmp_path, arch):
    model = opened(tmp_path, arch)
    assert model.lags.slopes == (2**-2, 2**-4, 2**-6, 2**-8)
    assert model.causal == (arch != "jina-bert-v2")


def test_an_exponent_of_0_stands_for_no_alibi(tmp_path):
    with pytest.raises(NoPositionalEmbeddings, match="no positions"):
        opened(tmp_path, "mpt", ("attention.max_alibi_bias", 0.0))


@pytest.mark.parametrize(("arch", "full"), [
    ("gemma3", (5, 11)), ("gemma-embedding", (5, 11)), ("gemma3n", (4, 9)), ("olmo2", (3, 7, 11)),
])  # fmt: skip
def test_what_llama_cpp_has_in_its_code_about_sliding_layers(tmp_path, arch, full):
    window = ("attention.sliding_window", 64)
    rotary = opened(tmp_path, arch, window, ("rope.freq_base", 5e5)).rotary
    near = 5e5 if arch == "olmo2" else 1e4
    assert not rotary.note
    for layer in range(12):
        assert rotary.by_layer_type[rotary.type_of(layer)][0] == (5e5 if layer in full else near)
    assert rotary.causal == (arch != "gemma-embedding")


@pytest.mark.parametrize(("arch", "window", "expected"), [
    ("afmoe", 64, (3, 7, 11)), ("exaone-moe", 64, (3, 7, 11)), ("exaone4", 64, (3, 7, 11)),
    ("exaone4", None, ()), ("llama4", None, (3, 7, 11)), ("llama4", 0, ()), ("olmo2", None, ()),
])  # fmt: skip
def test_llama_cpp_layers_without_rotation(tmp_path, arch, window, expected):
    settings = [] if window is None else [("attention.sliding_window", window)]
    rotary = opened(tmp_path, arch, ("rope.freq_base", 5e5), *settings).rotary
    assert rotary.layers_without == expected


@pytest.mark.parametrize("arch", ["mimo2", "gemma4", "smallthinker", "granitehybrid"])
def test_where_only_the_pairing_was_compared_usual_settings_are_said(tmp_path, arch):
    model = opened(tmp_path, arch, ("rope.freq_base", 5e5))
    assert any("Usual settings assumed" in warning for warning in model.warnings)
