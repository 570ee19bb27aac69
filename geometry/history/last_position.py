"""Why the last position is an outlier, and whether its row is ever trained.

Hypothesis: a model trained on windows of exactly n_positions tokens predicts nothing from the last
one, and nothing later attends to it. So its row gets no gradient, and AdamW only shrinks it by
weight decay: after training it is its initial value times the product of 1 − learning rate × weight
decay.

Test: subtract from every snapshot's last row its decayed initial value; by the hypothesis nothing
remains. The rows before it show the effect of training.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from geometry.checkpoints.result import result
from geometry.history.history import History, Steps
from geometry.pca.components import Array, row_norms

Rows = npt.NDArray[np.float32]

NEIGHBOURS = 8

STAYS, MOVES = 0.05, 0.5
"""Largest remainder of the last row under the hypothesis; smallest remainder of its neighbours
that shows training."""


@result
class LastPosition:
    """The last position's row over training, beside the eight rows before it.

    All arrays are (n,) float64, one number for each snapshot, read-only.

    Attributes
    ----------
    steps
        Of training, int64.
    position
        Index of the last position.
    norms, neighbour_norms
        Norms of the last row; median norms of its neighbours.
    predicted_norms
        Norms of the last row by the hypothesis: its first norm, decayed. With the recorded decay if
        the history has it; otherwise with the decay that fits the row.
    recorded
        Whether the decay is recorded in the history.
    departures, neighbour_departures
        Share of the row's norm that is not its decayed initial value (0 to about 1, 0 at the first
        snapshot; beyond rounding of the stored numbers); the median of its neighbours'.
    supports
        Whether the history supports the hypothesis; None where undecided.
    why
        The reason, as a sentence.
    """

    steps: Steps
    position: int
    norms: Array
    neighbour_norms: Array
    predicted_norms: Array
    recorded: bool
    departures: Array
    neighbour_departures: Array
    supports: bool | None
    why: str

    @property
    def departure(self) -> float:
        """The largest of :attr:`departures`: at most 0.05 where the hypothesis holds."""
        return float(self.departures.max())


def last_rows(history: History, earlier: tuple[History, Rows] | None = None) -> Rows:
    """Read the last position's row and the eight rows before it at every snapshot.

    Parameters
    ----------
    history
        Every table is read once.
    earlier
        The same history as it was read before, and its rows: only new tables are read.

    Returns
    -------
    (n, 9, d_model) float32, of fewer rows where the table has no nine

    Raises
    ------
    SourceError
        A table cannot be read.
    """
    count = min(NEIGHBOURS, history.n_positions - 1)
    if earlier is None:
        return np.stack([history.table(i)[-count - 1 :] for i in range(history.n_snapshots)])
    known = history.known_from(earlier[0])
    rows = np.empty((history.n_snapshots, count + 1, history.d_model), np.float32)
    rows[known >= 0] = earlier[1][known[known >= 0]]
    for i in np.flatnonzero(known < 0):
        rows[i] = history.table(int(i))[-count - 1 :]
    return rows


def last_position(history: History, rows: Rows | None = None) -> LastPosition:
    """Follow the last position's row through a history.

    Parameters
    ----------
    history
        Every table is read once, without ``rows``.
    rows
        What :func:`last_rows` returns.

    Raises
    ------
    SourceError
        A table cannot be read.
    """
    count = min(NEIGHBOURS, history.n_positions - 1)
    rows = last_rows(history) if rows is None else rows
    decays = None if history.decays is None else history.decays / history.decays[0]
    factors, departures = zip(*(follow(rows[:, k], decays) for k in range(count + 1)), strict=True)
    norms = np.stack([row_norms(snapshot) for snapshot in rows.astype(np.float64)])
    beside = np.zeros_like(norms[:, :1]) if count == 0 else norms[:, :-1]
    strayed = np.stack(departures[:-1] or (np.zeros(len(rows)),))
    arrays = (
        norms[:, -1],
        np.median(beside, axis=1),
        norms[0, -1] * factors[-1],
        departures[-1],
        np.median(strayed, axis=0),
    )
    for array in arrays:
        array.setflags(write=False)
    supports, why = _judge(history, arrays[3], arrays[4], norms[0, -1])
    return LastPosition(
        history.steps,
        history.n_positions - 1,
        *arrays[:3],
        decays is not None,
        *arrays[3:],
        supports,
        why,
    )


def follow(rows: npt.NDArray[np.float32], decays: Array | None = None) -> tuple[Array, Array]:
    """Compare one position's row at every snapshot with its decayed initial value.

    Parameters
    ----------
    rows : (n, d_model)
        The row at each snapshot.
    decays : (n,) float64
        Recorded decay factors, initially 1; None for the best-fitting non-increasing ones.

    Returns
    -------
    factors : (n,) float64
        ``decays``, or the fitted ones.
    departures : (n,) float64
        ‖row − factor · first row‖ / ‖row‖, less what rounding explains; 0 for rows of zeros.
    """
    exact = rows.astype(np.float64)
    first, slack = exact[0], _rounding(rows)
    if decays is None:
        size = float(first @ first)
        fitting = exact @ first / size if size > 0.0 else np.ones(len(rows))
        decays = np.minimum.accumulate(np.clip(fitting, 0.0, 1.0))
    left = row_norms(exact - decays[:, None] * first) - slack - decays * slack[0]
    norms = row_norms(exact)
    left = np.maximum(left, 0.0)
    departures = np.divide(left, norms, out=np.zeros_like(left), where=norms > 0.0)
    return decays, departures


def _rounding(rows: npt.NDArray[np.float32]) -> Array:
    """Return the largest rounding error of each stored row, perhaps in half precision.

    Numbers decayed to subnormal half precision have large relative rounding errors.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        half = rows.astype(np.float16)
        spacings = np.spacing(np.abs(half)).astype(np.float64)
    single = (half != rows).any(axis=1)
    spacings[single] = np.spacing(np.abs(rows[single]))
    return row_norms(spacings / 2)


def _judge(
    history: History, departures: Array, beside: Array, first_norm: float
) -> tuple[bool | None, str]:
    """Return whether a history supports the hypothesis, and the reason."""
    last = history.n_positions - 1
    steps = "–".join(_count(history.steps[i]) for i in (0, -1))
    if history.n_snapshots < 2 or history.n_positions < 3:
        return None, "This history is too short to decide."
    if first_norm == 0.0:
        return None, f"The row of position {last} starts at zero, so decay has no visible effect."
    if beside[-1] < MOVES:
        return None, (
            f"Over steps {steps} the rows before position {last} have hardly changed either "
            f"({_percent(beside[-1])}): this history is too short to decide."
        )
    worst = int(departures.argmax())
    predicted = ", as its weight decay predicts" if history.decays is not None else ""
    if departures[worst] <= STAYS:
        return True, (
            f"Over steps {steps} the row of position {last} keeps its initial direction and only "
            f"shrinks{predicted}: at most {_percent(departures[worst])} of it is new. Of the rows "
            f"before it, {_percent(beside[-1])} is new by the end."
        )
    return False, (
        f"At step {_count(history.steps[worst])}, {_percent(departures[worst])} of the row of "
        f"position {last} is not its decayed initial value, so it does learn."
    )


def _count(step: np.int64) -> str:
    return f"{step:,}".replace(",", "\N{THIN SPACE}")


def _percent(share: float) -> str:
    """Format a share, rounded up to whole percents.

    A row that has turned back differs from its first value by more than itself: all of it is new.
    """
    return f"{min(max(1, math.ceil(100 * share - 1e-9)), 100)} %"
