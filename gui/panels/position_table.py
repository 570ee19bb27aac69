"""A small table whose rows are positions: hover tells, a click selects, marks can be removed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from PySide6.QtCore import (
    QAbstractTableModel,
    QEvent,
    QModelIndex,
    QPersistentModelIndex,
    Qt,
    Signal,
)
from PySide6.QtGui import QColor, QCursor, QKeyEvent, QMouseEvent, QResizeEvent
from PySide6.QtWidgets import QAbstractItemView, QFrame, QHeaderView, QTableView, QWidget

from gui.theme import SMALL, Theme

ROW_HEIGHT = 20
REMOVE = "×"

_Index = QModelIndex | QPersistentModelIndex


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its title, what the title means, a width in pixels (0 shares what is left)."""

    title: str
    tip: str
    width: int = 0
    left: bool = False


@dataclass(frozen=True, slots=True)
class Row:
    """A row: the position it stands for, and the text of each cell."""

    position: int
    cells: tuple[str, ...]


class _Rows(QAbstractTableModel):
    """Rows replaced in place: as many rows as before is a repaint and not a reset."""

    def __init__(self, columns: Sequence[Column], tip: str, parent: QWidget) -> None:
        super().__init__(parent)
        self.columns = tuple(columns)
        self.rows: tuple[Row, ...] = ()
        self.tints: dict[int, QColor] = {}
        self._tip = tip

    def replace(self, rows: tuple[Row, ...]) -> None:
        if len(rows) == len(self.rows):
            self.rows = rows
            self.repaint()
            return
        self.beginResetModel()
        self.rows = rows
        self.endResetModel()

    def tint(self, tints: dict[int, QColor]) -> None:
        if tints != self.tints:
            self.tints = tints
            self.repaint()

    def repaint(self) -> None:
        if self.rows:
            self.dataChanged.emit(
                self.index(0, 0), self.index(len(self.rows) - 1, len(self.columns) - 1)
            )

    def rowCount(self, parent: _Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else len(self.rows)

    def columnCount(self, parent: _Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else len(self.columns)

    def data(self, index: _Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        row, column = self.rows[index.row()], index.column()
        text = row.cells[column]
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return text
            case Qt.ItemDataRole.BackgroundRole:
                return self.tints.get(row.position)
            case Qt.ItemDataRole.TextAlignmentRole:
                return self._alignment(column)
            case Qt.ItemDataRole.ToolTipRole:
                if text == REMOVE:
                    return f"Take position {row.position} out of the selection (Delete)"
                return self._tip.format(position=row.position)
        return None

    def headerData(
        self,
        section: int,
        orientation: Qt.Orientation,
        role: int = Qt.ItemDataRole.DisplayRole,
    ) -> Any:
        if orientation is not Qt.Orientation.Horizontal:
            return None
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return self.columns[section].title
            case Qt.ItemDataRole.ToolTipRole:
                return self.columns[section].tip
            case Qt.ItemDataRole.TextAlignmentRole:
                return self._alignment(section)
        return None

    def _alignment(self, column: int) -> Qt.AlignmentFlag:
        if self.columns[column].title == "":
            return Qt.AlignmentFlag.AlignCenter
        side = (
            Qt.AlignmentFlag.AlignLeft
            if self.columns[column].left
            else (Qt.AlignmentFlag.AlignRight)
        )
        return side | Qt.AlignmentFlag.AlignVCenter


class PositionTable(QTableView):
    """Positions in rows.

    Signals
    -------
    hovered(object)
        The position under the mouse, or None when the mouse has left the rows.
    chosen(int, object)
        A row was clicked, or Enter was pressed on it; with the keyboard modifiers.
    removed(object)
        A tuple of positions to take out: the × of a row, or Delete on the marked rows.
    """

    hovered = Signal(object)
    chosen = Signal(int, object)
    removed = Signal(object)

    def __init__(
        self,
        columns: Sequence[Column],
        tip: str,
        *,
        header: bool = True,
        least_rows: int = 0,
        most_rows: int = 0,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._least_rows, self._most_rows = least_rows, most_rows
        self._hover: int | None = None
        self._in_sight: int | None = None
        self._rows = _Rows(columns, tip, self)
        self.setModel(self._rows)
        self._set_up_look(columns, header)
        self.setMouseTracking(True)
        self.viewport().setCursor(Qt.CursorShape.PointingHandCursor)

    @property
    def rows(self) -> tuple[Row, ...]:
        """The rows shown."""
        return self._rows.rows

    def set_rows(self, rows: Iterable[Row]) -> None:
        """Show other rows; the height follows their number between least and most rows."""
        new = tuple(rows)
        if new == self._rows.rows:
            return
        if [row.position for row in new] != [row.position for row in self._rows.rows]:
            self.clearSelection()
        resized = len(new) != len(self._rows.rows)
        self._rows.replace(new)
        if resized:
            self._fit_height()
        if self._hover is not None:
            # The mouse rests where it was, but another position has come under it.
            self._set_hover(self._position_at_mouse())

    def show_row(self, position: int) -> None:
        """Scroll until the row of a position can be seen."""
        self._in_sight = position
        for i, row in enumerate(self.rows):
            if row.position == position:
                self.scrollTo(self._rows.index(i, 0))
                return

    def set_tints(self, hover: int | None, selected: Iterable[int], theme: Theme) -> None:
        """Tint the rows of the hovered and of the selected positions."""
        shown = {row.position for row in self._rows.rows}
        tints = {position: _tone(theme.accent, 44) for position in selected if position in shown}
        if hover in shown:
            tints[hover] = _tone(theme.hover, 72)
        self._rows.tint(tints)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Keep the row in sight that was asked for: a new list gets its height only now."""
        super().resizeEvent(event)
        if self._in_sight is not None:
            self.show_row(self._in_sight)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Point out the position under the mouse."""
        super().mouseMoveEvent(event)
        self._set_hover(self._position_at(self.indexAt(event.position().toPoint())))

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """Choose or take out the position that was clicked."""
        super().mouseReleaseEvent(event)
        index = self.indexAt(event.position().toPoint())
        position = self._position_at(index)
        if position is None or event.button() is not Qt.MouseButton.LeftButton:
            return
        if index.data() == REMOVE:
            self.removed.emit((position,))
        else:
            self.chosen.emit(position, event.modifiers())

    def leaveEvent(self, event: QEvent) -> None:
        """Point out nothing any more."""
        super().leaveEvent(event)
        self._set_hover(None)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Enter chooses the marked row, Delete takes the marked rows out."""
        marked = tuple(self.rows[i.row()].position for i in self.selectionModel().selectedRows())
        if event.key() in (Qt.Key.Key_Delete, Qt.Key.Key_Backspace) and self._removable:
            if marked:
                self.removed.emit(marked)
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            if marked:
                self.chosen.emit(marked[-1], event.modifiers())
        else:
            super().keyPressEvent(event)

    @property
    def _removable(self) -> bool:
        return any(row.cells[-1] == REMOVE for row in self.rows[:1])

    def _position_at(self, index: _Index) -> int | None:
        return self.rows[index.row()].position if index.isValid() else None

    def _position_at_mouse(self) -> int | None:
        spot = self.viewport().mapFromGlobal(QCursor.pos())
        inside = self.viewport().rect().contains(spot)
        return self._position_at(self.indexAt(spot)) if inside else None

    def _set_hover(self, position: int | None) -> None:
        if position != self._hover:
            self._hover = position
            self.hovered.emit(position)

    def _set_up_look(self, columns: Sequence[Column], header: bool) -> None:
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setStyleSheet(
            "QTableView { border: none; background: transparent; }"
            f"QHeaderView {{ background: transparent; }}"
            f"QHeaderView::section {{ padding: 0 4px; font-size: {SMALL}px; }}"
        )
        self.setShowGrid(False)
        self.setWordWrap(False)
        self.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        self.setCornerButtonEnabled(False)
        self.setTabKeyNavigation(False)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        if not self._most_rows:
            self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.verticalHeader().hide()
        self.verticalHeader().setMinimumSectionSize(ROW_HEIGHT)
        self.verticalHeader().setDefaultSectionSize(ROW_HEIGHT)
        self.verticalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        titles = self.horizontalHeader()
        titles.setVisible(header)
        titles.setFixedHeight(ROW_HEIGHT)
        titles.setMinimumSectionSize(16)
        titles.setHighlightSections(False)
        titles.setSectionsClickable(False)
        for i, column in enumerate(columns):
            mode = QHeaderView.ResizeMode.Fixed if column.width else QHeaderView.ResizeMode.Stretch
            titles.setSectionResizeMode(i, mode)
            if column.width:
                titles.resizeSection(i, column.width)
        self._fit_height()

    def _fit_height(self) -> None:
        count = max(len(self._rows.rows), self._least_rows)
        if self._most_rows:
            count = min(count, self._most_rows)
        header = ROW_HEIGHT if not self.horizontalHeader().isHidden() else 0
        self.setFixedHeight(header + count * ROW_HEIGHT)


def _tone(color: str, alpha: int) -> QColor:
    tone = QColor(color)
    tone.setAlpha(alpha)
    return tone
