"""The row of a position table that is position 0, in words and as a choice."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

EXAMPLES: Mapping[int, str] = MappingProxyType(
    {0: "GPT-2, BERT", 1: "ViT", 2: "RoBERTa, OPT, BART"}
)
"""Which models have position 0 in this row of their table."""


def rows_from(name: str, first: int) -> str:
    """Return the ``table`` argument whose position 0 is a row of a tensor: "pe.weight[2:]"."""
    return f"{name}[{first}:]"
