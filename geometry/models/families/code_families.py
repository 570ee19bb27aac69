"""Checkpoints of training codes without ``config.json``, as rows of the family table.

They are recognised only by the names of their tensors, see
:mod:`geometry.models.recognition.names_and_shapes`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from geometry.models.families.model_types import FAMILIES
from geometry.models.families.names import names_in
from geometry.models.families.stack import Stack, only_table

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
    marks=("*sentence_encoder.layernorm_embedding.weight",),
)
# Before fairseq 1.0.
_EARLY_ROBERTA = replace(
    _FAIRSEQ_ROBERTA,
    embedding_norm="sentence_encoder.emb_layer_norm.weight",
    sum_norm="sentence_encoder.emb_layer_norm.weight",
    marks=("*sentence_encoder.emb_layer_norm.weight",),
)
# The published RoBERTa.
_FIRST_ROBERTA = replace(
    _EARLY_ROBERTA,
    query="sentence_encoder.layers.{layer}.self_attn.in_proj_weight",
    key="",
    value="",
    fused="side by side",
)
# With LayerNorm before each block and after the last one, as in XLM-R XL.
_ROBERTA_PRENORM = replace(
    _FAIRSEQ_ROBERTA,
    attention_norm="sentence_encoder.layers.{layer}.self_attn_layer_norm.weight",
    mlp_norm="sentence_encoder.layers.{layer}.final_layer_norm.weight",
    embedding_norm="",
    sum_norm="",
    marks=("*sentence_encoder.layer_norm.weight",),
)
_ESM1B = replace(
    _ROBERTA_PRENORM,
    sum_norm="sentence_encoder.emb_layer_norm_before.weight",
    marks=("*sentence_encoder.emb_layer_norm_after.weight",),
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
# CLIP's, which have a LayerNorm before the first layer, and another epsilon.
_TIMM_CLIP = replace(
    _TIMM, sum_norm="norm_pre.weight", epsilon=("", 1e-5), marks=("norm_pre.weight",)
)
_TIMM_EVA02 = replace(
    _TIMM,
    query="blocks.{layer}.attn.q_proj.weight",
    key="blocks.{layer}.attn.k_proj.weight",
    value="blocks.{layer}.attn.v_proj.weight",
    fan_out="blocks.{layer}.mlp.fc1_g.weight",
    fused=None,
)
_SAM = replace(_TIMM, fan_out="blocks.{layer}.mlp.lin1.weight", marks=("neck.0.weight",))
_TORCHVISION = Stack(
    positions="encoder.pos_embedding",
    tokens=(),
    query="encoder.layers.encoder_layer_{layer}.self_attention.in_proj_weight",
    out="encoder.layers.encoder_layer_{layer}.self_attention.out_proj.weight",
    fan_out="encoder.layers.encoder_layer_{layer}.mlp.0.weight",
    attention_norm="encoder.layers.encoder_layer_{layer}.ln_1.weight",
    mlp_norm="encoder.layers.encoder_layer_{layer}.ln_2.weight",
    epsilon=("", 1e-6),
    fused="side by side",
    side="vision",
    causal=False,
    row_of_position_0=1,
    patches=True,
)
# Before torchvision 0.14, and its published weights.
_FIRST_TORCHVISION = replace(
    _TORCHVISION, fan_out="encoder.layers.encoder_layer_{layer}.mlp.linear_1.weight"
)
_VIT_PYTORCH = Stack(
    positions="pos_embedding",
    tokens=(),
    query="transformer.layers.{layer}.0.to_qkv.weight",
    out="transformer.layers.{layer}.0.to_out.0.weight",
    fan_out="transformer.layers.{layer}.1.net.1.weight",
    attention_norm="transformer.layers.{layer}.0.norm.weight",
    mlp_norm="transformer.layers.{layer}.1.net.0.weight",
    fused="in thirds",
    side="vision",
    causal=False,
    row_of_position_0=1,
    patches=True,
)
# Before 2023, with norms around attention and MLP.
_FIRST_VIT_PYTORCH = replace(
    _VIT_PYTORCH,
    query="transformer.layers.{layer}.0.fn.to_qkv.weight",
    out="transformer.layers.{layer}.0.fn.to_out.0.weight",
    fan_out="transformer.layers.{layer}.1.fn.net.0.weight",
    mlp_norm="transformer.layers.{layer}.1.norm.weight",
)
# x-transformers numbers attention and MLPs together, and divides its table by the root of d.
_X_TRANSFORMERS = Stack(
    positions="pos_emb.emb.weight",
    tokens=("token_emb.emb.weight",),
    query="attn_layers.layers.{twice}.1.to_q.weight",
    key="attn_layers.layers.{twice}.1.to_k.weight",
    value="attn_layers.layers.{twice}.1.to_v.weight",
    out="attn_layers.layers.{twice}.1.to_out.weight",
    fan_out="attn_layers.layers.{twice_after}.1.ff.0.0.weight",
    attention_norm="attn_layers.layers.{twice}.0.0.gamma",
    mlp_norm="attn_layers.layers.{twice_after}.0.0.gamma",
    norms_unknown="whether x-transformers adds 1 to a norm's gains depends on its version",
    divided=True,
)
_OF_X_LAYERS = names_in("positions query key value out fan_out attention_norm mlp_norm")
# A decoder may also attend to an encoder, between attention and MLP.
_X_CROSS = replace(
    _X_TRANSFORMERS,
    **{name: getattr(_X_TRANSFORMERS, name).replace("{twice", "{thrice") for name in _OF_X_LAYERS},
    marks=("attn_layers.layers.1.1.to_q.weight",),
)


def _in_x(row: Stack, root: str, **changes: Any) -> Stack:
    """Return a row of x-transformers below a root."""
    names: dict[str, Any] = {name: f"{root}{getattr(row, name)}" for name in _OF_X_LAYERS}
    return replace(row, **names, tokens=(f"{root}token_emb.emb.weight",), **changes)


_X_DECODER = _in_x(
    _X_CROSS, "decoder.net.", marks=("decoder.net.attn_layers.layers.1.1.to_q.weight",)
)
_X_ENCODER = _in_x(_X_TRANSFORMERS, "encoder.", side="encoder", causal=False)
_X_TRANSFORMERS_VISION = replace(
    _X_TRANSFORMERS,
    positions="pos_embedding",
    tokens=(),
    side="vision",
    causal=False,
    divided=False,
    patches=True,
    marks=("patch_to_embedding.1.weight",),
)
_OPEN_CLIP = Stack(
    positions="positional_embedding",
    tokens=("token_embedding.weight",),
    query="transformer.resblocks.{layer}.attn.in_proj_weight",
    out="transformer.resblocks.{layer}.attn.out_proj.weight",
    fan_out="transformer.resblocks.{layer}.mlp.c_fc.weight",
    attention_norm="transformer.resblocks.{layer}.ln_1.weight",
    mlp_norm="transformer.resblocks.{layer}.ln_2.weight",
    epsilon=("layer_norm_eps", 1e-5),
    fused="side by side",
    side="text",
    marks=("ln_final.weight",),
)
# In CoCa, the last row is that of a class token after the text.
_COCA = replace(_OPEN_CLIP, rows_after=("", 1), marks=("ln_final.weight", "*cls_emb"))
_OPEN_CLIP_TEXT = replace(
    _OPEN_CLIP,
    variants=(
        ("embed_cls", True, _COCA),
        ("no_causal_mask", True, replace(_OPEN_CLIP, causal=False)),  # of SigLIP
    ),
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
    epsilon=("layer_norm_eps", 1e-5),
    fused="side by side",
    side="vision",
    causal=False,
    patches=True,
)

# TransformerLens: matrices are (in, out), and norms may have been folded into them.
_LENS = Stack(
    positions="pos_embed.W_pos",
    tokens=("embed.W_E",),
    query="blocks.{layer}.attn.W_Q",
    key="blocks.{layer}.attn.W_K",
    value="blocks.{layer}.attn.W_V",
    out="blocks.{layer}.attn.W_O",
    fan_out="blocks.{layer}.mlp.W_in",
    attention_norm="blocks.{layer}.ln1.w",
    mlp_norm="blocks.{layer}.ln2.w",
    folds=True,
    conv1d=True,
    begin=True,
)
# TransformerLens since 3, around models of any family: their names tell neither where position 0
# is, nor how matrices are stored.
_LENS_BRIDGE = replace(
    only_table(_LENS, tokens=("embed.weight",)),
    positions="pos_embed.weight",
    row_of_position_0=None,
    padding=-1,
    marks=("embed.weight", "blocks.0.attn.q.weight"),
)
# Its own models since 4.
_LENS_NATIVE = Stack(
    positions="pos.weight",
    tokens=("tok_embed.weight",),
    query="layers.{layer}.attn.q.weight",
    key="layers.{layer}.attn.k.weight",
    value="layers.{layer}.attn.v.weight",
    out="layers.{layer}.attn.o.weight",
    fan_out="layers.{layer}.mlp.fc_in.weight",
    attention_norm="layers.{layer}.ln1.weight",
    mlp_norm="layers.{layer}.ln2.weight",
    folds=True,
    begin=True,
)
# minGPT's first version.
_MINGPT = Stack(
    positions="pos_emb",
    tokens=("tok_emb.weight",),
    query="blocks.{layer}.attn.query.weight",
    key="blocks.{layer}.attn.key.weight",
    value="blocks.{layer}.attn.value.weight",
    out="blocks.{layer}.attn.proj.weight",
    fan_out="blocks.{layer}.mlp.0.weight",
    attention_norm="blocks.{layer}.ln1.weight",
    mlp_norm="blocks.{layer}.ln2.weight",
)
# The code of the book "Build a Large Language Model (From Scratch)".
_FROM_SCRATCH = Stack(
    positions="pos_emb.weight",
    tokens=("tok_emb.weight",),
    query="trf_blocks.{layer}.att.W_query.weight",
    key="trf_blocks.{layer}.att.W_key.weight",
    value="trf_blocks.{layer}.att.W_value.weight",
    out="trf_blocks.{layer}.att.out_proj.weight",
    fan_out="trf_blocks.{layer}.ff.layers.0.weight",
    attention_norm="trf_blocks.{layer}.norm1.scale",
    mlp_norm="trf_blocks.{layer}.norm2.scale",
)
_LECTURE = Stack(
    positions="position_embedding_table.weight",
    tokens=("token_embedding_table.weight",),
    query="blocks.{layer}.sa.heads.query.weight",
    key="blocks.{layer}.sa.heads.key.weight",
    value="blocks.{layer}.sa.heads.value.weight",
    out="blocks.{layer}.sa.proj.weight",
    fan_out="blocks.{layer}.ffwd.net.0.weight",
    attention_norm="blocks.{layer}.ln1.weight",
    mlp_norm="blocks.{layer}.ln2.weight",
    without_bias=("W_Q", "W_K"),
)
_WHISPER = Stack(
    positions="decoder.positional_embedding",
    tokens=("decoder.token_embedding.weight",),
    query="decoder.blocks.{layer}.attn.query.weight",
    key="decoder.blocks.{layer}.attn.key.weight",
    value="decoder.blocks.{layer}.attn.value.weight",
    out="decoder.blocks.{layer}.attn.out.weight",
    fan_out="decoder.blocks.{layer}.mlp.0.weight",
    attention_norm="decoder.blocks.{layer}.attn_ln.weight",
    mlp_norm="decoder.blocks.{layer}.mlp_ln.weight",
    without_bias=("W_K",),
    marks=("decoder.blocks.0.cross_attn.query.weight",),
)
_WHISPER_ENCODER = Stack(
    positions="encoder.positional_embedding",
    tokens=(),
    query="encoder.blocks.{layer}.attn.query.weight",
    key="encoder.blocks.{layer}.attn.key.weight",
    value="encoder.blocks.{layer}.attn.value.weight",
    out="encoder.blocks.{layer}.attn.out.weight",
    fan_out="encoder.blocks.{layer}.mlp.0.weight",
    attention_norm="encoder.blocks.{layer}.attn_ln.weight",
    mlp_norm="encoder.blocks.{layer}.mlp_ln.weight",
    without_bias=("W_K",),
    side="encoder",
    causal=False,
)
# Megatron Core's GPT, whose LayerNorms belong to the maps that follow them.
_MEGATRON = Stack(
    positions="embedding.position_embeddings.weight",
    tokens=("embedding.word_embeddings.weight",),
    query="decoder.layers.{layer}.self_attention.linear_qkv.weight",
    key="",
    value="",
    out="decoder.layers.{layer}.self_attention.linear_proj.weight",
    fan_out="decoder.layers.{layer}.mlp.linear_fc1.weight",
    attention_norm="decoder.layers.{layer}.self_attention.linear_qkv.layer_norm_weight",
    mlp_norm="decoder.layers.{layer}.mlp.linear_fc1.layer_norm_weight",
    epsilon=("norm_epsilon", 1e-5),
    fused="by head",
)
# Without Transformer Engine, norms have their own names.
_MEGATRON_LOCAL = replace(
    _MEGATRON,
    attention_norm="decoder.layers.{layer}.input_layernorm.weight",
    mlp_norm="decoder.layers.{layer}.pre_mlp_layernorm.weight",
)
# Megatron-LM before Core, since its checkpoint_version 2.
_EARLY_MEGATRON = replace(
    _MEGATRON,
    query="encoder.layers.{layer}.self_attention.query_key_value.weight",
    out="encoder.layers.{layer}.self_attention.dense.weight",
    fan_out="encoder.layers.{layer}.mlp.dense_h_to_4h.weight",
    attention_norm="encoder.layers.{layer}.input_layernorm.weight",
    mlp_norm="encoder.layers.{layer}.post_attention_layernorm.weight",
)
# GPT-NeoX writes a file for each layer, of which the first has both tables.
_NEOX = replace(
    only_table(_MEGATRON, tokens=("word_embeddings.weight",)),
    positions="position_embeddings.weight",
    marks=("word_embeddings.weight", "!LayerNorm.weight"),
)
_MLX_BERT = replace(
    FAMILIES["bert"][0],
    query="encoder.layers.{layer}.attention.query_proj.weight",
    key="encoder.layers.{layer}.attention.key_proj.weight",
    value="encoder.layers.{layer}.attention.value_proj.weight",
    out="encoder.layers.{layer}.attention.output.dense.weight",
    fan_out="encoder.layers.{layer}.intermediate.dense.weight",
    attention_norm="encoder.layers.{before}.output.LayerNorm.weight",
    mlp_norm="encoder.layers.{layer}.attention.output.LayerNorm.weight",
)
# The encoder of PyTorch's tutorial on language modelling; its sinusoid is a buffer.
_TUTORIAL = Stack(
    positions="pos_encoder.pe",
    tokens=("embedding.weight", "encoder.weight"),
    query="transformer_encoder.layers.{layer}.self_attn.in_proj_weight",
    key="",
    value="",
    out="transformer_encoder.layers.{layer}.self_attn.out_proj.weight",
    fan_out="transformer_encoder.layers.{layer}.linear1.weight",
    attention_norm="transformer_encoder.layers.{before}.norm2.weight",
    mlp_norm="transformer_encoder.layers.{layer}.norm1.weight",
    fused="side by side",
    scaled_tokens=True,
)
_BLOCK = "Transformer/encoderblock_{layer}/"
_ATTENTION = f"{_BLOCK}MultiHeadDotProductAttention_1/"
_GOOGLE_VIT = Stack(
    positions="Transformer/posembed_input/pos_embedding",
    tokens=(),
    query=f"{_ATTENTION}query/kernel",
    key=f"{_ATTENTION}key/kernel",
    value=f"{_ATTENTION}value/kernel",
    out=f"{_ATTENTION}out/kernel",
    fan_out=f"{_BLOCK}MlpBlock_3/Dense_0/kernel",
    attention_norm=f"{_BLOCK}LayerNorm_0/scale",
    mlp_norm=f"{_BLOCK}LayerNorm_2/scale",
    epsilon=("", 1e-6),
    conv1d=True,
    side="vision",
    causal=False,
    row_of_position_0=1,
    patches=True,
    marks=("cls",),
)
# What stands between the layers, and which they are, is up to the model.
_KERAS = replace(
    only_table(_MEGATRON, tokens=("embedding/vars/0", "token_embedding/vars/0")),
    positions="position_embedding/vars/0",
    marks=("embedding/vars/0",),
)
_BIG_VISION = only_table(
    replace(_GOOGLE_VIT, positions="img/pos_embedding", row_of_position_0=0, marks=())
)
_BIG_VISION_TEXT = replace(
    only_table(_OPEN_CLIP, tokens=("txt/Embed_0/embedding",)),
    positions="txt/pos_embedding",
    marks=("txt/Embed_0/embedding",),
)

CODES: Mapping[str, tuple[Stack, ...]] = MappingProxyType(
    {
        "fairseq roberta": (_FAIRSEQ_ROBERTA,),
        "fairseq roberta before 1.0": (_EARLY_ROBERTA,),
        "fairseq roberta before 0.9": (_FIRST_ROBERTA,),
        "fairseq roberta with norms first": (_ROBERTA_PRENORM,),
        "fairseq esm": (_ESM1B,),
        "timm": (_TIMM,),
        "timm's CLIP": (_TIMM_CLIP,),
        "timm's EVA02": (_TIMM_EVA02,),
        "timm's NaFlexViT": (replace(_TIMM, positions="embeds.pos_embed"),),
        "segment-anything": (_SAM,),
        "torchvision": (_TORCHVISION,),
        "torchvision before 0.14": (_FIRST_TORCHVISION,),
        "vit-pytorch": (_VIT_PYTORCH,),
        "vit-pytorch before 2023": (_FIRST_VIT_PYTORCH,),
        "x-transformers": (_X_TRANSFORMERS,),
        "x-transformers with cross-attention": (_X_CROSS,),
        "x-transformers' XTransformer": (_X_DECODER, _X_ENCODER),
        "x-transformers' ViT": (_X_TRANSFORMERS_VISION,),
        "open_clip": (_OPEN_CLIP_TEXT, _OPEN_CLIP_VISION),
        "transformer_lens": (_LENS,),
        "TransformerLens' bridge": (_LENS_BRIDGE,),
        "TransformerLens' native model": (_LENS_NATIVE,),
        "minGPT": (_MINGPT,),
        "LLMs from scratch": (_FROM_SCRATCH,),
        "Karpathy's lecture": (_LECTURE,),
        "openai-whisper": (_WHISPER, _WHISPER_ENCODER),
        "megatron": (_MEGATRON,),
        "megatron without transformer engine": (_MEGATRON_LOCAL,),
        "megatron before core": (_EARLY_MEGATRON,),
        "gpt-neox": (_NEOX,),
        "mlx bert": (_MLX_BERT,),
        "PyTorch's tutorial": (_TUTORIAL,),
        "keras": (_KERAS,),
        "google vit": (_GOOGLE_VIT,),
        "big_vision": (_BIG_VISION_TEXT, _BIG_VISION),
        "gpt2 in TensorFlow": (_gpt2("model/wpe", "model/wte", "model/h{layer}/", "w", "g"),),
        "picoGPT": (_gpt2("wpe", "wte", "blocks.{layer}.", "w", "g"),),
        "gpt2 in JAX": (_gpt2("wpe/embedding", "wte/embedding", "h_{layer}/", "kernel", "scale"),),
    }
)
"""Stacks by name of the code."""

_TURNED = Stack(positions="", tokens=(), root_mean_square=True)

TURNED_CODES: tuple[Stack, ...] = (
    replace(
        _TURNED,
        query="layers.{layer}.attention.wq.weight",
        key="layers.{layer}.attention.wk.weight",
    ),
    replace(
        _TURNED,
        query="transformer.h.{layer}.attn.c_q.weight",
        key="transformer.h.{layer}.attn.c_k.weight",
    ),
    replace(_TURNED, query="transformer.h.{layer}.attn.qkv.weight", fused="side by side"),
    replace(_TURNED, query="transformer.h.{layer}.attn.attn.weight", fused="by head"),
)
"""Queries and keys of rotary codes: Meta's Llama, nanochat, litGPT since 0.5 and before."""
