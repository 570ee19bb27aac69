"""Background work: one job per slot; a new one replaces the last.

A new job in a slot supersedes the previous one, whose result is dropped. The controller uses only
the :class:`Jobs` protocol, so that it can be tested with :class:`InlineJobs`, without threads and
without Qt; the window uses :class:`gui.services.jobs.qt_jobs.QtJobs`.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Generic, Protocol, TypeVar

from geometry.checkpoints.errors import HelixscopeError, missing_package

log = logging.getLogger(__name__)

T = TypeVar("T")
P = TypeVar("P")
"""Types of a job's result and progress."""

OnError = Callable[[Exception, str], None]
"""Called with an error and a description of what failed."""


YIELD_S = 0.05
"""Longest wait of a job for the GUI thread at one place: it may hold what that needs."""


class GuiFirst:
    """Lets jobs make way for long work on the GUI thread, such as a change of theme.

    Both need the interpreter's lock, which is one for the whole process. Qt calls Python for
    thousands of widgets then, and each call would wait for a job that computes, for up to five
    milliseconds.
    """

    def __init__(self) -> None:
        self._free = threading.Event()
        self._free.set()

    @contextmanager
    def __call__(self) -> Iterator[None]:
        """Let jobs wait while the GUI thread is in this block; blocks may be nested."""
        outermost = self._free.is_set()
        self._free.clear()
        try:
            yield
        finally:
            if outermost:
                self._free.set()

    def make_way(self) -> None:
        """Wait while the GUI thread is busy, but only briefly; called by jobs, often."""
        self._free.wait(YIELD_S)


gui_first = GuiFirst()


class Gate:
    """Where a job waits between two of its steps while it is held back."""

    def __init__(self) -> None:
        self._open = threading.Event()
        self._open.set()

    @property
    def is_open(self) -> bool:
        """Whether the job may go on."""
        return self._open.is_set()

    def close(self) -> None:
        """Make the job wait from its next step on."""
        self._open.clear()

    def open(self) -> None:
        """Let the job go on."""
        self._open.set()

    def wait(self) -> None:
        """Wait until the gate is open; called by the job."""
        self._open.wait()


def as_exception(error: BaseException) -> Exception:
    """Return what a job's ``on_error`` gets: the error, or one of ours for any that is none.

    A library written in Rust panics with an exception that is no :class:`Exception`. A package that
    is not installed is no error of a program.
    """
    if isinstance(error, Exception):
        return missing_package(error) or error
    log.error("a job ended by %s", type(error).__name__, exc_info=error)
    return HelixscopeError("An error occurred inside a library.", "See the log for details.")


@dataclass(frozen=True, eq=False, slots=True)
class Job(Generic[T, P]):
    """A function to run on another thread, and what is to be called on the GUI thread.

    Parameters
    ----------
    function
        The work. Called without arguments, or with ``report`` if there is an ``on_progress``:
        ``report(progress)`` calls that on the GUI thread, before the result, unless the job has
        been cancelled, or has reported something newer meanwhile.
    on_result, on_error
        Called with its result or its exception.
    on_slow
        Called if the work takes long enough to show progress.
    on_progress
        See ``function``.
    stop
        Makes the function end soon; called when a running job is cancelled. Such a job may wait for
        a network, so it has a thread of its own.
    finish
        Whether to finish it even on shutdown, without delivery, so that saved files are complete.
    gate
        Where the function waits while the job is held back; None if it cannot.
    """

    function: Callable[..., T]
    on_result: Callable[[T], None]
    on_error: Callable[[Exception], None]
    on_slow: Callable[[], None] | None = None
    _: KW_ONLY
    on_progress: Callable[[P], None] | None = None
    stop: Callable[[], None] | None = None
    finish: bool = False
    gate: Gate | None = None


class Jobs(Protocol):
    """Runs functions and delivers their results on the GUI thread."""

    def start(self, slot: str, job: Job[Any, Any]) -> None:
        """Run a job, superseding the current one of its slot."""

    def cancel(self, slot: str) -> None:
        """Cancel the slot's job; its result is not delivered."""

    def hold(self, slot: str) -> None:
        """Hold the slot's job back, as its result is not seen; one without steps finishes."""

    def resume(self, slot: str) -> None:
        """Continue the slot's job where it was held back."""


class InlineJobs:
    """Runs each job immediately on the caller's thread, for tests and scripts."""

    def start(self, slot: str, job: Job[Any, Any]) -> None:
        function = job.function
        try:
            result = function() if job.on_progress is None else function(job.on_progress)
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:
            job.on_error(as_exception(error))
        else:
            job.on_result(result)

    def cancel(self, slot: str) -> None:
        """Do nothing: inline jobs have always finished."""

    def hold(self, slot: str) -> None: ...

    def resume(self, slot: str) -> None: ...


class QueuedJobs:
    """A queue for low-priority jobs, so that others do not wait for them.

    A job that is held back leaves its place to others, and waits for a place when resumed.
    """

    def __init__(self, jobs: Jobs, most: int) -> None:
        self._jobs, self._most = jobs, most
        self._waiting: dict[str, Callable[[], None]] = {}
        self._held: dict[str, Callable[[], None]] = {}
        self._begun: set[str] = set()
        self._running: set[str] = set()

    def start(self, slot: str, job: Job[Any, Any]) -> None:
        self.cancel(slot)
        queued = replace(
            job,
            on_result=lambda result: self._done(slot, lambda: job.on_result(result)),
            on_error=lambda error: self._done(slot, lambda: job.on_error(error)),
        )
        self._waiting[slot] = lambda: self._jobs.start(slot, queued)
        self._go_on()

    def cancel(self, slot: str) -> None:
        begun = slot in self._begun
        self._forget(slot)
        if begun:
            self._jobs.cancel(slot)
            self._go_on()

    def hold(self, slot: str) -> None:
        if slot in self._waiting:
            self._held[slot] = self._waiting.pop(slot)
        elif slot in self._running:
            self._running.discard(slot)
            self._held[slot] = lambda: self._jobs.resume(slot)
            self._jobs.hold(slot)
            self._go_on()

    def resume(self, slot: str) -> None:
        if slot in self._held:
            self._waiting[slot] = self._held.pop(slot)
            self._go_on()

    @contextmanager
    def together(self) -> Iterator[None]:
        """Start no job within this context, but after it, so that none is started in vain."""
        most, self._most = self._most, 0
        try:
            yield
        finally:
            self._most = most
            self._go_on()

    def _forget(self, slot: str) -> None:
        for jobs in (self._waiting, self._held):
            jobs.pop(slot, None)
        for slots in (self._begun, self._running):
            slots.discard(slot)

    def _done(self, slot: str, deliver: Callable[[], None]) -> None:
        self._forget(slot)
        try:
            deliver()
        finally:
            self._go_on()

    def _go_on(self) -> None:
        while self._waiting and len(self._running) < self._most:
            slot, start = next(iter(self._waiting.items()))
            del self._waiting[slot]
            self._begun.add(slot)
            self._running.add(slot)
            start()


class SlottedJobs:
    """Jobs with prefixed slot names, for one of several users of the same names.

    The prefix, before each slot with a space, is unique among simultaneous users.
    """

    def __init__(self, jobs: Jobs, prefix: str) -> None:
        self._jobs, self._prefix = jobs, prefix
        self._slots: set[str] = set()

    def start(self, slot: str, job: Job[Any, Any]) -> None:
        self._slots.add(slot)
        self._jobs.start(self._name(slot), job)

    def cancel(self, slot: str) -> None:
        self._jobs.cancel(self._name(slot))

    def hold(self, slot: str) -> None:
        self._jobs.hold(self._name(slot))

    def resume(self, slot: str) -> None:
        self._jobs.resume(self._name(slot))

    def cancel_all(self) -> None:
        """Cancel all of its jobs, before it is removed."""
        for slot in sorted(self._slots):
            self.cancel(slot)

    def _name(self, slot: str) -> str:
        return f"{self._prefix} {slot}"
