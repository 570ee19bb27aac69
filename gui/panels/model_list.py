"""The list of models: headings and lines, filtered by a search."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import (
    QModelIndex,
    QPersistentModelIndex,
    QRect,
    QSize,
    QSortFilterProxyModel,
    Qt,
    Signal,
)
from PySide6.QtGui import (
    QColor,
    QFocusEvent,
    QFont,
    QKeyEvent,
    QPainter,
    QResizeEvent,
    QStandardItem,
    QStandardItemModel,
)
from PySide6.QtWidgets import (
    QAbstractItemView,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTreeView,
    QWidget,
)

from gui.panels.model_rows import Group, Line, matches
from gui.theme import GRID, SMALL, TEXT, Theme
from gui.tooltips import wrapped

_Index = QModelIndex | QPersistentModelIndex
_LINE = Qt.ItemDataRole.UserRole
_OPEN = Qt.ItemDataRole.UserRole + 1
_ROW_HEIGHT, _HEADING_HEIGHT = 24, 22
_MARK = 14
"""Width of the column with the mark of the open model."""


class _Filter(QSortFilterProxyModel):
    """Lines that match a search, under their headings."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.search = ""
        self.setRecursiveFilteringEnabled(True)

    def set_search(self, search: str) -> None:
        """Show the lines that match."""
        self.search = search
        self.invalidate()

    def filterAcceptsRow(self, row: int, parent: _Index) -> bool:
        """Accept matching lines; a heading stays if one of its lines does."""
        line = self.sourceModel().index(row, 0, parent).data(_LINE)
        return isinstance(line, Line) and matches(line.haystack, self.search)


class _Delegate(QStyledItemDelegate):
    """Draws a heading, or a line: the mark of the open model, its title, its state."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self.theme = theme

    def sizeHint(self, option: QStyleOptionViewItem, index: _Index) -> QSize:
        """Return the height of a heading or of a line."""
        return QSize(100, _HEADING_HEIGHT if index.data(_LINE) is None else _ROW_HEIGHT)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: _Index) -> None:
        """Draw one row."""
        painter.save()
        line = index.data(_LINE)
        room = QRect(option.rect).adjusted(GRID, 0, -GRID, 0)
        if line is None:
            self._text(painter, room, index.data(), SMALL, self.theme.muted, heavy=True)
        else:
            state = QStyle.StateFlag
            if option.state & (state.State_Selected | state.State_MouseOver):
                painter.fillRect(option.rect, QColor(self.theme.line))
            self._line(painter, room, line, bool(index.data(_OPEN)))
        painter.restore()

    def _line(self, painter: QPainter, room: QRect, line: Line, is_open: bool) -> None:
        theme = self.theme
        if is_open:
            self._text(painter, room, "●", SMALL, theme.text)
        room.setLeft(room.left() + _MARK)
        tone = theme.text if line.here else theme.muted
        used = self._text(painter, room, line.title, TEXT, tone, heavy=is_open)
        room.setLeft(room.left() + used + GRID)
        word = "open" if is_open and line.state in ("here", "cached") else line.state
        self._text(painter, room, word, SMALL, theme.muted, right=True)

    def _text(
        self,
        painter: QPainter,
        room: QRect,
        text: str,
        pixels: int,
        color: str,
        *,
        heavy: bool = False,
        right: bool = False,
    ) -> int:
        """Draw one elided text; return the width it took."""
        font = QFont(painter.font())
        font.setPixelSize(pixels)
        font.setWeight(QFont.Weight.DemiBold if heavy else QFont.Weight.Normal)
        painter.setFont(font)
        painter.setPen(QColor(color))
        shown = painter.fontMetrics().elidedText(
            text, Qt.TextElideMode.ElideRight, max(0, room.width())
        )
        side = Qt.AlignmentFlag.AlignRight if right else Qt.AlignmentFlag.AlignLeft
        painter.drawText(room, side | Qt.AlignmentFlag.AlignVCenter, shown)
        return painter.fontMetrics().horizontalAdvance(shown)


class ModelList(QTreeView):
    """Lines under headings. A click on a line, or Enter on the current one, chooses it."""

    chosen = Signal(object)
    """The :class:`~gui.panels.model_rows.Line` that was clicked or entered."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._items = QStandardItemModel(self)
        self._filter = _Filter(self)
        self._filter.setSourceModel(self._items)
        self._delegate = _Delegate(theme, self)
        self._open = ""
        self._new = False
        self.setModel(self._filter)
        self.setItemDelegate(self._delegate)
        self.setHeaderHidden(True)
        self.setRootIsDecorated(False)
        self.setItemsExpandable(False)
        self.setIndentation(0)
        self.setMouseTracking(True)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setAccessibleName("Models")
        self.clicked.connect(self._choose)

    def set_theme(self, theme: Theme) -> None:
        """Take new colours."""
        self._delegate.theme = theme
        self.viewport().update()

    def show_groups(self, groups: Sequence[Group]) -> None:
        """Show other lines."""
        self._items.clear()
        for group in groups:
            heading = QStandardItem(group.title)
            heading.setFlags(Qt.ItemFlag.ItemIsEnabled)
            for line in group.lines:
                heading.appendRow(self._item(line))
            self._items.appendRow(heading)
        self._new = True
        self.expandAll()

    def show_open(self, source: str) -> None:
        """Mark the line that is open; "" for none."""
        moved, self._open, self._new = self._new or source != self._open, source, False
        for top in range(self._items.rowCount()):
            heading = self._items.item(top)
            for row in range(heading.rowCount()):
                item = heading.child(row)
                item.setData(item.data(_LINE).source == source, _OPEN)
        if moved:
            self._scroll_to_open()

    def set_search(self, search: str) -> None:
        """Show the lines that match a search."""
        self._filter.set_search(search)
        self.expandAll()

    def lines(self) -> tuple[Line, ...]:
        """Return the lines that are shown, from the top."""
        return tuple(index.data(_LINE) for index in self._indexes())

    def open_lines(self) -> tuple[Line, ...]:
        """Return the lines that are marked as open."""
        return tuple(index.data(_LINE) for index in self._indexes() if index.data(_OPEN))

    def rect_of(self, source: str) -> QRect:
        """Return where a source's line is, in the viewport's pixels; empty if it is not shown."""
        for index in self._indexes():
            if index.data(_LINE).source == source:
                return self.visualRect(index)
        return QRect()

    def choose_first(self) -> None:
        """Choose the first line that can be opened, or else the first."""
        lines = self.lines()
        if lines:
            self.chosen.emit(next((line for line in lines if line.here), lines[0]))

    def enter(self) -> None:
        """Take the focus, with the first line current if none is."""
        self.setFocus(Qt.FocusReason.TabFocusReason)
        if self.currentIndex().data(_LINE) is None and (indexes := self._indexes()):
            self.setCurrentIndex(indexes[0])

    def focusInEvent(self, event: QFocusEvent) -> None:
        """Make a line current when the Tab key comes here, so that the focus can be seen."""
        super().focusInEvent(event)
        if event.reason() in (Qt.FocusReason.TabFocusReason, Qt.FocusReason.BacktabFocusReason):
            self.enter()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Choose the current line with Enter; otherwise walk through the list."""
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self._choose(self.currentIndex())
        else:
            super().keyPressEvent(event)

    def moveCursor(
        self, action: QAbstractItemView.CursorAction, modifiers: Qt.KeyboardModifier
    ) -> QModelIndex:
        """Step over headings."""
        target = super().moveCursor(action, modifiers)
        if not target.isValid() or target.data(_LINE) is not None:
            return target
        step = QAbstractItemView.CursorAction
        if action in (step.MoveUp, step.MovePrevious, step.MovePageUp):
            above = self.indexAbove(target)
            if above.isValid():
                return above
        return self._filter.index(0, 0, target)

    def _item(self, line: Line) -> QStandardItem:
        item = QStandardItem(line.title)
        item.setData(line, _LINE)
        item.setData(line.source == self._open, _OPEN)
        item.setToolTip(wrapped(line.tip))
        item.setAccessibleDescription(line.state)
        return item

    def _indexes(self) -> list[QModelIndex]:
        shown = self._filter
        headings = [shown.index(row, 0) for row in range(shown.rowCount())]
        return [shown.index(row, 0, top) for top in headings for row in range(shown.rowCount(top))]

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Keep the open line in sight when the list gets its height."""
        super().resizeEvent(event)
        self._scroll_to_open()

    def _scroll_to_open(self) -> None:
        for index in self._indexes():
            if index.data(_OPEN):
                self.scrollTo(index)

    def _choose(self, index: QModelIndex) -> None:
        line = index.data(_LINE)
        if line is not None:
            self.chosen.emit(line)
