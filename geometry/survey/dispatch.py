"""Which checkpoint is handed out when: politely to the Hub, and again after a passing fault.

All of it is decided in one place, by the process that runs the survey: workers share no state. It
hands out a checkpoint only when its requests are allowed, and what one of them is told by the Hub
holds for all.
"""

from __future__ import annotations

import heapq
from collections import Counter, deque
from collections.abc import Iterable
from dataclasses import dataclass

from geometry.checkpoints.errors import HelixscopeError
from geometry.hub.faults import duration_text
from geometry.models.sources.locating import may_ask_hub
from geometry.models.sources.source import Source
from geometry.survey.populations import Entry
from geometry.survey.rows import Fault, Measured, Row, failed_row

#: Tries of a checkpoint whose transfer breaks, and of one whose worker is lost.
ATTEMPTS = 4

#: Tries of a checkpoint at which the Hub asks everybody to wait, or that was waiting for another
#: one when their worker was lost.
BUSY_ATTEMPTS = 20

#: The wait after a fault doubles from the first to the second.
FIRST_WAIT_S, MAX_WAIT_S = 0.5, 60.0

#: Where the Hub asks for a longer wait, the survey ends, and goes on when it is called again.
MAX_RETRY_AFTER_S = 3600.0

#: So many waits of all, one after the other, without a checkpoint in between, end the survey.
MAX_WAITS = 8

#: The same of a network that has not answered yet: there may be none.
MAX_WAITS_AT_FIRST = 4

#: Requests for a checkpoint, before the first ones have shown how many there are.
USUAL_REQUESTS = 5.0

#: A wait that is as good as over.
ROUNDING_S = 1e-6


class HubGivesUp(HelixscopeError):
    """The Hub cannot be asked for now; what has been measured is kept."""

    exit_status = 75


class Allowance:
    """A bound on the Hub's requests: a bucket that fills at a rate, and from which tasks are paid.

    A task is paid in advance with what tasks usually need, and the difference when it is done. So
    in any T seconds there are at most (T + 1) × rate requests, and those of the tasks that run.

    Parameters
    ----------
    rate
        Requests a second.
    now
        The time, in seconds.
    """

    def __init__(self, rate: float, now: float) -> None:
        self.rate = rate
        self._usual, self._seen = USUAL_REQUESTS, 0
        self._filled, self._at = self._usual, now

    def wait_s(self, now: float) -> float:
        """Seconds until a task can be paid."""
        self._fill(now)
        return max(0.0, (self._usual - self._filled) / self.rate)

    def take(self, now: float) -> float:
        """Pay for a task; return the price."""
        self._fill(now)
        self._filled -= self._usual
        return self._usual

    def settle(self, paid: float, requests: int) -> None:
        """Pay the rest of a task, or get it back."""
        self._filled += paid - requests
        # The mean at first, and then rather that of the last twenty.
        self._seen = min(self._seen + 1, 20)
        self._usual += (requests - self._usual) / self._seen

    def _fill(self, now: float) -> None:
        most = max(self.rate, self._usual)
        self._filled = min(most, self._filled + (now - self._at) * self.rate)
        self._at = now


@dataclass(frozen=True, slots=True)
class Task:
    """A checkpoint that is handed out, and what was paid for its requests."""

    entry: Entry
    paid: float | None


class Dispatcher:
    """Hands out checkpoints, and decides what becomes of those that fail.

    Parameters
    ----------
    entries
        The checkpoints, in the order in which they are handed out.
    requests_per_s
        Bound on the Hub's requests.
    now
        The time, in seconds; as in all methods.
    offline
        Whether no checkpoint needs requests.
    """

    def __init__(
        self, entries: Iterable[Entry], requests_per_s: float, now: float, *, offline: bool = False
    ) -> None:
        self._offline = offline
        self._here: deque[Entry] = deque()
        self._of_hub: deque[Entry] = deque()
        for entry in entries:
            self._queue(entry).append(entry)
        self._later: list[tuple[float, int, Entry]] = []
        self._number = 0
        self._allowance = Allowance(requests_per_s, now)
        self._tries: Counter[tuple[str, str]] = Counter()
        self._held_until = now
        self._waits = 0
        self._since_success = 0
        self._reached = False
        self._why = ""

    @property
    def waiting(self) -> int:
        """Number of checkpoints that are not handed out."""
        return len(self._here) + len(self._of_hub) + len(self._later)

    def take(self, now: float) -> Task | None:
        """Hand out the next checkpoint, if there is one whose time has come."""
        self._bring_back(now)
        if self._of_hub and self._hub_wait_s(now) <= ROUNDING_S:
            return Task(self._of_hub.popleft(), self._allowance.take(now))
        if self._here:
            return Task(self._here.popleft(), None)
        return None

    def wait_s(self, now: float) -> float | None:
        """Seconds until :meth:`take` may hand one out; None if there is none left."""
        self._bring_back(now)
        waits = []
        if self._later:
            at, _, entry = self._later[0]
            held = self._held_until if self._asks_hub(entry) else now
            waits.append(max(at, held, now) - now)
        if self._here:
            waits.append(0.0)
        if self._of_hub:
            waits.append(self._hub_wait_s(now))
        return min(waits, default=None)

    def said(self, now: float) -> str:
        """Return why all wait, as a sentence; "" if they do not."""
        left = self._held_until - now
        return f"{self._why} Going on in {duration_text(left)}." if left > 0.0 else ""

    def finish(self, task: Task, measured: Measured, now: float) -> Row | None:
        """Return the row to write; None if the checkpoint will be handed out again.

        Raises HubGivesUp: the Hub cannot be asked for now.
        """
        if task.paid is not None:
            self._allowance.settle(task.paid, measured.requests)
        fault, error = measured.fault, str(measured.row["error"] or "")
        self._reached |= measured.requests > 0 and (fault is None or fault.kind != "network")
        if fault is None:
            self._since_success = self._waits = 0
            return measured.row
        self._since_success += 1
        self._hold(fault, error, now)
        most = BUSY_ATTEMPTS if fault.wait_s is not None or fault.kind == "network" else ATTEMPTS
        return self._again(task, f"{fault.kind} {fault.wait_s is None}", most, measured.row, now)

    def lose(self, task: Task, why: str, now: float, *, begun: bool = True) -> Row | None:
        """Hand out a checkpoint again whose task was lost; return its row if it was too often.

        One that had not ``begun`` is rarely to blame.
        """
        if task.paid is not None:
            self._allowance.settle(task.paid, 0)
        row = failed_row(task.entry, why, temporary=True)
        most = ATTEMPTS if begun else BUSY_ATTEMPTS
        return self._again(task, f"lost {begun}", most, row, now)

    def _again(self, task: Task, kind: str, most: int, row: Row, now: float) -> Row | None:
        key = task.entry.source, kind
        self._tries[key] += 1
        if self._tries[key] >= most:
            return row
        wait = min(FIRST_WAIT_S * 2.0 ** (self._tries[key] - 1), MAX_WAIT_S)
        self._number += 1
        heapq.heappush(self._later, (now + wait, self._number, task.entry))
        return None

    def _hold(self, fault: Fault, error: str, now: float) -> None:
        """Let all wait, where the Hub asks for it or nobody gets anything."""
        if fault.wait_s is not None and fault.wait_s > MAX_RETRY_AFTER_S:
            raise HubGivesUp(error, "Start the survey again then; it goes on where it was.")
        alone = fault.wait_s is None and fault.kind != "network"
        if alone and self._since_success < 2 * ATTEMPTS:
            return  # it may be the fault of this checkpoint alone
        known = now < self._held_until
        backing_off = min(FIRST_WAIT_S * 2.0 ** (self._waits + 1), MAX_WAIT_S)
        wait = backing_off if fault.wait_s is None else fault.wait_s
        if known and fault.wait_s is None:
            return  # one of those that were under way
        self._held_until = max(self._held_until, now + wait)
        self._why = error
        if not known:
            self._waits += 1
            absent = fault.kind == "network" and not self._reached
            if self._waits > (MAX_WAITS_AT_FIRST if absent else MAX_WAITS):
                raise HubGivesUp(error, "Start the survey again later; it goes on where it was.")

    def _hub_wait_s(self, now: float) -> float:
        return max(self._held_until - now, self._allowance.wait_s(now))

    def _bring_back(self, now: float) -> None:
        """Queue those whose wait is over, before all others."""
        while self._later and self._later[0][0] <= now + ROUNDING_S:
            entry = heapq.heappop(self._later)[2]
            self._queue(entry).appendleft(entry)

    def _asks_hub(self, entry: Entry) -> bool:
        """Return whether a checkpoint may need requests."""
        if self._offline or entry.history:
            return False
        return may_ask_hub(Source.parse(entry.source))

    def _queue(self, entry: Entry) -> deque[Entry]:
        return self._of_hub if self._asks_hub(entry) else self._here
