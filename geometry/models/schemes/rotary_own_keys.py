"""Settings of rotary positions that only some families have, by the code of transformers.

Another family's code does not look at them: read there, they would give a turning that the model
does not have.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Any

from geometry.models.schemes.rotary_families import COMPARED, ROTARY_FAMILIES, WITH_OWN_CODE
from geometry.models.schemes.rotary_settings import BASES, SHARES, WIDTHS

#: Families whose code turns a share of each head that is a setting.
SHARED = frozenset(
    (
        "bamba", "diffusion_gemma_text", "gemma4_text", "gemma4_unified_text", "glm", "glm4",
        "glm4_moe", "glm4_moe_lite", "glm4v_moe_text", "glm4v_text", "glm_image_text",
        "glm_ocr_text", "glmasr_encoder", "gpt_neox", "gpt_neox_japanese", "laguna", "lfm3",
        "mellum", "mimo_v2_flash", "moonshine", "moonshine_streaming", "nemotron", "persimmon",
        "phi", "phi3", "phi4_multimodal", "qwen3_5_moe_text", "qwen3_5_text", "qwen3_next",
        "qwen4_exp_text", "recurrent_gemma", "solar_open", "stablelm",
    )
)  # fmt: skip
#: Families whose models came with another code, which has names of its own.
OTHER_CODE = frozenset(("bamba", "jina_embeddings_v3", "nomic_bert", "gte"))
_NEOX = ("gpt_neox", "gpt_neox_japanese")
_HUNYUAN = ("hunyuan_v1_dense", "hunyuan_v1_moe", "hunyuan_vl_text")

#: Setting → the families of transformers that have it.
HAVE: Mapping[str, Collection[str]] = MappingProxyType(
    {
        **dict.fromkeys((*BASES, *SHARES, *WIDTHS, "rope_ratio"), ()),
        "rope_theta": ROTARY_FAMILIES.keys(),
        "rotary_emb_base": _NEOX,
        "global_rope_theta": ("modernbert", "modernbert-decoder"),
        "partial_rotary_factor": SHARED,
        "rotary_pct": _NEOX,
        "rotary_dim": ("codegen", "gptj"),
    }
)
#: Family with a code of its own → the settings of this kind that it has, besides ``rope_theta``.
OF_OWN_CODE: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "chatglm": ("rope_ratio",),
        "internlm": ("rotary_base",),
        "mixformer-sequential": ("rotary_dim",),
        "openelm": ("rope_freq_constant",),
        "phi-msft": ("rotary_dim",),
        "qwen": ("rotary_emb_base", "rotary_pct"),
        "stablelm_epoch": ("rope_pct",),
    }
)
_GROUPS = ("rope_scaling", "rope_parameters")


def without_foreign(kind: str, config: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Return a configuration without settings that its family's code does not look at.

    Parameters
    ----------
    kind
        The ``model_type``.
    config
        Its configuration.

    Returns
    -------
    config
        What is left of it; all, if the family was not compared with its code.
    notes
        Sentences about what was left out, or may not be a setting of the family.
    """
    if kind in OTHER_CODE or kind not in COMPARED:
        return dict(config), []
    if kind in WITH_OWN_CODE:
        return _of_own_code(kind, config)
    foreign = {key for key, kinds in HAVE.items() if kind not in kinds}
    found: list[str] = []
    theta = config.get("rope_theta")
    same = {key for key in foreign & set(BASES) if theta == config.get(key)}
    config = {key: one for key, one in config.items() if key not in same}
    left = _left(config, foreign, found)
    foreign |= set() if kind in _HUNYUAN else {"alpha"}  # whose name is too common elsewhere
    for group in _GROUPS:
        if isinstance(settings := left.get(group), dict):
            left[group] = {
                key: _left(one, foreign, found) if isinstance(one, dict) else one
                for key, one in _left(settings, foreign, found).items()
            }
    return left, [_not_one(kind, found)] if found else []


def _of_own_code(kind: str, config: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    own = ("rope_theta", *OF_OWN_CODE.get(kind, ()))
    if kind == "chatglm" or config.get("rope_ratio") is None:
        left, notes = dict(config), []
    else:
        left = {key: one for key, one in config.items() if key != "rope_ratio"}
        notes = [_not_one(kind, ["rope_ratio"])]
    doubtful = [key for key in HAVE if key not in own and _matters(key, left.get(key))]
    if doubtful:
        some = ", ".join(doubtful)
        notes.append(f"It is not known whether the code of {kind} models reads {some}.")
    return left, notes


def _left(config: Mapping[str, Any], foreign: set[str], found: list[str]) -> dict[str, Any]:
    """Return the settings that are not foreign; the names of others that matter are added."""
    found += [key for key in foreign if key not in found and _matters(key, config.get(key))]
    return {key: one for key, one in config.items() if key not in foreign}


def _matters(key: str, value: Any) -> bool:
    """Return whether a setting that is not looked at says something."""
    return value is not None and not (key in SHARES and type(value) is float and value == 1.0)


def _not_one(kind: str, keys: list[str]) -> str:
    some, what = (
        ", ".join(sorted(keys)),
        "is not a setting" if len(keys) == 1 else "are no settings",
    )
    return f"{some} in config.json {what} of the code of {kind} models, and not used."
