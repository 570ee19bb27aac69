"""When during training the directions of the positions become sparse.

Sparse refers to the entries of a singular direction in the embedding: the measure is the share of
the 40 largest entries in the squared length, after "Insights into GPT-2's positional encodings"
(2024).
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from geometry.checkpoints.result import result
from geometry.evidence.null import Null
from geometry.history.history import History, Steps
from geometry.history.timelapse import Report
from geometry.measures.directions import singular_directions
from geometry.measures.overlaps import sparsity, sparsity_nulls
from geometry.pca.components import Array

LEADING = 3
"""Directions over which the mean is taken, as in the claim about them."""
ROUNDING = 1e-6
"""Singular values up to this share of the first are rounding of single precision."""


@result
class SparseDirections:
    """Sparsity of the position table's leading directions by training step.

    Attributes
    ----------
    steps : (n,) int64
        Of training.
    mass : (n,) float64
        Share of the 40 largest entries in the squared length of a direction, mean of the first
        three singular directions of the whole table, uncentred; of fewer where the table has no
        three. NaN for tables of zeros. Read-only.
    turned
        The same for as many random directions.
    """

    steps: Steps
    mass: Array
    turned: Null


def sparse_directions(
    history: History,
    report: Report | None = None,
    earlier: tuple[History, SparseDirections] | None = None,
) -> SparseDirections:
    """Measure how sparse the leading directions are at each step of a training.

    Parameters
    ----------
    history
        Every table is read once.
    report
        Called with the share done and a message after each snapshot.
    earlier
        The same history as it was read before, and its result: only new tables are read.

    Raises
    ------
    SourceError
        A table cannot be read.
    """
    n, mass = history.n_snapshots, np.full(history.n_snapshots, np.nan)
    new: Iterable[int] = range(n)
    if earlier is not None:
        known = history.known_from(earlier[0])
        mass = np.where(known >= 0, earlier[1].mass[known], np.nan)
        new = [int(index) for index in np.flatnonzero(known < 0)]
    for i in new:
        directions = singular_directions(history.table(i))
        values = directions.singular_values[:LEADING]
        nonzero = values > ROUNDING * values[0]
        if nonzero.any():
            mass[i] = np.mean(sparsity(directions.vectors[:LEADING][nonzero]).mass_top40)
        if report is not None:
            report((i + 1) / n, f"Directions at step {history.steps[i]:,}")
    mass.setflags(write=False)
    if earlier is not None and earlier[0].shape == history.shape:
        return SparseDirections(history.steps, mass, earlier[1].turned)
    rotated = sparsity_nulls(min(LEADING, *history.shape), history.d_model).mean_mass_top40
    return SparseDirections(history.steps, mass, rotated)
