"""Families without a position table, and their alternatives."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from geometry.checkpoints.stores import TensorInfo
from geometry.models.left_out import LEFT_OUT, WITHOUT_TABLE_OF_ANY_KIND

ROTARY = "it rotates queries and keys"
ALIBI = "it adds a penalty that grows with distance to the attention scores (ALiBi)"
RELATIVE = "it adds a learned bias by relative distance to the attention scores"

_ROTARY_FAMILIES = (
    "apertus", "arcee", "chatglm", "codegen", "cohere", "cohere2", "dbrx", "deepseek_v2",
    "deepseek_v3", "diffllama", "exaone4", "falcon", "gemma", "gemma2", "gemma3", "gemma3_text",
    "glm", "glm4", "gpt_neox", "gpt_neox_japanese", "gpt_oss", "gptj", "granite", "granitemoe",
    "helium", "llama", "llama4", "llama4_text", "minimax", "ministral", "mistral", "mistral3",
    "mixtral", "modernbert", "moonshine", "nemotron", "olmo", "olmo2", "olmo3", "olmoe",
    "persimmon", "phi", "phi3", "phimoe", "qwen2", "qwen2_moe", "qwen3", "qwen3_moe",
    "qwen3_next", "roformer", "seed_oss", "smollm3", "stablelm", "starcoder2", "zamba2",
)  # fmt: skip
RELATIVE_IN_TWO = "it adds a learned bias by offset in two directions to the attention scores"
_FAMILIES_IN_TWO = (
    "beit", "data2vec-vision", "donut-swin", "maskformer", "maskformer-swin", "swin", "swin2sr",
    "swinv2",
)  # fmt: skip
_RELATIVE_FAMILIES = (
    "t5", "mt5", "umt5", "longt5", "switch_transformers", "pop2piano", "deberta", "deberta-v2",
)  # fmt: skip

#: ``model_type`` of transformers → the second half of "llama stores no positional embeddings: …".
WITHOUT_TABLE: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys(_ROTARY_FAMILIES, ROTARY),
        **dict.fromkeys(("bloom", "mpt"), ALIBI),
        **dict.fromkeys(_RELATIVE_FAMILIES, RELATIVE),
        **dict.fromkeys(_FAMILIES_IN_TWO, RELATIVE_IN_TWO),
        **{kind: why for kind, why in LEFT_OUT.items() if why in WITHOUT_TABLE_OF_ANY_KIND},
    }
)

_ROTARY_SETTINGS = ("rope_theta", "rope_parameters", "rope_scaling", "rotary_dim", "rotary_pct")


def why_no_table(index: Mapping[str, TensorInfo], config: Mapping[str, Any]) -> str:
    """Return what a model uses instead of a position table, from its configuration and names.

    "" if unknown.
    """
    attention = config.get("attn_config")
    kind = config.get("position_embedding_type")
    if (
        config.get("alibi")
        or kind == "alibi"
        or (isinstance(attention, dict) and attention.get("alibi"))
    ):
        return ALIBI
    family = config.get("model_type")
    if isinstance(family, str) and family in WITHOUT_TABLE:
        return WITHOUT_TABLE[family]
    settings = any(config.get(key) is not None for key in _ROTARY_SETTINGS)
    if settings or kind in ("rotary", "rope"):
        return ROTARY
    if any("rotary" in name or name.endswith("inv_freq") for name in index):
        return ROTARY
    if config.get("relative_attention_num_buckets") is not None or any(
        "relative_attention_bias" in name for name in index
    ):
        return RELATIVE
    return ""
