"""Texts of labels, buttons and menus, shown as plain text.

Names of models, files and tensors are not trusted. By default Qt interprets a label's text as HTML
if it looks like that, and "&" in the text of a button or a menu as the mark of a key.
"""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QLabel, QMessageBox, QWidget

from geometry.checkpoints.plain_text import visible_lines


class PlainLabel(QLabel):
    """A label of plain text, without control characters."""

    def __init__(self, text: str = "", parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setText(text)

    def setText(self, text: str) -> None:
        super().setText(visible_lines(text))


MIN_WIDTH = 40
"""Minimum width in logical pixels: a few letters."""


class ElidedLabel(PlainLabel):
    """A name, elided if there is too little room."""

    @property
    def shown_text(self) -> str:
        """The text as drawn, perhaps elided."""
        return self.fontMetrics().elidedText(
            self.text(), Qt.TextElideMode.ElideRight, self.contentsRect().width()
        )

    def minimumSizeHint(self) -> QSize:
        hint = super().minimumSizeHint()
        return QSize(min(hint.width(), MIN_WIDTH), hint.height())

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setPen(self.palette().color(self.foregroundRole()))
        painter.drawText(self.contentsRect(), self.alignment(), self.shown_text)


def label(
    text: str = "", role: str = "", *, selectable: bool = False, wrap: bool = False
) -> QLabel:
    """Create a label with one of the style sheet's roles: muted, small, heading, title, badge."""
    created = PlainLabel(text)
    created.setWordWrap(wrap)
    if role:
        created.setProperty("role", role)
    if selectable:
        created.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
    return created


def without_keys(text: str) -> str:
    """Escape a text for a button or a menu, so that it marks no key: "R&D" as "R&&D"."""
    return visible_lines(text).replace("&", "&&")


def message_box(parent: QWidget, title: str, text: str) -> QMessageBox:
    """Create a dialog with a question in plain text; the caller adds its buttons."""
    box = QMessageBox(parent)
    box.setTextFormat(Qt.TextFormat.PlainText)
    box.setWindowTitle(title)
    box.setText(visible_lines(text))
    return box
