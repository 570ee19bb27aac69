"""Progress, counters and cancellation of one opening: of its downloads, and of long local reads."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from geometry.checkpoints.errors import HelixscopeError

_SPEED_OVER_S = 2.0
"""Number of last seconds over which the reported speed is averaged."""

_SPEED_AFTER_S = 0.1
"""Minimum interval of a speed; shorter ones would give noise."""


class Cancelled(HelixscopeError):
    """The transfer was cancelled; only complete files are kept."""

    def __init__(self) -> None:
        super().__init__(
            "The transfer was cancelled.", "Open the model again to download the rest."
        )


@dataclass(frozen=True, slots=True)
class TransferProgress:
    """Progress of a transfer.

    Attributes
    ----------
    what
        Name of the current piece, e.g. "wpe.weight" or "config.json".
    done, total
        Bytes received, and the total.
    bytes_per_second
        Average over the last two seconds; None while there is nothing to measure.
    waiting
        Why the transfer is paused, as a sentence; "" if it is not.
    verb
        What is done with the piece.
    """

    what: str
    done: int
    total: int
    bytes_per_second: float | None
    waiting: str = ""
    verb: str = "Downloading"


class Transfer:
    """Reports and counts downloaded bytes, and can be cancelled from another thread.

    Parameters
    ----------
    on_progress
        Called with the progress, on the downloading thread.
    interval_s
        Minimum time between calls; the first and last of each piece, and waits, are always
        reported.

    Attributes
    ----------
    requests
        HTTP requests sent, including redirects and retries.
    bytes_received
        Bytes of bodies received, including discarded ones.
    """

    def __init__(
        self,
        on_progress: Callable[[TransferProgress], None] | None = None,
        *,
        interval_s: float = 0.05,
    ) -> None:
        self.requests = 0
        self.bytes_received = 0
        self._on_progress = on_progress
        self._interval_s = interval_s
        # Re-entrant, because a signal handler may call cancel.
        self._lock = threading.RLock()
        self._cancelled = threading.Event()
        self._stops: list[Callable[[], None]] = []
        self._what, self._done, self._total = "", 0, 0
        self._verb = "Downloading"
        self._combined = False
        self._reported_at = 0.0
        self._recent: deque[tuple[float, int]] = deque()

    # ---- stopping ----------------------------------------------------------------------

    def cancel(self) -> None:
        """Cancel, from any thread: returns immediately, ends waits and closes the active socket."""
        with self._lock:
            self._cancelled.set()
            # Called under the lock, so that a connection cannot finish and be used by another
            # thread first.
            for stop in self._stops:
                stop()

    @property
    def cancelled(self) -> bool:
        """Whether :meth:`cancel` was called."""
        return self._cancelled.is_set()

    def check(self) -> None:
        """Raise Cancelled if :meth:`cancel` was called."""
        if self.cancelled:
            raise Cancelled

    @contextmanager
    def interruptible(self, stop: Callable[[], None]) -> Iterator[None]:
        """Let :meth:`cancel` call ``stop`` while the block runs.

        ``stop`` is called on the cancelling thread and must return immediately without raising. An
        exception that it causes in the block becomes Cancelled.
        """
        with self._lock:
            self.check()
            self._stops.append(stop)
        try:
            yield
        # A stopped block may fail with any exception; others are raised.
        except Exception:
            self.check()
            raise
        finally:
            with self._lock:
                self._stops.remove(stop)

    def wait(
        self, seconds: float, why: str | Callable[[float], str], *, step_s: float = 1.0
    ) -> None:
        """Wait, or raise Cancelled as soon as the transfer is cancelled.

        Parameters
        ----------
        seconds
            Length of the wait.
        why
            Reported as ``waiting``; a function is called at each step with the seconds left.
        step_s
            Length of a step.
        """
        self.check()
        left = max(0.0, seconds)
        while True:
            self._report(why if isinstance(why, str) else why(left))
            # A fraction first, then whole steps, so that the reported numbers are integers.
            step = left if isinstance(why, str) else min(left, left % step_s or step_s)
            if self._cancelled.wait(step):
                raise Cancelled
            left -= step
            if left <= 0:
                break
        with self._lock:
            self._recent.clear()
        self._report()

    # ---- progress ----------------------------------------------------------------------

    def begin(self, what: str, total: int, verb: str = "Downloading") -> None:
        """Start a piece of ``total`` bytes, named ``what`` in the progress."""
        with self._lock:
            self._what, self._verb = what, verb
            if not self._combined:
                self._done, self._total = 0, total
        self._report()

    def ensure(self, what: str, total: int) -> None:
        """Like :meth:`begin`, unless the current piece still expects this many bytes.

        So a caller with a better name for the bytes, such as a tensor's, can begin it first.
        """
        if self._combined or self._total - self._done < max(total, 1):
            self.begin(what, total)

    @contextmanager
    def combined(self, total: int) -> Iterator[None]:
        """Count all pieces in the block as one of ``total`` bytes, each reported by name."""
        with self._lock:
            self._done, self._total, self._combined = 0, total, True
        try:
            yield
        finally:
            with self._lock:
                self._combined = False

    def extend(self, nbytes: int) -> None:
        """Add bytes to the total of the current piece."""
        with self._lock:
            self._total += nbytes
        self._report()

    def advance(self, nbytes: int) -> None:
        """Count received bytes of the current piece."""
        now = time.monotonic()
        with self._lock:
            self.bytes_received += nbytes
            self._done += nbytes
            if self._on_progress is not None:  # otherwise nothing would discard old samples
                self._recent.append((now, nbytes))
            complete = self._done >= self._total > 0
            due = now - self._reported_at >= self._interval_s
        if complete or due:
            self._report()

    def skip(self, nbytes: int) -> None:
        """Count received bytes that belong to no piece."""
        with self._lock:
            self.bytes_received += nbytes

    def count_request(self) -> None:
        """Count one HTTP request."""
        with self._lock:
            self.requests += 1

    def _report(self, waiting: str = "") -> None:
        if self._on_progress is None:
            return
        now = time.monotonic()
        with self._lock:
            self._reported_at = now
            speed = None if waiting else self._speed(now)
            progress = TransferProgress(
                self._what, self._done, self._total, speed, waiting, self._verb
            )
        self._on_progress(progress)

    def _speed(self, now: float) -> float | None:
        recent = self._recent
        while recent and now - recent[0][0] > _SPEED_OVER_S:
            recent.popleft()
        # The first chunk only starts the clock, since its time of sending is unknown.
        if not recent or now - recent[0][0] < _SPEED_AFTER_S:
            return None
        nbytes = sum(n for _, n in recent) - recent[0][1]
        return nbytes / (now - recent[0][0])


_LOCAL: ContextVar[Transfer | None] = ContextVar("_LOCAL", default=None)
"""The transfer to which this thread's long local reads are reported."""


@contextmanager
def local_reads(transfer: Transfer) -> Iterator[None]:
    """Report this thread's long local reads in the block to a transfer, which can cancel them."""
    token = _LOCAL.set(transfer)
    try:
        yield
    finally:
        _LOCAL.reset(token)


def local_read(what: str, total: int, verb: str = "Reading") -> Callable[[int], None]:
    """Begin to read ``total`` bytes; return what is called with the number of each part of them.

    It raises Cancelled once :func:`local_reads` has a transfer that was cancelled.
    """
    transfer = _LOCAL.get() or Transfer()
    transfer.begin(what, total, verb)

    def advance(nbytes: int) -> None:
        transfer.check()
        transfer.advance(nbytes)

    return advance
