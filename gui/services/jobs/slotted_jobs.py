"""Jobs of one of several models: the same workers, with slots of its own."""

from __future__ import annotations

from collections.abc import Callable

from gui.services.jobs.jobs import Jobs, P, T


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
