"""Texts of labels, buttons and menus: shown as they are, and never interpreted.

Names of models, files and tensors come from anybody. By itself Qt reads a label's text as HTML if
it looks like that, and "&" in the text of a button or a menu as the mark of a key.
"""

from __future__ import annotations

from PySide6.QtCore import Qt
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


def label(
    text: str = "", role: str = "", *, selectable: bool = False, wrap: bool = False
) -> QLabel:
    """Create a label with one of the style sheet's roles: muted, small, heading, title, badge."""
    made = PlainLabel(text)
    made.setWordWrap(wrap)
    if role:
        made.setProperty("role", role)
    if selectable:
        made.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
    return made


def without_keys(text: str) -> str:
    """Return the text of a button or a menu's entry that marks no key: "R&D" as "R&&D"."""
    return visible_lines(text).replace("&", "&&")


def message_box(parent: QWidget, title: str, text: str) -> QMessageBox:
    """Create a dialog with a question in plain text; the caller adds its buttons."""
    box = QMessageBox(parent)
    box.setTextFormat(Qt.TextFormat.PlainText)
    box.setWindowTitle(title)
    box.setText(visible_lines(text))
    return box
