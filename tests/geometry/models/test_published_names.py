"""Small checkpoints with the names of codes that cannot be installed, and what is read of them."""

import pickle
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from geometry.models.attention_layer import AttentionLayer
from geometry.models.recognition.candidates import UnknownRows
from geometry.models.sources.opening import UnknownArchitecture, open_model

N, D, HEADS, VOCAB = 9, 8, 2, 11
WIDTH = D // HEADS
RANDOM = np.random.default_rng(44)


def random(*shape: int) -> np.ndarray:
    return RANDOM.standard_normal(shape).astype(np.float32)


P, E, Q, K, V, OUT, IN = (
    random(N, D),
    random(VOCAB, D),
    *(random(D, D) for _ in range(4)),
    random(32, D),
)
PATCHES = random(1, 10, D)  # a class token, and 3 × 3 patches


@dataclass
class Case:
    """A checkpoint, and what is right."""

    tensors: dict[str, Any]
    settings: dict[str, Any] = field(default_factory=dict)  #: in the same file
    rows: np.ndarray = field(default_factory=lambda: P)
    tokens: np.ndarray | None = field(default_factory=lambda: E)
    heads: int | None = HEADS
    grid: tuple[int, int] | None = None
    layer: int = 0
    kind: str = "torch"
    wrapped: str = "model"


def heads_of(matrix: np.ndarray) -> list[np.ndarray]:
    return list(matrix.reshape(HEADS, WIDTH, D))


def by_head(*matrices: np.ndarray) -> np.ndarray:
    """Fuse matrices as Megatron does: those of the first head, then those of the next one."""
    return np.stack([m.reshape(HEADS, WIDTH, D) for m in matrices], 1).reshape(-1, D)


def of_lecture() -> dict[str, Any]:
    """The names of gpt.py in karpathy/ng-video-lecture."""
    heads = {
        f"blocks.0.sa.heads.{n}.{name}.weight": part
        for name, matrix in (("query", Q), ("key", K), ("value", V))
        for n, part in enumerate(heads_of(matrix))
    }
    return {
        "token_embedding_table.weight": E, "position_embedding_table.weight": P, **heads,
        "blocks.0.sa.proj.weight": OUT, "blocks.0.sa.proj.bias": random(D),
        "blocks.0.ffwd.net.0.weight": IN, "blocks.0.ln1.weight": random(D),
        "blocks.0.ln1.bias": random(D), "blocks.0.ln2.weight": random(D),
    }  # fmt: skip


def of_mingpt() -> dict[str, Any]:
    """The names of mingpt/model.py in karpathy/minGPT, in 2020."""
    block = "blocks.0."
    return {
        "pos_emb": P[None], "tok_emb.weight": E, f"{block}attn.query.weight": Q,
        f"{block}attn.key.weight": K, f"{block}attn.value.weight": V,
        f"{block}attn.proj.weight": OUT, f"{block}mlp.0.weight": IN,
        f"{block}ln1.weight": random(D), f"{block}ln2.weight": random(D),
        "ln_f.weight": random(D), "head.weight": random(VOCAB, D),
    }  # fmt: skip


def of_megatron() -> dict[str, Any]:
    """The names of Megatron Core's GPTModel."""
    layer = "decoder.layers.0."
    return {
        "embedding.word_embeddings.weight": E, "embedding.position_embeddings.weight": P,
        f"{layer}self_attention.linear_qkv.weight": by_head(Q, K, V),
        f"{layer}self_attention.linear_qkv.bias": random(3 * D),
        f"{layer}self_attention.linear_qkv.layer_norm_weight": random(D),
        f"{layer}self_attention.linear_proj.weight": OUT, f"{layer}mlp.linear_fc1.weight": IN,
        f"{layer}mlp.linear_fc1.layer_norm_weight": random(D),
    }  # fmt: skip


def of_early_megatron() -> dict[str, Any]:
    """The names of Megatron-LM's GPTModel before Core."""
    layer = "language_model.encoder.layers.0."
    return {
        "language_model.embedding.word_embeddings.weight": E,
        "language_model.embedding.position_embeddings.weight": P,
        f"{layer}input_layernorm.weight": random(D), f"{layer}input_layernorm.bias": random(D),
        f"{layer}self_attention.query_key_value.weight": by_head(Q, K, V),
        f"{layer}self_attention.query_key_value.bias": random(3 * D),
        f"{layer}self_attention.dense.weight": OUT, f"{layer}mlp.dense_h_to_4h.weight": IN,
        f"{layer}post_attention_layernorm.weight": random(D),
    }  # fmt: skip


def of_fairseq_roberta(norm: str, fused: bool = False) -> dict[str, Any]:
    """The names of fairseq's RobertaModel; before position 0 are two rows."""
    root = "sentence_encoder."
    attention = f"{root}layers.0.self_attn."
    maps = {"in_proj_weight": np.concatenate([Q, K, V]), "in_proj_bias": random(3 * D)}
    if not fused:
        maps = {f"{name}_proj.weight": matrix for name, matrix in (("q", Q), ("k", K), ("v", V))}
    return {
        f"{root}embed_tokens.weight": E,
        f"{root}embed_positions.weight": np.concatenate([random(2, D), P]),
        f"{root}{norm}.weight": random(D), f"{root}{norm}.bias": random(D),
        **{attention + name: array for name, array in maps.items()},
        f"{attention}out_proj.weight": OUT, f"{root}layers.0.fc1.weight": IN,
        f"{root}layers.0.self_attn_layer_norm.weight": random(D),
        f"{root}layers.0.final_layer_norm.weight": random(D),
    }  # fmt: skip


def of_esm() -> dict[str, Any]:
    """The names of ESM-1b, which has LayerNorm before each block, and a further one before all."""
    norm = {"sentence_encoder.emb_layer_norm_before.weight": random(D)}
    return {**of_fairseq_roberta("emb_layer_norm_after"), **norm}


def of_book() -> dict[str, Any]:
    """The names of GPTModel in rasbt/LLMs-from-scratch."""
    block = "trf_blocks.0."
    return {
        "pos_emb.weight": P, "tok_emb.weight": E, "out_head.weight": random(VOCAB, D),
        f"{block}att.mask": np.triu(np.ones((N, N), np.float32), 1),
        f"{block}att.W_query.weight": Q, f"{block}att.W_key.weight": K,
        f"{block}att.W_value.weight": V, f"{block}att.out_proj.weight": OUT,
        f"{block}ff.layers.0.weight": IN, f"{block}norm1.scale": random(D),
        f"{block}norm1.shift": random(D), f"{block}norm2.scale": random(D),
        f"{block}norm2.shift": random(D),
    }  # fmt: skip


def of_dino(layers: str, prefix: str = "") -> dict[str, Any]:
    """The names of vision_transformer.py in facebookresearch/dino, and in dinov2, with chunks."""
    made = {"cls_token": random(1, 1, D), "pos_embed": PATCHES,
            "patch_embed.proj.weight": random(D, 3, 4, 4)}  # fmt: skip
    for n in range(2):
        block = f"blocks.{layers.format(n)}."
        made |= {
            f"{block}norm1.weight": random(D), f"{block}norm2.weight": random(D),
            f"{block}attn.qkv.weight": np.concatenate([Q, K, V]) + (1 - n),
            f"{block}attn.qkv.bias": random(3 * D), f"{block}attn.proj.weight": OUT + (1 - n),
            f"{block}mlp.fc1.weight": IN + (1 - n),
        }  # fmt: skip
    return {prefix + name: array for name, array in made.items()}


def of_early_vit_pytorch() -> dict[str, Any]:
    """The names of ViT in lucidrains/vit-pytorch, with its PreNorm."""
    layer = "transformer.layers.0."
    return {
        "pos_embedding": PATCHES, "cls_token": random(1, 1, D), f"{layer}0.norm.weight": random(D),
        "to_patch_embedding.1.weight": random(D, 48), f"{layer}1.norm.weight": random(D),
        f"{layer}0.fn.to_qkv.weight": np.concatenate([Q, K, V]),
        f"{layer}0.fn.to_out.0.weight": OUT, f"{layer}1.fn.net.0.weight": IN,
    }  # fmt: skip


def of_mae() -> dict[str, Any]:
    """The names of models_mae.py in facebookresearch/mae, which also has a decoder's table."""
    decoder = {"decoder_pos_embed": random(1, 10, 4), "mask_token": random(1, 1, 4),
               "decoder_blocks.0.attn.qkv.weight": random(12, 4)}  # fmt: skip
    return {**of_dino("{}"), **decoder}


def of_google() -> dict[str, Any]:
    """The names of google-research/vision_transformer, with an axis for heads."""
    block = "Transformer/encoderblock_0/"
    attention = f"{block}MultiHeadDotProductAttention_1/"
    kernels = {f"{attention}{name}/kernel": matrix.T.reshape(D, HEADS, WIDTH)
               for name, matrix in (("query", Q), ("key", K), ("value", V))}  # fmt: skip
    return {
        "cls": random(1, 1, D), "Transformer/posembed_input/pos_embedding": PATCHES, **kernels,
        f"{attention}out/kernel": OUT.T.reshape(HEADS, WIDTH, D),
        f"{block}MlpBlock_3/Dense_0/kernel": IN.T, f"{block}LayerNorm_0/scale": random(D),
        f"{block}LayerNorm_2/scale": random(D), "embedding/kernel": random(4, 4, 3, D),
    }  # fmt: skip


def of_x_transformers(attention: int = 0, mlp: int = 1) -> dict[str, Any]:
    """The names of lucidrains/x-transformers: attention and MLPs are numbered together."""
    layers = "attn_layers.layers."
    return {
        "token_emb.emb.weight": E, "pos_emb.emb.weight": P * np.float32(np.sqrt(D)),
        f"{layers}{attention}.0.0.gamma": random(D), f"{layers}{attention}.1.to_q.weight": Q,
        f"{layers}{attention}.1.to_k.weight": K, f"{layers}{attention}.1.to_v.weight": V,
        f"{layers}{attention}.1.to_out.weight": OUT, f"{layers}{mlp}.0.0.gamma": random(D),
        f"{layers}{mlp}.1.ff.0.0.weight": IN, f"{layers}{mlp}.1.ff.2.weight": random(D, 32),
    }  # fmt: skip


def of_x_transformers_with_cross_attention() -> dict[str, Any]:
    """Two layers of attention, attention to another model, and an MLP."""
    others = {f"attn_layers.layers.{at}.1.to_{part}.weight": random(D, D)
              for at in (0, 1, 4) for part in ("q", "k", "v", "out")}  # fmt: skip
    first = {"attn_layers.layers.2.1.ff.0.0.weight": random(32, D),
             "attn_layers.layers.2.0.0.gamma": random(D)}  # fmt: skip
    return {**of_x_transformers(3, 5), **others, **first}


def of_tensorflow() -> dict[str, Any]:
    """The variables of openai/gpt-2, whose matrices have a first axis for a convolution."""
    block = "model/h0/"
    return {
        "model/wte": E, "model/wpe": P, f"{block}ln_1/g": random(D), f"{block}ln_2/g": random(D),
        f"{block}attn/c_attn/w": np.concatenate([Q, K, V]).T[None],
        f"{block}attn/c_proj/w": OUT.T[None], f"{block}mlp/c_fc/w": IN.T[None],
    }  # fmt: skip


def of_pico() -> dict[str, Any]:
    """The parameters of jaymody/picoGPT: matrices are (in, out)."""
    block = {"attn": {"c_attn": {"w": np.concatenate([Q, K, V]).T.copy(), "b": random(3 * D)},
                      "c_proj": {"w": OUT.T.copy(), "b": random(D)}},
             "mlp": {"c_fc": {"w": IN.T.copy(), "b": random(32)}},
             "ln_1": {"g": random(D), "b": random(D)},
             "ln_2": {"g": random(D), "b": random(D)}}  # fmt: skip
    return {"wte": E, "wpe": P, "blocks": [block]}


PICTURE: dict[str, Any] = {"rows": PATCHES[0, 1:], "tokens": None, "grid": (3, 3)}
CASES = {
    "lecture": Case(of_lecture()),
    "minGPT": Case(of_mingpt(), {"config": {"n_head": HEADS, "n_embd": D, "block_size": N}}),
    "minGPT without settings": Case(of_mingpt(), heads=None),
    "Megatron": Case(of_megatron(), {"args": {"num_attention_heads": HEADS, "hidden_size": D}}),
    "Megatron before Core": Case(of_early_megatron(), {"args": {"num_attention_heads": HEADS}}),
    "fairseq's RoBERTa": Case(of_fairseq_roberta("layernorm_embedding"), heads=None),
    "fairseq's RoBERTa before 1.0": Case(of_fairseq_roberta("emb_layer_norm"), heads=None),
    "fairseq's first RoBERTa": Case(of_fairseq_roberta("emb_layer_norm", fused=True), heads=None),
    "fairseq's XLM-R XL": Case(of_fairseq_roberta("layer_norm"), heads=None),
    "ESM-1b": Case(of_esm(), heads=None),
    "a book's GPT": Case(of_book(), heads=None, wrapped="model_state_dict"),
    "DINO with several classifiers": Case(
        {**of_dino("{}"), "heads.0.weight": random(3, D), "heads.1.weight": random(3, D)},
        heads=None, layer=1, **PICTURE),
    "DINO": Case(of_dino("{}", "module.backbone."), heads=None, layer=1, wrapped="teacher",
                 **PICTURE),
    "DINOv2": Case(of_dino("0.{}", "backbone."), heads=None, layer=1, wrapped="teacher", **PICTURE),
    "vit-pytorch with PreNorm": Case(of_early_vit_pytorch(), heads=None, **PICTURE),
    "MAE": Case(of_mae(), heads=None, layer=1, **PICTURE),
    "Google's ViT": Case(of_google(), kind="numpy", **PICTURE),
    "x-transformers": Case(of_x_transformers(), heads=None, wrapped="net"),
    "x-transformers with cross-attention": Case(
        of_x_transformers_with_cross_attention(), heads=None, layer=1, wrapped="net"),
    "GPT-2 in TensorFlow": Case(of_tensorflow(), heads=None, kind="numpy"),
    "picoGPT": Case(of_pico(), heads=None, kind="pickle"),
}  # fmt: skip


@pytest.fixture(params=CASES)
def case(request) -> Case:
    return CASES[request.param]


def write(case: Case, folder: Path) -> Path:
    if case.kind == "pickle":
        (folder / "params.pkl").write_bytes(pickle.dumps(case.tensors))
        return folder / "params.pkl"
    if case.kind == "numpy":
        np.savez(folder / "vit.npz", **case.tensors)
        return folder / "vit.npz"
    state = {name: torch.from_numpy(array) for name, array in case.tensors.items()}
    torch.save({case.wrapped: state, **case.settings}, folder / "checkpoint.pth")
    return folder / "checkpoint.pth"


def test_layers_of_stages_are_not_those_of_chunks(tmp_path):
    tensors = of_dino("0.{}")
    tensors["blocks.1.0.attn.qkv.weight"] = random(3 * D, D)
    path = write(Case(tensors), tmp_path)
    with pytest.raises(UnknownArchitecture):
        open_model(path)


def test_published_names(case, tmp_path):
    model = open_model(write(case, tmp_path))
    np.testing.assert_allclose(model.W_pos, case.rows, rtol=1e-6)
    assert (model.n_heads, model.grid) == (case.heads, case.grid)
    if case.tokens is not None:
        np.testing.assert_array_equal(model.W_E, case.tokens)
    for name, matrix in (("W_Q", Q), ("W_K", K), ("W_V", V), ("W_O", OUT), ("W_in", IN)):
        np.testing.assert_array_equal(model.weight(name, case.layer), matrix)


def of_lens(norm: bool) -> dict[str, Any]:
    """The names of HookedTransformer; with folded norms, there are none for their gains."""
    block = "blocks.0."
    split = {f"{block}attn.W_{name}": matrix.T.reshape(D, HEADS, WIDTH).transpose(1, 0, 2).copy()
             for name, matrix in (("Q", Q), ("K", K), ("V", V))}  # fmt: skip
    gains = {f"{block}{name}.{part}": random(D) for name in ("ln1", "ln2") for part in "wb"}
    return {
        "pos_embed.W_pos": P, "embed.W_E": E, **split, **(gains if norm else {}),
        **{f"{block}attn.b_{name}": random(HEADS, WIDTH) for name in "QKV"},
        f"{block}attn.W_O": OUT.T.reshape(HEADS, WIDTH, D).copy(), f"{block}mlp.W_in": IN.T.copy(),
    }  # fmt: skip


@pytest.mark.parametrize(("kind", "said"), [("standard", ""), ("alibi", "not added")])
def test_a_scheme_in_the_settings_of_transformer_lens(kind, said, tmp_path):
    settings = {"n_heads": HEADS, "positional_embedding_type": kind, "rotary_base": 10000}
    model = open_model(write(Case(of_lens(True), {"config": settings}), tmp_path))
    warnings = " ".join(model.warnings)
    assert "rotates" not in warnings
    assert said in warnings


@pytest.mark.parametrize(
    ("norm", "kind", "expected"),
    [
        (True, "LN", "gain"),
        (False, "LNPre", "unit"),
        (False, "RMSPre", "unit"),
        (False, None, "none"),
    ],
)
def test_folded_norms(norm, kind, expected, tmp_path):
    settings = {"n_heads": HEADS, "normalization_type": kind}
    model = open_model(write(Case(of_lens(norm), {"config": settings}), tmp_path))
    np.testing.assert_array_equal(model.weight("W_K"), K)
    assert model.n_heads == HEADS
    _, found = AttentionLayer(model.layers).norms()
    if expected == "none":
        assert found is None
    else:
        assert found is not None
        assert (found.gain is None) == (expected == "unit")
        assert found.centred == (kind != "RMSPre")
    folded = any("part of the matrices" in warning for warning in model.warnings)
    assert folded == (expected == "unit")


@pytest.mark.parametrize(
    ("tensors", "over_sum", "before", "causal"),
    [
        (of_fairseq_roberta("layernorm_embedding"), "layernorm_embedding", "", False),
        (of_fairseq_roberta("emb_layer_norm"), "emb_layer_norm", "", False),
        (of_fairseq_roberta("emb_layer_norm", fused=True), "emb_layer_norm", "", False),
        (of_fairseq_roberta("layer_norm"), "", "layers.0.self_attn_layer_norm", False),
        (of_esm(), "emb_layer_norm_before", "layers.0.self_attn_layer_norm", False),
        (of_early_megatron(), "", "layers.0.input_layernorm", True),
        (of_book(), "", "trf_blocks.0.norm1", True),
    ],
)
def test_norms_before_the_first_attention(tensors, over_sum, before, causal, tmp_path):
    model = open_model(write(Case(tensors), tmp_path))
    assert model.causal is causal
    norms = AttentionLayer(model.layers).norms()
    for norm, name in zip(norms, (over_sum, before), strict=True):
        assert (norm is None) == (not name)
        if norm is not None:
            gain, bias = (
                [array for own, array in tensors.items() if own.endswith(ends)]
                for ends in (
                    (f"{name}.weight", f"{name}.scale"), (f"{name}.bias", f"{name}.shift")
                )
            )  # fmt: skip
            np.testing.assert_array_equal(norm.gain, gain[0])
            assert (norm.bias is None) == (not bias)
            if bias:
                np.testing.assert_array_equal(norm.bias, bias[0])


@pytest.mark.parametrize("tensors", [of_megatron(), of_early_megatron()])
@pytest.mark.parametrize(
    ("settings", "added", "centred", "epsilon"),
    [
        ({"apply_layernorm_1p": True, "norm_epsilon": 1e-6}, 1.0, True, 1e-6),
        ({"layernorm_zero_centered_gamma": True, "normalization": "RMSNorm"}, 1.0, False, 1e-5),
        ({"apply_layernorm_1p": False, "layernorm_epsilon": 1e-3}, 0.0, True, 1e-3),
    ],
)
def test_megatrons_settings_of_norms(tensors, settings, added, centred, epsilon, tmp_path):
    model = open_model(
        write(Case(tensors, {"args": {"num_attention_heads": 2, **settings}}), tmp_path)
    )
    _, norm = AttentionLayer(model.layers).norms()
    assert norm is not None
    own = next(array for name, array in tensors.items() if name.endswith(
        ("linear_qkv.layer_norm_weight", "input_layernorm.weight")))  # fmt: skip
    np.testing.assert_allclose(norm.gain, own + added, rtol=1e-6)
    np.testing.assert_allclose(model.layers.norm_gain("attention"), own + added, rtol=1e-6)
    assert (norm.centred, norm.epsilon) == (centred, epsilon)


def test_positions_that_are_added_to_queries_and_keys_only_are_asked_about(tmp_path):
    settings = {"n_heads": HEADS, "positional_embedding_type": "shortformer"}
    path = write(Case(of_lens(norm=True), {"config": settings}), tmp_path)
    with pytest.raises(UnknownArchitecture):
        open_model(path)
    model = open_model(path, table="model.pos_embed.W_pos")
    assert any("shortformer" in warning for warning in model.warnings)


def test_a_bridge_of_transformer_lens_is_asked_for_its_first_rows(tmp_path):
    state = {"pos_embed.weight": P, "embed.weight": E, "blocks.0.attn.q.weight": Q,
             "blocks.0.mlp.in.weight": IN, "ln_final.weight": random(D)}  # fmt: skip
    path = write(Case(state), tmp_path)
    with pytest.raises(UnknownRows) as raised:
        open_model(path)
    assert raised.value.first_rows == (0, 1, 2)
    for first in (0, 2):
        model = open_model(path, first_rows=first)
        np.testing.assert_array_equal(model.W_pos, P[first:])
        np.testing.assert_array_equal(model.W_E, E)
