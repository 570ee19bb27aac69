"""Which checkpoints of a history to bring together, and what that costs, before it starts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from geometry.checkpoints.errors import RangeError
from geometry.history.origins import Origin, Snapshot

DEFAULT_COUNT = 40

#: What comes of a checkpoint besides its table: the index and the configuration.
BESIDE_BYTES = 256 * 1024


@dataclass(frozen=True, eq=False, slots=True)
class HistoryPlan:
    """A choice of checkpoints.

    Attributes
    ----------
    origin
        Where they are.
    snapshots
        Those that were chosen, by rising step.
    n_available
        How many there are to choose from.
    """

    origin: Origin
    snapshots: tuple[Snapshot, ...]
    n_available: int

    @property
    def to_fetch(self) -> tuple[Snapshot, ...]:
        """Those that are not on this machine."""
        return tuple(snapshot for snapshot in self.snapshots if not snapshot.here)

    @property
    def bytes_to_fetch(self) -> int:
        """How many bytes come at most: each table in float32, and what is told of it."""
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
        Where they are.
    snapshots
        What there is, by rising step.
    count
        How many; all, if there are fewer.
    steps
        First and last step, both inclusive; all if None.

    Raises
    ------
    RangeError
        None lies there, or none is asked for.
    """
    first, last = steps or (0, max((one.step for one in snapshots), default=0))
    usable = [one for one in snapshots if first <= one.step <= last]
    if not usable:
        raise RangeError(
            f"{origin.name} has no checkpoints at steps {first}–{last}",
            "Choose a wider range of steps." if snapshots else "",
        )
    chosen = log_spaced([one.step for one in usable], count)
    return HistoryPlan(origin, tuple(usable[i] for i in chosen), len(snapshots))


def log_spaced(steps: Sequence[int], count: int) -> tuple[int, ...]:
    """Choose steps so that their logarithms are as evenly spaced as the steps allow.

    Parameters
    ----------
    steps
        Rising, at least one, none negative.
    count
        How many, at least one; all, if there are fewer.

    Returns
    -------
    tuple of int
        Indices into ``steps``, rising, each once: exactly ``count`` of them, with the last step
        always, and with the first one unless only one is asked for.

    Raises
    ------
    RangeError
        When fewer than one is asked for.
    """
    n = len(steps)
    if count < 1:
        raise RangeError(f"{count} checkpoints were asked for", "Ask for at least one.")
    if count >= n:
        return tuple(range(n))
    if count == 1:
        return (n - 1,)
    # Step 0 has no logarithm: it stands as far before the first one as that before twice itself.
    positive = next(step for step in steps if step > 0)
    places = np.log(np.maximum(np.asarray(steps, np.float64), positive / 2))
    chosen = np.arange(n)
    while len(chosen) > count:
        # The one goes that leaves the smallest gap.
        gaps = places[chosen[2:]] - places[chosen[:-2]]
        chosen = np.delete(chosen, 1 + gaps.argmin())
    return tuple(int(i) for i in chosen)
