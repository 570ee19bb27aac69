"""Checkpoints of training codes without ``config.json``, as rows of the family table.

They are recognised only by the names of their tensors, see
:mod:`geometry.models.recognition.names_and_shapes`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from geometry.models.families.model_types import FAMILIES
from geometry.models.families.stack import Stack

(_GPT2,) = FAMILIES["gpt2"]


def _gpt2(positions: str, tokens: str, layer: str, matrix: str, gain: str) -> Stack:
    """Return GPT-2 with other names of its tables and layers, and other ends of its weights."""
    between = layer[-1]
    return replace(
        _GPT2,
        positions=positions,
        tokens=(tokens,),
        query=f"{layer}attn{between}c_attn{between}{matrix}",
        out=f"{layer}attn{between}c_proj{between}{matrix}",
        fan_out=f"{layer}mlp{between}c_fc{between}{matrix}",
        attention_norm=f"{layer}ln_1{between}{gain}",
        mlp_norm=f"{layer}ln_2{between}{gain}",
    )


# fairseq's RoBERTa: LayerNorm after each block, and row padding_idx + 1 for position 0.
_FAIRSEQ_ROBERTA = Stack(
    positions="sentence_encoder.embed_positions.weight",
    tokens=("sentence_encoder.embed_tokens.weight",),
    query="sentence_encoder.layers.{layer}.self_attn.q_proj.weight",
    key="sentence_encoder.layers.{layer}.self_attn.k_proj.weight",
    value="sentence_encoder.layers.{layer}.self_attn.v_proj.weight",
    out="sentence_encoder.layers.{layer}.self_attn.out_proj.weight",
    fan_out="sentence_encoder.layers.{layer}.fc1.weight",
    attention_norm="sentence_encoder.layers.{before}.final_layer_norm.weight",
    mlp_norm="sentence_encoder.layers.{layer}.self_attn_layer_norm.weight",
    embedding_norm="sentence_encoder.layernorm_embedding.weight",
    sum_norm="sentence_encoder.layernorm_embedding.weight",
    side="encoder",
    causal=False,
    row_of_position_0=2,
    # ESM-1b and XLM-R XL, with LayerNorm before each block, lack it.
    marks=("sentence_encoder.layernorm_embedding.weight",),
)
# timm's VisionTransformer, and those of MAE, DINO, DeiT and SAM, which began as copies of it.
_TIMM = Stack(
    positions="pos_embed",
    tokens=(),
    query="blocks.{layer}.attn.qkv.weight",
    out="blocks.{layer}.attn.proj.weight",
    fan_out="blocks.{layer}.mlp.fc1.weight",
    attention_norm="blocks.{layer}.norm1.weight",
    mlp_norm="blocks.{layer}.norm2.weight",
    epsilon=("", 1e-6),
    fused="side by side",
    side="vision",
    causal=False,
    patches=True,
)
_OPEN_CLIP = Stack(
    positions="positional_embedding",
    tokens=("token_embedding.weight",),
    query="transformer.resblocks.{layer}.attn.in_proj_weight",
    out="transformer.resblocks.{layer}.attn.out_proj.weight",
    fan_out="transformer.resblocks.{layer}.mlp.c_fc.weight",
    attention_norm="transformer.resblocks.{layer}.ln_1.weight",
    mlp_norm="transformer.resblocks.{layer}.ln_2.weight",
    fused="side by side",
    side="text",
    marks=("ln_final.weight",),
)
_OPEN_CLIP_VISION = Stack(
    positions="visual.positional_embedding",
    tokens=(),
    query="visual.transformer.resblocks.{layer}.attn.in_proj_weight",
    out="visual.transformer.resblocks.{layer}.attn.out_proj.weight",
    fan_out="visual.transformer.resblocks.{layer}.mlp.c_fc.weight",
    attention_norm="visual.transformer.resblocks.{layer}.ln_1.weight",
    mlp_norm="visual.transformer.resblocks.{layer}.ln_2.weight",
    sum_norm="visual.ln_pre.weight",
    fused="side by side",
    side="vision",
    causal=False,
    patches=True,
)

CODES: Mapping[str, tuple[Stack, ...]] = MappingProxyType(
    {
        "fairseq roberta": (_FAIRSEQ_ROBERTA,),
        "timm": (_TIMM,),
        "open_clip": (_OPEN_CLIP, _OPEN_CLIP_VISION),
        "gpt2 in TensorFlow": (_gpt2("model/wpe", "model/wte", "model/h{layer}/", "w", "g"),),
        "picoGPT": (_gpt2("wpe", "wte", "blocks.{layer}.", "w", "g"),),
        "gpt2 in JAX": (_gpt2("wpe/embedding", "wte/embedding", "h_{layer}/", "kernel", "scale"),),
    }
)
"""Stacks by name of the code."""
