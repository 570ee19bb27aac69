"""A small table of positions with hover, selection and removable rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from PySide6.QtCore import QEvent, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QCursor,
    QFocusEvent,
    QKeyEvent,
    QKeySequence,
    QMouseEvent,
    QResizeEvent,
)
from PySide6.QtWidgets import QAbstractItemView, QFrame, QHeaderView, QTableView

from gui.style.theme import Theme
from gui.widgets.position_rows import REMOVE, Column, Index, PositionRows, Row, set_up_rows

ROW_HEIGHT = 20
MARGINS = 8
"""Space that Qt keeps free at both sides of a cell's text, together, in pixels."""

_BY_TAB = (Qt.FocusReason.TabFocusReason, Qt.FocusReason.BacktabFocusReason)
_NAVIGATION = (Qt.Key.Key_Up, Qt.Key.Key_Down, Qt.Key.Key_PageUp, Qt.Key.Key_PageDown)


class PositionTableView(QTableView):
    """Positions in rows.

    Parameters
    ----------
    columns
        Titles, tips and widths.
    tip
        Tooltip of rows; ``{position}`` is replaced by a row's position.
    header
        Whether to show the columns' titles.
    min_rows
        Minimum height in rows, so that nothing moves when there are fewer.
    scrolls_from
        With more rows than this the table may be lower than its rows and scroll; 0 for a table
        that is always shown in full.

    Attributes
    ----------
    widths
        Width of each column in pixels, at least that of its longest number; 0 for one that takes
        a share of the remaining width.
    """

    # The position under the mouse, or None when the mouse has left the rows.
    hovered = Signal(object)
    # A row was clicked, or Enter was pressed on it; with the keyboard modifiers.
    chosen = Signal(int, object)
    # A tuple of positions to remove: by the × of a row, or Delete on the marked rows.
    removed = Signal(object)

    def __init__(
        self,
        columns: Sequence[Column],
        tip: str,
        *,
        header: bool = True,
        min_rows: int = 0,
        scrolls_from: int = 0,
    ) -> None:
        super().__init__()
        self._min_rows, self._scrolls_from = min_rows, scrolls_from
        self._hover: int | None = None
        self._requested: int | None = None
        self._rows = PositionRows(columns, tip, self)
        self.widths = [column.width for column in columns]
        self.setModel(self._rows)
        self._set_up_look(columns, header)
        self.setMouseTracking(True)
        self.viewport().setCursor(Qt.CursorShape.PointingHandCursor)

    @property
    def rows(self) -> tuple[Row, ...]:
        """The shown rows."""
        return self._rows.rows

    def name_rows(self, title: str) -> None:
        """Set the title of the first column: what rows are."""
        self._rows.name_rows(title)

    def set_rows(self, rows: Iterable[Row]) -> None:
        """Set the rows; the height follows their number."""
        new = tuple(rows)
        if new == self._rows.rows:
            return
        if [row.position for row in new] != [row.position for row in self._rows.rows]:
            self.clearSelection()
        resized = len(new) != len(self._rows.rows)
        self._rows.replace(new)
        self._fit_numbers()
        if resized:
            self._fit_height()
        if self._hover is not None:
            # The mouse has not moved, but another position is under it now.
            self._set_hover(self._position_at_mouse())

    def show_row(self, position: int) -> None:
        """Scroll to the row of a position."""
        self._requested = position
        for i, row in enumerate(self.rows):
            if row.position == position:
                self.scrollTo(self._rows.index(i, 0))
                return

    def set_tints(self, hover: int | None, selected: Iterable[int], theme: Theme) -> None:
        """Tint the rows of the hovered and of the selected positions."""
        shown = {row.position for row in self._rows.rows}
        tints = {at: translucent(theme.accent, 44) for at in selected if at in shown}
        if hover in shown:
            tints[hover] = translucent(theme.hover, 72)
        self._rows.tint(tints)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Keep the requested row visible: a new list gets its height only now."""
        super().resizeEvent(event)
        if self._requested is not None:
            self.show_row(self._requested)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        super().mouseMoveEvent(event)
        self._set_hover(self._position_at(self.indexAt(event.position().toPoint())))

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
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
        super().leaveEvent(event)
        self._set_hover(None)

    def focusInEvent(self, event: QFocusEvent) -> None:
        """Mark the first row when the focus comes by Tab, so that it is visible."""
        super().focusInEvent(event)
        if event.reason() in _BY_TAB and self.rows and not self.selectionModel().hasSelection():
            self.selectRow(0)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        if event.reason() in _BY_TAB:
            self.clearSelection()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Enter chooses the marked row, Delete removes the marked rows."""
        marked = tuple(self.rows[i.row()].position for i in self.selectionModel().selectedRows())
        if event.key() in (Qt.Key.Key_Delete, Qt.Key.Key_Backspace) and self._removable:
            if marked:
                self.removed.emit(marked)
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            if marked:
                self.chosen.emit(marked[-1], event.modifiers())
        elif event.key() in _NAVIGATION or event.matches(QKeySequence.StandardKey.SelectAll):
            super().keyPressEvent(event)
        else:
            # Not QTableView's search and navigation; the window has commands for these keys.
            event.ignore()

    @property
    def _removable(self) -> bool:
        return any(row.cells[-1] == REMOVE for row in self.rows[:1])

    def _position_at(self, index: Index) -> int | None:
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
            "QHeaderView { background: transparent; }"
            "QHeaderView::section { padding: 0 4px 0 1px; }"  # the text's size is the app's
        )
        set_up_rows(self, ROW_HEIGHT)
        self.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        if not self._scrolls_from:
            self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        titles = self.horizontalHeader()
        titles.setVisible(header)
        titles.setFixedHeight(ROW_HEIGHT)
        titles.setMinimumSectionSize(16)
        for i, column in enumerate(columns):
            mode = QHeaderView.ResizeMode.Fixed if column.width else QHeaderView.ResizeMode.Stretch
            titles.setSectionResizeMode(i, mode)
            if column.width:
                titles.resizeSection(i, column.width)
        self._fit_height()

    def _fit_numbers(self) -> None:
        """Widen columns of numbers that would be elided; long names are elided instead."""
        measure = self.fontMetrics().horizontalAdvance
        for at, column in enumerate(self._rows.columns):
            if column.width and column.title and not column.left:
                longest = max((row.cells[at] for row in self.rows), key=len, default="")
                self.widths[at] = max(column.width, measure(longest) + MARGINS)
                self.setColumnWidth(at, self.widths[at])

    def _fit_height(self) -> None:
        count = max(len(self._rows.rows), self._min_rows)
        lowest = min(count, self._scrolls_from) if self._scrolls_from else count
        header = ROW_HEIGHT if not self.horizontalHeader().isHidden() else 0
        self.setMinimumHeight(header + lowest * ROW_HEIGHT)
        self.setMaximumHeight(header + count * ROW_HEIGHT)


def translucent(color: str, alpha: int) -> QColor:
    """Return a colour with an opacity of 0 to 255."""
    tone = QColor(color)
    tone.setAlpha(alpha)
    return tone
