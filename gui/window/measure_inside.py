"""Measures the positions inside a model, in the background.

A model on the Hub that is not complete here is downloaded first: the first press of the button
shows its size, and the second one starts the download.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from geometry.checkpoints.errors import HelixscopeError
from geometry.checkpoints.transfer import Cancelled, Transfer
from gui.services.fetching import Fetch
from gui.services.notices import notice_of
from gui.window.dialogs import show_in_front

# The dialog is not needed for the first frame, so it is imported later.
if TYPE_CHECKING:
    from geometry.checkpoints.transfer import TransferProgress
    from geometry.hub.whole_model import WholeModel
    from geometry.inside.settings import PositionsSettings
    from geometry.inside.worker import WorkerProgress
    from geometry.models.sources.source import Source
    from gui.window.host import HostWindow
    from gui.window.inside_dialog import InsideDialog

SLOT = "positions inside"
"""Slot of the job: one measurement at a time."""
STOPPED = "Stopped. Measure goes on from here."
STOPPED_DOWNLOAD = "Stopped. What was downloaded is kept: Measure continues from there."
STOPPED_LOOKING = "Stopped."
LOOKING = "Looking for the model…"
T = TypeVar("T")


class InsideMeasurer:
    """Asks for settings, measures the positions inside a model, and opens the result."""

    def __init__(self, window: HostWindow) -> None:
        self._window = window
        self._dialog: InsideDialog | None = None
        self._stopped = threading.Event()
        self._on_stop = STOPPED

    @property
    def dialog(self) -> InsideDialog:
        """The dialog, which keeps its settings."""
        from gui.window.inside_dialog import InsideDialog

        if self._dialog is None:
            self._dialog = InsideDialog(self._window)
            self._dialog.measureRequested = self._begin
            self._dialog.stopRequested = self._stop
        return self._dialog

    def ask(self, source: str = "") -> None:
        """Show the dialog, for a source or the open model."""
        model = self._window.session.model
        dialog = self.dialog
        if not dialog.running and (source or model is not None):
            dialog.show_source(source or ("" if model is None else _network_of(model.source)))
        show_in_front(dialog)

    def close(self) -> None:
        """Stop, because the window is closing; partial sums are kept."""
        self._stop()
        if self._dialog is not None:
            self._dialog.close()

    def _begin(self, settings: PositionsSettings, out: Path, device: str) -> None:
        """Measure, after checking that the model is complete, or downloading its missing files."""
        dialog, model = self.dialog, self.dialog.offered
        dialog.show_running(True)
        if model is not None:
            self._download(model, lambda: self._measure(settings, out, device))
        else:
            self._look_up(settings.source, lambda: self._measure(settings, out, device))

    def _look_up(self, source: str, measure: Callable[[], None]) -> None:
        """Measure if a model is complete on this machine; otherwise show what is missing."""
        from geometry.inside.network import to_download

        controller, dialog = self._window.controller, self.dialog
        self._on_stop = STOPPED_LOOKING
        dialog.show_message(LOOKING)

        def on_found(missing: WholeModel | None) -> None:
            if missing is None:
                measure()
            elif not missing.nbytes:  # another commit has all of its files
                self._download(missing, measure)
            else:
                dialog.show_running(False)
                dialog.offer(source, missing)

        self._fetch(
            lambda transfer: to_download(source, controller.fetching.hub, transfer),
            on_found,
            f"{source} could not be looked up",
        )

    def _download(self, model: WholeModel, measure: Callable[[], None]) -> None:
        """Download the missing files of a model, and measure."""
        from geometry.hub.whole_model import fetch_model

        controller = self._window.controller
        self._on_stop = STOPPED_DOWNLOAD
        self.dialog.withdraw_offer()  # after this, another size will remain

        def on_done(_: Path) -> None:
            controller.refresh_models()
            measure()

        self._fetch(
            lambda transfer: fetch_model(model, controller.fetching.hub, transfer),
            on_done,
            f"{model.address} could not be downloaded",
            self.dialog.show_download,
        )

    def _fetch(
        self,
        work: Callable[[Transfer], T],
        on_done: Callable[[T], None],
        what: str,
        on_progress: Callable[[TransferProgress], None] = lambda _: None,
    ) -> None:
        """Use the network in the background; errors are shown in the dialog."""
        dialog = self.dialog

        def guarded(transfer: Transfer) -> T | HelixscopeError:
            try:
                return work(transfer)
            except Cancelled:
                raise
            except HelixscopeError as error:
                return error

        def on_result(outcome: T | HelixscopeError) -> None:
            if isinstance(outcome, HelixscopeError):
                dialog.show_running(False)
                dialog.show_message(f"{outcome} {notice_of(outcome, what).advice}".strip())
            else:
                on_done(outcome)

        fetch = Fetch(guarded)
        self._window.controller.in_background(
            SLOT,
            fetch,
            on_result,
            what,
            on_progress=on_progress,
            on_failed=lambda: dialog.show_running(False),
            stop=fetch.stop,
        )

    def _measure(self, settings: PositionsSettings, out: Path, device: str) -> None:
        from geometry.inside.worker import run_in_subprocess

        dialog = self.dialog
        self._on_stop = STOPPED
        dialog.show_running(True)
        stopped = self._stopped = threading.Event()

        def work(report: Callable[[WorkerProgress], None]) -> Path | HelixscopeError | None:
            run = run_in_subprocess(
                "positions", settings=asdict(settings), out=str(out), device=device
            )
            with closing(run):
                while not stopped.is_set():
                    try:
                        report(next(run))
                    except StopIteration:
                        return out
                    except HelixscopeError as error:  # shown in the dialog
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
            self.dialog.show_message(f"{outcome} {outcome.advice}".strip())
        elif outcome is not None:
            self.dialog.accept()
            self._window.controller.open(str(outcome))
            self._window.focus_on("training")

    def _stop(self) -> None:
        if self._dialog is not None and self._dialog.running:
            self._window.controller.jobs.cancel(SLOT)
            self._dialog.show_running(False)
            self._dialog.show_message(self._on_stop)


def _network_of(source: Source) -> str:
    """Return the source of the network of an open model: not its rows, table, step or layers."""
    model = source.model
    return model.text.partition("/")[0] if model.kind == "bundled" else model.text
