"""Jobs in a queue: a few at a time, in the order of their start."""

from __future__ import annotations

from collections.abc import Callable

from gui.services.jobs.jobs import Jobs, P, T


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
