"""A wide table in its own leading directions: the PCA of any range, with a bound of its error."""

from itertools import islice

import numpy as np

from geometry.components import Array, PositionPCA, make_pca
from geometry.subspace import (
    Product,
    RitzPairs,
    krylov_subspaces,
    orthonormal_extension,
    ritz_pairs,
    spectral_norm_bound,
)

TOLERANCE = 1e-4
BASIS = 48
EXPANSIONS = 5
SUM_ROWS = 64


class ReducedTable:
    """A table reduced to its leading directions B, from which the PCA of any range starts.

    A range is a small eigenproblem in B. One product with its true rows gives the residuals:
    what B misses. They bound the error of every coordinate; where the bound is too large they
    extend the subspace for another round.

    Parameters
    ----------
    table : (n_positions, d_model) float64
        Kept, not copied.
    """

    def __init__(self, table: Array) -> None:
        self._table = table
        self._centre = centre = table.mean(axis=0)
        d = table.shape[1]

        def times(V: Array) -> Array:
            image: Array = table @ V - centre @ V
            return image

        def transposed(Z: Array) -> Array:
            image: Array = table.T @ Z - np.outer(centre, Z.sum(axis=0))
            return image

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

    def fit(self, first: int, last: int, k: int, certified: int) -> PositionPCA | None:
        """First k components of positions first…last.

        None where the first `certified` ones are not certain within the tolerance.
        """
        if self._basis.shape[1] < k:
            return None
        rows = self._table[first : last + 1]
        mean = self._mean(first, last)
        offset = mean - self._centre
        Q, Y = self._basis, self._rows[first : last + 1] - offset @ self._basis
        # Images of centred rows sum to zero: the transposed product needs no centring.
        for _ in range(EXPANSIONS):
            pairs = ritz_pairs(Q, Y, lambda Z: rows.T @ Z, k + max(k, 4))
            if pairs.values[certified - 1] <= self._missed**2:
                # What the basis misses may be as large: no bound will ever hold.
                return None
            if self._error_bound(pairs, certified, first, last, offset) <= TOLERANCE:
                total = float(self._energy[last + 1] - self._energy[first])
                total -= len(rows) * float(offset @ offset)
                components, values = pairs.vectors[:, :k].T, pairs.values[:k]
                return make_pca((first, last), mean, components, values, total, exact=False)
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

    def _error_bound(self, pairs: RitzPairs, k: int, first: int, last: int, offset: Array) -> float:
        """Bound of the error of any coordinate, as a share of the largest coordinate."""
        away = float(np.linalg.norm(offset))
        reach = float(self._reach[first : last + 1].max()) + away
        offset_tail = float(np.linalg.norm(_outside(offset, self._basis)))
        tail = float(self._tail[first : last + 1].max()) + offset_tail
        sizes = np.abs(pairs.images).max(axis=0)
        errors = coordinate_errors(pairs, k, self._missed**2, reach, tail, sizes)
        largest = float(sizes[:k].max())
        return float(errors.max()) / largest if largest > 0.0 else np.inf


def coordinate_errors(
    pairs: RitzPairs, k: int, missed: float, reach: float, tail: float, sizes: Array
) -> Array:
    """Bound the error of the first k coordinates of every row.

    Let C = XᵀX in the subspace Q and its complement be [[A, Fᵀ], [F, D]], with θ_j, w_j the
    eigenpairs of A and F w_j the residuals (norm ρ_j). An eigenvector Q a + q of C, eigenvalue
    λ, obeys (D − λ) q = −F a and (A − λ) a = −Fᵀ q, hence ‖q‖ ≤ ‖F a‖ / (λ − ‖D‖) and
    |a_j| ≤ ρ_j ‖q‖ / |θ_j − λ|. λ_i is not below θ_i, and above it by at most ‖D‖ and at most
    Σρ_j² / (θ_i − θ_{p+1} − ‖D‖) (Schur complement of the p pairs). A row's coordinate is then
    off by at most ‖q‖ times the row's part outside Q, plus |a_j| times its other coordinates.

    Parameters
    ----------
    pairs
        Ritz pairs; more than k of them sharpen the bound.
    k
        Coordinates to bound.
    missed
        Bound of ‖D‖, the largest eigenvalue of C outside the subspace.
    reach, tail
        Largest norm of a centred row, and of its part outside the subspace.
    sizes : (p,)
        Largest absolute coordinate by pair.

    Returns
    -------
    (k,) float64
        Infinite where an eigenvalue is not told apart from the next.
    """
    rho = np.linalg.norm(pairs.residuals, axis=0)
    p = rho.size
    theta = pairs.values[:p]
    # Ritz pairs beyond p are bounded together, from ‖F w_j‖ ≤ √θ_j ‖D‖^½.
    rest = float(pairs.values[p]) if p < pairs.values.size else 0.0
    rho_rest = np.sqrt(max(rest, 0.0) * missed)
    errors = np.full(k, np.inf)
    for i in range(k):
        above = theta[i] - rest - missed
        drift = min(missed, rho @ rho / above) if above > 0.0 else missed
        gaps = np.where(np.arange(p) < i, theta - theta[i] - drift, theta[i] - theta)
        gaps[i] = np.inf
        gap_rest = theta[i] - rest
        if min(float(gaps.min()), float(gap_rest)) <= 0.0:
            continue
        room = theta[i] - missed - (rho**2 / gaps).sum() - rho_rest**2 / gap_rest
        if room <= 0.0:
            continue
        q = rho[i] / room
        a, a_rest = rho * q / gaps, rho_rest * q / gap_rest
        lost = q * q + float(a @ a) + a_rest * a_rest
        errors[i] = q * tail + float(a @ sizes) + a_rest * reach + lost * sizes[i]
    return errors


def _outside(V: Array, basis: Array) -> Array:
    outside: Array = V - basis @ (basis.T @ V)
    return outside


def _leading_directions(times: Product, transposed: Product, d_model: int) -> Array:
    """Leading right singular directions, (d, at most 48), nearly."""
    Q, Y = np.empty((d_model, 0)), np.empty((0, 0))
    for subspace in islice(krylov_subspaces(times, transposed, d_model, BASIS // 3), 4):
        Q, Y = subspace
    _, W = np.linalg.eigh(Y.T @ Y)
    basis: Array = Q @ W[:, ::-1][:, :BASIS]
    return basis


def _squared_distances(table: Array, centre: Array) -> Array:
    """‖row − centre‖² of every row, (n,), in blocks: no copy of the table."""
    squares = np.empty(len(table))
    for start in range(0, len(table), 256):
        block = table[start : start + 256] - centre
        np.einsum("ij,ij->i", block, block, out=squares[start : start + 256])
    return squares


def _running_sums(table: Array) -> Array:
    """Sum of all rows before position 64·j, for every j, (n // 64 + 1, d)."""
    n, d = table.shape
    count = n // SUM_ROWS
    blocks = table[: count * SUM_ROWS].reshape(count, SUM_ROWS, d)
    return np.concatenate((np.zeros((1, d)), np.cumsum(blocks.sum(axis=1), axis=0)))
