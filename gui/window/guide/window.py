"""The window of the user guide: contents and search at the left, a page at the right."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, QSize, Qt
from PySide6.QtGui import QKeyEvent, QKeySequence, QShortcut
from PySide6.QtWidgets import (
    QLineEdit,
    QListWidget,
    QListWidgetItem,
    QSplitter,
    QToolButton,
    QTreeWidget,
    QTreeWidgetItem,
    QWidget,
)

from gui.style.theme import GRID, Theme, format_count
from gui.widgets.boxes import hbox, vbox
from gui.widgets.label import label
from gui.widgets.native_keys import native_keys
from gui.widgets.tooltips import wrapped
from gui.window.dialogs import room_on_screen
from gui.window.guide.page_view import GuidePage
from gui.window.guide.pages import KEYS, START, UserGuide

SIZE, CONTENTS = QSize(1000, 720), 264
"""Size of the window, and width of the contents, in pixels."""
NOTHING = "No matches."
_ADDRESS = Qt.ItemDataRole.UserRole


class GuideWindow(QWidget):
    """Shows the guide beside the main window.

    Back and forward go through the visited places, as in a browser. During a search, the sections
    with all its words replace the contents.
    """

    def __init__(self, guide: UserGuide, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent, Qt.WindowType.Window)
        self.setWindowTitle("Guide – Helixscope")
        self.guide = guide
        self._visited: list[tuple[str, int]] = []  # Addresses, each with its scroll position
        self._at = -1
        # Each page in the contents, with its sections.
        self._rows: dict[str, tuple[QTreeWidgetItem, list[QTreeWidgetItem]]] = {}
        self.back = _button("←", "Back", "Alt+Left", lambda: self._go_in_history(-1))
        self.forward = _button("→", "Forward", "Alt+Right", lambda: self._go_in_history(1))
        self.home = _button("Contents", "The guide's first page", "Alt+Home", self._go_home)
        self.field = QLineEdit()
        self.field.setPlaceholderText(native_keys("Search the guide (Ctrl+F)"))
        self.field.setAccessibleName("Search the guide")
        self.field.setClearButtonEnabled(True)
        self.count = label(role="small")
        self.contents, self.hits = QTreeWidget(), QListWidget()
        self.page = GuidePage(guide, theme)
        self._build_lists()
        self._arrange()
        self._connect()
        self.resize(SIZE.boundedTo(room_on_screen(self)))
        self.field.setFocus()

    def go(self, address: str) -> None:
        """Show a place of the guide, "page.md" or "page.md#section"."""
        self._store_scroll()
        del self._visited[self._at + 1 :]
        self._visited.append((address, 0))
        self._at = len(self._visited) - 1
        self._show()

    def set_theme(self, theme: Theme) -> None:
        """Set the colours."""
        self.page.set_theme(theme)

    # ---- building ----------------------------------------------------------------------

    def _build_lists(self) -> None:
        self.contents.setHeaderHidden(True)
        self.contents.setAccessibleName("Contents of the guide")
        self.hits.setAccessibleName("Sections with these words")
        self.hits.setWordWrap(True)
        self.hits.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.hits.hide()
        for page in self.guide.pages.values():
            row = QTreeWidgetItem(self.contents, [page.title])
            row.setData(0, _ADDRESS, page.name)
            parts = []
            for section in page.sections:
                if section.level == 2:
                    part = QTreeWidgetItem(row, [section.title])
                    part.setData(0, _ADDRESS, section.address)
                    parts.append(part)
            self._rows[page.name] = row, parts

    def _arrange(self) -> None:
        left = QWidget()
        parts = (self.field, self.count, (self.contents, 1), (self.hits, 1))
        vbox(*parts, parent=left, spacing=GRID)
        self.count.hide()
        buttons = hbox(self.back, self.forward, self.home, 1, spacing=GRID // 2)
        right = QWidget()
        vbox(buttons, (self.page, 1), parent=right, spacing=GRID)
        parted = QSplitter()
        parted.setHandleWidth(GRID)
        parted.addWidget(left)
        parted.addWidget(right)
        parted.setStretchFactor(1, 1)
        parted.setChildrenCollapsible(False)
        parted.setSizes([CONTENTS, SIZE.width() - CONTENTS])
        vbox(parted, parent=self, margins=GRID)
        self.setTabOrder(self.page, self.back)

    def _connect(self) -> None:
        self.field.textChanged.connect(self._search)
        self.field.installEventFilter(self)
        self.contents.itemClicked.connect(self._on_chosen)
        self.contents.itemActivated.connect(self._on_chosen)
        self.hits.currentItemChanged.connect(self._on_hit)
        self.hits.itemClicked.connect(self._on_hit)
        self.page.followed.connect(self.go)
        for keys, act in (
            # A button's own shortcut would wait for its animation.
            ("Alt+Left", lambda: self._go_in_history(-1)),
            ("Alt+Right", lambda: self._go_in_history(1)),
            ("Alt+Home", self._go_home),
            ("Ctrl+F", self._start_search),
            ("F1", lambda: self.go(KEYS)),
            ("F3", lambda: self._next_hit(1)),
            ("Shift+F3", lambda: self._next_hit(-1)),
        ):
            QShortcut(QKeySequence(keys), self, act)

    # ---- places ------------------------------------------------------------------------

    def _go_home(self) -> None:
        self.go(START)

    def _go_in_history(self, step: int) -> None:
        """Go back or forward in the visited places."""
        if 0 <= self._at + step < len(self._visited):
            self._store_scroll()
            self._at += step
            self._show()
            self.page.return_to(self._visited[self._at][1])

    def _store_scroll(self) -> None:
        """Store the scroll position of this place."""
        if self._at >= 0:
            address, _ = self._visited[self._at]
            self._visited[self._at] = address, self.page.verticalScrollBar().value()

    def _show(self) -> None:
        address, _ = self._visited[self._at]
        name, _, part = address.partition("#")
        self.page.show_page(self.guide.pages[name])
        if part:
            self.page.go_to(part)
        self.page.highlight(self._words)
        self.back.setEnabled(self._at > 0)
        self.forward.setEnabled(self._at + 1 < len(self._visited))
        self._mark(address)

    def _mark(self, address: str) -> None:
        """Mark a place in the contents, and expand only its page."""
        name = address.partition("#")[0]
        for page, (row, parts) in self._rows.items():
            row.setExpanded(page == name)
            if page == name:
                at = next((part for part in parts if part.data(0, _ADDRESS) == address), row)
                self.contents.setCurrentItem(at)
                self.contents.scrollToItem(at)

    def _on_chosen(self, row: QTreeWidgetItem) -> None:
        self.go(row.data(0, _ADDRESS))

    # ---- search ------------------------------------------------------------------------

    @property
    def _words(self) -> list[str]:
        return self.field.text().split()

    def _start_search(self) -> None:
        self.field.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self.field.selectAll()

    def _search(self, text: str) -> None:
        self.hits.blockSignals(True)
        self.hits.clear()
        for hit in self.guide.search(text):
            page = self.guide.pages[hit.section.page].title
            where = hit.section.title if hit.section.level == 1 else f"{hit.section.title} · {page}"
            row = QListWidgetItem(f"{where}\n{hit.excerpt}", self.hits)
            row.setToolTip(wrapped(hit.excerpt))
            row.setData(_ADDRESS, hit.section.address)
        self.hits.setCurrentRow(-1)
        self.hits.blockSignals(False)
        count = self.hits.count()
        text = "1 section" if count == 1 else f"{format_count(count)} sections"
        self.count.setText(text if count else NOTHING)
        searching = bool(self._words)
        self.count.setVisible(searching)
        self.hits.setVisible(searching and count > 0)
        self.contents.setVisible(not searching)
        self.page.highlight(self._words)

    def _on_hit(self, row: QListWidgetItem | None) -> None:
        if row is not None and self._address != row.data(_ADDRESS):
            self.go(row.data(_ADDRESS))

    @property
    def _address(self) -> str:
        return self._visited[self._at][0] if self._at >= 0 else ""

    def _next_hit(self, step: int) -> None:
        count = self.hits.count()
        if count:
            row = self.hits.currentRow()
            self.hits.setCurrentRow((row + step) % count if row >= 0 else min(step, 0) % count)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Go to the next matching section on Enter, and into their list on Down."""
        if watched is self.field and isinstance(event, QKeyEvent):
            pressed = event.type() == QEvent.Type.KeyPress
            if pressed and event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
                back = event.modifiers() & Qt.KeyboardModifier.ShiftModifier
                self._next_hit(-1 if back else 1)
                return True
            if pressed and event.key() == Qt.Key.Key_Down:
                if self.hits.currentRow() < 0:
                    self._next_hit(1)
                (self.hits if self._words else self.contents).setFocus()
                return True
        return super().eventFilter(watched, event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """End the search on Esc; without a search, close the window."""
        if event.key() != Qt.Key.Key_Escape:
            super().keyPressEvent(event)
        elif self.field.text():
            self.field.clear()
        else:
            self.close()


def _button(text: str, name: str, keys: str, act: object) -> QToolButton:
    button = QToolButton()
    button.setText(text)
    button.setAccessibleName(name)
    button.setToolTip(wrapped(f"{name} ({keys})"))
    button.clicked.connect(act)
    return button
