"""Exporting the numbers behind everything that the window shows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from geometry.checkpoints.errors import HelixscopeError
from gui.export.save_result import ask_where
from gui.panels.panel import ResultPanel
from gui.panels.result_panel import ResultPanel as OldPanel
from gui.state.values import Notice

if TYPE_CHECKING:
    from gui.export.window_data import WindowData
    from gui.panels.norms.norms import NormsPanel
    from gui.window.host import HostWindow

_KINDS = {
    "npz": "NumPy arrays, of everything (*.npz)",
    "csv": "CSV table, of the curve (*.csv)",
}


class DataSaver:
    """Asks where to, takes down what the window shows, and writes it on a thread.

    Parameters
    ----------
    window
        Whose models and panels are exported.
    """

    def __init__(self, window: HostWindow) -> None:
        self._window = window

    def ask(self) -> None:
        """Let the user choose a file, and write it; a failure becomes a notice that says why."""
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

        def done(_: None) -> None:
            session.status = f"Saved {path}"

        window.controller.in_background(
            f"export {path}", lambda: data.write(path), done, "The data could not be exported"
        )

    def take(self) -> WindowData:
        """Take down what is shown now, by the curve and by the panels that have a result.

        Raises
        ------
        HelixscopeError
            Nothing is.
        """
        from gui.export.window_data import WindowData

        panels = {
            name: panel.numbers() if isinstance(panel, ResultPanel) else panel.numbers(panel.result)
            for name, panel in results_in_sight(self._window)
        }
        return WindowData.of(self._window.session, panels)


def results_in_sight(
    window: HostWindow,
) -> Iterator[tuple[str, ResultPanel | OldPanel | NormsPanel]]:
    """Go through the panels that can be seen and show a result, with their names.

    What a panel behind another one shows may be of a range that is shown no more.
    """
    from gui.panels.norms.norms import NormsPanel

    for name, panel in window.panels.items():
        if panel.visibleRegion().isEmpty():
            continue
        if isinstance(panel, ResultPanel | OldPanel | NormsPanel) and panel.result is not None:
            yield name, panel
