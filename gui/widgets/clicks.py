"""What a click does with the keys that are held."""

from __future__ import annotations

from PySide6.QtCore import Qt

from gui.state.selection import click


def selection_after_click(
    selected: tuple[int, ...], position: int, modifiers: Qt.KeyboardModifier
) -> tuple[int, ...]:
    """Return the selection after a click on a position, see :func:`gui.state.selection.click`.

    Shift adds or removes the position; with Ctrl too, all up to it are added.
    """
    shift = bool(modifiers & Qt.KeyboardModifier.ShiftModifier)
    control = bool(modifiers & Qt.KeyboardModifier.ControlModifier)
    return click(selected, position, toggle=shift, extend=shift and control)
