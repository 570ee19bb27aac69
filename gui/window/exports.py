"""Exports of what the window shows: its scene, its numbers, and a Python script."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtGui import QGuiApplication

from geometry.checkpoints.errors import HelixscopeError
from geometry.checkpoints.number_files import table_files
from gui.export.save_result import ask_where
from gui.state.camera import CameraPose
from gui.state.values import Notice

if TYPE_CHECKING:
    from gui.export.window_script import Sight
    from gui.panels.kit.panel import ResultPanel
    from gui.viewport.viewport import Viewport
    from gui.window.host import HostWindow

_SCENES = {"html": "Interactive web page (*.html)", "glb": "glTF model (*.glb)"}
_NUMBERS = {
    "npz": "NumPy arrays, all data (*.npz)",
    "csv": "CSV tables, the curve and the panels (*.csv)",
}


def file_name(window: HostWindow) -> str:
    """Return the open model's name for a file."""
    model = window.session.model
    # A "/" in a revision, as in gpt2@refs/pr/1, must not become a folder.
    return "helixscope" if model is None else model.name.replace("/", "-")


def export_scene(window: HostWindow) -> None:
    """Ask for a file, and write the viewport's scene on a thread; a notice reports failures."""
    from gui.export.scene_files import SceneExport

    if window.session.model is None:
        return
    path = ask_where(window, "Export scene", file_name(window), _SCENES, session=window.session)
    if path is None:
        return
    viewport = window.viewport
    pose = CameraPose.of(viewport.interactor.camera)
    export = SceneExport.of(window.session, viewport.scene.theme, pose)
    write = partial(export.write, path)
    window.controller.save(path, write, "The scene could not be exported")


def export_data(window: HostWindow) -> None:
    """Ask for a file, and write the numbers of the curve and of visible panels on a thread."""
    from gui.export.window_data import WindowData

    if window.session.model is None:
        return
    shown = dict(visible_results(window))
    numbers = {name: panel.numbers() for name, panel in shown.items()}
    tables = {name: panel.tables() for name, panel in shown.items()}
    try:
        data = WindowData.of(window.session, numbers, tables)
    except HelixscopeError as error:
        window.session.notice = Notice(str(error), error.advice)
        return
    names = list(data.tables())
    path = ask_where(
        window, "Export data", file_name(window), _NUMBERS, session=window.session, beside=names
    )
    if path is None:
        return
    csv = path.suffix.lower() == ".csv"
    beside = table_files(path, names[1:]).values() if csv else ()
    write = partial(data.write, path)
    window.controller.save(path, write, "The data could not be exported", beside)


def visible_results(window: HostWindow) -> Iterator[tuple[str, ResultPanel]]:
    """Yield the visible panels that show a result, with their names.

    Hidden panels may show results of an earlier range.
    """
    from gui.panels.kit.panel import ResultPanel  # not needed for the first frame

    for name, panel in window.panels.items():
        if panel.visibleRegion().isEmpty():
            continue
        if isinstance(panel, ResultPanel) and panel.result is not None:
            yield name, panel


def window_script(window: HostWindow) -> str:
    """Return a script that draws what a window with a model shows."""
    from gui.export.window_script import Sight, script

    def sight(viewport: Viewport) -> Sight:
        interactor = viewport.interactor
        size, scene = (interactor.width(), interactor.height()), viewport.scene
        return Sight(CameraPose.of(interactor.camera), size, scene.theme.name, scene.compact)

    panels = {
        window.docks[name].windowTitle(): panel.python() for name, panel in visible_results(window)
    }
    cells = {key: cell for key, cell in window.grid.cells.items() if cell.isVisible()}
    others = {key: sight(cell.viewport) for key, cell in cells.items()}
    return script(window.session, sight(window.viewport), panels, others)


def copy_window(window: HostWindow) -> None:
    """Copy the script to the clipboard."""
    if window.session.model is not None and window.session.curve is not None:
        QGuiApplication.clipboard().setText(window_script(window))
        window.session.status = "Copied the view as Python"
