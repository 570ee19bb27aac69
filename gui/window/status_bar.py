"""The status bar: current work, downloads, a training that goes on, network."""

from __future__ import annotations

from PySide6.QtCore import QTimer, Signal
from PySide6.QtWidgets import QStatusBar

from gui.services.jobs.qt_jobs import SLOW_MS
from gui.state.session import Session
from gui.style.listening import Listening
from gui.style.theme import GRID, Theme
from gui.widgets.fetch_status import FetchStatus
from gui.widgets.label import label
from gui.widgets.tooltips import wrapped

_READY = Session().status
SHOWN_MS = 10_000
"""Time for which a status stays; that of work in progress ends with "…" and stays longer."""
HEIGHT = 3 * GRID
"""Height with the cancel button, so that showing it does not change the layout."""
OFFLINE = (
    "Helixscope makes no network requests. Turn off “Work offline” in the File menu to go online."
)


class StatusBar(QStatusBar):
    """Shows status, download, offline mode and the number of jobs."""

    cancelRequested = Signal()  # The user cancels a download

    def __init__(self, session: Session, theme: Theme) -> None:
        super().__init__()
        self._session = session
        self.status, self.jobs, self.offline = label(), label(), label("Offline")
        self.training = label()
        self.fetch = FetchStatus(theme)
        self.fetch.cancelRequested.connect(self.cancelRequested)
        self.offline.setToolTip(wrapped(OFFLINE))
        self._jobs_due = QTimer(self, interval=SLOW_MS, singleShot=True)
        self._jobs_due.timeout.connect(self._show_jobs)
        self._over = QTimer(self, interval=SHOWN_MS, singleShot=True)
        self._over.timeout.connect(self._on_over)
        self.status.setContentsMargins(GRID // 2, 0, GRID, 0)
        self.training.setContentsMargins(GRID, 0, GRID, 0)
        self.offline.setContentsMargins(GRID, 0, GRID, 0)
        self.setFixedHeight(HEIGHT)
        self.addWidget(self.status)
        self.addPermanentWidget(self.fetch, 1)
        self.addPermanentWidget(self.training)
        self.addPermanentWidget(self.offline)
        self.addPermanentWidget(self.jobs)
        events = session.events
        self._listening = Listening()
        self._listening.to(events.status, self._on_status_changed)
        self._listening.to(events.transfer, self._on_transfer_changed)
        self._listening.to(events.offline, self._on_offline_changed)
        self._listening.to(events.training_state, self._on_training_changed)
        self._listening.to(events.jobs, self._on_jobs_changed)
        self._on_offline_changed()
        self._on_training_changed()
        self._on_transfer_changed()

    def set_theme(self, theme: Theme) -> None:
        """Set the colours."""
        self.fetch.set_theme(theme)

    def release(self) -> None:
        """Stop listening to the session; called by the owner before deletion."""
        self._listening.stop()
        self._jobs_due.stop()
        self._over.stop()

    def _on_status_changed(self) -> None:
        session = self._session
        # "Ready" is hidden during a download of a tokenizer or a matrix.
        hidden = session.status == _READY and session.transfer is not None
        self.status.setText("" if hidden else session.status)
        if session.status == _READY or session.status.endswith("…"):
            self._over.stop()
        elif not self._over.isActive():
            self._over.start()

    def _on_over(self) -> None:
        self._session.status = _READY

    def _on_transfer_changed(self) -> None:
        self.fetch.show_transfer(self._session.transfer)
        self._on_status_changed()

    def _on_offline_changed(self) -> None:
        self.offline.setVisible(self._session.offline)

    def _on_training_changed(self) -> None:
        self.training.setText(self._session.training_state)
        self.training.setVisible(bool(self._session.training_state))

    def _on_jobs_changed(self) -> None:
        if not self._jobs_due.isActive():
            self._jobs_due.start()

    def _show_jobs(self) -> None:
        jobs = self._session.jobs
        self.jobs.setText(f"{jobs} job{'' if jobs == 1 else 's'}" if jobs else "")
