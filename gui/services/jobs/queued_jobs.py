"""Jobs that wait for each other: a few at a time, in the order they were started."""

from __future__ import annotations

from collections.abc import Callable

from gui.services.jobs.jobs import Jobs, P, T


class QueuedJobs:
    """The :class:`gui.services.jobs.jobs.Jobs` of work that may wait, so that the rest need not.

    Parameters
    ----------
    jobs
        What runs the work.
    most
        How much of it at once.
    """

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
        """Run a function when its turn comes; anything still to be done in its slot is given up."""
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
        """Give up what waits or is under way in a slot."""
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
