"""Calls that may wait while a range is dragged."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject, QTimer

from gui.state.session import Session

INTERVAL_MS = 80
"""Time between two updates of what may wait during a drag."""


class Throttle(QObject):
    """Gathers calls while a range is dragged; otherwise they are made at once.

    Parameters
    ----------
    session
        Tells whether a range is dragged.
    """

    def __init__(self, session: Session, parent: QObject) -> None:
        super().__init__(parent)
        self._session = session
        self._waiting: dict[Callable[[], None], None] = {}
        self._timer = QTimer(self, interval=INTERVAL_MS, singleShot=True)
        self._timer.timeout.connect(self.flush)

    def call(self, slot: Callable[[], None]) -> None:
        """Call a slot now, or soon."""
        if not self._session.dragging:
            slot()
            return
        self._waiting[slot] = None
        if not self._timer.isActive():
            self._timer.start()

    def on_dragging_changed(self, dragging: bool) -> None:
        """Catch up when a drag ends."""
        if not dragging:
            self.flush()

    def flush(self) -> None:
        """Make the calls that wait."""
        self._timer.stop()
        waiting, self._waiting = self._waiting, {}
        for slot in waiting:
            slot()

    def stop(self) -> None:
        """Forget the calls that wait; the owner goes away."""
        self._timer.stop()
        self._waiting = {}
