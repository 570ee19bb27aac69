"""Exporting the scene that the window shows."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtWidgets import QWidget

from gui.export.save_result import ask_where
from gui.state.camera import CameraPose
from gui.viewport.viewport import Viewport

if TYPE_CHECKING:
    from gui.services.controller import Controller

_KINDS = {"html": "Web page that turns (*.html)", "glb": "glTF body (*.glb)"}


class SceneSaver:
    """Asks for a file, and writes the viewport's scene on a thread."""

    def __init__(self, window: QWidget, viewport: Viewport, controller: Controller) -> None:
        self._window, self._viewport, self._controller = window, viewport, controller

    def ask(self) -> None:
        """Ask for a file, and write the scene; a notice reports failures."""
        from gui.export.scene_files import SceneExport

        session = self._controller.session
        if session.model is None:
            return
        # A "/" in a revision, as in gpt2@refs/pr/1, must not become a folder.
        name = session.model.name.replace("/", "-")
        path = ask_where(self._window, "Export scene", name, _KINDS)
        if path is None:
            return
        pose = CameraPose.of(self._viewport.interactor.camera)
        export = SceneExport.of(session, self._viewport.scene.theme, pose)
        write = partial(export.write, path)
        self._controller.save(path, write, "The scene could not be exported")
