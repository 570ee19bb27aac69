"""The rows of a table of positions, as Qt's views want them."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QModelIndex, Qt
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QWidget

from gui.widgets.table_text import Column, Row
from gui.widgets.titled_rows import Index, TitledRows

REMOVE = "×"
"""The text of a cell that takes its row out."""


class PositionRows(TitledRows):
    """Rows replaced in place: as many rows as before is a repaint and not a reset."""

    def __init__(self, columns: Sequence[Column], tip: str, parent: QWidget) -> None:
        super().__init__(columns, parent)
        self.rows: tuple[Row, ...] = ()
        self.tints: dict[int, QColor] = {}
        self._tip = tip

    def replace(self, rows: tuple[Row, ...]) -> None:
        """Show other rows."""
        if len(rows) == len(self.rows):
            self.rows = rows
            self.repaint()
            return
        self.beginResetModel()
        self.rows = rows
        self.endResetModel()

    def tint(self, tints: dict[int, QColor]) -> None:
        """Give the rows of some positions a background."""
        if tints != self.tints:
            self.tints = tints
            self.repaint()

    def repaint(self) -> None:
        """Have all rows drawn again."""
        if self.rows:
            self.dataChanged.emit(
                self.index(0, 0), self.index(len(self.rows) - 1, len(self.columns) - 1)
            )

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        """Return the number of rows."""
        return 0 if parent.isValid() else len(self.rows)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        """Return a cell's text, tint, alignment or tooltip."""
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
