"""Copying the whole window as Python."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtGui import QGuiApplication

from gui.camera import CameraPose
from gui.save_data import results_in_sight

if TYPE_CHECKING:
    from gui.main_window import MainWindow


def window_script(window: MainWindow) -> str:
    """Return a script that shows again what a window with a model shows."""
    from gui.window_script import Sight, script

    interactor = window.viewport.interactor
    sight = Sight(
        CameraPose.of(interactor.camera),
        (interactor.width(), interactor.height()),
        window.viewport.scene.theme.name,
    )
    panels = {
        window.docks[name].windowTitle(): one.python() for name, one in results_in_sight(window)
    }
    return script(window.session, sight, panels)


def copy_window(window: MainWindow) -> None:
    """Put the script on the clipboard."""
    if window.session.model is not None and window.session.curve is not None:
        QGuiApplication.clipboard().setText(window_script(window))
        window.session.status = "Copied the window as Python"
