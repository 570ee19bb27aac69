"""What can be done with the result that a panel shows: save it, copy it, do it again in Python."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QPoint
from PySide6.QtWidgets import QMenu


def result_menu(panel: Any) -> QMenu:
    """Return the menu of a panel; its actions are enabled while there is a result."""
    menu = QMenu(panel)
    for text, act in (
        ("Save figure…", _save_figure),
        ("Save numbers…", _save_numbers),
        ("Copy figure", _copy_figure),
        ("Copy as Python", _copy_python),
    ):
        action = menu.addAction(text)
        action.setEnabled(panel.result is not None)
        action.triggered.connect(lambda _=False, act=act: act(panel))
    return menu


def show_menu(panel: Any, at: QPoint) -> None:
    """Show the menu at a point of the screen; it goes when it is done."""
    menu = panel.menu()
    menu.aboutToHide.connect(menu.deleteLater)
    menu.popup(at)


def _save_figure(panel: Any) -> None:
    panel.saver.save_figure(panel, panel.file_name(), panel.figure(panel.result))


def _save_numbers(panel: Any) -> None:
    numbers = panel.numbers(panel.result)
    panel.saver.save_numbers(panel, panel.file_name(), lambda: numbers)


def _copy_figure(panel: Any) -> None:
    panel.saver.copy_figure(panel.figure(panel.result))


def _copy_python(panel: Any) -> None:
    panel.saver.copy_text(panel.python())
