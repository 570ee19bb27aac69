"""Columns and rows of a table as text, independent of Qt."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Column:
    """A column: title, tooltip, and width in pixels (0 for a share of the remaining width)."""

    title: str
    tip: str
    width: int = 0
    left: bool = False


@dataclass(frozen=True, slots=True)
class Row:
    """A row: its position, and the text of each cell."""

    position: int
    cells: tuple[str, ...]
