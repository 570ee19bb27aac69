"""A bookmark in its panel: picture, name and note, edited in place."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import (
    QAccessible,
    QColor,
    QContextMenuEvent,
    QFocusEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPixmap,
    QResizeEvent,
)
from PySide6.QtWidgets import QFrame, QLineEdit, QPlainTextEdit, QSizePolicy, QWidget

from gui.state.work import Bookmark
from gui.style.theme import GRID, Theme
from gui.widgets.boxes import hbox, vbox
from gui.widgets.label import label
from gui.widgets.tooltips import wrapped

PICTURE, SMALLER = QSize(160, 100), QSize(112, 70)
"""Sizes of a picture in logical pixels: in a wide panel, and in a column."""
ROOM = 340
"""Minimum width with the larger picture, in pixels."""
TIP = (
    "Double-click or Enter: restore this view\nAlt+↑, Alt+↓: move it in the list\nTab: edit name "
    "and note\nDelete: remove it"
)
_Key = Qt.Key


class Thumbnail(QWidget):
    """A bookmark's picture, which takes the focus and double-clicks.

    Signals
    -------
    chosen()
        The picture got the focus.
    opened()
        Double click, Enter or Space.
    stepped(int)
        Step to another bookmark, by this number.
    moved(int)
        Move this bookmark by this number of places.
    removed()
        Remove this bookmark.
    """

    accessible_role = QAccessible.Role.Button

    chosen = Signal()
    opened = Signal()
    stepped = Signal(int)
    moved = Signal(int)
    removed = Signal()

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._pixmap = QPixmap()
        self.current = False
        self.setFixedSize(SMALLER)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setToolTip(wrapped(TIP))

    def show_picture(self, png: bytes) -> None:
        """Show a PNG; an empty frame for invalid data."""
        self._pixmap = QPixmap()
        self._pixmap.loadFromData(png)
        self.update()

    def set_theme(self, theme: Theme) -> None:
        self._theme = theme
        self.update()

    def set_current(self, current: bool) -> None:
        """Set whether buttons and keys refer to this one."""
        self.current = current
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        if not self._pixmap.isNull():
            ratio = self.devicePixelRatioF()
            fitting = self._pixmap.scaled(
                self.size() * ratio,
                Qt.AspectRatioMode.KeepAspectRatioByExpanding,
                Qt.TransformationMode.SmoothTransformation,
            )
            fitting.setDevicePixelRatio(ratio)
            spare = fitting.deviceIndependentSize() - self.size().toSizeF()
            painter.drawPixmap(round(-spare.width() / 2), round(-spare.height() / 2), fitting)
        marked = self.hasFocus() or self.current
        painter.setPen(
            QColor(
                self._theme.text
                if self.hasFocus()
                else self._theme.muted
                if marked
                else self._theme.line
            )
        )
        painter.drawRect(self.rect().adjusted(0, 0, -1, -1))
        if marked:
            painter.drawRect(self.rect().adjusted(1, 1, -2, -2))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        alt = bool(event.modifiers() & Qt.KeyboardModifier.AltModifier)
        steps = {_Key.Key_Up: -1, _Key.Key_Down: 1}
        if event.key() in steps:
            (self.moved if alt else self.stepped).emit(steps[_Key(event.key())])
        elif event.key() in (_Key.Key_Return, _Key.Key_Enter, _Key.Key_Space):
            self.opened.emit()
        elif event.key() in (_Key.Key_Delete, _Key.Key_Backspace):
            self.removed.emit()
        else:
            super().keyPressEvent(event)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton:
            self.opened.emit()

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self.chosen.emit()
        self.update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self.update()


class NoteField(QPlainTextEdit):
    """A note, as high as its text.

    Signals
    -------
    edited(str)
        Editing has finished with a changed text.
    """

    edited = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self._before = ""
        self.setPlaceholderText("Note")
        self.setTabChangesFocus(True)
        self.setAccessibleName("Note")
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.document().setDocumentMargin(0)
        self.textChanged.connect(self._fit)
        self._fit()

    def show_text(self, text: str) -> None:
        """Show a note, unless it is being edited."""
        if not self.hasFocus():
            self._before = text
            if text != self.toPlainText():
                self.setPlainText(text)

    def commit(self) -> None:
        """Emit a changed text."""
        text = self.toPlainText().strip()
        if text != self._before:
            self._before = text
            self.edited.emit(text)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self.commit()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        lines = max(1, min(12, round(self.document().size().height())))
        frame = self.height() - self.viewport().height()
        self.setFixedHeight(lines * self.fontMetrics().lineSpacing() + max(frame, GRID) + 2)


class BookmarkRow(QFrame):
    """One bookmark.

    Signals
    -------
    nameEdited(str), noteEdited(str)
        The name or the note was changed.
    menuRequested(QPoint)
        The menu's position in global coordinates.
    """

    nameEdited = Signal(str)
    noteEdited = Signal(str)
    menuRequested = Signal(object)

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.thumbnail = Thumbnail(theme)
        self.name = QLineEdit()
        self.name.setAccessibleName("Name")
        self.name.setMaxLength(200)
        self.scope = label(role="small", wrap=True)
        self.note = NoteField()
        self.name.editingFinished.connect(self._on_name)
        self.name.returnPressed.connect(self.thumbnail.setFocus)
        self.note.edited.connect(self.noteEdited)
        words = vbox(self.name, self.scope, self.note, 1, spacing=GRID // 2)
        picture = (self.thumbnail, 0, Qt.AlignmentFlag.AlignTop)
        hbox(picture, (words, 1), parent=self, spacing=GRID, margins=(0, 0, 0, GRID))
        self._name = ""

    @property
    def parts(self) -> tuple[QWidget, ...]:
        """The widgets with focus, in order."""
        return self.thumbnail, self.name, self.note

    def show_bookmark(self, bookmark: Bookmark) -> None:
        """Show a bookmark, except texts that are being edited."""
        self._name = bookmark.name
        if not self.name.hasFocus() and self.name.text() != bookmark.name:
            self.name.setText(bookmark.name)
            self.name.setCursorPosition(0)
        self.note.show_text(bookmark.note)
        self.scope.setText(bookmark.scope)
        self.scope.setToolTip(wrapped(bookmark.work.source.id))
        self.thumbnail.setAccessibleName(f"{bookmark.name}: {bookmark.scope}")

    def rename(self) -> None:
        """Focus the name for editing."""
        self.name.setFocus(Qt.FocusReason.OtherFocusReason)
        self.name.selectAll()

    def commit(self) -> None:
        """Emit unfinished edits."""
        self._on_name()
        self.note.commit()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.thumbnail.setFixedSize(PICTURE if event.size().width() >= ROOM else SMALLER)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        self.thumbnail.setFocus(Qt.FocusReason.MouseFocusReason)
        self.menuRequested.emit(event.globalPos())

    def _on_name(self) -> None:
        name = self.name.text().strip()
        if not name:
            self.name.setText(self._name)
        elif name != self._name:
            self._name = name
            self.nameEdited.emit(name)
