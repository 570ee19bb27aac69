"""Measuring the positions inside a model, beside the window."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from geometry.checkpoints.errors import HelixscopeError

# The dialog is not needed for the first frame, so it is imported later.
if TYPE_CHECKING:
    from geometry.emergent.settings import PositionsSettings
    from geometry.emergent.worker import Told
    from gui.window.host import HostWindow
    from gui.window.inside_dialog import InsideDialog

SLOT = "positions inside"
"""Slot of the job: one measurement at a time."""
STOPPED = "Stopped. What was summed is kept: Measure continues from there."


class InsideMeasurer:
    """Asks what to measure inside a model, measures it, and opens the result."""

    def __init__(self, window: HostWindow) -> None:
        self._window = window
        self._dialog: InsideDialog | None = None
        self._stopped = threading.Event()

    @property
    def dialog(self) -> InsideDialog:
        """The dialog, which keeps what was chosen."""
        from gui.window.inside_dialog import InsideDialog

        if self._dialog is None:
            self._dialog = InsideDialog(self._window)
            self._dialog.measureRequested = self._measure
            self._dialog.stopRequested = self._stop
        return self._dialog

    def ask(self, source: str = "") -> None:
        """Show the dialog, for a source or the open model."""
        model = self._window.session.model
        dialog = self.dialog
        if not dialog.running and (source or model is not None):
            dialog.show_source(source or (model.source if model is not None else ""))
        dialog.show()
        dialog.raise_()
        dialog.activateWindow()

    def close(self) -> None:
        """Stop, because the window is closing; what was summed is kept."""
        self._stop()
        if self._dialog is not None:
            self._dialog.close()

    def _measure(self, settings: PositionsSettings, out: Path, device: str) -> None:
        from geometry.emergent.worker import apart

        dialog = self.dialog
        dialog.show_running(True)
        stopped = self._stopped = threading.Event()

        def work(tell: Callable[[Told], None]) -> Path | HelixscopeError | None:
            telling = apart("positions", settings=asdict(settings), out=str(out), device=device)
            with closing(telling):
                while not stopped.is_set():
                    try:
                        tell(next(telling))
                    except StopIteration:
                        return out
                    except HelixscopeError as error:  # said in the dialog
                        return error
            return None

        self._window.controller.in_background(
            SLOT,
            work,
            self._on_done,
            "The positions inside the model could not be measured",
            on_progress=dialog.show_progress,
            on_failed=lambda: dialog.show_running(False),
            stop=stopped.set,
        )

    def _on_done(self, outcome: Path | HelixscopeError | None) -> None:
        self.dialog.show_running(False)
        if isinstance(outcome, HelixscopeError):
            self.dialog.say(f"{outcome} {outcome.advice}".strip())
        elif outcome is not None:
            self.dialog.accept()
            self._window.controller.open(str(outcome))
            self._window.focus_on("training")

    def _stop(self) -> None:
        if self._dialog is not None and self._dialog.running:
            self._window.controller.give_up(SLOT)
            self._dialog.show_running(False)
            self._dialog.say(STOPPED)
