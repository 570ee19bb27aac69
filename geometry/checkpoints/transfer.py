"""What one opening fetches: told of while it lasts, counted, and stopped from another thread."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from geometry.checkpoints.errors import HelixscopeError

#: The speed told is that of the last seconds.
_SPEED_OVER_S = 2.0

#: Over less than this it would be noise.
_SPEED_AFTER_S = 0.1


class Cancelled(HelixscopeError):
    """Someone stopped the transfer; nothing of it is kept that was not complete."""

    def __init__(self) -> None:
        super().__init__("The transfer was cancelled.", "Open the model again to fetch the rest.")


@dataclass(frozen=True, slots=True)
class TransferProgress:
    """How far a transfer is.

    Attributes
    ----------
    what
        What is being fetched, e.g. "wpe.weight" or "config.json".
    done, total
        Bytes of it that are here, and bytes of all of it.
    bytes_per_second
        Over the last two seconds; None while there is nothing to measure.
    waiting
        Why nothing comes at the moment, as a sentence; else "".
    """

    what: str
    done: int
    total: int
    bytes_per_second: float | None
    waiting: str = ""


class Transfer:
    """Tells of what is fetched, counts it, and can be stopped from another thread.

    Parameters
    ----------
    on_progress
        Called on the thread that fetches, or None.
    interval_s
        Calls are at least so many seconds apart, but for the first and last of a piece, and for
        waits: those are always told.

    Attributes
    ----------
    requests
        HTTP requests sent, redirects and repetitions included.
    bytes_received
        Bytes of bodies received, those that were discarded included.
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
        # Re-entrant, as the other one that stopping takes: a signal's handler may cancel.
        self._lock = threading.RLock()
        self._cancelled = threading.Event()
        self._stops: list[Callable[[], None]] = []
        self._what, self._done, self._total = "", 0, 0
        self._told_at = 0.0
        self._recent: deque[tuple[float, int]] = deque()

    # ---- stopping ----------------------------------------------------------------------

    def cancel(self) -> None:
        """Stop, from any thread: returns at once, ends waits and shuts the socket under way."""
        with self._lock:
            self._cancelled.set()
            # Not after the lock: what is stopped must not have ended and been lent to another.
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
        """Let :meth:`cancel` call ``stop`` for as long as the block runs.

        ``stop`` is called on the thread that cancels: it returns at once and raises nothing. What
        fails in the block for that reason is told as Cancelled.
        """
        with self._lock:
            self.check()
            self._stops.append(stop)
        try:
            yield
        # A block that is stopped may fail with anything; all else goes on as it was.
        except Exception:
            self.check()
            raise
        finally:
            with self._lock:
                self._stops.remove(stop)

    def wait(
        self, seconds: float, why: str | Callable[[float], str], *, step_s: float = 1.0
    ) -> None:
        """Wait, or raise Cancelled as soon as someone cancels.

        Parameters
        ----------
        seconds
            How long.
        why
            Told as ``waiting``; a function is asked anew with each step, for the seconds left.
        step_s
            How long a step is.
        """
        self.check()
        left = max(0.0, seconds)
        while True:
            self._tell(why if isinstance(why, str) else why(left))
            # First what is over, then whole steps: the numbers told stay whole.
            step = left if isinstance(why, str) else min(left, left % step_s or step_s)
            if self._cancelled.wait(step):
                raise Cancelled
            left -= step
            if left <= 0:
                break
        with self._lock:
            self._recent.clear()
        self._tell()

    # ---- telling -----------------------------------------------------------------------

    def begin(self, what: str, total: int) -> None:
        """Start on a piece of ``total`` bytes, called ``what`` in the progress."""
        with self._lock:
            self._what, self._done, self._total = what, 0, total
        self._tell()

    def ensure(self, what: str, total: int) -> None:
        """Like :meth:`begin`, unless what was begun last still lacks so many bytes.

        So whoever knows a better name for the bytes of a file, such as a tensor's, begins it.
        """
        if self._total - self._done < max(total, 1):
            self.begin(what, total)

    def extend(self, nbytes: int) -> None:
        """Add bytes to what was begun last: they have to come too."""
        with self._lock:
            self._total += nbytes
        self._tell()

    def advance(self, nbytes: int) -> None:
        """Count bytes that came, of what was begun last."""
        now = time.monotonic()
        with self._lock:
            self.bytes_received += nbytes
            self._done += nbytes
            if self._on_progress is not None:  # else nobody asks, and nothing is forgotten
                self._recent.append((now, nbytes))
            complete = self._done >= self._total > 0
            due = now - self._told_at >= self._interval_s
        if complete or due:
            self._tell()

    def skip(self, nbytes: int) -> None:
        """Count bytes that came and belong to nothing that was begun."""
        with self._lock:
            self.bytes_received += nbytes

    def count_request(self) -> None:
        """Count one request."""
        with self._lock:
            self.requests += 1

    def _tell(self, waiting: str = "") -> None:
        if self._on_progress is None:
            return
        now = time.monotonic()
        with self._lock:
            self._told_at = now
            speed = None if waiting else self._speed(now)
            progress = TransferProgress(self._what, self._done, self._total, speed, waiting)
        self._on_progress(progress)

    def _speed(self, now: float) -> float | None:
        recent = self._recent
        while recent and now - recent[0][0] > _SPEED_OVER_S:
            recent.popleft()
        # The first piece only starts the clock: when it was sent is not known.
        if not recent or now - recent[0][0] < _SPEED_AFTER_S:
            return None
        nbytes = sum(n for _, n in recent) - recent[0][1]
        return nbytes / (now - recent[0][0])
