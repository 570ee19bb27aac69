"""How long work will still take, by what it has done."""

from __future__ import annotations

import time
from collections.abc import Callable

LONG_S = 2.0
"""Seconds in all above which the time that is left is given."""
EARLY_S = 0.5
"""Seconds of work before which it is not known."""


class TimeLeft:
    """Estimates the time left from shares that are done, at the mean rate so far.

    A share that is smaller than the last one begins other work.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self.restart()

    def restart(self) -> None:
        """Begin other work."""
        self._began: tuple[float, float] | None = None  # Time and share of the first report
        self._last = 0.0

    def text(self, share: float | None) -> str:
        """Return the time left after a share of 0 to 1: "8 s left".

        "" if all of the work is short or done, or the time unknown.
        """
        if share is None:
            self.restart()
            return ""
        if share < self._last:
            self.restart()
        now, self._last = self._clock(), share
        if self._began is None:
            self._began = now, share
        began, first = self._began
        took, done = now - began, share - first
        if took < EARLY_S or done <= 0.0 or share >= 1.0:
            return ""
        left = took / done * (1.0 - share)
        return f"{_rounded(left)} left" if took + left >= LONG_S else ""


def _rounded(seconds: float) -> str:
    """Format a time: "8 s", "3 min", "1.5 h"."""
    if seconds < 55.0:
        return f"{max(round(seconds), 1)} s"
    if seconds < 55.0 * 60.0:
        return f"{round(seconds / 60.0)} min"
    return f"{round(seconds / 3600.0, 1):g} h"
