"""A table of curves to choose from: those that are drawn carry their curve's colour."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from PySide6.QtCore import Qt
from PySide6.QtGui import QColor

from gui.widgets.position_rows import Column
from gui.widgets.position_table import PositionTable

NARROW = 560
"""A panel less wide than this, in pixels, needs the room for its plots."""
LEAST = 400
"""And one less wide than this does without the list."""
SCROLL_BAR = 12
TINT = 72
"""How opaque a curve's colour is behind its row, of 255."""


class ChoiceTable(PositionTable):
    """Rows that stand for entries or directions; a click draws one, Shift-click several.

    Parameters
    ----------
    columns
        Titles, tips and widths.
    tip
        What a click on a row does; ``{position}`` stands for its key.
    spare
        The columns that a narrow panel does without.
    scrolls_from
        As in the base.
    """

    def __init__(
        self, columns: Sequence[Column], tip: str, spare: Sequence[int], *, scrolls_from: int = 3
    ) -> None:
        super().__init__(columns, tip, scrolls_from=scrolls_from)
        self._columns, self._spare = tuple(columns), frozenset(spare)

    def fit(self, room: int) -> None:
        """Take the width that suits a panel of so many pixels; a very narrow one has no list."""
        self.setHidden(room < LEAST)
        gone = self._spare if room < NARROW else frozenset()
        for number in range(len(self._columns)):
            self.setColumnHidden(number, number in gone)
        kept = (column.width for i, column in enumerate(self._columns) if i not in gone)
        self.setFixedWidth(sum(kept) + SCROLL_BAR)

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
