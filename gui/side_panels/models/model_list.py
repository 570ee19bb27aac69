"""The list of models: headings and lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import chain

from PySide6.QtCore import QModelIndex, QPoint, QRect, Qt, Signal
from PySide6.QtGui import (
    QContextMenuEvent,
    QFocusEvent,
    QKeyEvent,
    QKeySequence,
    QResizeEvent,
    QStandardItem,
    QStandardItemModel,
)
from PySide6.QtWidgets import QAbstractItemView, QListView, QPushButton, QWidget

from gui.side_panels.models.model_delegate import ROLE, ModelDelegate
from gui.side_panels.models.model_line import Group, ModelLine
from gui.style.theme import GRID, Theme
from gui.widgets.label import without_keys
from gui.widgets.position_rows import MOVES
from gui.widgets.tooltips import wrapped

HEIGHT = 25
"""Of the offer to search the Hub, in pixels."""
_INDENT = 22
"""Left edge of the list's titles."""


class ModelList(QListView):
    """Lines under headings. A click on a line, or Enter on the current one, chooses it."""

    chosen = Signal(object)
    """The :class:`~gui.side_panels.models.model_line.ModelLine` that was clicked or entered."""
    menuRequested = Signal(object, QPoint)
    """A line, and the position of its menu on the screen."""
    copyRequested = Signal(object)
    """The line with the source to copy."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._items = QStandardItemModel(self)
        self._groups: tuple[Group, ...] = ()
        self._held = False
        self._searching = ""
        self._placing = False
        self.offer = StickyOffer(theme, self)
        self._delegate = ModelDelegate(theme, self)
        self.setModel(self._items)
        self.setItemDelegate(self._delegate)
        self.setResizeMode(QListView.ResizeMode.Adjust)
        self.setMouseTracking(True)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setAccessibleName("Models")
        self.clicked.connect(self._choose)
        self.offer.clicked.connect(lambda: self.chosen.emit(self.offer.line))
        self.verticalScrollBar().valueChanged.connect(self._place_offer)
        self.verticalScrollBar().rangeChanged.connect(self._place_offer)

    def set_theme(self, theme: Theme) -> None:
        self._delegate.theme = theme
        self.offer.set_theme(theme)
        self.viewport().update()

    def show_groups(self, groups: Sequence[Group], *, searched: bool = False) -> None:
        """Set the lines.

        ``searched`` is whether they belong to another search: then they are shown from the top,
        with the preferred line as the current one; without a search, with the open model visible.
        """
        self._show_groups(groups, searched=searched)
        self._place_offer()

    def _show_groups(self, groups: Sequence[Group], *, searched: bool) -> None:
        groups, before = tuple(groups), self._groups
        if groups == before and not searched:
            return
        current, top = self._current(), self.verticalScrollBar().value()
        opened, visible = self._open_keys(), self._open_is_visible()
        asking = _group_of(before, current) if current and current.kind == "search" else ""
        self._groups = groups
        if groups != before:
            self._fill()
        preferred = [line for line in self.lines() if line.preferred]
        if searched:
            self._searching = ""
            self.scrollToTop()
            self._go_to(preferred)
            if not preferred:
                self._scroll_to_open()
            return
        self.verticalScrollBar().setValue(top)
        same = [line for line in self.lines() if current is not None and line.key == current.key]
        self._go_to(same if same and (self.hasFocus() or not preferred) else preferred)
        if asking and not same:
            self._show_searching(asking)
        elif title := self._searching:
            if _lines_of(groups, title) == _lines_of(before, title):
                self._show_searching(title)
            else:
                self._show_results()
        elif visible or opened != self._open_keys():
            self._scroll_to_open()

    def lines(self) -> tuple[ModelLine, ...]:
        """Return the shown lines, including notes."""
        return tuple(_lines(self._groups))

    def open_lines(self) -> tuple[ModelLine, ...]:
        """Return the lines of the open model."""
        return tuple(line for line in self.lines() if line.is_open)

    def rect_of(self, source: str) -> QRect:
        """Return the rectangle of a source's line in the viewport; empty if it is not shown."""
        for index in self._indexes():
            if index.data(ROLE).source == source:
                return self.visualRect(index)
        return QRect()

    def choose_preferred(self) -> None:
        """Choose the line for Enter in the search field."""
        line = next((line for line in self.lines() if line.preferred), None)
        if line is not None:
            self.chosen.emit(line)

    def enter(self) -> None:
        """Take the focus, with the first line current if none is."""
        self.setFocus(Qt.FocusReason.TabFocusReason)
        if self._current() is None:
            self._go_to([line for line in self.lines() if line.kind != "note"])

    def focusInEvent(self, event: QFocusEvent) -> None:
        """Make a line current when the focus comes by Tab, so that it is visible."""
        super().focusInEvent(event)
        if event.reason() in (Qt.FocusReason.TabFocusReason, Qt.FocusReason.BacktabFocusReason):
            self.enter()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Enter chooses the current line, Ctrl+C copies it."""
        line = self._current()
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self._choose(self.currentIndex())
        elif event.matches(QKeySequence.StandardKey.Copy):
            if line is not None:
                self.copyRequested.emit(line)
        elif event.key() in MOVES:
            super().keyPressEvent(event)
            # At an end, too; otherwise the window would step along the curve.
            event.accept()
        else:  # such as 0 to 9, by which Qt would search for a line
            event.ignore()

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        by_mouse = event.reason() == QContextMenuEvent.Reason.Mouse
        index = self.indexAt(event.pos()) if by_mouse else self.currentIndex()
        line = index.data(ROLE)
        if isinstance(line, ModelLine) and line.kind != "note":
            self.scrollTo(index)
            at = event.pos() if by_mouse else self.visualRect(index).bottomLeft()
            self.menuRequested.emit(line, self.viewport().mapToGlobal(at))

    def moveCursor(
        self, action: QAbstractItemView.CursorAction, modifiers: Qt.KeyboardModifier
    ) -> QModelIndex:
        """Skip headings and notes at the ends."""
        step = QAbstractItemView.CursorAction
        indexes = [index for index in self._indexes() if index.data(ROLE).kind != "note"]
        if not indexes or action not in (step.MoveHome, step.MoveEnd):
            return super().moveCursor(action, modifiers)
        if action == step.MoveHome:
            self.scrollToTop()
            return indexes[0]
        return indexes[-1]

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if not self._held:
            self._scroll_to_open()
        self._place_offer()

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keep the scroll position while the height changes."""
        self._held = True
        try:
            yield
        finally:
            self._held = False

    def _place_offer(self) -> None:
        """Show the offer to search the Hub under the list while its line is not visible."""
        if self._placing:
            return
        line = next((line for line in self.lines() if line.kind == "search"), None)
        self._placing = True  # changing the margins calls this again
        try:
            beyond = line is not None and self._is_beyond(line)
            with self.held():
                self.setViewportMargins(0, 0, 0, HEIGHT if beyond else 0)
            if line is None or not beyond:
                self.offer.hide()
                return
            room = self.viewport().geometry()
            self.offer.setGeometry(room.left(), room.bottom() + 1, room.width(), HEIGHT)
            self.offer.show_line(line)
        finally:
            self._placing = False

    def _is_beyond(self, line: ModelLine) -> bool:
        """Return whether a line ends below the viewport."""
        rects = [self.visualRect(i) for i in self._indexes() if i.data(ROLE).key == line.key]
        return any(rect.bottom() > self.viewport().rect().bottom() for rect in rects)

    # -- rows --------------------------------------------------------------------------------

    def _fill(self) -> None:
        self._items.clear()
        for group in self._groups:
            heading = QStandardItem(group.title)
            heading.setFlags(Qt.ItemFlag.NoItemFlags)
            heading.setData(group, ROLE)
            self._items.appendRow(heading)
            for line in group.lines:
                self._items.appendRow(_item(line))

    def _indexes(self, kind: type[ModelLine | Group] = ModelLine) -> list[QModelIndex]:
        """Return the indexes of lines, or of headings."""
        indexes = (self._items.index(row, 0) for row in range(self._items.rowCount()))
        return [index for index in indexes if isinstance(index.data(ROLE), kind)]

    def _current(self) -> ModelLine | None:
        row = self.currentIndex().data(ROLE)
        return row if isinstance(row, ModelLine) else None

    def _open_keys(self) -> list[tuple[str, str]]:
        return [line.key for line in self.open_lines()]

    def _open_is_visible(self) -> bool:
        room = self.viewport().rect()
        rects = [self.visualRect(i) for i in self._indexes() if i.data(ROLE).is_open]
        return any(room.intersects(rect) for rect in rects)

    def _go_to(self, lines: Sequence[ModelLine]) -> None:
        """Make the first of some lines current, or none."""
        wanted = lines[0].key if lines else None
        matching = [index for index in self._indexes() if index.data(ROLE).key == wanted]
        self.setCurrentIndex(matching[0] if matching else QModelIndex())

    def _show_searching(self, title: str) -> None:
        """Show that a search is running; there is no current line meanwhile."""
        self._searching = title
        if self._is_in_use():
            self._go_to([])
        heading = self._heading_of(title)
        self.scrollTo(heading.siblingAtRow(heading.row() + 1))

    def _show_results(self) -> None:
        """Show the results of a search, with the first one as the current line."""
        title, self._searching = self._searching, ""
        if self._is_in_use():
            self._go_to([line for line in _lines_of(self._groups, title) if line.kind != "note"])
        self.scrollTo(self._heading_of(title), QAbstractItemView.ScrollHint.PositionAtTop)

    def _is_in_use(self) -> bool:
        """Return whether the list has the focus of its window, which may be inactive."""
        return self.window().focusWidget() is self

    def _heading_of(self, title: str) -> QModelIndex:
        headings = (index for index in self._indexes(Group) if index.data(ROLE).title == title)
        return next(headings, QModelIndex())

    def _scroll_to_open(self) -> None:
        for index in self._indexes():
            if index.data(ROLE).is_open:
                self.scrollTo(index)

    def _choose(self, index: QModelIndex) -> None:
        line = index.data(ROLE)
        if isinstance(line, ModelLine) and line.kind != "note":
            self.chosen.emit(line)


class StickyOffer(QPushButton):
    """A copy of a line under the list, for the mouse, while the line itself is not visible."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self.line: ModelLine | None = None
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setFixedHeight(HEIGHT)
        self.setAccessibleName("Search the Hub")
        self.setToolTip("Search the Hub for the text typed above")
        self.set_theme(theme)
        self.hide()

    def set_theme(self, theme: Theme) -> None:
        self.setStyleSheet(
            f"QPushButton {{ background: {theme.field}; color: {theme.text}; text-align: left;"
            f" border: none; border-top: 1px solid {theme.line}; border-radius: 0;"
            f" padding: 0 {GRID}px 0 {_INDENT}px; min-height: 0; }}"
            f"QPushButton:hover {{ background: {theme.line}; }}"
        )

    def show_line(self, line: ModelLine) -> None:
        """Show a line."""
        self.line = line
        self.setAccessibleName(line.title)
        self.setToolTip(wrapped(f"{line.title}\n{line.tip}"))
        self._elide()
        self.show()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._elide()

    def _elide(self) -> None:
        if self.line is not None:
            room = self.width() - _INDENT - GRID
            metrics = self.fontMetrics()
            text = metrics.elidedText(self.line.title, Qt.TextElideMode.ElideMiddle, room)
            self.setText(without_keys(text))


def _lines(groups: Sequence[Group]) -> chain[ModelLine]:
    return chain.from_iterable(group.lines for group in groups)


def _lines_of(groups: Sequence[Group], title: str) -> tuple[ModelLine, ...]:
    return tuple(_lines([group for group in groups if group.title == title]))


def _group_of(groups: Sequence[Group], line: ModelLine) -> str:
    return next((group.title for group in groups if line in group.lines), "")


def _item(line: ModelLine) -> QStandardItem:
    item = QStandardItem(line.title)
    item.setData(line, ROLE)
    item.setToolTip(wrapped(line.tip))
    item.setAccessibleDescription(line.state)
    if line.kind == "note":
        item.setFlags(Qt.ItemFlag.NoItemFlags)
    return item
