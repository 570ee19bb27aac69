"""Background jobs on threads, delivered on the GUI thread by a Qt signal.

The pool is the standard library's and not superqt's ``create_worker``, which replaces the
process-wide warning filters from its threads; two workers that overlap leave them replaced.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from functools import partial

from PySide6.QtCore import (
    QCoreApplication,
    QEvent,
    QObject,
    Qt,
    QTimer,
    Signal,
    SignalInstance,
    Slot,
)

from gui.services.jobs.jobs import Gate, Job, P, T, as_exception
from gui.state.session import Session

log = logging.getLogger(__name__)

SLOW_MS = 150
"""Shorter jobs are not announced, since brief messages only flicker."""
PATIENCE_S = 2.0
"""Wait at shutdown for cancelled jobs. Name lookup and connecting cannot be interrupted; the
process may end without waiting for them.
"""

NICE = 5
"""Nice value added to a job's thread, so that the GUI thread has priority. With four jobs on two
cores a table is shown in half the time.
"""


@dataclass(frozen=True, eq=False, slots=True)
class _Message:
    """A message of a job's thread: its slot, and a function to call on the GUI thread."""

    slot: str
    generation: int
    deliver: Callable[[], None]


class QtJobs(QObject):
    """The window's :class:`gui.services.jobs.jobs.Jobs`; counts running jobs in ``session.jobs``.

    Computations share two threads; jobs with ``stop`` have their own. Held jobs are not counted.
    """

    _finished = Signal(object)
    _progressed = Signal(object)

    def __init__(self, session: Session, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self._generations: dict[str, int] = {}
        self._pool = ThreadPoolExecutor(2, "helixscope", _lower_priority)
        self._alone: list[threading.Thread] = []
        self._slow: dict[str, QTimer] = {}
        self._stops: dict[str, Callable[[], None]] = {}
        self._gates: dict[str, Gate] = {}
        self._uncounted: set[tuple[str, int]] = set()
        self._latest: dict[str, Future[None]] = {}
        self._finishing: set[str] = set()
        self._open, self._closing = True, False
        self._sending = threading.Lock()
        self._finished.connect(self._on_finished, Qt.ConnectionType.QueuedConnection)
        self._progressed.connect(self._on_progress, Qt.ConnectionType.QueuedConnection)

    def start(self, slot: str, job: Job[T, P]) -> None:
        self.cancel(slot)
        generation = self._generations[slot]
        if job.counted:
            self._session.jobs += 1
        else:
            self._uncounted.add((slot, generation))
        if job.finish:
            self._finishing.add(slot)
        if job.gate is not None:
            self._gates[slot] = job.gate
        function = job.function
        if job.on_progress is not None:
            on_progress, newest = job.on_progress, deque[P](maxlen=1)

            def deliver_newest() -> None:
                # Empty if a later message has delivered the newest progress.
                if newest:
                    on_progress(newest.pop())

            def report(progress: P) -> None:
                newest.append(progress)
                self._send(self._progressed, _Message(slot, generation, deliver_newest))

            function = partial(function, report)

        def run() -> None:
            deliver = _nothing
            try:
                # Skip jobs that were superseded while waiting for a thread.
                if self._generations[slot] == generation:
                    deliver = partial(job.on_result, function())
            except BaseException as error:  # passed to the job's own handler
                deliver = partial(job.on_error, as_exception(error))
                if self._closing and job.finish:
                    log.exception("“%s” failed while the window closed", slot)
            self._send(self._finished, _Message(slot, generation, deliver))

        if job.stop is None:
            self._latest[slot] = self._pool.submit(run)
        else:
            self._stops[slot] = job.stop
            self._latest[slot] = self._run_alone(slot, run)
        if job.on_slow is not None:
            self._slow[slot] = QTimer(self, interval=SLOW_MS, singleShot=True)
            self._slow[slot].timeout.connect(job.on_slow)
            self._slow[slot].start()

    def cancel(self, slot: str) -> None:
        self._end(slot)
        stop = self._stops.pop(slot, None)
        if stop is not None:
            stop()
        gate = self._gates.pop(slot, None)
        if gate is not None:
            gate.open()  # so that its thread ends

    def hold(self, slot: str) -> None:
        gate = self._gates.get(slot)
        if gate is not None and gate.is_open:
            gate.close()
            self._uncounted.add((slot, self._generations[slot]))
            self._session.jobs -= 1

    def resume(self, slot: str) -> None:
        gate = self._gates.get(slot)
        if gate is not None and not gate.is_open:
            gate.open()
            self._uncounted.discard((slot, self._generations[slot]))
            self._session.jobs += 1

    def deliver(self, slot: str, patience_ms: int) -> None:
        """Deliver a slot's result now, not in the event loop, if it is done within the time.

        Only used before the event loop runs.
        """
        self.wait_for(slot, patience_ms)
        QCoreApplication.sendPostedEvents(self, QEvent.Type.MetaCall.value)

    def wait_for(self, slot: str, patience_ms: int) -> None:
        """Wait until a slot's job is done, for some time at most."""
        if slot in self._latest:
            wait([self._latest[slot]], patience_ms / 1000)

    def shut_down(self) -> None:
        """Drop all jobs except those to be finished, and wait for the threads.

        Called by the owner on closing.
        """
        self._closing = True
        for slot in self._generations.keys() - self._finishing:
            self.cancel(slot)
        self._pool.shutdown(wait=True)  # dropped jobs are not started
        for slot in self._finishing.copy():
            self._end(slot)
        until = time.monotonic() + PATIENCE_S
        for thread in self._alone:
            thread.join(max(0.0, until - time.monotonic()))
        with self._sending:
            self._open = False
        self._finished.disconnect(self._on_finished)
        self._progressed.disconnect(self._on_progress)
        self._session.jobs = 0

    def _run_alone(self, slot: str, run: Callable[[], None]) -> Future[None]:
        """Run on a separate daemon thread."""
        done: Future[None] = Future()

        def body() -> None:
            _lower_priority()
            run()
            done.set_result(None)

        thread = threading.Thread(target=body, name=f"helixscope-{slot}", daemon=True)
        self._alone = [other for other in self._alone if other.is_alive()]
        self._alone.append(thread)
        thread.start()
        return done

    def _send(self, signal: SignalInstance, message: _Message) -> None:
        """Emit a message from another thread; ignored after shutdown."""
        with self._sending:
            if self._open:
                signal.emit(message)

    def _end(self, slot: str) -> None:
        """Prevent any further delivery or announcement of a slot's job."""
        self._generations[slot] = self._generations.get(slot, 0) + 1
        self._finishing.discard(slot)
        self._latest.pop(slot, None)
        timer = self._slow.pop(slot, None)
        if timer is not None:
            timer.stop()
            timer.deleteLater()

    @Slot(object)
    def _on_progress(self, message: _Message) -> None:
        if self._generations[message.slot] == message.generation:
            message.deliver()

    @Slot(object)
    def _on_finished(self, message: _Message) -> None:
        job = message.slot, message.generation
        if job in self._uncounted:
            self._uncounted.discard(job)
        else:
            self._session.jobs -= 1
        if self._generations[message.slot] != message.generation:
            return
        self._end(message.slot)
        self._gates.pop(message.slot, None)
        self._stops.pop(message.slot, None)  # nothing left to stop
        message.deliver()


def _nothing() -> None: ...


def _lower_priority() -> None:
    """Give this thread a lower priority than the GUI thread, on Linux."""
    if sys.platform == "linux":
        thread = threading.get_native_id()
        os.setpriority(os.PRIO_PROCESS, thread, os.getpriority(os.PRIO_PROCESS, thread) + NICE)
