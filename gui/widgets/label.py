"""Labels in the roles of the style sheet."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel


def label(
    text: str = "", role: str = "", *, selectable: bool = False, wrap: bool = False
) -> QLabel:
    """Create a label with one of the style sheet's roles: muted, small, heading, title, badge."""
    made = QLabel(text)
    made.setTextFormat(Qt.TextFormat.PlainText)
    made.setWordWrap(wrap)
    if role:
        made.setProperty("role", role)
    if selectable:
        made.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
    return made
