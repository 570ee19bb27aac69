"""Adapters, such as LoRA: changes of another model's matrices, without their own positions."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any

from geometry.checkpoints.errors import SourceError

ADAPTER_CONFIG, ADAPTER = "adapter_config.json", "adapter_model"
"""Names of peft: the settings of an adapter, and the start of its file's name."""

_LORA = "lora"
_POSITIONS = re.compile(r"position|pos_?emb|(?<![a-z])(pos|wpe)(?![a-z])")


def is_adapter(file: str, tensors: Collection[str]) -> bool:
    """Return whether a file is only an adapter, by its name and those of its tensors.

    An adapter with a table of positions, which was trained too, is a model.
    """
    names = [name.lower() for name in tensors if _LORA not in name.lower()]
    if not tensors or (names and not file.startswith(ADAPTER)):
        return False
    return not any(map(_POSITIONS.search, names))


class AdapterAlone(SourceError):
    """An adapter was opened without its model."""


def adapter_error(file: str, settings: Mapping[str, Any]) -> AdapterAlone:
    """Return the error for an adapter; its ``settings`` name its model."""
    base = settings.get("base_model_name_or_path")
    of = base if isinstance(base, str) and base else "another model"
    return AdapterAlone(
        f"{file} is an adapter of {of}, without positions of its own.",
        f"Open {of}; where it is on this machine, a folder with the adapter opens as that model "
        "with the adapter's changes."
        if of == base
        else "Open the model that it was trained for.",
    )
