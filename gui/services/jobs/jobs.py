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
"""Maximum wait of a job for the GUI thread per call: the job may hold what that thread needs."""


class GuiFirst:
    """Lets jobs yield to long work on the GUI thread, such as a change of theme.

    Both need the interpreter's lock. During a change of theme Qt calls Python for thousands of
    widgets, and each call would wait for a computing job, for up to five milliseconds.
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

    def yield_to_gui(self) -> None:
        """Wait briefly while the GUI thread is busy; jobs call this often."""
        self._free.wait(YIELD_S)


gui_first = GuiFirst()


class Gate:
    """Makes a job wait between two of its steps while it is held."""

    def __init__(self) -> None:
        self._open = threading.Event()
        self._open.set()

    @property
    def is_open(self) -> bool:
        """Whether the job may continue."""
        return self._open.is_set()

    def close(self) -> None:
        """Make the job wait from its next step on."""
        self._open.clear()

    def open(self) -> None:
        """Let the job continue."""
        self._open.set()

    def wait(self) -> None:
        """Wait until the gate is open; called by the job."""
        self._open.wait()


def as_exception(error: BaseException) -> Exception:
    """Return the argument of a job's ``on_error``: the error, or a HelixscopeError in its place.

    Libraries written in Rust panic with a BaseException that is not an :class:`Exception`. A
    missing package is reported as such.
    """
    if isinstance(error, Exception):
        return missing_package(error) or error
    log.error("a job ended by %s", type(error).__name__, exc_info=error)
    return HelixscopeError("An error occurred inside a library.", "See the log for details.")


@dataclass(frozen=True, eq=False, slots=True)
class Job(Generic[T, P]):
    """A function to run on another thread, and the functions to call on the GUI thread.

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
        Called with progress; see ``function``.
    stop
        Makes the function end soon; called when a running job is cancelled. Such a job may wait for
        a network, so it has its own thread.
    finish
        Whether to finish it even on shutdown, without delivery, so that saved files are complete.
    gate
        Where the function waits while the job is held; None if it cannot be held.
    counted
        Whether it is one of the jobs that the user sees running; not a short look every second.
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
    counted: bool = True


class Jobs(Protocol):
    """Runs functions and delivers their results on the GUI thread."""

    def start(self, slot: str, job: Job[Any, Any]) -> None:
        """Run a job, superseding the current one of its slot."""

    def cancel(self, slot: str) -> None:
        """Cancel the slot's job; its result is not delivered."""

    def hold(self, slot: str) -> None:
        """Hold the slot's job, as its result is not visible; a job without steps finishes."""

    def resume(self, slot: str) -> None:
        """Continue the slot's job where it was held."""


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

    A held job frees its place for others, and waits for a place when resumed.
    """

    def __init__(self, jobs: Jobs, max_running: int) -> None:
        self._jobs, self._max_running = jobs, max_running
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
        """Start jobs only after this context, so that none is started in vain."""
        max_running, self._max_running = self._max_running, 0
        try:
            yield
        finally:
            self._max_running = max_running
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
        while self._waiting and len(self._running) < self._max_running:
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

    def start(self, slot: str, job: Job[Any, Any]) -> None:
        self._jobs.start(self._name(slot), job)

    def cancel(self, slot: str) -> None:
        self._jobs.cancel(self._name(slot))

    def hold(self, slot: str) -> None:
        self._jobs.hold(self._name(slot))

    def resume(self, slot: str) -> None:
        self._jobs.resume(self._name(slot))

    def _name(self, slot: str) -> str:
        return f"{self._prefix} {slot}"
