"""A table of curves to choose from, with drawn curves tinted in their colour."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from PySide6.QtCore import Qt

from gui.style.theme import shape_of
from gui.widgets.position_rows import Column
from gui.widgets.position_table import PositionTableView, translucent
from gui.widgets.shapes import shape_pixmap

NARROW = 560
"""Narrower panels (pixels) omit spare columns."""
SHARE = 0.5
"""Share of a panel's width beyond which spare columns are omitted, so that plots have room."""
MIN_WIDTH = 400
"""Narrower panels (pixels) omit the table."""
SCROLL_BAR = 12
TINT = 72
"""Opacity of a curve's colour behind its row, of 255."""


class ChoiceTable(PositionTableView):
    """Rows for entries or directions; a click draws one, Shift-click several.

    Parameters
    ----------
    columns
        Titles, tips and widths.
    tip
        Tooltip of rows; ``{position}`` is replaced by a row's key.
    spare
        The columns omitted in a narrow panel, the first ones first.
    """

    def __init__(
        self, columns: Sequence[Column], tip: str, spare: Sequence[int], *, scrolls_from: int = 3
    ) -> None:
        super().__init__(columns, tip, scrolls_from=scrolls_from)
        self._spare = tuple(spare)

    def fit(self, room: int, *, alone: bool = False) -> None:
        """Adapt to a panel's width; a very narrow one has no table.

        Parameters
        ----------
        room
            The panel's width in pixels.
        alone
            Whether nothing stands beside the table, so that it may be as wide as the panel.
        """
        self.setHidden(room < MIN_WIDTH)
        share = 1.0 if alone else SHARE * (room >= NARROW)
        widths, hidden = list(self.widths), set()
        for number in self._spare:
            if sum(widths) + SCROLL_BAR > share * room:
                hidden.add(number)
                widths[number] = 0
        for number in range(len(widths)):
            self.setColumnHidden(number, number in hidden)
        self.setFixedWidth(sum(widths) + SCROLL_BAR)

    def show_drawn(self, colors: Mapping[int, str]) -> None:
        """Tint the rows of drawn curves with their colours, and show their shapes."""
        ratio = self.devicePixelRatioF()
        self._rows.tint(
            {key: translucent(color, TINT) for key, color in colors.items()},
            {key: shape_pixmap(color, ratio) for key, color in colors.items() if shape_of(color)},
        )


def choose(
    drawn: tuple[int, ...], key: int, modifiers: Qt.KeyboardModifier, max_count: int
) -> tuple[int, ...]:
    """Return the drawn rows after a click on one.

    Parameters
    ----------
    drawn
        The drawn rows, in the order of choice.
    modifiers
        Shift or Control adds or removes the row; at least one row stays.
    max_count
        Maximum number of curves; beyond it, the one chosen first is removed.
    """
    several = Qt.KeyboardModifier.ShiftModifier | Qt.KeyboardModifier.ControlModifier
    if not modifiers & several:
        return (key,)
    if key in drawn:
        return tuple(row for row in drawn if row != key) or drawn
    return (*drawn, key)[-max_count:]
