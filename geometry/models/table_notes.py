"""What sets a table apart from those that have a curve, as sentences."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from geometry.pca.components import about_mean, row_norms
from geometry.pca.unit import in_unit

BESIDE_TOKENS = 2.0**60
"""Numbers of this size and its inverse are usual beside tokens and weights."""
FEW = 8
"""Rows that nearly always show that the others vary in more than two dimensions."""
SPACE = 3
"""Dimensions of the shown curve."""


def table_notes(
    W_pos: npt.NDArray[np.floating[Any]], largest: float, precision: float
) -> list[str]:
    """Describe a table whose rows hardly vary, or whose numbers are unusually large or small.

    Parameters
    ----------
    W_pos : (n_positions, d_model)
        The table, float64 or float32.
    largest
        Largest magnitude of its numbers.
    precision
        Of the stored numbers, relative to them.
    """
    if not largest:
        return ["All numbers of this table are zero: it has no directions and no curve."]
    notes, rank = [], dimensions(W_pos, precision)
    if not 1 / BESIDE_TOKENS <= largest <= BESIDE_TOKENS:
        lost = "tokens" if largest > 1.0 else "positions"
        notes.append(
            f"The largest number of this table is {largest:.2g}: in sums of tokens and positions "
            f"the {lost} are lost to rounding."
        )
    if len(W_pos) > 1 and not rank:
        notes.append("All rows are equal: they do not vary, and have no components.")
    elif rank < min(SPACE, len(W_pos) - 1, W_pos.shape[1]):
        only = f"{rank} dimension{'s'[: rank != 1]}"
        notes.append(f"Rounding aside, the rows vary in only {only}: no more components exist.")
    return notes


def dimensions(rows: npt.NDArray[np.floating[Any]], precision: float) -> int:
    """Count the dimensions in which rows vary by more than their rounding, up to three.

    Parameters
    ----------
    rows : (n, d)
    precision
        Of the numbers, relative to them.
    """
    if len(rows) > FEW:
        some = rows[np.linspace(0, len(rows) - 1, FEW).astype(np.intp)]
        if dimensions(some, precision) == SPACE:
            return SPACE
    X, _ = in_unit(rows.astype(np.float64, copy=False))
    computed = float(np.finfo(np.float64).eps) * max(X.shape)
    rounding = max(2 * precision, computed) * float(row_norms(X).max())
    X = about_mean(X)
    for rank in range(SPACE):
        norms = row_norms(X)
        farthest = int(norms.argmax())
        if norms[farthest] <= rounding:
            return rank
        direction = X[farthest] / norms[farthest]
        X = X - np.outer(X @ direction, direction)
    return SPACE
