"""PCA of any range of a wide table in its leading directions, with a bound of the error."""

from itertools import islice

import numpy as np

from geometry.pca.components import Array, PositionPCA, make_pca
from geometry.pca.ritz_bounds import coordinate_errors, refine
from geometry.pca.subspace import (
    Product,
    RitzPairs,
    krylov_subspaces,
    orthonormal_extension,
    ritz_pairs,
    spectral_norm_bound,
)

TOLERANCE = 1e-4
BASIS = 48
GUARD = 2
EXPANSIONS = 5
SUM_ROWS = 64
SINGLE = 3e-7
"""Rounding of products with single-precision rows, as a share of the summed numbers."""


class ReducedTable:
    """A table reduced to its leading directions B, from which the PCA of any range starts.

    A range is a small eigenproblem in B. A product with its true rows gives the residuals outside
    B, which bound the error of every coordinate. Where the bound is too large, the residuals extend
    the subspace, and the step is repeated.

    Parameters
    ----------
    table : (n_positions, d_model) float64
        Kept. The residuals use a copy in single precision, half its size, since most of the time
        is spent on reading the rows.
    """

    def __init__(self, table: Array) -> None:
        self._table = table
        self._centre = centre = table.mean(axis=0)
        d = table.shape[1]

        def times(V: Array) -> Array:
            image: Array = table @ V - centre @ V
            return image

        def transposed(Z: Array) -> Array:
            return table.T @ Z - np.outer(centre, Z.sum(axis=0))

        self._basis = B = _leading_directions(times, transposed, d)
        self._rows = times(B)
        # Dropping rows and centring the rest do not enlarge a spectral norm: the bound for the
        # whole table holds for every range.
        self._missed = spectral_norm_bound(
            lambda V: times(V - B @ (B.T @ V)), lambda Z: _outside(transposed(Z), B), d
        )
        squares = _squared_distances(table, centre)
        inside = np.einsum("ij,ij->i", self._rows, self._rows)
        self._energy = np.concatenate(([0.0], np.cumsum(squares)))
        self._reach = np.sqrt(squares)
        self._tail = np.sqrt(np.maximum(squares - inside, 0.0))
        self._sums = _running_sums(table)
        self._single = np.empty(table.shape, dtype=np.float32)
        np.subtract(table, centre, out=self._single, casting="same_kind")

    def fit(self, first: int, last: int, k: int, certified: int) -> PositionPCA | None:
        """Return the first k components of positions first…last.

        None if the first `certified` ones are not certain to be within the tolerance.
        """
        if self._basis.shape[1] < k:
            return None
        rows, single = self._table[first : last + 1], self._single[first : last + 1]
        mean = self._mean(first, last)
        offset = mean - self._centre
        total = float(self._energy[last + 1] - self._energy[first])
        total -= len(rows) * float(offset @ offset)

        def times(V: Array) -> Array:
            image: Array = single @ V.astype(np.float32) - offset @ V
            return image

        def transposed(Z: Array) -> Array:
            # Rows of the image are centred already, since centred rows sum to zero.
            return (single.T @ Z.astype(np.float32)).astype(np.float64)

        Q, Y = self._basis, self._rows[first : last + 1] - offset @ self._basis
        for _ in range(EXPANSIONS):
            pairs = ritz_pairs(Q, Y, transposed, k + GUARD)
            if pairs.values[certified - 1] <= self._missed**2:
                # The missed part may be as large as the eigenvalue: no bound can hold.
                return None
            rounding = SINGLE * np.sqrt(max(total, 0.0))
            errors, refined = self._bound_errors(pairs, certified, first, last, offset, rounding)
            values, vectors = pairs.values[:k], pairs.vectors[:, :k]
            if min(errors.max(), refined.max()) <= TOLERANCE:
                if errors.max() > TOLERANCE:
                    values, vectors = refine(pairs, certified, k, Q, Y, times)
                return make_pca((first, last), mean, vectors.T, values, total, exact=False)
            new = orthonormal_extension(Q, pairs.residuals, float(pairs.values[0]))
            if new.shape[1] == 0 or Q.shape[1] + new.shape[1] > min(rows.shape) * 3 // 4:
                return None
            Q, Y = np.hstack((Q, new)), np.hstack((Y, rows @ new - mean @ new))
        return None

    def _mean(self, first: int, last: int) -> Array:
        start, stop = first, last + 1
        begin, end = -(-start // SUM_ROWS), stop // SUM_ROWS
        if begin >= end:
            whole: Array = self._table[start:stop].mean(axis=0)
            return whole
        total = self._sums[end] - self._sums[begin]
        total += self._table[start : begin * SUM_ROWS].sum(axis=0)
        total += self._table[end * SUM_ROWS : stop].sum(axis=0)
        mean: Array = total / (stop - start)
        return mean

    def _bound_errors(
        self, pairs: RitzPairs, k: int, first: int, last: int, offset: Array, rounding: float
    ) -> tuple[Array, Array]:
        """Return bounds as in `coordinate_errors`, as shares of the largest coordinate."""
        away = float(np.linalg.norm(offset))
        reach = float(self._reach[first : last + 1].max()) + away
        offset_tail = float(np.linalg.norm(_outside(offset, self._basis)))
        tail = float(self._tail[first : last + 1].max()) + offset_tail
        sizes = np.abs(pairs.images).max(axis=0)
        largest = max(float(sizes[:k].max()), np.finfo(float).tiny)
        errors, refined = coordinate_errors(pairs, k, self._missed**2, reach, tail, sizes, rounding)
        return errors / largest, refined / largest


def _outside(V: Array, basis: Array) -> Array:
    return V - basis @ (basis.T @ V)


def _leading_directions(times: Product, transposed: Product, d_model: int) -> Array:
    """Return approximate leading right singular directions, (d, at most 48)."""
    Q, Y = np.empty((d_model, 0)), np.empty((0, 0))
    for subspace in islice(krylov_subspaces(times, transposed, d_model, BASIS // 3), 4):
        Q, Y = subspace
    _, W = np.linalg.eigh(Y.T @ Y)
    basis: Array = Q @ W[:, ::-1][:, :BASIS]
    return basis


def _squared_distances(table: Array, centre: Array) -> Array:
    """Return ‖row − centre‖² of every row, (n,), in blocks, without a copy of the table."""
    squares = np.empty(len(table))
    for start in range(0, len(table), 256):
        block = table[start : start + 256] - centre
        np.einsum("ij,ij->i", block, block, out=squares[start : start + 256])
    return squares


def _running_sums(table: Array) -> Array:
    """Return the sum of all rows before position 64·j, for every j, (n // 64 + 1, d)."""
    n, d = table.shape
    count = n // SUM_ROWS
    blocks = table[: count * SUM_ROWS].reshape(count, SUM_ROWS, d)
    return np.concatenate((np.zeros((1, d)), np.cumsum(blocks.sum(axis=1), axis=0)))
