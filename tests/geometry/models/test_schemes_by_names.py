"""Checkpoints without a table and without a configuration, whose names tell what they use."""

from argparse import Namespace
from typing import Any

import numpy as np
import pytest
import torch
from transformers.models.m2m_100.modeling_m2m_100 import M2M100SinusoidalPositionalEmbedding

from geometry.checkpoints.errors import NoPositionalEmbeddings
from geometry.measures.lag_bias import alibi_slopes
from geometry.models.attention_layer import AttentionLayer
from geometry.models.families.left_out import (
    BY_CONVOLUTION,
    IN_TWO,
    TURNED_IN_TWO,
    WITHIN,
)
from geometry.models.recognition.candidates import UnknownArchitecture
from geometry.models.recognition.without_table import (
    ALIBI,
    COMPUTED,
    RELATIVE,
    RELATIVE_IN_TWO,
    ROTARY,
    WITH_RECURRENCE,
)
from geometry.models.sources.opening import open_model

RANDOM = np.random.default_rng(46)
D = 8


def random(*shape: int) -> np.ndarray:
    return RANDOM.standard_normal(shape).astype("f4")


NAMES: dict[str, tuple[str, list[str]]] = {
    "GPT-NeoX": (ROTARY, ["gpt_neox.layers.0.attention.query_key_value.weight"]),
    "a layer of GPT-NeoX": (ROTARY, ["attention.query_key_value.weight"]),
    "gpt-fast": (ROTARY, ["layers.0.attention.wqkv.weight", "tok_embeddings.weight"]),
    "OLMo": (ROTARY, ["transformer.blocks.0.att_proj.weight", "transformer.wte.weight"]),
    "Jais": (ALIBI, ["transformer.relative_pe.slopes", "transformer.h.0.attn.c_attn.weight"]),
    "T5X": (RELATIVE, ["target/encoder/relpos_bias/rel_embedding"]),
    "NeMo's Conformer": (WITHIN, ["encoder.layers.0.self_attn.pos_bias_u",
                                  "encoder.layers.0.self_attn.linear_pos.weight"]),
    "GPT-J": (ROTARY, ["transformer.h.0.attn.q_proj.weight", "transformer.h.0.mlp.fc_in.weight"]),
    "Falcon": (ROTARY, ["transformer.h.0.self_attention.query_key_value.weight"]),
    "ModernBERT": (ROTARY, ["model.layers.0.attn.Wqkv.weight", "model.layers.0.mlp.Wi.weight"]),
    "torchtune": (ROTARY, ["layers.0.attn.q_proj.weight", "layers.0.mlp.w1.weight"]),
    "Phi": (ROTARY, ["model.layers.0.self_attn.dense.weight", "model.layers.0.mlp.fc1.weight"]),
    "Moonshine": (ROTARY, ["model.decoder.layers.0.self_attn.o_proj.weight",
                           "model.decoder.layers.0.mlp.fc1.weight"]),
    "BLOOM": (ALIBI, ["word_embeddings_layernorm.weight",
                      "h.0.self_attention.query_key_value.weight"]),
    "MPT": (ALIBI, ["transformer.blocks.0.attn.Wqkv.weight",
                    "transformer.blocks.0.ffn.up_proj.weight"]),
    "MosaicBERT": (ALIBI, ["bert.encoder.layer.0.attention.self.Wqkv.weight",
                           "bert.encoder.layer.0.mlp.gated_layers.weight"]),
    "wav2vec 2.0 by fairseq": (BY_CONVOLUTION, ["encoder.pos_conv.0.weight_v",
                                                "encoder.layers.0.fc1.weight"]),
    "HuBERT": (BY_CONVOLUTION, ["encoder.pos_conv_embed.conv.weight_v",
                                "encoder.layers.0.attention.q_proj.weight"]),
    "Segformer": (BY_CONVOLUTION, ["encoder.block.0.0.mlp.dwconv.dwconv.weight"]),
    "Twins": (BY_CONVOLUTION, ["pos_block.0.proj.0.weight", "blocks.0.0.attn.qkv.weight"]),
    "XLNet": (WITHIN, ["transformer.layer.0.rel_attn.r", "transformer.layer.0.rel_attn.q"]),
    "Funnel": (WITHIN, ["encoder.blocks.0.0.attention.r_kernel",
                        "encoder.blocks.0.0.attention.post_proj.weight"]),
    "SpeechT5": (WITHIN, ["encoder.embed_positions.pe_k.weight",
                          "encoder.layers.0.attention.q_proj.weight"]),
    "LeViT": (IN_TWO, ["stages.0.blocks.0.attn.attention_biases"]),
    "timm's relative positions": (IN_TWO, ["blocks.0.attn.rel_pos.mlp.fc1.weight"]),
    "Swin 2": (RELATIVE_IN_TWO, ["layers.0.blocks.0.attn.cpb_mlp.0.weight",
                                 "layers.0.blocks.0.attn.cpb_mlp.2.weight"]),
    "DINOv3": (TURNED_IN_TWO, ["rope_embed.periods", "blocks.0.attn.qkv.weight"]),
    "WavLM by its authors": (RELATIVE, [
        "encoder.layers.0.self_attn.relative_attention_bias.weight",
        "encoder.pos_conv.0.weight_v"]),
    "x-transformers' bias": (RELATIVE, ["attn_layers.rel_pos.relative_attention_bias.weight",
                                        "attn_layers.layers.0.1.to_q.weight"]),
    "x-transformers' network": (RELATIVE, ["attn_layers.rel_pos.mlp.0.0.weight",
                                           "attn_layers.layers.0.1.to_q.weight"]),
    "x-transformers' sinusoid": (COMPUTED, ["pos_emb.scale", "attn_layers.layers.0.1.to_q.weight"]),
    "M2M100": (COMPUTED, ["model.decoder.layers.0.fc1.weight",
                          "model.decoder.layers.0.self_attn.q_proj.weight"]),
    "NLLB-MoE": (COMPUTED, ["model.decoder.layers.0.ffn.fc1.weight"]),
    "Mamba": (WITH_RECURRENCE, ["backbone.layers.0.mixer.A_log", "backbone.embeddings.weight"]),
    "Jamba": (WITH_RECURRENCE, ["model.layers.0.mamba.A_log",
                                "model.layers.1.self_attn.o_proj.weight"]),
    "Transformer-XL": (WITHIN, ["transformer.pos_emb.inv_freq", "transformer.r_w_bias",
                                "transformer.layers.0.dec_attn.r_net.weight"]),
    "wav2vec 2.0 BERT": (WITHIN, ["encoder.layers.0.self_attn.distance_embedding.weight",
                                  "encoder.layers.0.self_attn.linear_q.weight"]),
}  # fmt: skip


def shape_of(name: str) -> tuple[int, ...]:
    if name.endswith("cpb_mlp.0.weight"):
        return (D, 2)
    one_axis = name.endswith(("scale", "inv_freq"))
    return (D, 2, 4) if "conv" in name else (D,) if one_axis else (D, D)


@pytest.mark.parametrize("code", NAMES)
def test_names_tell_the_scheme_of_a_model_without_a_table(code, written):
    scheme, names = NAMES[code]
    tensors = {name: random(*shape_of(name)) for name in names}
    if "cpb_mlp" in names[0]:
        tensors["layers.0.blocks.0.attn.cpb_mlp.0.bias"] = random(D)
    with pytest.raises(NoPositionalEmbeddings) as raised:
        open_model(written(tensors, {}))
    assert scheme in str(raised.value)


@pytest.mark.parametrize("kind", ["wav2vec2", "musicgen_decoder", "a_new_kind"])
def test_names_tell_it_for_families_that_are_not_opened(kind, written):
    tensors = {"encoder.pos_conv_embed.conv.weight_v": random(D, 2, 4), "q.weight": random(D, D)}
    with pytest.raises(NoPositionalEmbeddings) as raised:
        open_model(written(tensors, {"model_type": kind}))
    assert BY_CONVOLUTION in str(raised.value)


@pytest.mark.parametrize("name", ["my_pos_emb.weight", "wpe.table", "audio.position_table"])
def test_a_tensor_named_like_a_table_is_offered(name, written):
    tensors = {name: random(12, D), "layers.0.attn.q_proj.weight": random(D, D),
               "layers.0.post_proj.weight": random(D, D), "tok.weight": random(9, D),
               "out.weight": random(9, D)}  # fmt: skip
    with pytest.raises(UnknownArchitecture) as raised:
        open_model(written(tensors, {}))
    assert raised.value.candidates[0].name == name


def test_the_settings_of_mosaicbert_tell_its_penalty(written):
    tensors = {name: random(D, D) for name in NAMES["MosaicBERT"][1]}
    settings = {"model_type": "bert", "num_attention_heads": 2, "alibi_starting_size": 512}
    model = open_model(written(tensors, settings))
    assert (model.scheme, model.causal) == ("alibi", False)
    np.testing.assert_array_equal(model.lags.slopes, alibi_slopes(2))


@pytest.mark.parametrize(("root", "causal"), [("text_decoder.bert.", True), ("bert.", False)])
def test_the_name_of_a_part_tells_that_it_is_a_decoder(root, causal, written):
    layer = f"{root}encoder.layer.0."
    names = [f"{layer}{kind}.self.{one}.weight" for kind in ("attention", "crossattention")
             for one in ("query", "key", "value")]  # fmt: skip
    tensors = {f"{root}embeddings.position_embeddings.weight": random(64, D),
               f"{root}embeddings.word_embeddings.weight": random(9, D),
               **{name: random(D, D) for name in names}}  # fmt: skip
    assert open_model(written(tensors, {})).causal is causal


def of_fairseq(sides: list[str], norms_first: bool) -> dict[str, np.ndarray]:
    """The names of fairseq's TransformerModel with sinusoids."""
    tensors: dict[str, np.ndarray] = {}
    for side in sides:
        layer = f"{side}.layers.0."
        attentions = ["self_attn", *(["encoder_attn"] if side != sides[0] else [])]
        gains = [f"{layer}final_layer_norm", *(f"{layer}{one}_layer_norm" for one in attentions)]
        gains += [f"{side}.layer_norm"] * norms_first
        matrices = {f"{layer}{one}.{part}_proj": (D, D)
                    for one in attentions for part in ("q", "k", "v", "out")}  # fmt: skip
        matrices |= {f"{layer}fc1": (2 * D, D), f"{layer}fc2": (D, 2 * D)}
        tensors |= {f"{side}.embed_positions._float_tensor": np.zeros(1, "f4"),
                    f"{side}.embed_tokens.weight": random(9, D)}  # fmt: skip
        tensors |= {f"{name}.weight": random(*shape) for name, shape in matrices.items()}
        tensors |= {f"{name}.bias": random(shape[0]) for name, shape in matrices.items()}
        tensors |= {f"{name}.{part}": random(D) for name in gains for part in ("weight", "bias")}
    return tensors


@pytest.mark.parametrize("norms_first", [False, True])
@pytest.mark.parametrize(
    ("sides", "lengths"),
    [
        (["encoder", "decoder"], {"max_source_positions": 20, "max_target_positions": 20}),
        (["decoder"], {"tokens_per_sample": 20}),
    ],
)
def test_fairseqs_sinusoids_are_those_of_its_code(sides, lengths, norms_first, tmp_path):
    tensors = of_fairseq(sides, norms_first)
    args: dict[str, Any] = {"arch": "transformer_wmt_en_de", "decoder_layers": 1, **lengths,
                            "encoder_attention_heads": 2, "decoder_attention_heads": 2}  # fmt: skip
    state = {name: torch.from_numpy(values) for name, values in tensors.items()}
    torch.save({"args": Namespace(**args), "model": state}, tmp_path / "checkpoint_best.pt")
    model = open_model(tmp_path / "checkpoint_best.pt")
    made = M2M100SinusoidalPositionalEmbedding.get_embedding(22, D, padding_idx=1)
    np.testing.assert_allclose(model.W_pos, made[2:], atol=1e-6)
    assert (model.scheme, model.n_heads, model.causal) == ("computed", 2, True)
    assert model.sides == (("decoder", "encoder") if len(sides) > 1 else ())
    assert any("model_type" in warning for warning in model.warnings)
    np.testing.assert_array_equal(model.W_E, tensors["decoder.embed_tokens.weight"])
    layer = "decoder.layers.0."
    np.testing.assert_array_equal(model.weight("W_V"), tensors[f"{layer}self_attn.v_proj.weight"])
    _, norm = AttentionLayer(model.layers).norms()
    assert (norm is not None) == norms_first
    if norm is not None:
        np.testing.assert_array_equal(norm.gain, tensors[f"{layer}self_attn_layer_norm.weight"])


@pytest.mark.parametrize(
    ("name", "window", "over", "stages"),
    [
        ("swinv2_tiny_window8_256.ms_in1k", 8, [], 4),
        ("swinv2_base_window12to16_192to256.ms_in22k_ft_in1k", 16, [12, 12, 12, 6], 3),
    ],
)
def test_a_name_of_timm_has_the_windows_of_swin_2(name, window, over, stages, written):
    tensors = {}
    for stage in range(4):
        root = f"layers.{stage}.blocks.0.attn.cpb_mlp."
        tensors |= {f"{root}0.weight": random(D, 2), f"{root}0.bias": random(D),
                    f"{root}2.weight": random(2, D)}  # fmt: skip
    as_in_transformers = {
        name.replace("cpb_mlp", "continuous_position_bias_mlp"): values
        for name, values in tensors.items()
    }
    settings = {"model_type": "swinv2", "window_size": window, "image_size": 256, "patch_size": 4,
                "pretrained_window_sizes": over}  # fmt: skip
    known = open_model(written(as_in_transformers, settings))
    here = open_model(written(tensors, {"architecture": name, "num_classes": 3}))
    np.testing.assert_array_equal(here.W_pos, known.W_pos)
    assert here.lags.window == (window, window)
    assert here.W_pos.shape[1] == 2 * stages
