"""Widgets on the screen, in tests."""

from typing import TypeVar

from PySide6.QtCore import Qt
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


def takes_focus(widget: QWidget) -> bool:
    """Whether Tab goes to a widget itself.

    Only those with the policy are asked for another one that has the focus for them: in PySide what
    is returned becomes a child of what was asked. A scroll area's viewport names its scroll area,
    which Python then deletes with it.
    """
    return bool(widget.focusPolicy() & Qt.FocusPolicy.TabFocus) and widget.focusProxy() is None
