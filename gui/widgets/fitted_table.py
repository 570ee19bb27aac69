"""A table as wide as its panel: columns are as wide as their texts, one takes what is left.

Others leave where there is no room.
"""

from __future__ import annotations

from collections.abc import Mapping

from PySide6.QtCore import QEvent, Qt, Signal, Slot
from PySide6.QtGui import QKeyEvent, QResizeEvent
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTableView

from gui.style.theme import GRID
from gui.widgets.position_rows import MOVES, TitledRows, rows_style, set_up_rows

KEPT = 0.25
"""Share of the width that the other columns leave to the stretched one, at least."""


class FittedTable(QTableView):
    """Read-only rows; keys other than those that move belong to the window.

    Parameters
    ----------
    rows
        The model.
    name
        For screen readers.
    row_height
        In pixels.
    stretched
        The column that takes what the others leave.
    widths
        Least widths of the others, in steps of the grid. What they need beyond that they get in
        this order, as far as there is room.
    room
        Least width of the table at which a column is shown, in pixels.
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
    ) -> None:
        super().__init__()
        self._room = room
        self._least = {column: width * GRID for column, width in widths.items()}
        self._needed: dict[int, int] = {}
        # A theme changes style and font one after the other, and each row is asked for its texts.
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
            # The window's commands instead of the table's search by letter.
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
        """Fit the columns to other texts or fonts; a resize keeps what the texts need."""
        self._fits = True
        self._needed.clear()
        self._fit_columns()

    def _fit_columns(self) -> None:
        titles = self.horizontalHeader()
        shown = {c: width for c, width in self._least.items() if not self.isColumnHidden(c)}
        spare = round((1 - KEPT) * self.viewport().width()) - sum(shown.values())
        for column, least in shown.items():
            if column not in self._needed:
                needed = max(self.sizeHintForColumn(column), titles.sectionSizeHint(column))
                self._needed[column] = needed
            more = max(min(self._needed[column] - least, spare), 0)
            self.setColumnWidth(column, least + more)
            spare -= more
