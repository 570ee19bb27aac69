"""Rows, columns and grids of widgets."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from PySide6.QtCore import QMargins, Qt
from PySide6.QtWidgets import QBoxLayout, QGridLayout, QHBoxLayout, QLayout, QVBoxLayout, QWidget

from gui.style.theme import GRID
from gui.widgets.label import label

Item = QWidget | QLayout
Part = Item | int | tuple[Item, int] | tuple[Item, int, Qt.AlignmentFlag]
"""A widget or a layout, optionally with stretch and alignment; a number is a stretch alone."""
Margins = int | tuple[int, int, int, int]
"""Left, top, right and bottom, or one number for all, in pixels."""
Box = TypeVar("Box", bound=QBoxLayout)


def hbox(
    *parts: Part,
    parent: QWidget | None = None,
    spacing: int | None = None,
    margins: Margins = 0,
) -> QHBoxLayout:
    """Lay parts out side by side.

    Parameters
    ----------
    parent
        The widget that gets this layout; None for a layout inside another one.
    spacing
        Pixels between the parts; the style's if None.
    """
    return _fill(QHBoxLayout(parent) if parent else QHBoxLayout(), parts, spacing, margins)


def vbox(
    *parts: Part,
    parent: QWidget | None = None,
    spacing: int | None = None,
    margins: Margins = 0,
) -> QVBoxLayout:
    """Lay parts out one below the other; parameters as of :func:`hbox`."""
    return _fill(QVBoxLayout(parent) if parent else QVBoxLayout(), parts, spacing, margins)


def in_a_row(*parts: QWidget | str) -> QHBoxLayout:
    """Lay out fields and text in a row."""
    widgets = [label(part, "muted") if isinstance(part, str) else part for part in parts]
    return hbox(*widgets, 1, spacing=GRID)


def _fill(box: Box, parts: tuple[Part, ...], spacing: int | None, margins: Margins) -> Box:
    box.setContentsMargins(_around(margins))
    if spacing is not None:
        box.setSpacing(spacing)
    for part in parts:
        if isinstance(part, int):
            box.addStretch(part)
            continue
        item, stretch, *alignment = part if isinstance(part, tuple) else (part, 0)
        if isinstance(item, QLayout):
            box.addLayout(item, stretch)
        else:
            box.addWidget(item, stretch, *alignment)
    return box


def _around(margins: Margins) -> QMargins:
    return QMargins(*(margins if isinstance(margins, tuple) else (margins,) * 4))


def grid(parent: QWidget | None, across: int, down: int, *, margins: Margins = 0) -> QGridLayout:
    """Return an empty grid; ``across`` and ``down`` are the spacings in pixels."""
    layout = QGridLayout(parent) if parent else QGridLayout()
    layout.setContentsMargins(_around(margins))
    layout.setHorizontalSpacing(across)
    layout.setVerticalSpacing(down)
    return layout


def form(parent: QWidget | None, rows: Iterable[tuple[str, Item]]) -> QGridLayout:
    """Lay fields out below each other, each with its name at the left."""
    layout = grid(parent, 2 * GRID, GRID)
    for row, (name, field) in enumerate(rows):
        layout.addWidget(label(name, "muted"), row, 0)
        if isinstance(field, QLayout):
            layout.addLayout(field, row, 1)
        else:
            layout.addWidget(field, row, 1)
    return layout
