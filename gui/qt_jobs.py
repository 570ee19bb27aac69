"""Background jobs on a small thread pool, delivered on the GUI thread by a Qt signal.

The pool is the standard library's and not superqt's ``create_worker``, which replaces the
process-wide warning filters from its threads; two workers that overlap leave them replaced.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any

from PySide6.QtCore import QCoreApplication, QEvent, QObject, Qt, QTimer, Signal, Slot

from gui.session import Session

SLOW_MS = 150
"""What takes no longer is not announced: words that come and go at once only flicker."""


@dataclass(frozen=True, eq=False, slots=True)
class _Outcome:
    slot: str
    generation: int
    result: Any
    error: Exception | None
    on_result: Callable[[Any], None]
    on_error: Callable[[Exception], None]


class QtJobs(QObject):
    """The :class:`gui.jobs.Jobs` of the window; counts running jobs in ``session.jobs``."""

    _finished = Signal(object)

    def __init__(self, session: Session, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self._generations: dict[str, int] = {}
        self._pool = ThreadPoolExecutor(max_workers=2, thread_name_prefix="helixscope")
        self._slow: dict[str, QTimer] = {}
        self._latest: dict[str, Future[None]] = {}
        self._finished.connect(self._on_finished, Qt.ConnectionType.QueuedConnection)

    def start(
        self,
        slot: str,
        function: Callable[[], Any],
        on_result: Callable[[Any], None],
        on_error: Callable[[Exception], None],
        on_slow: Callable[[], None] | None = None,
    ) -> None:
        """Run a function on the pool; anything under way in the same slot is superseded."""
        self.cancel(slot)
        generation = self._generations[slot]
        self._session.jobs += 1

        def run() -> None:
            result, error = None, None
            try:
                # A job that was superseded while it waited for a thread is not begun.
                if self._generations[slot] == generation:
                    result = function()
            except Exception as caught:  # delivered to the job's own handler
                error = caught
            self._finished.emit(_Outcome(slot, generation, result, error, on_result, on_error))

        self._latest[slot] = self._pool.submit(run)
        if on_slow is not None:
            self._slow[slot] = QTimer(self, interval=SLOW_MS, singleShot=True)
            self._slow[slot].timeout.connect(on_slow)
            self._slow[slot].start()

    def cancel(self, slot: str) -> None:
        """Forget what is under way in a slot; nothing of it will be delivered."""
        self._generations[slot] = self._generations.get(slot, 0) + 1
        timer = self._slow.pop(slot, None)
        if timer is not None:
            timer.stop()
            timer.deleteLater()

    def deliver(self, slot: str, patience_ms: int) -> None:
        """Hand over what a slot's job found, now and not in the event loop, if it is done in time.

        For the moment before the window is first shown; afterwards nothing waits.
        """
        if slot in self._latest:
            wait([self._latest[slot]], patience_ms / 1000)
        QCoreApplication.sendPostedEvents(self, QEvent.Type.MetaCall.value)

    def shut_down(self) -> None:
        """Drop everything under way and wait for the threads; the owner calls this on closing."""
        for slot in self._generations:
            self.cancel(slot)
        self._pool.shutdown(wait=True, cancel_futures=True)
        self._finished.disconnect(self._on_finished)
        self._session.jobs = 0

    @Slot(object)
    def _on_finished(self, outcome: _Outcome) -> None:
        self._session.jobs -= 1
        if self._generations[outcome.slot] != outcome.generation:
            return
        self.cancel(outcome.slot)  # it is over
        if outcome.error is not None:
            outcome.on_error(outcome.error)
        else:
            outcome.on_result(outcome.result)
