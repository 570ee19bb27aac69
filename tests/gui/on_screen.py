"""Putting a panel alone on the screen, in tests."""

from typing import TypeVar

from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

Shown = TypeVar("In view", bound=QWidget)


def put_on_screen(qtbot: QtBot, panel: Shown, width: int, height: int) -> Shown:
    """Show a panel in a size, and wait until it is there; it is released after the test."""
    qtbot.addWidget(panel, before_close_func=lambda closing: closing.release())
    panel.resize(width, height)
    with qtbot.waitExposed(panel):
        panel.show()
    return panel
