"""Jobs of one of several models: the same workers, under slots of its own."""

from __future__ import annotations

from collections.abc import Callable

from gui.services.jobs.jobs import Jobs, P, T


class SlottedJobs:
    """The :class:`gui.services.jobs.jobs.Jobs` of one among several users of the same slot names.

    Parameters
    ----------
    jobs
        What runs the work, for all of them.
    prefix
        Put before each slot, with a space; no two that run at once may share it.
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
        """Run a function; anything of this one's still under way in the slot is superseded."""
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
        """Give up what is under way in this one's slot."""
        self._jobs.cancel(self._name(slot))

    def cancel_all(self) -> None:
        """Give up all that this one has under way, before it goes away."""
        for slot in sorted(self._slots):
            self.cancel(slot)

    def _name(self, slot: str) -> str:
        return f"{self._prefix} {slot}"
