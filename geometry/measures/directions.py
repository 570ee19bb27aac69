"""Singular directions of a matrix in the residual stream, strongest first."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from geometry.checkpoints.threads import one_thread
from geometry.pca.components import Array

Side = Literal["input", "output"]

#: Matrices up to this size are decomposed on one thread.
SMALL = 512

#: Rows converted to float64 at a time.
BLOCK_ROWS = 8192


@dataclass(frozen=True, eq=False, slots=True)
class Directions:
    """Singular directions of a matrix on one of its sides.

    Attributes
    ----------
    singular_values : (k,) float64
        Falling, in the matrix's units; k = min(rows, columns).
    vectors : (k, d) float64
        Orthonormal rows, one direction each. Sign: the entry of largest magnitude is positive.
    """

    singular_values: Array
    vectors: Array


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
    largest = np.abs(vectors).argmax(axis=1)
    signs = np.where(vectors[np.arange(len(vectors)), largest] < 0.0, -1.0, 1.0)
    vectors = vectors * signs[:, None]
    for array in (singular_values, vectors):
        array.flags.writeable = False
    return Directions(singular_values, vectors)


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
