"""Table models: columns with titles, tooltips and alignment; positions in rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QPersistentModelIndex, Qt
from PySide6.QtGui import QColor, QPixmap
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTableView, QWidget

from gui.style.theme import GRID
from gui.widgets.table_text import Column, Row
from gui.widgets.tooltips import wrapped

Index = QModelIndex | QPersistentModelIndex
MOVES = (
    Qt.Key.Key_Up,
    Qt.Key.Key_Down,
    Qt.Key.Key_PageUp,
    Qt.Key.Key_PageDown,
    Qt.Key.Key_Home,
    Qt.Key.Key_End,
)
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


def rows_style(titles: str) -> str:
    """Return the style of rows on the panel's background, and of their column titles."""
    return (
        "QTableView { background: transparent; }"
        # Qt adds a margin of 3 px to items.
        f"QTableView::item {{ padding: 0 {GRID - 3}px; }}"
        "QHeaderView { background: transparent; }"
        f"QHeaderView::section {{ {titles} }}"
    )


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


class TextRows(TitledRows):
    """Rows of texts, each with a tooltip; subclasses set them."""

    cells: tuple[tuple[str, ...], ...] = ()
    tips: tuple[str, ...] = ()

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008, Qt's signature
        return 0 if parent.isValid() else len(self.cells)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        row, column = index.row(), index.column()
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return self.cells[row][column]
            case Qt.ItemDataRole.ToolTipRole:
                return wrapped(self.tips[row])
            case Qt.ItemDataRole.TextAlignmentRole:
                return self.alignment(column)
        return None


REMOVE = "×"
"""Text of a cell that removes its row."""


class PositionRows(TitledRows):
    """Rows that are replaced in place: an unchanged number of rows needs no reset."""

    def __init__(self, columns: Sequence[Column], tip: str, parent: QWidget) -> None:
        super().__init__(columns, parent)
        self.rows: tuple[Row, ...] = ()
        self.tints: dict[int, QColor] = {}
        self.shapes: dict[int, QPixmap] = {}
        self._tip = tip

    def name_rows(self, title: str) -> None:
        """Set the title of the first column: what rows are."""
        first, *others = self.columns
        if first.title != title:
            self.columns = (replace(first, title=title), *others)
            self.headerDataChanged.emit(Qt.Orientation.Horizontal, 0, 0)

    def replace(self, rows: tuple[Row, ...]) -> None:
        """Set the rows."""
        if len(rows) == len(self.rows):
            self.rows = rows
            self.repaint()
            return
        self.beginResetModel()
        self.rows = rows
        self.endResetModel()

    def tint(self, tints: dict[int, QColor], shapes: dict[int, QPixmap] | None = None) -> None:
        """Set the background of some positions' rows, and pictures in front of them."""
        if tints != self.tints:
            self.tints, self.shapes = tints, shapes or {}
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
            case Qt.ItemDataRole.DecorationRole if column == 0:
                return self.shapes.get(row.position)
            case Qt.ItemDataRole.TextAlignmentRole:
                return self.alignment(column)
            case Qt.ItemDataRole.ToolTipRole:
                if text == REMOVE:
                    return wrapped(f"Remove position {row.position} from the selection (Delete)")
                return wrapped(self._tip.format(position=row.position))
        return None
