"""Settings of other codes under the names of transformers', and what shapes tell in their place."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from geometry.checkpoints.config import pair
from geometry.checkpoints.errors import SourceError
from geometry.models.families.stack import Side
from geometry.models.recognition.names_and_shapes import Index, class_rows, rows_and_width
from geometry.models.schemes.relative_tables import EMBEDDINGS

_WHISPER = {
    "n_head": "n_{}_head",
    "n_layer": "n_{}_layer",
    "n_positions": "n_{}_ctx",
    "n_embd": "n_{}_state",
}
_OPEN_CLIP = {
    "n_layer": "model_cfg.{}_cfg.layers",
    "n_embd": "model_cfg.{}_cfg.width",
    "layer_norm_eps": "model_cfg.{}_cfg.norm_kwargs.eps",
}
# Of Megatron Core's own configuration, and of earlier releases.
_MEGATRON = {
    "apply_layernorm_1p": "layernorm_zero_centered_gamma",
    "normalization_type": "normalization",
    "norm_epsilon": "layernorm_epsilon",
}

_TIMM = {"image_size": "pretrained_cfg.input_size"}

NAMES: Mapping[tuple[str, Side], tuple[str, Mapping[str, str]]] = MappingProxyType(
    {
        ("openai-whisper", "decoder"): ("text", _WHISPER),
        ("openai-whisper", "encoder"): ("audio", _WHISPER),
        (
            "open_clip",
            "text",
        ): ("text", {**_OPEN_CLIP, "n_head": "model_cfg.text_cfg.heads"}),
        ("open_clip", "vision"): (
            "vision",
            {**_OPEN_CLIP, "image_size": "model_cfg.vision_cfg.image_size"},
        ),
        ("megatron", "decoder"): ("", _MEGATRON),
        ("megatron without transformer engine", "decoder"): ("", _MEGATRON),
        ("megatron before core", "decoder"): ("", _MEGATRON),
        ("timm", "vision"): ("", _TIMM),
        ("timm's CLIP", "vision"): ("", _TIMM),
    }
)
"""The word for a side in the settings of a code, and the places of settings in groups of others."""

_HEAD_OF_OPEN_CLIP = 64
"""The dimensions of a head of its vision tower, unless ``head_width`` gives them."""

META = "attention.wq.weight"
"""The end of the names of queries in Meta's Llama."""

_OF_DEBERTA = "attention.self.in_proj.weight"
"""Matrices of DeBERTa before its version 2."""
_NO_TABLE = "embed_positions._float_tensor"
_SWIN_2 = re.compile(
    r"^swinv2_[a-z]+_window(\d{1,3})(?:to(\d{1,3}))?_(\d{1,4})(?:to(\d{1,4}))?(?!\d)"
)
_PATCH_OF_SWIN, _STAGES_OF_SWIN = 4, 4

_ADJUSTMENTS, _RATIO = "rope_adjustments", "rope_condense_ratio"
"""LitGPT's settings of scaling."""
_ROTARY_OF_LENS = ("rotary_base", "rotary_base_local", "rotary_dim", "rotary_adjacent_pairs")
"""Settings of rotary models that TransformerLens stores for all models."""

_PATCHES = re.compile(r"(.*\.)?(patch_embed\.proj|conv1|conv_proj)\.weight")
"""The convolution that makes patches, of (d, channels, rows, columns)."""


def with_usual_names(
    kind: str, side: Side, config: Mapping[str, Any], index: Index, table: str
) -> Mapping[str, Any]:
    """Return the settings of a code, with those under its own names under the usual names too.

    The size of pictures is taken only where the table has rows for as many patches.
    """
    word, names = NAMES.get((kind, side), ("", {}))
    found = {usual: _at(config, own.format(word)) for usual, own in names.items()}
    found = {usual: value for usual, value in found.items() if value is not None}
    if (kind, side) == ("open_clip", "vision"):
        found |= _heads_of_open_clip(config)
    size = found.pop("image_size", None)
    return {**config, **found, **_picture(size, index, table)}


def of_codes(index: Index, config: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the settings of other codes under the usual names too: those that decide on a family.

    Of Meta's Llama, litGPT and nanochat, whose number of positions is that of the training; Meta's
    code turns entries 2i and 2i + 1. Of fairseq, open_clip's text and TransformerLens.
    """
    found = {"max_position_embeddings": config.get("sequence_len")}
    if any(name.endswith(META) for name in index):
        found |= {"hidden_size": config.get("dim"), "rotary_emb_interleaved": True}
    if "rope_n_elem" in config or "rotary_percentage" in config:
        found |= {
            "max_position_embeddings": config.get("block_size"),
            "rope_scaling": _scaling_of_litgpt(config),
        }
    if any(name.endswith(EMBEDDINGS) for name in index):
        of_first = any(name.endswith(_OF_DEBERTA) for name in index)
        found |= {"model_type": "deberta" if of_first else None}
    found |= _of_fairseq(index, config)
    if match := _SWIN_2.search(str(config.get("architecture"))):
        found |= _windows_of_swin_2(*(int(n or 0) for n in match.groups()))
    if isinstance(unscaled := config.get("no_scale_embedding"), bool):
        found["scale_embedding"] = not unscaled
    if isinstance(text := _at(config, "model_cfg.text_cfg"), dict):
        found |= {key: text.get(key, False) for key in ("no_causal_mask", "embed_cls")}
    unused: tuple[str, ...] = (_ADJUSTMENTS, _RATIO)
    own = config.get("positional_embedding_type")  # of TransformerLens
    if isinstance(own, str) and own != "rotary":
        found["position_embedding_type"] = "absolute" if own == "standard" else own
        unused += _ROTARY_OF_LENS
    kept = {key: value for key, value in config.items() if key not in unused}
    return {**{usual: value for usual, value in found.items() if value is not None}, **kept}


def _of_fairseq(index: Index, config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the family and sizes of a model of fairseq that computes its sines and cosines.

    In place of a table it stores a tensor of one number. Two families of transformers were
    converted from such models: with norms after each block, or before it and after the last one.
    """
    name = next((name for name in index if name.endswith(_NO_TABLE)), "")
    root = name.removesuffix(_NO_TABLE)
    tokens = index.get(f"{root}embed_tokens.weight")
    if not name or tokens is None:
        return {}
    keys = ("max_target_positions", "max_source_positions", "tokens_per_sample")
    return {
        "model_type": "m2m_100" if f"{root}layer_norm.weight" in index else "fsmt",
        "d_model": tokens.shape[-1],
        "max_position_embeddings": next(filter(None, map(config.get, keys)), None),
    }


def _windows_of_swin_2(before: int, window: int, size: int, larger: int) -> dict[str, Any]:
    """Return the settings in the name of a Swin 2 of timm, such as "window12to16_192to256"."""
    patches = size // _PATCH_OF_SWIN
    own = [min(before, patches >> stage) for stage in range(_STAGES_OF_SWIN)] if window else None
    return {
        "window_size": window or before,
        "image_size": larger or size,
        "patch_size": _PATCH_OF_SWIN,
        "pretrained_window_sizes": own,
    }


def _scaling_of_litgpt(config: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return litGPT's scaling under transformers' names; None if there is none."""
    own, ratio = config.get(_ADJUSTMENTS), config.get(_RATIO)
    if isinstance(own, dict):
        renamed: dict[str, Any] = {**own, "rope_type": "linear"}
        if "low_freq_factor" in own:
            renamed["rope_type"] = "llama3"
        renamed["original_max_position_embeddings"] = renamed.pop("original_max_seq_len", None)
        return renamed
    return None if ratio in (None, 1) else {"rope_type": "linear", "factor": ratio}


def _at(config: Mapping[str, Any], path: str) -> Any:
    value: Any = config
    for key in path.split("."):
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _heads_of_open_clip(config: Mapping[str, Any]) -> dict[str, int]:
    group = _at(config, "model_cfg.vision_cfg")
    width, head = (_at(group, key) for key in ("width", "head_width")) if group else (None, None)
    head = _HEAD_OF_OPEN_CLIP if head is None else head
    if type(width) is not int or type(head) is not int or head < 1 or width % head:
        return {}
    return {"n_head": width // head}


def _picture(size: Any, index: Index, table: str) -> dict[str, Any]:
    """Return the sizes of pictures and patches, if they fit the table."""
    kernel = next((info.shape[2:] for name, info in _convolutions(index)), ())
    if isinstance(size, list) and len(size) == 3:  # timm's has the channels first
        size = size[1:]
    found = {"image_size": size, "patch_size": list(kernel)}
    try:
        picture, patch = pair(found, "image_size"), pair(found, "patch_size")
    except SourceError:
        return {}
    if picture is None or patch is None:
        return {}
    n_rows, _ = rows_and_width(index[table])
    rows = n_rows - picture[0] // patch[0] * (picture[1] // patch[1])
    return found if 0 <= rows <= max(class_rows(index, table)) else {}


def _convolutions(index: Index) -> Any:
    return (
        (name, index[name])
        for name in index
        if _PATCHES.fullmatch(name) and len(index[name].shape) == 4
    )
