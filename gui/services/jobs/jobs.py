"""Work in the background: one job a slot, the newest wins.

Starting a job in a slot supersedes the one before it: its result, should it still come, is
dropped. The controller sees only the :class:`Jobs` protocol, so that it can be tested with
:class:`InlineJobs`, without threads and without Qt; the window uses
:class:`gui.services.jobs.qt_jobs.QtJobs`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

T = TypeVar("T")
P = TypeVar("P")
"""What a job returns, and what it tells of meanwhile."""

OnError = Callable[[Exception, str], None]
"""Called with an error and what failed, in words."""


class Jobs(Protocol):
    """Runs functions and delivers what they return on the GUI thread."""

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
        """Run a function; anything still under way in the same slot is superseded.

        Parameters
        ----------
        slot
            What the job is for.
        function
            The work, on another thread. Called with nothing, or with ``tell`` if there is an
            ``on_progress``: ``tell(progress)`` makes that be called with the same on the GUI
            thread, before the result, unless the job is given up meanwhile.
        on_result, on_error
            Called with what it returned, or with what it raised.
        on_slow
            Called if the work takes long enough for the user to wonder.
        on_progress
            See ``function``.
        stop
            Makes the function end soon; called when the job is given up while it is under way.
            Such a job may wait for others, such as a network, so it keeps no other job waiting.
        finish
            Done even when everything is shut down meanwhile, and undelivered then: what the user
            has saved is saved.
        """

    def cancel(self, slot: str) -> None:
        """Give up what is under way in a slot; nothing of it will be delivered."""


class InlineJobs:
    """Runs each job at once, on the caller's thread: for tests and scripts."""

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
        """Run the function and deliver its result before returning; nothing is slow."""
        try:
            result = function() if on_progress is None else function(on_progress)
        except Exception as error:
            on_error(error)
        else:
            on_result(result)

    def cancel(self, slot: str) -> None:
        """Do nothing: no inline job is ever under way."""
