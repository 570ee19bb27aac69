"""Families without a position table, and their schemes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from geometry.checkpoints.config import flag
from geometry.checkpoints.stores import TensorInfo
from geometry.models.families.left_out import (
    BY_CONVOLUTION,
    IN_TWO,
    LEFT_OUT,
    TURNED_IN_TWO,
    WITHIN,
    WITHOUT_TABLE_OF_ANY_KIND,
)
from geometry.models.families.names import by_name
from geometry.models.recognition.candidates import can_be_positions, named_like_positions
from geometry.models.schemes.lags import NETWORKS, TABLE
from geometry.models.schemes.relative_tables import DISTANCES, EMBEDDINGS, RELATIVE_KEYS
from geometry.models.schemes.rotary_families import COMPARED
from geometry.models.schemes.rotary_settings import KINDS, SIGNS

ROTARY = "it rotates queries and keys"
ALIBI = "it adds a penalty that grows with distance to the attention scores (ALiBi)"
RELATIVE = "it adds a learned bias by relative distance to the attention scores"
RELATIVE_TABLE = "it has learned vectors by relative distance inside attention"
COMPUTED = "its positions are sines and cosines, which its code computes"
WITH_RECURRENCE = "its recurrent layers know the order"
NO_POSITIONS = "its attention has no positions"
RELATIVE_IN_TWO = "it adds a learned bias by offset in two directions to the attention scores"

SHOWN_BY_SETTINGS = (ROTARY, ALIBI, COMPUTED, RELATIVE_IN_TWO)
"""Schemes that are shown, given a configuration."""

WITHOUT_TABLE: Mapping[str, str] = by_name(
    {
        # Their settings were not compared with their code, or they have parts.
        "cohere2_moe gemma3 llama4 mistral3": ROTARY,
        **dict.fromkeys(COMPARED, ROTARY),
        "bloom mpt": ALIBI,
        "t5 mt5 umt5 longt5 switch_transformers pop2piano": RELATIVE,
        "deberta deberta-v2": RELATIVE_TABLE,
        "beit data2vec-vision donut-swin maskformer maskformer-swin swin swin2sr "
        "swinv2": RELATIVE_IN_TWO,
        **{kind: why for kind, why in LEFT_OUT.items() if why in WITHOUT_TABLE_OF_ANY_KIND},
    }
)
"""Second half of "llama stores no positional embeddings: …", by ``model_type`` of transformers."""

_OF_ROTARY_MODELS = (
    *("inv_freq", "rope.freqs", "mlp.gate_proj.weight", "attention.wq.weight"),
    *("attn.c_q.weight", "qk_bank"),
)
"""Ends of names of tensors that only rotary models have: Llama's kin, also as Meta publishes it,
nanochat, modded-nanogpt."""
_OF_SINES = "pos_emb.inv_freq"
"""The same of rates of a sinusoid: Transformer-XL, BROS."""

_SIGNS: tuple[tuple[str, str], ...] = (
    (r"\bA_log$|\btime_(decay|maa_k)$", WITH_RECURRENCE),
    (r"pos_conv|pos_block\.#\.proj|\bcpe#?\.proj|mlp\.dwconv\.", BY_CONVOLUTION),
    (r"rel_attn\.r\b|\br_net\.|\br_[wr]_bias$|r_kernel$|pos_bias_[uv]$|linear_pos\.", WITHIN),
    (r"distance_embedding\.|embed_positions\.pe_k\.", WITHIN),
    (r"rel_content_bias$|to_rel_k\.|rel_pos_[hw]$", WITHIN),
    (r"attention_biases$|rel_pos\.mlp\.fc#\.|meta_mlp\.", IN_TWO),
    (r"rel_pos\.mlp\.#\.|gru_rel_pos_|relpos_bias.rel_embedding$", RELATIVE),
    (r"rope_embed\.periods$|\blayer\.#\.attention\.o_proj\.", TURNED_IN_TWO),
    (r"word_embeddings_layernorm\.|\bblocks\.#\.ffn\.up_proj\.|mlp\.gated_layers\.", ALIBI),
    (r"\bh\.#\.self_attention\.query_key_value\.bias$|\b(alibi|alibi_bias|slopes)$", ALIBI),
    (r"\battention\.query_key_value\.|\bself_attention\.query_key_value\.", ROTARY),
    (r"\bh\.#\.mlp\.fc_in\.|\blayers\.#\.attn\.(Wqkv|q_proj)\.", ROTARY),
    (r"\bself_attn\.(o_proj|dense)\.|\battention\.wqkv\.|\bblocks\.#\.att_proj\.", ROTARY),
    (r"\blayers\.#\.(ffn\.)?fc#\.|\bmulti_head_attention\.Wq\.|\bpos_emb\.scale$", COMPUTED),
)
"""Patterns of names, with # for a number, of tensors of models without a table, and their scheme.
Of several schemes the first counts. GPT-NeoX, Falcon, GPT-J, CodeGen, torchtune, ModernBERT and Phi
turn their queries and keys, BLOOM, MPT and MosaicBERT do not; fairseq's kin without a table has
sines and cosines."""

ADDED = (None, "absolute", "learned", "learned_absolute")
"""Values of ``position_embedding_type`` of models that add a table to their tokens."""
INSIDE_TYPES = ("rotary", "rope", "alibi", *RELATIVE_KEYS)
"""Values for models whose positions act inside attention."""

_NONE = frozenset(("nope", "none", "no_pe", "no_position", "null"))
"""Values of such a setting for no positions."""

_BAICHUAN_13B = 5120
"""The dimensions of Baichuan's models with ALiBi, which differ from the others only in their
code."""


def why_no_table(index: Mapping[str, TensorInfo], config: Mapping[str, Any]) -> str:
    """Return the scheme of a model without a position table, from its configuration and names.

    "" if unknown.
    """
    attention = config.get("attn_config")  # of MPT
    attention = attention if isinstance(attention, dict) else {}
    kind, family = config.get("position_embedding_type"), config.get("model_type")
    if _has_none(config):
        return NO_POSITIONS
    turned, of_mpt = flag(attention, "rope"), family == "mpt"
    alibi = flag(attention, "alibi", default=of_mpt and not turned)
    of_mosaic = family == "bert" and config.get("alibi_starting_size") is not None
    if kind == "alibi" or flag(config, "alibi") or alibi or of_mosaic:
        return ALIBI
    if turned or of_mpt:
        return ROTARY if turned else ""
    if family == "baichuan" and config.get("hidden_size") == _BAICHUAN_13B:
        return ALIBI
    if inside_attention(index, config):
        return ROTARY if kind in ("rotary", "rope") else RELATIVE_TABLE
    if isinstance(family, str) and family in WITHOUT_TABLE:
        return WITHOUT_TABLE[family]
    settings = any(config.get(key) is not None for key in SIGNS)
    if settings:
        return ROTARY
    if any("rotary" in name or _of_rotary_model(name) for name in index):
        return ROTARY
    if config.get("relative_attention_num_buckets") is not None or any(
        "relative_attention_bias" in name for name in index
    ):
        return RELATIVE
    if any(name.endswith(EMBEDDINGS) for name in index):
        return RELATIVE_TABLE
    return RELATIVE_IN_TWO if any(name.endswith((TABLE, *NETWORKS)) for name in index) else ""


def by_names(index: Mapping[str, TensorInfo]) -> str:
    """Return the scheme of a model of an unknown family, by the names of its tensors.

    "" if these do not tell, or if one is that of a table.
    """
    names = {re.sub(r"\d+", "#", name): name for name in index}
    schemes = {name: _scheme(name) for name in names}
    for pattern, name in names.items():
        if not schemes[pattern] and named_like_positions(name) and can_be_positions(index[name]):
            return ""
    return next((why for _, why in _SIGNS if why in schemes.values()), "")


def _scheme(name: str) -> str:
    return next((why for sign, why in _SIGNS if re.search(sign, name)), "")


def _of_rotary_model(name: str) -> bool:
    return name.endswith(_OF_ROTARY_MODELS) and not name.endswith(_OF_SINES)


def _has_none(config: Mapping[str, Any]) -> bool:
    """Return whether a model that seems rotary has no positions, by its configuration.

    The code of other compared families does not read these settings, which is noted elsewhere.
    """
    family = config.get("model_type")
    if family == "granitemoehybrid":
        return config.get("position_embedding_type") != "rope"
    if family == "olmo_hybrid":
        group = config.get("rope_parameters")
        groups = [config, *([group] if isinstance(group, dict) else [])]
        if any(settings.get("rope_theta") is not None for settings in groups):
            return False
        # Without these settings its code has its own base.
        keys = ("rope_theta", "rope_parameters")
        return any(key in settings for settings in groups for key in keys)
    # MPT occurs here only in GGUF files.
    known = isinstance(family, str) and family in WITHOUT_TABLE and family != "mpt"
    kinds = [config.get(key) for key in KINDS]
    return not known and any(isinstance(kind, str) and kind.lower() in _NONE for kind in kinds)


def inside_attention(index: Mapping[str, TensorInfo], config: Mapping[str, Any]) -> bool:
    """Return whether positions act inside attention by ``position_embedding_type``.

    Without that setting, whether there are vectors by distance, as for one of its values.
    """
    kind = config.get("position_embedding_type")
    return kind in INSIDE_TYPES or (kind is None and any(DISTANCES in name for name in index))
