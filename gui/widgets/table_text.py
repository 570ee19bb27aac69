"""Columns and rows of a table as texts; and no Qt."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its title, what the title means, a width in pixels (0 shares what is left)."""

    title: str
    tip: str
    width: int = 0
    left: bool = False


@dataclass(frozen=True, slots=True)
class Row:
    """A row: the position it stands for, and the text of each cell."""

    position: int
    cells: tuple[str, ...]
