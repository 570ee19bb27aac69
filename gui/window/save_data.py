"""Exporting the numbers behind the window."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

from geometry.checkpoints.errors import HelixscopeError
from gui.export.save_result import ask_where
from gui.panels.panel import ResultPanel
from gui.state.values import Notice

if TYPE_CHECKING:
    from gui.export.window_data import WindowData
    from gui.window.host import HostWindow

_KINDS = {
    "npz": "NumPy arrays, of everything (*.npz)",
    "csv": "CSV table, of the curve (*.csv)",
}


class DataSaver:
    """Asks for a file, collects the window's numbers, and writes them on a thread."""

    def __init__(self, window: HostWindow) -> None:
        self._window = window

    def ask(self) -> None:
        """Ask for a file, and write it; a notice reports failures."""
        window, session = self._window, self._window.session
        if session.model is None:
            return
        path = ask_where(window, "Export data", session.model.name.replace("/", "-"), _KINDS)
        if path is None:
            return
        try:
            data = self.take()
        except HelixscopeError as error:
            session.notice = Notice(str(error), error.advice)
            return
        write = partial(data.write, path)
        window.controller.save(path, write, "The data could not be exported")

    def take(self) -> WindowData:
        """Return the numbers of the curve and of visible panels with a result.

        Raises HelixscopeError: no model is open.
        """
        from gui.export.window_data import WindowData

        panels = {name: panel.numbers() for name, panel in results_in_sight(self._window)}
        return WindowData.of(self._window.session, panels)


def results_in_sight(
    window: HostWindow,
) -> Iterator[tuple[str, ResultPanel]]:
    """Yield the visible panels that show a result, with their names.

    Hidden panels may show results of an earlier range.
    """
    for name, panel in window.panels.items():
        if panel.visibleRegion().isEmpty():
            continue
        if isinstance(panel, ResultPanel) and panel.result is not None:
            yield name, panel
