"""Adapters, such as LoRA: changes of another model's matrices, without positions of their own."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any

from geometry.checkpoints.errors import SourceError

ADAPTER_CONFIG, _ADAPTER = "adapter_config.json", "adapter_model"
"""The settings beside an adapter, as peft writes them, and the start of its file's name."""

_LORA = "lora"
_POSITIONS = re.compile(r"position|pos_?emb|(?<![a-z])(pos|wpe)(?![a-z])")


def is_adapter(file: str, tensors: Collection[str]) -> bool:
    """Return whether a file is an adapter alone, by its name and those of its tensors.

    One that brings a table of positions, because that was trained too, is a model.
    """
    others = [name.lower() for name in tensors if _LORA not in name.lower()]
    if any(map(_POSITIONS.search, others)):
        return False
    return bool(tensors) and (not others or file.startswith(_ADAPTER))


def adapter_error(file: str, settings: Mapping[str, Any]) -> SourceError:
    """Return the error for an adapter; ``settings`` are those beside it, which name its model."""
    base = settings.get("base_model_name_or_path")
    of = base if isinstance(base, str) and base else "another model"
    return SourceError(
        f"{file} is an adapter of {of}, without positions of its own.",
        f"Open {of}." if of == base else "Open the model that it was trained for.",
    )
