"""A table as wide as its panel: columns fit their texts, and one takes the remaining width.

Columns for which there is no room are hidden.
"""

from __future__ import annotations

from collections.abc import Mapping

from PySide6.QtCore import QEvent, Qt, Signal, Slot
from PySide6.QtGui import QKeyEvent, QResizeEvent
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTableView

from gui.style.theme import GRID
from gui.widgets.position_rows import MOVES, TitledRows, rows_style, set_up_rows


class FittedTable(QTableView):
    """Read-only rows; keys that do not move the current row are left to the window.

    Parameters
    ----------
    rows
        The model.
    name
        Accessible name.
    row_height
        In pixels.
    stretched
        The column that takes the remaining width.
    widths
        Minimum widths of the others, in multiples of ``GRID``. In this order they get the width
        that they need beyond that, as far as there is room.
    room
        Minimum width of the table at which a column is shown, in pixels.
    kept
        Minimum share of the width for the stretched column.
    """

    _restyled = Signal()

    def __init__(
        self,
        rows: TitledRows,
        name: str,
        row_height: int,
        stretched: int,
        widths: Mapping[int, int],
        room: Mapping[int, int],
        kept: float = 0.25,
    ) -> None:
        super().__init__()
        self._room, self._kept = room, kept
        self._min_widths = {column: width * GRID for column, width in widths.items()}
        self._needed: dict[int, int] = {}
        # A theme changes style and font in turn, and fitting reads the texts of all rows.
        self._restyled.connect(self._fit_anew, Qt.ConnectionType.QueuedConnection)
        self._fits = True
        rows.setParent(self)
        self.setModel(rows)
        self.setAccessibleName(name)
        self.setProperty("ring", True)
        self.setStyleSheet(rows_style(f"padding: 2px {GRID}px;"))
        set_up_rows(self, row_height)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        titles = self.horizontalHeader()
        titles.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        titles.setSectionResizeMode(stretched, QHeaderView.ResizeMode.Stretch)
        self._fit_columns()
        rows.modelReset.connect(self._fit_anew)
        rows.dataChanged.connect(self._fit_anew)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in MOVES:
            super().keyPressEvent(event)
        else:
            # Keep Qt from searching by letter; the window has commands for these keys.
            event.ignore()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        for column, room in self._room.items():
            self.setColumnHidden(column, event.size().width() < room)
        self._fit_columns()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if self._fits and event.type() in (QEvent.Type.FontChange, QEvent.Type.StyleChange):
            self._fits = False
            self._restyled.emit()

    @Slot()
    def _fit_anew(self) -> None:
        """Fit the columns to other texts or fonts; a resize does not change what the texts need."""
        self._fits = True
        self._needed.clear()
        self._fit_columns()

    def _fit_columns(self) -> None:
        titles = self.horizontalHeader()
        shown = {c: width for c, width in self._min_widths.items() if not self.isColumnHidden(c)}
        spare = round((1 - self._kept) * self.viewport().width()) - sum(shown.values())
        for column, min_width in shown.items():
            if column not in self._needed:
                needed = max(self.sizeHintForColumn(column), titles.sectionSizeHint(column))
                self._needed[column] = needed
            more = max(min(self._needed[column] - min_width, spare), 0)
            self.setColumnWidth(column, min_width + more)
            spare -= more
