"""A table of curves to choose from: those that are drawn carry their curve's colour."""

from __future__ import annotations

from collections.abc import Mapping

from PySide6.QtCore import Qt
from PySide6.QtGui import QColor

from gui.panels.position_table import PositionTable

TINT = 72
"""How opaque a curve's colour is behind its row, of 255."""


class ChoiceTable(PositionTable):
    """Rows that stand for entries or directions; a click draws one, Shift-click several."""

    def show_drawn(self, colors: Mapping[int, str]) -> None:
        """Tint the rows of what is drawn with its curve's colour."""
        tints = {}
        for key, color in colors.items():
            tints[key] = QColor(color)
            tints[key].setAlpha(TINT)
        self._rows.tint(tints)


def choose(
    drawn: tuple[int, ...], key: int, modifiers: Qt.KeyboardModifier, most: int
) -> tuple[int, ...]:
    """Return what is drawn after a click on a row.

    Parameters
    ----------
    drawn
        What was, in the order it was chosen.
    key
        What the row stands for.
    modifiers
        Shift or Control adds it, or takes it out again; something always stays.
    most
        So many curves can be told apart; the longest chosen goes first.
    """
    several = Qt.KeyboardModifier.ShiftModifier | Qt.KeyboardModifier.ControlModifier
    if not modifiers & several:
        return (key,)
    if key in drawn:
        return tuple(one for one in drawn if one != key) or drawn
    return (*drawn, key)[-most:]
