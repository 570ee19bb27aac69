"""A table as wide as its panel: one column stretches, and others leave where there is no room."""

from __future__ import annotations

from collections.abc import Mapping

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeyEvent, QResizeEvent
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTableView

from gui.style.theme import GRID
from gui.widgets.position_rows import MOVES, TitledRows, rows_style, set_up_rows


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
        Of the others, in steps of the grid.
    room
        Least width of the table at which a column is shown, in pixels.
    """

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
        for column, width in widths.items():
            self.setColumnWidth(column, width * GRID)

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
