"""Settings of rotary positions of certain families, by the code of transformers.

The code of other families does not read them. Reading them here would give a turning that the model
does not have.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from types import MappingProxyType
from typing import Any

from geometry.models.families.names import by_name, names_in
from geometry.models.schemes.rotary_families import COMPARED, ROTARY_FAMILIES, WITH_OWN_CODE
from geometry.models.schemes.rotary_settings import (
    BASES,
    HEAD_WIDTHS,
    HEADS,
    HIDDEN,
    LOCAL_BASES,
    SHARES,
    WIDTHS,
)

SHARED = names_in("""
    bamba diffusion_gemma_text gemma4_text gemma4_unified_text glm glm4 glm4_moe glm4_moe_lite
    glm4v_moe_text glm4v_text glm_image_text glm_ocr_text glmasr_encoder gpt_neox
    gpt_neox_japanese laguna lfm3 mellum mimo_v2_flash moonshine moonshine_streaming nemotron
    persimmon phi phi3 phi4_multimodal qwen3_5_moe_text qwen3_5_text qwen3_next qwen4_exp_text
    recurrent_gemma solar_open stablelm
""")
"""Families whose code has a setting for the turned share of each head."""
OTHER_CODE = frozenset(("bamba", "jina_embeddings_v3", "nomic_bert", "gte"))
"""Families whose models were published with other code, which has its own names."""
_NEOX = ("gpt_neox", "gpt_neox_japanese")
_HUNYUAN = ("hunyuan_v1_dense", "hunyuan_v1_moe", "hunyuan_vl_text")
_MODERNBERT = ("modernbert", "modernbert-decoder")
_GEMMA4 = ("diffusion_gemma_text", "embedding_gemma2_text", "gemma4_text", "gemma4_unified_text")
_FIXED = {"codegen", "gptj", "roformer"}
"""Families whose code has fixed rates."""
_ALL = ROTARY_FAMILIES.keys()
_LATENT = names_in("""
    axk1 axk2 deepseek_v2 deepseek_v3 deepseek_v32 glm4_moe_lite glm_moe_dsa hy_v4 longcat_flash
    minicpm3 mistral_large4_text youtu
""")
"""Families in which a part of each head turns, with its own width."""

HAVE: Mapping[str, Collection[str]] = by_name(
    {
        **dict.fromkeys((*BASES, *LOCAL_BASES, *SHARES, *WIDTHS, *HEAD_WIDTHS), ()),
        "position_encoding_2d rope_ratio rotary_emb_interleaved use_dynamic_ntk use_scaled_rope "
        "rope_scaling_factor rope_high_freq_factor": (),
        "rope_parameters rope_scaling": _ALL - _FIXED - {"esm"},
        "no_rope_layers no_rope_layer_interval": ("llama4_text", "mistral_large4_text", "smollm3"),
        "attention_head_dim": ("hunyuan_vl_text", "zamba2"),
        "global_attn_every_n_layers": ("afmoe", *_MODERNBERT),
        "global_head_dim": _GEMMA4,
        "global_rope_theta": _MODERNBERT,
        "head_dim": _ALL - _FIXED - {"deepseek_ocr2_text", "unlimited_ocr_text"},
        "kv_channels": ("jetmoe",),
        "layer_rope_theta": ("granite_swa", "granitemoe_swa"),
        "local_rope_theta": _MODERNBERT,
        "partial_rotary_factor": SHARED,
        "qk_rope_head_dim": _LATENT,
        "rope_interleave": ("axk1", "deepseek_v3", "glm4_moe_lite", "youtu"),
        "rope_local_base_freq": (
            "gemma3_text",
            "gemma3n_text",
            "t5gemma2_decoder",
            "t5gemma2_text",
        ),
        "rope_scaling_layers": ("molmo2_text",),
        "rope_theta": _ALL - _FIXED,
        "rotary_dim": ("codegen", "gptj"),
        "rotary_emb_base rotary_pct": _NEOX,
        "sliding_window_pattern": (
            "cohere2",
            "exaone4",
            "exaone_moe",
            "gemma3_text",
            "t5gemma2_decoder",
            "t5gemma2_text",
            *_GEMMA4,
        ),
        "use_bidirectional_attention": ("gemma", "gemma2", "gemma3_text", *_GEMMA4),
    }
)
"""Families of transformers by setting."""
ONLY_IN_GROUP: Mapping[str, Collection[str]] = MappingProxyType(
    {
        "partial_rotary_factor": _NEOX,
        "rope_theta": (*_NEOX, *_MODERNBERT, "ultrabert"),
    }
)
"""Families that have a setting only in a group of settings, by setting."""
OF_OWN_CODE: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "chatglm": ("kv_channels", "position_encoding_2d", "rope_ratio"),
        "internlm": ("rotary_base",),
        "mixformer-sequential": ("rotary_dim",),
        "openelm": ("rope_freq_constant",),
        "phi-msft": ("rotary_dim",),
        "qwen": ("kv_channels", "rotary_emb_base", "rotary_pct", "use_dynamic_ntk"),
        "stablelm_epoch": ("rope_pct",),
    }
)
"""Settings of families with their own code, besides ``ANY_CODE``."""
_GROUPS = ("rope_scaling", "rope_parameters")
ANY_CODE = ("head_dim", "rope_theta", *_GROUPS)
"""Settings that any of these families may have."""


def without_foreign(kind: str, config: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Return a configuration without settings that its family's code does not read.

    Parameters
    ----------
    kind
        The ``model_type``.
    config
        Its configuration.

    Returns
    -------
    config
        The remaining settings; all, if the family was not compared with its code.
    notes
        Sentences about settings that were left out, or may not belong to the family.
    """
    if kind in OTHER_CODE or kind not in COMPARED:
        return dict(config), []
    if kind in WITH_OWN_CODE:
        return _of_own_code(kind, config)
    foreign = {key for key, kinds in HAVE.items() if kind not in kinds}
    outside = foreign | {key for key, kinds in ONLY_IN_GROUP.items() if kind in kinds}
    names: list[str] = []
    usual = _usual(kind, config, outside)
    same = {key for key in outside if config.get(key) in usual.get(key, ())}
    left = _left({k: value for k, value in config.items() if k not in same}, outside, names)
    foreign |= set() if kind in _HUNYUAN else {"alpha"}  # whose name is too common elsewhere
    for group in _GROUPS:
        if isinstance(settings := left.get(group), dict):
            left[group] = {
                key: _left(value, foreign, names) if isinstance(value, dict) else value
                for key, value in _left(settings, foreign, names).items()
            }
    return left, [_not_read(kind, names)] if names else []


def _usual(kind: str, config: Mapping[str, Any], foreign: set[str]) -> dict[str, tuple[Any, ...]]:
    """Return the values of foreign settings that agree with the other settings."""
    row = COMPARED[kind]
    groups = [group for key in _GROUPS if isinstance(group := config.get(key), dict)]
    settings = {key: value for key, value in config.items() if key not in foreign}

    def first(keys: Iterable[str]) -> Any:
        return next((value for key in keys if (value := settings.get(key)) is not None), None)

    hidden, heads = first(HIDDEN), first(HEADS)
    even = type(hidden) is int and type(heads) is int and heads > 0
    width = first(HEAD_WIDTHS) or row.d_head or (hidden // heads if even else None)
    inside = {key: tuple(group[key] for group in groups if key in group) for key in ONLY_IN_GROUP}
    bases = inside["rope_theta"] or (first(BASES) or row.base,)
    return {
        **inside,
        **dict.fromkeys(BASES, bases),
        **dict.fromkeys((*HEAD_WIDTHS, "global_head_dim", "qk_rope_head_dim"), (width,)),
        **dict.fromkeys(
            ("rope_interleave", "rotary_emb_interleaved"), (row.pairing == "interleaved",)
        ),
    }


def _of_own_code(kind: str, config: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    own = (*ANY_CODE, *OF_OWN_CODE.get(kind, ()))
    if kind == "chatglm" or config.get("rope_ratio") is None:
        left, notes = dict(config), []
    else:
        left = {key: value for key, value in config.items() if key != "rope_ratio"}
        notes = [_not_read(kind, ["rope_ratio"])]
    doubtful = [key for key in HAVE if key not in own and _matters(key, left.get(key))]
    if doubtful:
        some = ", ".join(doubtful)
        notes.append(f"It is not known whether the code of {kind} models reads {some}.")
    return left, notes


def _left(config: Mapping[str, Any], foreign: set[str], names: list[str]) -> dict[str, Any]:
    """Return the settings that are not foreign; add other relevant ones to ``names``."""
    names += [key for key in foreign if key not in names and _matters(key, config.get(key))]
    return {key: value for key, value in config.items() if key not in foreign}


def _matters(key: str, value: Any) -> bool:
    """Return whether the value of a setting that is not read is relevant."""
    if value is None or value is False:
        return False
    return not (key in SHARES and type(value) is float and value == 1.0)


def _not_read(kind: str, keys: list[str]) -> str:
    return f"The code of {kind} models does not read {', '.join(sorted(keys))} in config.json."
