"""Buttons with a text and a tooltip."""

from __future__ import annotations

from PySide6.QtWidgets import QPushButton

from gui.widgets.tooltips import wrapped


def push_button(text: str, tip: str = "") -> QPushButton:
    """Create a button that is never the default one: Enter belongs to the focused field."""
    button = QPushButton(text)
    button.setAutoDefault(False)
    button.setToolTip(wrapped(tip))
    return button
