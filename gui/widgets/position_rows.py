"""The model of a table of positions."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QModelIndex, Qt
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QWidget

from gui.widgets.table_text import Column, Row
from gui.widgets.titled_rows import Index, TitledRows

REMOVE = "×"
"""Text of a cell that removes its row."""


class PositionRows(TitledRows):
    """Rows that are replaced in place: an unchanged number of rows needs no reset."""

    def __init__(self, columns: Sequence[Column], tip: str, parent: QWidget) -> None:
        super().__init__(columns, parent)
        self.rows: tuple[Row, ...] = ()
        self.tints: dict[int, QColor] = {}
        self._tip = tip

    def replace(self, rows: tuple[Row, ...]) -> None:
        """Set the rows."""
        if len(rows) == len(self.rows):
            self.rows = rows
            self.repaint()
            return
        self.beginResetModel()
        self.rows = rows
        self.endResetModel()

    def tint(self, tints: dict[int, QColor]) -> None:
        """Set the background of some positions' rows."""
        if tints != self.tints:
            self.tints = tints
            self.repaint()

    def repaint(self) -> None:
        """Request a repaint of all rows."""
        if self.rows:
            self.dataChanged.emit(
                self.index(0, 0), self.index(len(self.rows) - 1, len(self.columns) - 1)
            )

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else len(self.rows)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        row, column = self.rows[index.row()], index.column()
        text = row.cells[column]
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return text
            case Qt.ItemDataRole.BackgroundRole:
                return self.tints.get(row.position)
            case Qt.ItemDataRole.TextAlignmentRole:
                return self.alignment(column)
            case Qt.ItemDataRole.ToolTipRole:
                if text == REMOVE:
                    return f"Take position {row.position} out of the selection (Delete)"
                return self._tip.format(position=row.position)
        return None
