"""Work in the background: one job a slot, the newest wins.

Starting a job in a slot supersedes the one before it: its result, should it still come, is
dropped. The controller sees only the :class:`Jobs` protocol, so that it can be tested with
:class:`InlineJobs`, without threads and without Qt; the window uses :class:`gui.qt_jobs.QtJobs`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol


class Jobs(Protocol):
    """Runs functions and delivers what they return on the GUI thread."""

    def start(
        self,
        slot: str,
        function: Callable[[], Any],
        on_result: Callable[[Any], None],
        on_error: Callable[[Exception], None],
        on_slow: Callable[[], None] | None = None,
    ) -> None:
        """Run a function; anything still under way in the same slot is superseded.

        ``on_slow`` is called if that takes long enough for the user to wonder.
        """

    def cancel(self, slot: str) -> None:
        """Forget what is under way in a slot; nothing of it will be delivered."""


class InlineJobs:
    """Runs each job at once, on the caller's thread: for tests and scripts."""

    def start(
        self,
        slot: str,
        function: Callable[[], Any],
        on_result: Callable[[Any], None],
        on_error: Callable[[Exception], None],
        on_slow: Callable[[], None] | None = None,
    ) -> None:
        """Run the function and deliver its result before returning; nothing is slow."""
        try:
            result = function()
        except Exception as error:
            on_error(error)
        else:
            on_result(result)

    def cancel(self, slot: str) -> None:
        """Do nothing: no inline job is ever under way."""
