"""Background work: one job per slot; a new one replaces the last.

A new job in a slot supersedes the previous one, whose result is dropped. The controller uses only
the :class:`Jobs` protocol, so that it can be tested with :class:`InlineJobs`, without threads and
without Qt; the window uses :class:`gui.services.jobs.qt_jobs.QtJobs`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

T = TypeVar("T")
P = TypeVar("P")
"""Types of a job's result and progress."""

OnError = Callable[[Exception, str], None]
"""Called with an error and a description of what failed."""


class Jobs(Protocol):
    """Runs functions and delivers their results on the GUI thread."""

    def start(
        self,
        slot: str,
        function: Callable[..., T],
        on_result: Callable[[T], None],
        on_error: Callable[[Exception], None],
        on_slow: Callable[[], None] | None = None,
        *,
        on_progress: Callable[[P], None] | None = None,
        stop: Callable[[], None] | None = None,
        finish: bool = False,
    ) -> None:
        """Run a function, superseding the slot's current job.

        Parameters
        ----------
        slot
            Name of the slot.
        function
            The work, on another thread. Called without arguments, or with ``tell`` if there is an
            ``on_progress``: ``tell(progress)`` calls that on the GUI thread, before the result,
            unless the job has been cancelled.
        on_result, on_error
            Called with its result or its exception.
        on_slow
            Called if the work takes long enough to show progress.
        on_progress
            See ``function``.
        stop
            Makes the function end soon; called when a running job is cancelled. Such a job may wait
            for a network, so it has a thread of its own.
        finish
            Whether to finish it even on shutdown, without delivery, so that saved files are
            complete.
        """

    def cancel(self, slot: str) -> None:
        """Cancel the slot's job; its result is not delivered."""


class InlineJobs:
    """Runs each job immediately on the caller's thread, for tests and scripts."""

    def start(
        self,
        slot: str,
        function: Callable[..., T],
        on_result: Callable[[T], None],
        on_error: Callable[[Exception], None],
        on_slow: Callable[[], None] | None = None,
        *,
        on_progress: Callable[[P], None] | None = None,
        stop: Callable[[], None] | None = None,
        finish: bool = False,
    ) -> None:
        try:
            result = function() if on_progress is None else function(on_progress)
        except Exception as error:
            on_error(error)
        else:
            on_result(result)

    def cancel(self, slot: str) -> None:
        """Do nothing: inline jobs have always finished."""


class QueuedJobs:
    """A queue for low-priority jobs, so that others do not wait for them."""

    def __init__(self, jobs: Jobs, most: int) -> None:
        self._jobs, self._most = jobs, most
        self._waiting: dict[str, Callable[[], None]] = {}
        self._running: set[str] = set()

    def start(
        self,
        slot: str,
        function: Callable[..., T],
        on_result: Callable[[T], None],
        on_error: Callable[[Exception], None],
        on_slow: Callable[[], None] | None = None,
        *,
        on_progress: Callable[[P], None] | None = None,
        stop: Callable[[], None] | None = None,
        finish: bool = False,
    ) -> None:
        self.cancel(slot)
        self._waiting[slot] = lambda: self._jobs.start(
            slot,
            function,
            lambda result: self._done(slot, lambda: on_result(result)),
            lambda error: self._done(slot, lambda: on_error(error)),
            on_slow,
            on_progress=on_progress,
            stop=stop,
            finish=finish,
        )
        self._go_on()

    def cancel(self, slot: str) -> None:
        self._waiting.pop(slot, None)
        if slot in self._running:
            self._running.discard(slot)
            self._jobs.cancel(slot)
            self._go_on()

    def _done(self, slot: str, deliver: Callable[[], None]) -> None:
        self._running.discard(slot)
        try:
            deliver()
        finally:
            self._go_on()

    def _go_on(self) -> None:
        while self._waiting and len(self._running) < self._most:
            slot, start = next(iter(self._waiting.items()))
            del self._waiting[slot]
            self._running.add(slot)
            start()


class SlottedJobs:
    """Jobs with prefixed slot names, for one of several users of the same names.

    The prefix, before each slot with a space, is unique among simultaneous users.
    """

    def __init__(self, jobs: Jobs, prefix: str) -> None:
        self._jobs, self._prefix = jobs, prefix
        self._slots: set[str] = set()

    def start(
        self,
        slot: str,
        function: Callable[..., T],
        on_result: Callable[[T], None],
        on_error: Callable[[Exception], None],
        on_slow: Callable[[], None] | None = None,
        *,
        on_progress: Callable[[P], None] | None = None,
        stop: Callable[[], None] | None = None,
        finish: bool = False,
    ) -> None:
        self._slots.add(slot)
        self._jobs.start(
            self._name(slot),
            function,
            on_result,
            on_error,
            on_slow,
            on_progress=on_progress,
            stop=stop,
            finish=finish,
        )

    def cancel(self, slot: str) -> None:
        self._jobs.cancel(self._name(slot))

    def cancel_all(self) -> None:
        """Cancel all of its jobs, before it is removed."""
        for slot in sorted(self._slots):
            self.cancel(slot)

    def _name(self, slot: str) -> str:
        return f"{self._prefix} {slot}"
