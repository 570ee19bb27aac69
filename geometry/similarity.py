"""Cosine similarity of positions, and its mean by distance."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from geometry.components import Array, check_range, check_table
from geometry.norms import row_norms
from geometry.pca import PositionPCA


@dataclass(frozen=True, eq=False, slots=True)
class Similarity:
    """Cosines of all rows of a range.

    Attributes
    ----------
    positions
        First and last position, both inclusive.
    cosines : (m, m) float64
        cos(P_i, P_j) of raw rows; 0 with a row of zeros.
    by_lag : (m,) float64
        Mean over i of cos(P_i, P_{i+Δ}), both in the range, for Δ = 0 … m − 1.
    """

    positions: tuple[int, int]
    cosines: Array
    by_lag: Array


def similarity(
    W_pos: npt.ArrayLike, positions: tuple[int, int], pca: PositionPCA | None = None
) -> Similarity:
    """Cosine similarity of the rows of a range.

    Parameters
    ----------
    W_pos : (n_positions, d_model)
        The table.
    positions
        First and last position, both inclusive.
    pca
        If given, rows are first projected: mean + projection on these components. What is then
        still periodic, the shown components explain.

    Raises
    ------
    RangeError
        When the range is empty or leaves the table.
    ValueError
        When W_pos is no table.

    References
    ----------
    Lukas Finnveden noticed the period, as "GPT-2's positional embedding matrix is a helix" (2023)
    reports.
    """
    table = check_table(W_pos)
    first, last = check_range(positions, len(table))
    rows = table[first : last + 1]
    if pca is not None:
        rows = pca.mean + pca.project(rows) @ pca.components
    norms = row_norms(rows)[:, None]
    units = np.divide(rows, norms, out=np.zeros_like(rows), where=norms > 0.0)
    cosines = np.clip(units @ units.T, -1.0, 1.0)
    by_lag = np.array([np.trace(cosines, offset) for offset in range(len(rows))])
    by_lag /= len(rows) - np.arange(len(rows))
    for array in (cosines, by_lag):
        array.flags.writeable = False
    return Similarity((first, last), cosines, by_lag)
