"""The family table: names of the positions and weights of each family of models.

A row is a :class:`geometry.models.families.stack.Stack`: a tower of layers with its table of
positions. Names are matched by suffix, since prefixes vary (``transformer.``, ``model.``,
``bert.``, none); the prefix of the position table, the root, also precedes all other names of the
row. The tests compare each row with the family's module in transformers 5.23.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from geometry.checkpoints.plugins import Registry
from geometry.models.families.left_out import LEFT_OUT
from geometry.models.families.names import by_name, names_in
from geometry.models.families.picture_families import BESIDE_OFFSETS, OF_PICTURES
from geometry.models.families.stack import Side, Stack, families, only_table

_GPT2 = Stack(
    positions="wpe.weight",
    tokens=("wte.weight",),
    query="h.{layer}.attn.c_attn.weight",
    out="h.{layer}.attn.c_proj.weight",
    fan_out="h.{layer}.mlp.c_fc.weight",
    attention_norm="h.{layer}.ln_1.weight",
    mlp_norm="h.{layer}.ln_2.weight",
    epsilon=("layer_norm_epsilon", 1e-5),
    conv1d=True,
    fused="side by side",
    begin=True,
)
_BIGCODE = replace(
    _GPT2,
    conv1d=False,
    fused="multi-query",
    variants=(("multi_query", False, replace(_GPT2, conv1d=False, fused="by head")),),
)
_GPT_NEO = replace(
    _GPT2,
    query="h.{layer}.attn.attention.q_proj.weight",
    key="h.{layer}.attn.attention.k_proj.weight",
    value="h.{layer}.attn.attention.v_proj.weight",
    out="h.{layer}.attn.attention.out_proj.weight",
    conv1d=False,
    fused=None,
    attention_scale="1",
    without_bias=("W_Q", "W_K"),
    window="some layers",
)
_GPT1 = replace(
    _GPT2,
    positions="positions_embed.weight",
    tokens=("tokens_embed.weight",),
    # LayerNorm comes after each block, and none before the first one.
    attention_norm="h.{before}.ln_2.weight",
    mlp_norm="h.{layer}.ln_1.weight",
    begin=False,
)
_BERT = Stack(
    positions="embeddings.position_embeddings.weight",
    tokens=("embeddings.word_embeddings.weight",),
    query="encoder.layer.{layer}.attention.self.query.weight",
    key="encoder.layer.{layer}.attention.self.key.weight",
    value="encoder.layer.{layer}.attention.self.value.weight",
    out="encoder.layer.{layer}.attention.output.dense.weight",
    fan_out="encoder.layer.{layer}.intermediate.dense.weight",
    attention_norm="encoder.layer.{before}.output.LayerNorm.weight",
    mlp_norm="encoder.layer.{layer}.attention.output.LayerNorm.weight",
    embedding_norm="embeddings.LayerNorm.weight",
    sum_norm="embeddings.LayerNorm.weight",
    epsilon=("layer_norm_eps", 1e-12),
    side="encoder",
    causal=False,
)
_DISTILBERT = replace(
    _BERT,
    query="transformer.layer.{layer}.attention.q_lin.weight",
    key="transformer.layer.{layer}.attention.k_lin.weight",
    value="transformer.layer.{layer}.attention.v_lin.weight",
    out="transformer.layer.{layer}.attention.out_lin.weight",
    fan_out="transformer.layer.{layer}.ffn.lin1.weight",
    attention_norm="transformer.layer.{before}.output_layer_norm.weight",
    mlp_norm="transformer.layer.{layer}.sa_layer_norm.weight",
    epsilon=("", 1e-12),
)
_COMPUTED_DISTILBERT = replace(_DISTILBERT, computed="interleaved")
_ALBERT_LAYER = "encoder.albert_layer_groups.{group}.albert_layers.0."
_ALBERT = replace(
    _BERT,
    query=_ALBERT_LAYER + "attention.query.weight",
    key=_ALBERT_LAYER + "attention.key.weight",
    value=_ALBERT_LAYER + "attention.value.weight",
    out=_ALBERT_LAYER + "attention.dense.weight",
    fan_out=_ALBERT_LAYER + "ffn.weight",
    attention_norm="encoder.albert_layer_groups.{group_before}.albert_layers.0."
    "full_layer_layer_norm.weight",
    mlp_norm=_ALBERT_LAYER + "attention.LayerNorm.weight",
    map_in="encoder.embedding_hidden_mapping_in.weight",
    embedding_norm="",
    map_positions=True,
)
_ELECTRA = replace(_BERT, embedding_norm="", map_in="embeddings_project.weight", map_positions=True)
_ROBERTA = replace(_BERT, row_of_position_0=None)
_MPNET = replace(
    _BERT,
    query="encoder.layer.{layer}.attention.attn.q.weight",
    key="encoder.layer.{layer}.attention.attn.k.weight",
    value="encoder.layer.{layer}.attention.attn.v.weight",
    out="encoder.layer.{layer}.attention.attn.o.weight",
    mlp_norm="encoder.layer.{layer}.attention.LayerNorm.weight",
    rows_before=("", 2),  # independent of the padding in the configuration
)
_ESM = replace(
    _ROBERTA,
    attention_norm="encoder.layer.{layer}.attention.LayerNorm.weight",
    mlp_norm="encoder.layer.{layer}.LayerNorm.weight",
    embedding_norm="",
    sum_norm="embeddings.layer_norm.weight",
    sum_norm_if=("emb_layer_norm_before", False),
)
_PRELAYERNORM = replace(
    _ESM,
    mlp_norm="encoder.layer.{layer}.intermediate.LayerNorm.weight",
    sum_norm="embeddings.LayerNorm.weight",
    sum_norm_if=None,
)
_ROBERTA_XL = replace(
    _ESM,
    attention_norm="encoder.layer.{layer}.attention.self_attn_layer_norm.weight",
    sum_norm="",
    sum_norm_if=None,
    epsilon=("layer_norm_eps", 1e-5),
)
_MEGATRON = replace(
    _ROBERTA_XL,
    attention_norm="encoder.layer.{layer}.attention.ln.weight",
    mlp_norm="encoder.layer.{layer}.ln.weight",
    row_of_position_0=0,
    epsilon=("layer_norm_eps", 1e-12),
)
# In transformers these start at row 2, like RoBERTa with its padding.
_SHIFTED = replace(_BERT, row_of_position_0=2)
_XLM = Stack(
    positions="position_embeddings.weight",
    tokens=("embeddings.weight",),
    query="attentions.{layer}.q_lin.weight",
    key="attentions.{layer}.k_lin.weight",
    value="attentions.{layer}.v_lin.weight",
    out="attentions.{layer}.out_lin.weight",
    fan_out="ffns.{layer}.lin1.weight",
    attention_norm="layer_norm2.{before}.weight",
    mlp_norm="layer_norm1.{layer}.weight",
    embedding_norm="layer_norm_emb.weight",
    sum_norm="layer_norm_emb.weight",
    epsilon=("layer_norm_eps", 1e-12),
    side="encoder",
    causal=False,
)
_COMPUTED_XLM = (("sinusoidal_embeddings", True, replace(_XLM, computed="interleaved")),)
_PRE_NORM_FLAUBERT = replace(
    _XLM,
    attention_norm="layer_norm1.{layer}.weight",
    embedding_norm="",
    mlp_norm="layer_norm2.{layer}.weight",
)
_FLAUBERT = replace(_XLM, variants=(("pre_norm", True, _PRE_NORM_FLAUBERT), *_COMPUTED_XLM))

_JOINED = "its tokens are put together from several tables"

EMBEDDED = "embed_positions.weight"
"""The table of BART and similar families, also part of names in other families."""


def _tower(side: Side, root: str) -> Stack:
    """Return a tower of a BART-like model, with LayerNorm after each block."""
    return Stack(
        positions=f"{root}{EMBEDDED}",
        tokens=(f"{root}embed_tokens.weight", "shared.weight", "embed_tokens.weight"),
        query=f"{root}layers.{{layer}}.self_attn.q_proj.weight",
        key=f"{root}layers.{{layer}}.self_attn.k_proj.weight",
        value=f"{root}layers.{{layer}}.self_attn.v_proj.weight",
        out=f"{root}layers.{{layer}}.self_attn.out_proj.weight",
        fan_out=f"{root}layers.{{layer}}.fc1.weight",
        attention_norm=f"{root}layers.{{before}}.final_layer_norm.weight",
        mlp_norm=f"{root}layers.{{layer}}.self_attn_layer_norm.weight",
        embedding_norm=f"{root}layernorm_embedding.weight",
        sum_norm=f"{root}layernorm_embedding.weight",
        scaled_tokens=False,
        side=side,
        causal=side == "decoder",
        row_of_position_0=2,
        marks=(f"{root}layers.0.encoder_attn.q_proj.weight",) if side == "decoder" else (),
    )


def _pre_norm(row: Stack) -> Stack:
    """Return a BART-like row with LayerNorm before each block."""
    return replace(
        row,
        attention_norm=row.mlp_norm,
        mlp_norm=row.attention_norm.replace("{before}", "{layer}"),
        embedding_norm="",
        sum_norm="",
        marks=(*row.marks, f"{row.positions.removesuffix(EMBEDDED)}layer_norm.weight"),
    )


_TOWERS = (_tower("decoder", "decoder."), _tower("encoder", "encoder."))
_PRE_NORM = (_pre_norm(_TOWERS[0]), _pre_norm(_TOWERS[1]))
# Here two LayerNorms are consecutive.
_MBART = tuple(
    replace(row, sum_norm=tower.sum_norm) for row, tower in zip(_PRE_NORM, _TOWERS, strict=True)
)
# A decoder's MLP comes after the attention to the encoder.
_BART = (
    replace(_TOWERS[0], mlp_norm="decoder.layers.{layer}.encoder_attn_layer_norm.weight"),
    _TOWERS[1],
)
_OPT_350M = replace(
    _TOWERS[0], map_in="decoder.project_in.weight", embedding_norm="", sum_norm="", marks=()
)
_OPT = replace(
    _pre_norm(_OPT_350M),
    marks=("decoder.final_layer_norm.weight",),
    variants=(("do_layer_norm_before", False, _OPT_350M),),
)
_LEARNED_TROCR = replace(_BART[0], sum_norm_if=("layernorm_embedding", True))
_COMPUTED_TROCR = replace(
    _LEARNED_TROCR, positions="", row_of_position_0=None, computed="tensor2tensor"
)
_TROCR = replace(
    _LEARNED_TROCR, variants=(("use_learned_position_embeddings", False, _COMPUTED_TROCR),)
)
_BIOGPT = replace(
    _pre_norm(_tower("decoder", "")), scaled_tokens=True, marks=("layer_norm.weight",)
)
_BLENDERBOT = tuple(replace(row, row_of_position_0=0) for row in _PRE_NORM)
_LONG = "encoder.layers.{layer}.self_attn.longformer_self_attn."
_LED = (
    replace(_BART[0], row_of_position_0=0, scaled_tokens=None),
    replace(
        _BART[1],
        row_of_position_0=0,
        scaled_tokens=None,
        query=f"{_LONG}query.weight",
        key=f"{_LONG}key.weight",
        value=f"{_LONG}value.weight",
        out="encoder.layers.{layer}.self_attn.output.weight",
        window="all layers",
    ),
)
_WHISPER = (
    replace(
        _BLENDERBOT[0],
        tokens=("decoder.embed_tokens.weight",),
        scaled_tokens=None,
        without_bias=("W_K",),
        marks=(*_BLENDERBOT[0].marks, "*encoder.conv1.weight"),
    ),
    # The encoder reads audio, not tokens.
    replace(_BLENDERBOT[1], tokens=(), computed="tensor2tensor", without_bias=("W_K",)),
)
_PEGASUS = tuple(replace(row, computed="marian") for row in _BLENDERBOT)
_MARIAN = tuple(
    replace(row, row_of_position_0=0, embedding_norm="", sum_norm="", computed="marian")
    for row in _BART
)
_M2M100 = tuple(
    replace(row, positions="", row_of_position_0=None, computed="tensor2tensor", scaled_tokens=True)
    for row in _PRE_NORM
)
_XGLM = replace(_BIOGPT, positions="", row_of_position_0=2, computed="tensor2tensor")
_PLBART = tuple(replace(row, scaled_tokens=True) for row in _BART)
# Their last LayerNorm has the name of the first in other families.
_OF_BIGBIRD = [
    replace(row, row_of_position_0=0, scaled_tokens=True, marks=(*tower.marks, tower.sum_norm))
    for row, tower in zip(_PRE_NORM, _TOWERS, strict=True)
]
_BIGBIRD_PEGASUS = (
    _OF_BIGBIRD[0],
    replace(
        _OF_BIGBIRD[1],
        query="encoder.layers.{layer}.self_attn.self.query.weight",
        key="encoder.layers.{layer}.self_attn.self.key.weight",
        value="encoder.layers.{layer}.self_attn.self.value.weight",
        out="encoder.layers.{layer}.self_attn.output.weight",
    ),
)
_BLENDERBOT_SMALL = (
    replace(
        _BART[0],
        row_of_position_0=0,
        tokens=(),
        no_tokens="its tokens pass a LayerNorm before positions are added to them",
        embedding_norm="",
        sum_norm="",
        marks=(*_BART[0].marks, _BART[0].sum_norm),
    ),
    replace(_BART[1], row_of_position_0=0),
)
_FSMT = tuple(
    replace(row, computed="tensor2tensor", scaled_tokens=True, embedding_norm="", sum_norm="")
    for row in _BART
)
_NLLB_MOE = tuple(
    replace(
        row,
        fan_out=row.fan_out.replace("fc1", "ffn.fc1"),
        mlp_norm=row.mlp_norm.replace("final_layer_norm", "ff_layer_norm"),
    )
    for row in _M2M100
)
_PEGASUS_X = tuple(
    replace(row, row_of_position_0=0, without_bias=("W_Q", "W_K")) for row in _M2M100
)
_PROPHETNET = tuple(
    replace(
        row,
        positions=f"{row.side}.position_embeddings.weight",
        tokens=(f"{row.side}.word_embeddings.weight", "word_embeddings.weight"),
        query=row.query.replace("q_proj", "query_proj"),
        key=row.key.replace("k_proj", "key_proj"),
        value=row.value.replace("v_proj", "value_proj"),
        fan_out=row.fan_out.replace("fc1", "feed_forward.intermediate"),
        attention_norm=row.attention_norm.replace("final", "feed_forward"),
        mlp_norm=row.mlp_norm.replace("encoder_attn", "cross_attn"),
        embedding_norm=f"{row.side}.embeddings_layer_norm.weight",
        sum_norm=f"{row.side}.embeddings_layer_norm.weight",
        row_of_position_0=None,
        padding=0,
        scaled_tokens=None,
        marks=tuple(mark.replace("encoder_attn.q", "cross_attn.query") for mark in row.marks),
    )
    for row in _BART
)
_CTRL = replace(
    _GPT2,
    positions="",
    tokens=("w.weight",),
    query="h.{layer}.multi_head_attention.Wq.weight",
    key="h.{layer}.multi_head_attention.Wk.weight",
    value="h.{layer}.multi_head_attention.Wv.weight",
    out="h.{layer}.multi_head_attention.dense.weight",
    fan_out="h.{layer}.ffn.0.weight",
    attention_norm="h.{layer}.layernorm1.weight",
    mlp_norm="h.{layer}.layernorm2.weight",
    conv1d=False,
    fused=None,
    computed="marian",
    scaled_tokens=True,
    begin=False,
)
_BERT_TEXT = replace(_BERT, side="text")
_ALTCLIP_TEXT = replace(_ROBERTA, side="text", epsilon=("layer_norm_eps", 1e-5))
_FLAVA_TEXT = replace(
    _BERT_TEXT,
    query="encoder.layer.{layer}.attention.attention.query.weight",
    key="encoder.layer.{layer}.attention.attention.key.weight",
    value="encoder.layer.{layer}.attention.attention.value.weight",
    attention_norm="encoder.layer.{layer}.layernorm_before.weight",
    mlp_norm="encoder.layer.{layer}.layernorm_after.weight",
    embedding_norm="",
)
_TIPS_TEXT = only_table(
    _BERT_TEXT,
    positions="",
    tokens=("token_embedding.weight",),
    computed="tensor2tensor",
    scaled_tokens=True,
)
_KOSMOS_TEXT = only_table(
    _XGLM, tokens=("embed_tokens.weight",), row_of_position_0=None, side="text"
)

TIED = names_in(
    "lm_head.weight lm_head.decoder.weight cls.predictions.decoder.weight proj_out.weight"
)
"""The output matrix, which equals E if the two are tied; some files store only this."""

_BUILT_IN = families(
    {
        "gpt2": _GPT2,
        "gpt_neo": _GPT_NEO,
        "gpt_bigcode": _BIGCODE,
        "imagegpt": replace(
            _GPT2,
            begin=False,
            root_mean_square=True,
            marks=("!h.0.ln_1.bias", "h.0.attn.c_attn.bias"),
        ),
        "decision_transformer": replace(
            _GPT2, tokens=(), begin=False, marks=("*embed_timestep.weight",)
        ),
        "openai-gpt": _GPT1,
        "bert": _BERT,
        "distilbert": replace(
            _DISTILBERT, variants=(("sinusoidal_pos_embds", True, _COMPUTED_DISTILBERT),)
        ),
        "electra": _ELECTRA,
        "albert": _ALBERT,
        "big_bird": _BERT,
        "roberta xlm-roberta camembert": _ROBERTA,
        "longformer": replace(_ROBERTA, window="all layers"),
        "esm": _ESM,
        "mpnet": _MPNET,
        "opt": _OPT,
        "bart": _BART,
        "mbart": _MBART,
        "biogpt": _BIOGPT,
        "trocr": _TROCR,
        "blenderbot": _BLENDERBOT,
        "led": _LED,
        "whisper": _WHISPER,
        "pegasus": _PEGASUS,
        "marian": _MARIAN,
        "xglm": _XGLM,
        "m2m_100": _M2M100,
        "bert-generation ernie splinter visual_bert dpr layoutlm tapas": _BERT,
        # Its position 0 is a row of zeros.
        "lxmert": replace(_BERT, marks=("*encoder.x_layers.0.lang_inter.dense.weight",)),
        "git": replace(_BERT, causal=True),
        "rembert": replace(
            _BERT,
            map_in="encoder.embedding_hidden_mapping_in.weight",
            embedding_norm="",
            map_positions=True,
        ),
        "nystromformer yoso mra": _SHIFTED,
        "data2vec-text luke xmod ibert": _ROBERTA,
        "layoutlmv3": replace(_ROBERTA, epsilon=("layer_norm_eps", 1e-5)),
        "lilt markuplm": replace(_ROBERTA, padding=0),
        "roberta-prelayernorm": _PRELAYERNORM,
        "xlm-roberta-xl": _ROBERTA_XL,
        "megatron-bert": _MEGATRON,
        "xlm": replace(_XLM, variants=_COMPUTED_XLM),
        "flaubert": _FLAUBERT,
        "roc_bert": replace(
            _BERT, tokens=(), no_tokens=_JOINED, marks=("*embeddings.shape_embed.weight",)
        ),
        "canine": only_table(
            _BERT,
            positions="char_embeddings.char_position_embeddings.weight",
            tokens=(),
            no_tokens=_JOINED,
        ),
        "mobilebert": only_table(
            _BERT,
            tokens=(),
            no_tokens=_JOINED,
            marks=("*embeddings.embedding_transformation.weight",),
        ),
        "convbert": only_table(
            _ELECTRA, marks=("*encoder.layer.0.attention.self.conv_out_layer.weight",)
        ),
        "fnet squeezebert": only_table(_BERT),
        "mvp": _BART,
        "plbart": _PLBART,
        "bigbird_pegasus": _BIGBIRD_PEGASUS,
        "blenderbot-small": _BLENDERBOT_SMALL,
        "fsmt": _FSMT,
        "nllb-moe": _NLLB_MOE,
        "pegasus_x": _PEGASUS_X,
        "prophetnet": _PROPHETNET,
        "speech_to_text": replace(_M2M100[0], tokens=("decoder.embed_tokens.weight",)),
        "ctrl": _CTRL,
        **OF_PICTURES,
        "align_text_model blip_text_model chinese_clip_text_model": _BERT_TEXT,
        "clap_text_model bridgetower_text_model": replace(_ROBERTA, side="text"),
        "altclip_text_model": _ALTCLIP_TEXT,
        "flava_text_model": _FLAVA_TEXT,
        "tipsv2_text_model": _TIPS_TEXT,
        "kosmos_2_text_model kosmos_2_5_text_model": _KOSMOS_TEXT,
        "bros": _BERT,
        "tvp": only_table(_BERT),
        "bark": only_table(
            _GPT2,
            positions="semantic.position_embeds_layer.weight",
            tokens=("semantic.input_embeds_layer.weight",),
            marks=("*semantic.input_embeds_layer.weight",),
            begin=False,
        ),
    }
)


def _of_plugin(loaded: Any) -> tuple[Stack, ...]:
    """Return the stacks of a plugin's family. Raises TypeError: It is no such thing."""
    stacks = (loaded,) if isinstance(loaded, Stack) else tuple(loaded)
    if not stacks or not all(isinstance(stack, Stack) for stack in stacks):
        raise TypeError(f"{loaded!r} is neither a Stack nor several")
    return stacks


FAMILIES: Mapping[str, tuple[Stack, ...]] = Registry(
    _BUILT_IN, "families", lambda plugin: plugin.load(_of_plugin), tuple(LEFT_OUT)
)
"""Stacks by ``model_type`` of transformers; the first is opened by default.

Those of plugins, with the names of their entry points, are the last.
"""

_DEBERTA = only_table(_BERT, used_if=("position_biased_input", True))

BESIDE: Mapping[str, Stack] = by_name({"deberta deberta-v2": _DEBERTA, **BESIDE_OFFSETS})
"""Tables by ``model_type`` of models that also have vectors or biases by lag or offset."""

_LLAMA = Stack(
    positions="",
    tokens=("embed_tokens.weight",),
    query="layers.{layer}.self_attn.q_proj.weight",
    key="layers.{layer}.self_attn.k_proj.weight",
    value="layers.{layer}.self_attn.v_proj.weight",
    out="layers.{layer}.self_attn.o_proj.weight",
    fan_out="layers.{layer}.mlp.up_proj.weight",
    attention_norm="layers.{layer}.input_layernorm.weight",
    mlp_norm="layers.{layer}.post_attention_layernorm.weight",
    root_mean_square=True,
)
_FUSED = replace(_LLAMA, key="", value="", fused="by head")
_FALCON = replace(_FUSED, query="h.{layer}.self_attention.query_key_value.weight")

TURNED_FAMILIES: Mapping[str, Stack] = by_name(
    {
        "gpt_neox": replace(_FUSED, query="layers.{layer}.attention.query_key_value.weight"),
        "persimmon": replace(_FUSED, query="layers.{layer}.self_attn.query_key_value.weight"),
        "gptj": replace(
            _LLAMA,
            query="h.{layer}.attn.q_proj.weight",
            key="h.{layer}.attn.k_proj.weight",
        ),
        "falcon": replace(
            _FALCON, fused="multi-query", variants=(("multi_query", False, _FALCON),)
        ),
        "phi3": replace(
            _FUSED, query="layers.{layer}.self_attn.qkv_proj.weight", fused="side by side"
        ),
        "modernbert": replace(
            _FUSED, query="layers.{layer}.attn.Wqkv.weight", fused="side by side"
        ),
        "esm roformer": replace(_BERT, positions=""),
    }
)
"""The stacks of rotary models whose queries and keys are not named as in Llama."""


def turned_stack(family: str | None) -> Stack:
    """Return the stack of a rotary family; that of Llama, the most common, if unknown."""
    return TURNED_FAMILIES.get(family or "", _LLAMA)


_OF_TEXT_AND_PICTURES = ("text_config", "vision_config")

PARTS: Mapping[str, tuple[str, ...]] = by_name(
    {
        "aimv2 altclip blip bridgetower chinese_clip clip clipseg groupvit kosmos-2 metaclip_2 "
        "ovis2 owlv2 owlvit paligemma siglip siglip2 tipsv2 xclip": _OF_TEXT_AND_PICTURES,
        "align clap kosmos-2.5 voxtral voxtral_realtime": ("text_config",),
        "colmodernvbert colpali colqwen2 pi0": ("vlm_config",),
        "t5gemma t5gemma2": ("decoder",),
        "flava": ("text_config", "image_config"),
        "sam sam3_tracker sam3_tracker_video sam_hq videoprism": ("vision_config",),
        "depth_anything lw_detr prompt_depth_anything rf_detr vitmatte": ("backbone_config",),
        "vision-encoder-decoder speech-encoder-decoder": ("decoder",),
        "encoder-decoder": ("decoder", "encoder"),
    }
)
"""Keys of the configurations of the parts of composite models, by ``model_type``."""
