"""Base of table models: columns with titles, tooltips and alignment."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QPersistentModelIndex, Qt
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTableView, QWidget

from gui.widgets.table_text import Column
from gui.widgets.tooltips import wrapped

Index = QModelIndex | QPersistentModelIndex
MOVES = (
    Qt.Key.Key_Up, Qt.Key.Key_Down, Qt.Key.Key_PageUp, Qt.Key.Key_PageDown, Qt.Key.Key_Home,
    Qt.Key.Key_End,
)  # fmt: skip
"""Keys that move the current row."""


def set_up_rows(view: QTableView, row_height: int) -> None:
    """Make a table a read-only list of rows of one height, without a grid."""
    view.setShowGrid(False)
    view.setWordWrap(False)
    view.setTabKeyNavigation(False)
    view.setCornerButtonEnabled(False)
    view.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
    view.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
    rows = view.verticalHeader()
    rows.hide()
    rows.setMinimumSectionSize(row_height)
    rows.setDefaultSectionSize(row_height)
    rows.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
    view.horizontalHeader().setHighlightSections(False)
    view.horizontalHeader().setSectionsClickable(False)


class TitledRows(QAbstractTableModel):
    """A table model with column titles; subclasses define the rows."""

    def __init__(self, columns: Sequence[Column], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.columns = tuple(columns)

    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008, Qt's signature
        return 0 if parent.isValid() else len(self.columns)

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> object:
        if orientation is not Qt.Orientation.Horizontal:
            return None
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return self.columns[section].title
            case Qt.ItemDataRole.ToolTipRole:
                return wrapped(self.columns[section].tip)
            case Qt.ItemDataRole.TextAlignmentRole:
                return self.alignment(section)
        return None

    def alignment(self, column: int) -> Qt.AlignmentFlag:
        """Return a column's alignment: numbers right, symbols centred."""
        if self.columns[column].title == "":
            return Qt.AlignmentFlag.AlignCenter
        left, right = Qt.AlignmentFlag.AlignLeft, Qt.AlignmentFlag.AlignRight
        side = left if self.columns[column].left else right
        return side | Qt.AlignmentFlag.AlignVCenter
