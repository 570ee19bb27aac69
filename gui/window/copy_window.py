"""Copying the whole window as Python."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtGui import QGuiApplication

from gui.state.camera import CameraPose
from gui.window.save_data import results_in_sight

if TYPE_CHECKING:
    from gui.export.window_script import Sight
    from gui.viewport.viewport import Viewport
    from gui.window.host import HostWindow


def window_script(window: HostWindow) -> str:
    """Return a script that draws what a window with a model shows."""
    from gui.export.window_script import Sight, script

    def sight(viewport: Viewport) -> Sight:
        interactor = viewport.interactor
        size, scene = (interactor.width(), interactor.height()), viewport.scene
        return Sight(CameraPose.of(interactor.camera), size, scene.theme.name, scene.compact)

    panels = {
        window.docks[name].windowTitle(): one.python() for name, one in results_in_sight(window)
    }
    cells = {key: cell for key, cell in window.grid.cells.items() if cell.isVisible()}
    others = {key: sight(cell.viewport) for key, cell in cells.items()}
    return script(window.session, sight(window.viewport), panels, others)


def copy_window(window: HostWindow) -> None:
    """Copy the script to the clipboard."""
    if window.session.model is not None and window.session.curve is not None:
        QGuiApplication.clipboard().setText(window_script(window))
        window.session.status = "Copied the window as Python"
