"""Helix fits of every snapshot of a history."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import numpy.typing as npt

from geometry.checkpoints.errors import RangeError
from geometry.checkpoints.result import result
from geometry.evidence.turning_share import turning_share
from geometry.history.history import Steps
from geometry.history.timelapse import Indices, Report, Timelapse
from geometry.measures.shape import Best, fit_shapes
from geometry.measures.shape_fit import HELICES
from geometry.pca.components import Array

FEWEST = 8
"""Ranges of fewer positions have no shape."""
MANY, APART = 160, 1.03
"""Number of snapshots from which not all are fitted for a plot, and the ratio of the steps of two
that are: about a pixel of a plot."""


@result
class Helices:
    """Fits by :func:`geometry.measures.shape.fit_shapes` to each snapshot's three components.

    All arrays are read-only, NaN where a snapshot has not been fitted yet.

    Attributes
    ----------
    r2 : (n,) float64
        R² of the better of the two helices.
    turns : (n,) float64
        Turns of the fitted helix over the range.
    best
        The curve chosen for each snapshot; None where it has not been fitted yet.
    """

    r2: Array
    turns: Array
    best: tuple[Best | None, ...]

    @property
    def fitted(self) -> npt.NDArray[np.bool_]:
        """(n,) whether each snapshot has been fitted."""
        return np.array([best is not None for best in self.best], np.bool_)

    @property
    def first_helix(self) -> int | None:
        """The first snapshot from which all fitted ones are helices; None if there is none."""
        first = None
        for i in range(len(self.best) - 1, -1, -1):
            if self.best[i] in HELICES:
                first = i
            elif self.best[i] is not None:
                break
        return first

    def taken(self, known: Indices) -> Helices:
        """Return the fits of another history's snapshots.

        Parameters
        ----------
        known : (n,) int64
            The index here of each of its snapshots; −1 for those that are not fitted, see
            :meth:`geometry.history.history.History.known_from`.
        """
        r2 = np.where(known >= 0, self.r2[known], np.nan)
        turns = np.where(known >= 0, self.turns[known], np.nan)
        for array in (r2, turns):
            array.setflags(write=False)
        return Helices(r2, turns, tuple(self.best[i] if i >= 0 else None for i in known))


def fit_helices(timelapse: Timelapse, report: Report | None = None) -> Helices:
    """Fit every snapshot: the last result of :func:`grow_helices`.

    Parameters
    ----------
    timelapse
        See :func:`grow_helices`.
    report
        Called with the share done and a message after each snapshot.

    Raises
    ------
    RangeError
        As :func:`grow_helices`.
    """
    n, growing = len(timelapse.steps), grow_helices(timelapse)
    helices = next(growing)
    for done in range(1, n + 1):
        if report is not None:
            report(done / n, "Fitting helices")
        helices = next(growing, helices)
    return helices


def snapshots_apart(steps: Steps) -> list[int]:
    """Choose the snapshots that are fitted for a plot.

    Those of a training that has gone on are again among them, but for the last one.

    Parameters
    ----------
    steps : (n,) int64
        Increasing, none negative.

    Returns
    -------
    list of int
        Increasing indices, with the last one: all, or where there are many, those whose steps
        differ by a ratio of :data:`APART`.
    """
    n = len(steps)
    if n <= MANY:
        return [*range(n)]
    chosen, least = [*range(MANY)], APART * float(steps[MANY - 1])
    for index in range(MANY, n):
        if steps[index] >= least or index == n - 1:
            chosen.append(index)
            least = APART * float(steps[index])
    return chosen


def grow_helices(
    timelapse: Timelapse,
    known: Helices | None = None,
    snapshots: Iterable[int] | None = None,
) -> Iterator[Helices]:
    """Yield partial fits, with one more snapshot each time, from the last to the first.

    Parameters
    ----------
    timelapse
        Its aligned coordinates are fitted over the range; fits do not depend on orientation.
    known
        Fits of some of its snapshots, which are kept; yielded as they are if they are all.
    snapshots
        Indices of those to fit; all if None.

    Raises
    ------
    RangeError
        The range has fewer than eight positions, or three components.
    """
    points, n = timelapse.aligned[:, timelapse.in_range], len(timelapse.steps)
    d = timelapse.pca.components.shape[1]
    if points.shape[1] < FEWEST or len(timelapse.pca.components) < points.shape[2]:
        raise RangeError(
            f"{points.shape[1]} positions of {len(timelapse.pca.components)} components have no "
            "shape",
            "Choose a longer range.",
        )
    r2, turns = np.full(n, np.nan), np.full(n, np.nan)
    best: list[Best | None] = [None] * n
    if known is not None:
        r2, turns, best = known.r2.copy(), known.turns.copy(), list(known.best)
    wanted = range(n) if snapshots is None else snapshots
    missing = sorted((i for i in wanted if best[i] is None), reverse=True)
    if known is not None and not missing:
        yield known
    for i in missing:
        share = float(timelapse.top3[i])
        shapes = fit_shapes(points[i], turning_share(points[i], share=share, columns=d))
        helix = shapes.fits["helix"]
        r2[i] = max(helix.r2, shapes.fits["drifting_helix"].r2)
        turns[i], best[i] = helix.turns, shapes.best
        so_far = (r2.copy(), turns.copy())
        for array in so_far:
            array.setflags(write=False)
        yield Helices(*so_far, tuple(best))
