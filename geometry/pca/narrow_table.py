"""Running sums of a table of few dimensions: the PCA of any range in constant time."""

import numpy as np

from geometry.pca.components import Array, PositionPCA, make_pca

BLOCK_ROWS = 1024
ROUNDING = 1e-14
"""Rounding of the sums, as a share of the summed numbers."""
TOLERANCE = 1e-5


class NarrowTable:
    """A table of few dimensions with running sums of its rows and of their products.

    The scatter matrix of a range is a difference of two sums plus a few hundred rows at its
    ends, whatever its length.

    Parameters
    ----------
    table : (n_positions, d_model) float64
        Kept, not copied.
    """

    def __init__(self, table: Array) -> None:
        d = table.shape[1]
        count = len(table) // BLOCK_ROWS
        self._table = table
        # Products are taken about the table's mean, so that a large offset does not dominate them.
        self._centre = table.mean(axis=0)
        self._sums = np.zeros((count + 1, d))
        self._products = np.zeros((count + 1, d, d))
        for j in range(count):
            rows = self._rows(j * BLOCK_ROWS, (j + 1) * BLOCK_ROWS)
            self._sums[j + 1] = self._sums[j] + rows.sum(axis=0)
            self._products[j + 1] = self._products[j] + rows.T @ rows
        self._noise = ROUNDING * float(np.trace(self._sum_range(0, len(table))[1]))

    def fit(self, first: int, last: int, k: int, certified: int) -> PositionPCA | None:
        """Return the first k components of positions first…last.

        None if rounding could be visible in the first `certified` ones.
        """
        m = last - first + 1
        total, products = self._sum_range(first, last + 1)
        mean = total / m
        scatter = products - m * np.outer(mean, mean)
        values, vectors = np.linalg.eigh(scatter)
        values, vectors = values[::-1], vectors[:, ::-1]
        # A range has no negative variance, so 0 follows the last eigenvalue.
        steps = -np.diff(values, append=0.0)[:certified]
        if self._noise > TOLERANCE * float(steps.min()):
            return None
        return make_pca(
            (first, last),
            self._centre + mean,
            vectors[:, :k].T,
            values[:k],
            float(np.trace(scatter)),
            exact=False,
        )

    def _rows(self, start: int, stop: int) -> Array:
        rows: Array = self._table[start:stop] - self._centre
        return rows

    def _sum_range(self, start: int, stop: int) -> tuple[Array, Array]:
        """Return the sum of the centred rows start…stop − 1, (d,), and that of their products."""
        begin, end = -(-start // BLOCK_ROWS), stop // BLOCK_ROWS
        if begin >= end:
            rows = self._rows(start, stop)
            return rows.sum(axis=0), rows.T @ rows
        total = self._sums[end] - self._sums[begin]
        products = self._products[end] - self._products[begin]
        for rows in (self._rows(start, begin * BLOCK_ROWS), self._rows(end * BLOCK_ROWS, stop)):
            total += rows.sum(axis=0)
            products += rows.T @ rows
        return total, products
