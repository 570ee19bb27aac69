"""Lengths of a position table's rows and of the steps between them."""

from typing import Literal

import numpy as np
import numpy.typing as npt

from geometry.checkpoints.result import result
from geometry.pca.components import Array, check_table, read_only, row_norms

BLOCK = 4096
"""Rows processed at a time, so that a large table is never copied whole."""


@result
class RowLengths:
    """Norms and steps of all stored rows, read-only, in the table's units.

    Attributes
    ----------
    norms, centred_norms : (n_positions,) float64
        ‖P_i‖₂, and the same of each row minus its mean over d_model (what LayerNorm sees).
    steps, centred_steps : (n_positions − 1,) float64
        ‖P_{i+1} − P_i‖₂, and the same of rows minus their means.
    """

    norms: Array
    centred_norms: Array
    steps: Array
    centred_steps: Array

    def of(self, quantity: Literal["norm", "step"], *, centred: bool) -> Array:
        """Return norms or steps, of centred rows or of rows as they are."""
        if quantity == "norm":
            return self.centred_norms if centred else self.norms
        return self.centred_steps if centred else self.steps


def row_lengths(W_pos: npt.ArrayLike) -> RowLengths:
    """Measure every row and every step from a row to the next.

    Parameters
    ----------
    W_pos : (n_positions, d_model)
        The table, all stored rows.

    Raises
    ------
    ValueError
        When W_pos is no table.
    """
    table = check_table(W_pos)
    found: tuple[list[Array], ...] = ([], [], [], [])
    for start in range(0, len(table), BLOCK):
        rows = table[start : start + BLOCK + 1]  # including the first row of the next block
        own, steps = rows[:BLOCK], np.diff(rows, axis=0)
        measured = (own, _without_means(own), steps, _without_means(steps))
        for lengths, vectors in zip(found, measured, strict=True):
            lengths.append(row_norms(vectors))
    arrays = [np.concatenate(lengths) for lengths in found]
    read_only(*arrays)
    return RowLengths(*arrays)


def _without_means(rows: Array) -> Array:
    centred: Array = rows - rows.mean(axis=1, keepdims=True)
    return centred
