"""How far each row of a table moved, between two versions of it."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from geometry.checkpoints.errors import RangeError
from geometry.checkpoints.result import result
from geometry.pca.components import Array, row_norms

LEAST = 0.01
"""Share of the rows' mean norm below which a row is compared with that mean."""
_AT_ONCE = 512
"""Rows compared with all others at once."""


@result
class RowChanges:
    """Rows of a table before and after a change.

    Attributes
    ----------
    moved : (n,) float64
        ‖Pᵢ after − Pᵢ before‖ of the rows that both have, in the table's units.
    relative : (n,) float64
        The same as a share of ‖Pᵢ before‖; of a row with less than :data:`LEAST` of the rows' mean
        norm, as of positions that no training text reached, of that mean. 0 if the row has not
        moved, and 1 if there is no norm to compare with.
    unchanged : (n,) bool
        Rows that are equal in every number.
    new : (n_after − n,) float64
        Of the rows that were added, the distance to the nearest row before, as a share of their own
        norm: 0 for a copy, and for a row of zeros.
    n_before, n_after
        Numbers of rows.
    """

    moved: Array
    relative: Array
    unchanged: npt.NDArray[np.bool_]
    new: Array
    n_before: int
    n_after: int


def row_changes(before: npt.ArrayLike, after: npt.ArrayLike) -> RowChanges:
    """Compare two versions of a table, row by row.

    Parameters
    ----------
    before, after : (rows, d_model)
        The numbers of rows may differ, as of a table that was resized.

    Raises
    ------
    RangeError
        They are not matrices of the same width.
    """
    old, now = np.asarray(before, np.float64), np.asarray(after, np.float64)
    if old.ndim != 2 or now.ndim != 2 or old.shape[1] != now.shape[1]:
        raise RangeError(
            f"the tables have shapes {old.shape} and {now.shape}, and only rows of one width can "
            "be compared"
        )
    n = min(len(old), len(now))
    moved, norms = row_norms(now[:n] - old[:n]), row_norms(old[:n])
    mean = norms.mean() if n else 0.0
    scale = np.where(norms > LEAST * mean, norms, mean)
    relative = np.divide(moved, scale, out=np.ones(n), where=scale > 0)
    relative[moved == 0] = 0.0
    return RowChanges(
        moved, relative, (old[:n] == now[:n]).all(axis=1), _apart(old, now[n:]), len(old), len(now)
    )


def _apart(old: Array, new: Array) -> Array:
    """Return the distance of new rows to the nearest old one, as a share of their norm."""
    nearest = np.zeros(len(new))
    squares = np.einsum("ij,ij->i", old, old)
    for first in range(0, len(new), _AT_ONCE):
        rows = new[first : first + _AT_ONCE]
        at = (squares - 2 * rows @ old.T).argmin(axis=1)
        nearest[first : first + len(rows)] = row_norms(rows - old[at])
    norms = row_norms(new)
    return np.divide(nearest, norms, out=np.zeros(len(new)), where=norms > 0)
