"""Singular directions of a matrix in the residual stream, strongest first."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Literal

import numpy as np
import numpy.typing as npt

from geometry.checkpoints.result import result
from geometry.checkpoints.threads import one_thread
from geometry.pca.components import Array, read_only, with_signs
from geometry.pca.unit import in_table_unit, in_unit

Side = Literal["input", "output"]

#: Matrices up to this size are decomposed on one thread.
SMALL = 512

#: A singular value up to this share of the first may be rounding, of a Gram matrix or of weights in
#: single precision.
ROUNDING = 1e-7

#: Numbers of a matrix, at most, whose weakest singular values are computed again where they are
#: lost in its Gram matrix. Larger ones keep directions that are arbitrary.
MAX_AGAIN = 2**23

#: Rows converted to float64 at a time.
BLOCK_ROWS = 8192


@result
class Directions:
    """Singular directions of a matrix on one of its sides.

    Attributes
    ----------
    singular_values : (k,) float64
        Falling, in the matrix's units; k = min(rows, columns).
    vectors : (k, d) float64
        Orthonormal rows, one direction each, arbitrary where the value is 0 but for rounding; or,
        from :func:`existing_directions`, fewer than k. Sign: the entry of largest magnitude is
        positive.
    """

    singular_values: Array
    vectors: Array

    @property
    def clear(self) -> int:
        """Number of directions of values above 1e-7 of the first, which no rounding has made."""
        return int((self.singular_values > ROUNDING * self.singular_values[0]).sum())


def singular_directions(
    matrix: npt.ArrayLike,
    side: Side = "input",
    *,
    on_block: Callable[[float], None] | None = None,
) -> Directions:
    """Singular directions of a matrix as it is: nothing is centred.

    Parameters
    ----------
    matrix : (d_out, d_in)
        Any real type; embeddings are (n, d_model). With at least as many rows as columns, its Gram
        matrix is summed in float64 blocks, without a copy of the matrix: singular values are
        accurate to 1e-8 of the first. Other matrices are decomposed directly.
    side
        "input": what the matrix reads, its right singular vectors, (k, d_in). "output": what it
        writes, its left singular vectors, (k, d_out).
    on_block
        Called after each block with the share of rows summed; may raise to stop. Not called for
        direct decompositions.

    Raises
    ------
    ValueError
        When it is not a matrix, or empty.
    """
    values = np.asarray(matrix)
    if values.ndim != 2 or 0 in values.shape:
        raise ValueError(f"expected a matrix (d_out, d_in), got {values.shape}")
    values, unit = in_unit(values)
    if side == "output":
        values = values.T
    n, d = values.shape
    if n >= d:
        total = gram(values, on_block)
        with _threads(d):
            squares, V = np.linalg.eigh(total)
        singular_values, vectors = np.sqrt(np.maximum(squares[::-1], 0.0)), V.T[::-1]
    else:
        wide = values.astype(np.float64, copy=False)
        with _threads(min(n, d)):
            _, singular_values, vectors = np.linalg.svd(wide, full_matrices=False)
    vectors = with_signs(vectors)
    singular_values = in_table_unit(singular_values, unit)
    read_only(singular_values, vectors)
    return Directions(singular_values, vectors)


def existing_directions(found: Directions, matrix: npt.ArrayLike) -> Directions:
    """Leave out the directions that a matrix does not have; all singular values stay.

    A direction exists if its singular value is above max(rows, columns) times float64's precision
    of the first; a matrix of zeros has none.

    Parameters
    ----------
    found
        Its directions, of either side.
    matrix : (d_out, d_in)
    """
    strengths, values = found.singular_values, np.asarray(matrix)
    if strengths[-1] <= ROUNDING * strengths[0] and values.size <= MAX_AGAIN:
        wide, _ = in_unit(values.astype(np.float64, copy=False))
        with _threads(min(values.shape)):
            strengths = np.linalg.svd(wide, compute_uv=False)
    least = np.finfo(np.float64).eps * max(values.shape) * strengths[0]
    return Directions(found.singular_values, found.vectors[: int((strengths > least).sum())])


def _threads(size: int) -> AbstractContextManager[None]:
    """Return a context that limits small decompositions to one thread.

    Half of a decomposition is memory-bound, so a second thread saves little, but makes it several
    times slower while a renderer keeps the cores busy.
    """
    return one_thread() if size <= SMALL else nullcontext()


def gram(
    matrix: npt.NDArray[np.floating], on_block: Callable[[float], None] | None = None
) -> Array:
    """AᵀA of (n, d), as (d, d) float64, from blocks of rows converted one at a time.

    In single precision the weakest directions would be lost to rounding.
    ``on_block`` is as in :func:`singular_directions`.
    """
    n, d = matrix.shape
    total, wide = np.zeros((d, d)), np.empty((min(BLOCK_ROWS, n), d))
    for start in range(0, n, BLOCK_ROWS):
        rows = matrix[start : start + BLOCK_ROWS]
        block = wide[: len(rows)]
        block[...] = rows
        total += block.T @ block
        if on_block is not None:
            on_block(min(1.0, (start + BLOCK_ROWS) / n))
    return total
