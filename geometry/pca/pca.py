"""Principal components of a range of positions, and quantities derived from them.

`fit_pca` is exact, and :class:`geometry.pca.range_pca.RangePCA` the fast path for dragging; both
give a `PositionPCA`.
"""

from collections.abc import Sequence
from itertools import islice

import numpy as np
import numpy.typing as npt

from geometry.checkpoints.errors import RangeError
from geometry.pca.components import (
    Array,
    PositionPCA,
    about_mean,
    check_table,
    count_components,
    make_pca,
    row_norms,
    rows_of_range,
)
from geometry.pca.curve import ROUNDING, shown_rows
from geometry.pca.subspace import krylov_subspaces, ritz_pairs
from geometry.pca.unit import in_unit

__all__ = ["PositionPCA", "fit_pca", "off_subspace_residual", "procrustes_rotation"]

EIGENVALUE_FLOOR = 1e-9
"""Eigenvalues below this share of the first are lost in rounding: the directions are then taken
from the singular value decomposition of the rows themselves."""
CONVERGED = 2e-14
"""‖XᵀX·v − θ·v‖ ≤ 2e-14·σ₁²: as good as a dense decomposition's backward error."""
SMALL = 256
FEW = 1 / 20
"""Share of the directions up to which they are computed alone: more take as long as all."""


def fit_pca(
    W_pos: npt.ArrayLike,
    positions: tuple[int, int],
    n_components: int = 10,
    *,
    alone: bool = False,
) -> PositionPCA:
    """Compute the exact PCA, in float64, of an inclusive range of positions.

    Parameters
    ----------
    W_pos : (n_positions, d_model)
        The table; row i belongs to position i.
    positions
        First and last position, both inclusive.
    n_components
        How many components to return; a range with fewer rows (or a table with fewer
        dimensions) gives fewer.
    alone
        Compute few components of a small range alone, for which SciPy is imported: it takes longer
        than to compute them all once.

    Returns
    -------
    PositionPCA
        Components of the rows minus their mean, by decreasing singular value, ``exact=True``.
        Singular values below max(m, d) times float64's precision of the first are rounding: they
        and their ratios are set to zero (all of them for a single position or equal rows), and
        their components are arbitrary, but orthonormal and deterministic.

    Raises
    ------
    RangeError
        The range is empty or leaves the table, or no component is requested.
    ValueError
        W_pos is not a table.
    """
    rows, positions = rows_of_range(W_pos, positions)
    rows, unit = in_unit(rows)
    k = count_components(n_components, *rows.shape)
    centred, floor = about_mean(rows), np.finfo(float).eps * max(rows.shape)
    total = float(np.vdot(centred, centred))
    eigenvalues, components = _decompose(centred, k, alone)
    eigenvalues = np.where(eigenvalues > floor**2 * eigenvalues[0], eigenvalues, 0.0)
    return make_pca(
        positions, rows.mean(axis=0), components, eigenvalues, total, exact=True, unit=unit
    )


def _decompose(centred: Array, k: int, alone: bool) -> tuple[Array, Array]:
    """Return the first k eigenvalues of the scatter matrix, and their (k, d) directions."""
    decomposition = None
    if min(centred.shape) > 4 * k:
        decomposition = _from_krylov(centred, k) if min(centred.shape) > SMALL else None
        decomposition = decomposition or _from_gram(centred, k, alone)
    if decomposition is not None and decomposition[0][-1] > EIGENVALUE_FLOOR * decomposition[0][0]:
        return decomposition
    _, singular_values, Vh = np.linalg.svd(centred, full_matrices=False)
    return singular_values[:k] ** 2, Vh[:k]


def _from_gram(centred: Array, k: int, alone: bool) -> tuple[Array, Array]:
    m, d = centred.shape
    gram = centred.T @ centred if m >= d else centred @ centred.T
    eigenvalues, vectors = leading_pairs(gram, k, alone=alone)
    if m >= d:
        return eigenvalues, vectors.T
    # Rounding tilts the images of weak directions against each other by at most
    # 1e-16 / EIGENVALUE_FLOOR; QR makes them orthonormal again.
    return eigenvalues, np.linalg.qr(centred.T @ vectors)[0].T


def leading_pairs(gram: Array, k: int, *, alone: bool = True) -> tuple[Array, Array]:
    """Return the k largest eigenvalues of a matrix, decreasing, and their vectors as columns."""
    n = len(gram)
    if not alone or k > FEW * n:
        values, vectors = np.linalg.eigh(gram)
    else:
        from scipy.linalg import eigh  # slow to import

        values, vectors = eigh(gram, subset_by_index=[n - k, n - 1], check_finite=False)
    return values[: -k - 1 : -1], vectors[:, : -k - 1 : -1]


def _from_krylov(centred: Array, k: int) -> tuple[Array, Array] | None:
    """Decompose by a Krylov subspace grown to rounding accuracy; None if it does not converge.

    Several times faster than any dense decomposition, which computes all directions.
    """
    subspaces = krylov_subspaces(
        lambda V: centred @ V, lambda Z: centred.T @ Z, centred.shape[1], k + 2
    )
    for Q, Y in islice(subspaces, 3, None):
        if Q.shape[1] > min(centred.shape) // 2:
            break
        pairs = ritz_pairs(Q, Y, lambda Z: centred.T @ Z, k)
        residual = float(np.linalg.norm(pairs.residuals, axis=0).max())
        if residual <= CONVERGED * pairs.values[0]:
            return pairs.values[:k], pairs.vectors.T
    return None


def off_subspace_residual(
    W_pos: npt.ArrayLike, pca: PositionPCA, components: Sequence[int] = (1, 2, 3)
) -> Array:
    """Return the share of every row that lies outside the shown components ("fraying").

    Parameters
    ----------
    W_pos : (m, d_model)
        Rows of the table, in the range or not.
    pca
        Basis and mean of the shown range.
    components
        Shown components, counted from 1. Those that the range lacks are left out.

    Returns
    -------
    (m,) float64
        ‖x − its projection on the components‖ / ‖x‖ with x the row minus the range's mean;
        0 for a row equal to the mean.

    Raises
    ------
    RangeError
        A component is below 1.
    """
    if any(c < 1 for c in components):
        raise RangeError(
            f"components {tuple(components)} start below 1", "Components count from 1."
        )
    table, unit = in_unit(check_table(W_pos))
    basis = pca.components[shown_rows(pca, components)]
    # In blocks, so that a large table is never copied whole.
    blocks = np.array_split(table, max(1, len(table) // 4096))
    return np.concatenate([_residual(block, pca.mean / unit, basis) for block in blocks])


def _residual(rows: Array, mean: Array, basis: Array) -> Array:
    centred, smallest = rows - mean, ROUNDING * float(row_norms(mean[None])[0])
    whole = row_norms(centred)
    outside = row_norms(centred - (centred @ basis.T) @ basis)
    share = np.divide(outside, whole, out=np.zeros_like(whole), where=whole > smallest)
    return np.minimum(share, 1.0)


def procrustes_rotation(source: npt.ArrayLike, target: npt.ArrayLike) -> Array:
    """Return the orthogonal map that brings a set of points closest to another.

    Parameters
    ----------
    source, target : (m, k)
        Corresponding points; neither is centred or scaled.

    Returns
    -------
    (k, k) float64
        R orthogonal (a rotation, or a reflection when that fits better) with ``source @ R.T``
        closest to `target` in least squares; the identity where it is undetermined.

    Raises
    ------
    ValueError
        The shapes differ.

    References
    ----------
    Schönemann, "A generalized solution of the orthogonal Procrustes problem", 1966.
    """
    a, b = np.asarray(source, dtype=np.float64), np.asarray(target, dtype=np.float64)
    if a.shape != b.shape or a.ndim != 2:
        raise ValueError(f"expected two sets (m, k) of one shape, got {a.shape} and {b.shape}")
    U, singular_values, Vh = np.linalg.svd(b.T @ a)
    # In directions in which neither set extends, stay near the identity.
    free = singular_values <= 1e-12 * max(float(singular_values[0]), np.finfo(float).tiny)
    if free.any():
        W, _, Zh = np.linalg.svd(U[:, free].T @ Vh[free].T)
        U[:, free] = U[:, free] @ (W @ Zh)
    rotation: Array = U @ Vh
    return rotation
