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
