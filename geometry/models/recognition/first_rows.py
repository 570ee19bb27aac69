"""The row of a position table for position 0, in words."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

EXAMPLES: Mapping[int, str] = MappingProxyType(
    {0: "GPT-2, BERT", 1: "ViT", 2: "RoBERTa, OPT, BART"}
)
"""Models by the row of position 0 in their table."""
