"""Jobs done by hand, for tests of what happens before a result, after it, and in its place."""

from collections.abc import Callable
from typing import Any

from gui.services.jobs.jobs import Job


class HandJobs:
    """Jobs whose results come when the test says so; superseded ones are stopped and never come."""

    def __init__(self) -> None:
        self.waiting: dict[str, tuple[Callable[[], Any], ...]] = {}
        self._computed: dict[str, Callable[[], None]] = {}
        self._on_slow: dict[str, Callable[[], None] | None] = {}
        self._stops: dict[str, Callable[[], None]] = {}
        self._on_progress: dict[str, Callable[[Any], None]] = {}
        self.started: list[str] = []
        self.held: set[str] = set()

    def start(self, slot: str, job: Job[Any, Any]) -> None:
        self.cancel(slot)
        self._on_slow[slot] = job.on_slow
        self.started.append(slot)
        if job.stop is not None:
            self._stops[slot] = job.stop
        work = job.function
        if (on_progress := job.on_progress) is not None:
            self._on_progress[slot] = on_progress

            def tell(progress: Any) -> None:
                if self.waiting.get(slot) is waiting:
                    on_progress(progress)

            def work() -> Any:
                return job.function(tell)

        waiting = (work, job.on_result, job.on_error)
        self.waiting[slot] = waiting

    def cancel(self, slot: str) -> None:
        self._forget(slot)
        if (stop := self._stops.pop(slot, None)) is not None:
            stop()

    def hold(self, slot: str) -> None:
        self.held.add(slot)

    def resume(self, slot: str) -> None:
        self.held.discard(slot)

    def _forget(self, slot: str) -> None:
        self.held.discard(slot)
        self.waiting.pop(slot, None)
        self._computed.pop(slot, None)

    def tell(self, slot: str, progress: Any) -> None:
        """Let the thread of a job tell how far it is."""
        assert slot in self.waiting
        self._on_progress[slot](progress)

    def drag_on(self, slot: str) -> None:
        """Let a job take so long that the user may wonder."""
        assert slot in self.waiting
        if (announce := self._on_slow[slot]) is not None:
            announce()

    def compute(self, slot: str) -> None:
        """Let the thread of a job finish; its result is not delivered yet."""
        function, on_result, on_error = self.waiting[slot]
        try:
            result = function()
        except Exception as error:
            caught = error
            self._computed[slot] = lambda: on_error(caught)
        else:
            self._computed[slot] = lambda: on_result(result)

    def deliver(self, slot: str) -> None:
        """Let a result arrive on the GUI thread."""
        if slot not in self._computed:
            self.compute(slot)
        arrive = self._computed[slot]
        self._forget(slot)
        self._stops.pop(slot, None)
        arrive()

    def deliver_all(self) -> None:
        """Let everything arrive but what is held, what the arrivals start included."""
        while free := [slot for slot in self.waiting if slot not in self.held]:
            self.deliver(free[0])
