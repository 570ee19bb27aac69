"""The bookmarks: saved views with pictures, names and notes."""

from __future__ import annotations

import itertools
from functools import partial

from PySide6.QtCore import QPoint, QSize, Qt, QTimer, Signal
from PySide6.QtWidgets import QHBoxLayout, QMenu, QToolButton, QWidget

from gui.side_panels.bookmark_row import BookmarkRow
from gui.state.session import Session
from gui.state.work import Bookmark
from gui.style.theme import GRID, Theme
from gui.widgets.boxes import hbox, vbox
from gui.widgets.buttons import push_button
from gui.widgets.label import label
from gui.widgets.panel import Panel
from gui.widgets.scroll_column import ScrollColumn
from gui.widgets.tooltips import wrapped

EMPTY = (
    "No bookmarks yet. A bookmark saves the current model, range, components, colours, selection "
    "and camera. “Bookmark this view” adds one."
)
_BUTTONS = (
    ("Go to", "Restore this view and its model (Enter, or double-click the picture)"),
    ("↑", "Move this bookmark up (Alt+↑)"),
    ("↓", "Move this bookmark down (Alt+↓)"),
    ("Remove", "Remove this bookmark; this can be undone (Delete)"),
)


class BookmarksPanel(Panel):
    """A list of bookmarks, with a current one.

    Signals
    -------
    addRequested()
        Bookmark the current view.
    goRequested(str)
        Show the bookmark with this key.
    renameRequested(str, str), noteRequested(str, str)
        A key, and the new name or note.
    moveRequested(str, int)
        A key, and a number of places towards the end.
    removeRequested(str)
        Remove the bookmark with this key.
    backRequested()
        Restore the last removed bookmark.
    """

    addRequested = Signal()
    goRequested = Signal(str)
    renameRequested = Signal(str, str)
    noteRequested = Signal(str, str)
    moveRequested = Signal(str, int)
    removeRequested = Signal(str)
    backRequested = Signal()

    def __init__(self, session: Session, theme: Theme) -> None:
        super().__init__(session, theme)
        self.rows: dict[str, BookmarkRow] = {}
        self.current = ""
        self.add = push_button("Bookmark this view", "Save the current view as a bookmark")
        self.add.clicked.connect(self.addRequested)
        self.go, self.up, self.down, self.remove = map(_button, _BUTTONS)
        self.go.clicked.connect(lambda: self.goRequested.emit(self.current))
        self.up.clicked.connect(lambda: self._move(self.current, -1))
        self.down.clicked.connect(lambda: self._move(self.current, 1))
        self.remove.clicked.connect(lambda: self._remove(self.current))
        self.empty = label(EMPTY, "muted", wrap=True)
        self.removed = label(role="small")
        self.back = push_button("Undo")
        self.back.clicked.connect(self._restore)
        self._offer = QWidget()
        self._gone: list[tuple[str, str]] = []
        self._scrolling = QTimer(self, interval=0, singleShot=True)  # after the layout of new rows
        self._scrolling.timeout.connect(self._scroll_to_current)
        self._lay_out()
        self.listen(session.events.bookmarks, self._on_bookmarks_changed)
        self.listen(session.events.model, self._show_state)
        self._on_bookmarks_changed()

    def set_theme(self, theme: Theme) -> None:
        super().set_theme(theme)
        for row in self.rows.values():
            row.thumbnail.set_theme(theme)

    def release(self) -> None:
        """Emit unfinished edits, then stop listening."""
        self._scrolling.stop()
        for row in tuple(self.rows.values()):
            row.commit()
        super().release()

    def choose(self, key: str) -> None:
        """Make a bookmark the current one, and scroll to it; the focus stays."""
        if key in self.rows:
            self._on_chosen(key)
            self._scrolling.start()

    def setFocus(self, reason: Qt.FocusReason = Qt.FocusReason.OtherFocusReason) -> None:
        """Give the focus to the current bookmark, or to the button for the first one."""
        row = self.rows.get(self.current)
        (self.add if row is None else row.thumbnail).setFocus(reason)

    def minimumSizeHint(self) -> QSize:
        return QSize(200, 160)

    def sizeHint(self) -> QSize:
        return QSize(280, 280)

    # ---- the session has changed ---------------------------------------------------------

    def _on_bookmarks_changed(self) -> None:
        bookmarks = self.session.bookmarks
        order = [bookmark.key for bookmark in bookmarks]
        if self.current not in order:
            self.current = self._neighbour(order)
        for key in [key for key in self.rows if key not in order]:
            row = self.rows.pop(key)
            row.hide()
            row.deleteLater()
        for index, bookmark in enumerate(bookmarks):
            row = self.rows.get(bookmark.key) or self._make_row(bookmark)
            row.show_bookmark(bookmark)
            if self._list.indexOf(row) != index:
                self._list.insertWidget(index, row)
        self.rows = {key: self.rows[key] for key in order}
        self._order_tabs()
        self._show_state()
        self._show_offer()

    def _order_tabs(self) -> None:
        parts = [part for row in self.rows.values() for part in row.parts]
        for part, following in itertools.pairwise((self.add, *parts, self.go)):
            QWidget.setTabOrder(part, following)

    def _neighbour(self, order: list[str]) -> str:
        """Return the new current bookmark after a removal."""
        before = list(self.rows)
        at = before.index(self.current) if self.current in before else 0
        left = [key for key in (*before[at:], *reversed(before[:at])) if key in order]
        return (left or order or [""])[0]

    def _make_row(self, bookmark: Bookmark) -> BookmarkRow:
        key = bookmark.key
        row = self.rows[key] = BookmarkRow(self.theme)
        row.thumbnail.show_picture(bookmark.picture)
        row.thumbnail.chosen.connect(partial(self._on_chosen, key))
        row.thumbnail.opened.connect(partial(self.goRequested.emit, key))
        row.thumbnail.stepped.connect(partial(self._step, key))
        row.thumbnail.moved.connect(partial(self._move, key))
        row.thumbnail.removed.connect(partial(self._remove, key))
        row.nameEdited.connect(partial(self.renameRequested.emit, key))
        row.noteEdited.connect(partial(self.noteRequested.emit, key))
        row.menuRequested.connect(self._show_menu)
        return row

    def _show_state(self) -> None:
        keys = list(self.rows)
        at = keys.index(self.current) if self.current in keys else -1
        for key, row in self.rows.items():
            row.thumbnail.set_current(key == self.current)
        self.empty.setVisible(not keys)
        self._scroll.setVisible(bool(keys))
        self.add.setEnabled(self.session.model is not None)
        for button, on in (
            (self.go, at >= 0),
            (self.remove, at >= 0),
            (self.up, at > 0),
            (self.down, 0 <= at < len(keys) - 1),
        ):
            button.setVisible(bool(keys))
            button.setEnabled(on)

    # ---- what the user wants -------------------------------------------------------------

    def _on_chosen(self, key: str) -> None:
        self.current = key
        self._show_state()

    def _scroll_to_current(self) -> None:
        if self.current in self.rows:
            self._scroll.ensureWidgetVisible(self.rows[self.current], 0, GRID)

    def _step(self, key: str, step: int) -> None:
        keys = list(self.rows)
        at = min(max(keys.index(key) + step, 0), len(keys) - 1)
        row = self.rows[keys[at]]
        row.thumbnail.setFocus(Qt.FocusReason.OtherFocusReason)
        self._scroll.ensureWidgetVisible(row, 0, GRID)

    def _move(self, key: str, step: int) -> None:
        self._on_chosen(key)
        self.moveRequested.emit(key, step)
        self._scrolling.start()

    def _remove(self, key: str) -> None:
        focused = self.rows[key].thumbnail.hasFocus()
        name = self.rows[key].name.text()
        self._on_chosen(key)
        self.removeRequested.emit(key)
        if key in self.rows:
            return  # not removed
        self._gone.append((key, name))
        self._show_offer()
        if focused:
            self.setFocus()
        self._scrolling.start()

    def _restore(self) -> None:
        before = set(self.rows)
        self.backRequested.emit()
        for key in set(self.rows) - before:
            self.choose(key)
        self.setFocus()

    def _show_offer(self) -> None:
        """Offer to restore the last removed bookmark."""
        self._gone = [(key, name) for key, name in self._gone if key not in self.rows]
        if self._gone:
            name = self._gone[-1][1]
            self.removed.setText(f"Removed “{name}”.")
            self.removed.setToolTip(wrapped(name))
        self._offer.setVisible(bool(self._gone))

    def _show_menu(self, at: QPoint) -> None:
        menu = QMenu(self)
        key = self.current
        row = self.rows[key]
        for text, act in (
            ("Go to\tEnter", partial(self.goRequested.emit, key)),
            ("Rename", row.rename),
            ("Move up\tAlt+↑", partial(self._move, key, -1)),
            ("Move down\tAlt+↓", partial(self._move, key, 1)),
            ("Remove\tDel", partial(self._remove, key)),
        ):
            action = menu.addAction(text)
            # Another window may have removed the bookmark meanwhile.
            action.triggered.connect(lambda _=False, act=act: act() if key in self.rows else None)
        menu.aboutToHide.connect(menu.deleteLater)
        menu.popup(at)

    # ---- the parts -----------------------------------------------------------------------

    def _lay_out(self) -> None:
        inside = QWidget()
        self._list = vbox(spacing=GRID)
        vbox(self._list, 1, parent=inside, margins=(GRID, 0, GRID, 0))
        self._scroll = ScrollColumn(inside)
        hbox((self.removed, 1), self.back, parent=self._offer)
        self._offer.hide()
        buttons = hbox(self.go, self.up, self.down, self.remove, 1, spacing=GRID // 2)
        offer = _framed(self._offer)
        vbox(
            _framed(self.add),
            _framed(self.empty),
            (self._scroll, 1),
            offer,
            _framed(buttons),
            0,
            parent=self,
            spacing=GRID,
            margins=(0, GRID // 2, 0, GRID // 2),
        )


def _framed(part: QWidget | QHBoxLayout) -> QWidget:
    """Return a widget with the panel's horizontal margins."""
    frame = QWidget()
    hbox(part, parent=frame, margins=(GRID, 0, GRID, 0))
    return frame


def _button(texts: tuple[str, str]) -> QToolButton:
    text, tip = texts
    button = QToolButton()
    button.setText(text)
    button.setToolTip(wrapped(tip))
    button.setAccessibleName(tip.partition(" (")[0])
    button.setProperty("class", "chip")
    button.setMinimumWidth(3 * GRID)
    return button
