"""Choosing checkpoints of a history, and the size of their download."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from geometry.checkpoints.errors import RangeError
from geometry.checkpoints.result import result
from geometry.history.origins import Origin, Snapshot

DEFAULT_COUNT = 40

BESIDE_BYTES = 256 * 1024
"""Size of a checkpoint's download besides its table: the index and the configuration."""


@result
class HistoryPlan:
    """A choice of checkpoints.

    Attributes
    ----------
    origin
        Their origin.
    snapshots
        The chosen checkpoints, by increasing step.
    n_available
        Number of available checkpoints.
    """

    origin: Origin
    snapshots: tuple[Snapshot, ...]
    n_available: int

    @property
    def to_fetch(self) -> tuple[Snapshot, ...]:
        """The checkpoints not on this machine."""
        return tuple(snapshot for snapshot in self.snapshots if not snapshot.here)

    @property
    def bytes_to_fetch(self) -> int:
        """Maximum bytes to download: each table in float32, its index and configuration."""
        rows, columns = self.origin.shape
        return len(self.to_fetch) * (4 * rows * columns + BESIDE_BYTES)


def plan_history(
    origin: Origin,
    snapshots: Sequence[Snapshot],
    count: int = DEFAULT_COUNT,
    steps: tuple[int, int] | None = None,
) -> HistoryPlan:
    """Choose checkpoints at log-spaced steps.

    Parameters
    ----------
    origin
        Their origin.
    snapshots
        The available ones, by increasing step.
    count
        Number to choose; all, if there are fewer.
    steps
        First and last step, both inclusive; all if None.

    Raises
    ------
    RangeError
        There are none in this range, or ``count`` is below 1.
    """
    first, last = steps or (0, max((snapshot.step for snapshot in snapshots), default=0))
    usable = [snapshot for snapshot in snapshots if first <= snapshot.step <= last]
    if not usable:
        raise RangeError(
            f"{origin.name} has no checkpoints at steps {first}–{last}",
            "Choose a wider range of steps." if snapshots else "",
        )
    chosen = log_spaced([snapshot.step for snapshot in usable], count)
    return HistoryPlan(origin, tuple(usable[i] for i in chosen), len(snapshots))


def log_spaced(steps: Sequence[int], count: int) -> tuple[int, ...]:
    """Choose steps so that their logarithms are as evenly spaced as the steps allow.

    Parameters
    ----------
    steps
        Increasing, not empty, none negative.
    count
        Number to choose, at least one; all, if there are fewer.

    Returns
    -------
    tuple of int
        Increasing indices into ``steps``: exactly ``count`` of them, always including the last
        step, and the first one unless ``count`` is 1.

    Raises
    ------
    RangeError
        ``count`` is below 1.
    """
    n = len(steps)
    if count < 1:
        raise RangeError(f"{count} checkpoints were requested", "Request at least one.")
    if count >= n:
        return tuple(range(n))
    if count == 1:
        return (n - 1,)
    # Step 0 has no logarithm: place it before the first step at the distance of a factor of two.
    positive = next(step for step in steps if step > 0)
    places = np.log(np.maximum(np.asarray(steps, np.float64), positive / 2))
    chosen = np.arange(n)
    while len(chosen) > count:
        # Remove the step that leaves the smallest gap.
        gaps = places[chosen[2:]] - places[chosen[:-2]]
        chosen = np.delete(chosen, 1 + gaps.argmin())
    return tuple(int(i) for i in chosen)
