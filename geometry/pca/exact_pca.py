"""Principal components of a range of positions, exact."""

from itertools import islice

import numpy as np
import numpy.typing as npt

from geometry.pca.components import (
    Array,
    PositionPCA,
    about_mean,
    count_components,
    make_pca,
    rows_of_range,
)
from geometry.pca.subspace import krylov_subspaces, ritz_pairs
from geometry.pca.unit import in_unit

EIGENVALUE_FLOOR = 1e-9
"""Eigenvalues below this share of the first are lost in rounding: the directions are then taken
from the singular value decomposition of the rows themselves."""
CONVERGED = 2e-14
"""‖XᵀX·v − θ·v‖ ≤ 2e-14·σ₁²: as good as a dense decomposition's backward error."""
SMALL = 256


def fit_pca(
    W_pos: npt.ArrayLike, positions: tuple[int, int], n_components: int = 10
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
    eigenvalues, components = _decompose(centred, k)
    eigenvalues = np.where(eigenvalues > floor**2 * eigenvalues[0], eigenvalues, 0.0)
    return make_pca(
        positions, rows.mean(axis=0), components, eigenvalues, total, exact=True, unit=unit
    )


def _decompose(centred: Array, k: int) -> tuple[Array, Array]:
    """Return the first k eigenvalues of the scatter matrix, and their (k, d) directions."""
    decomposition = None
    if min(centred.shape) > 4 * k:
        decomposition = _from_krylov(centred, k) if min(centred.shape) > SMALL else None
        decomposition = decomposition or _from_gram(centred, k)
    if decomposition is not None and decomposition[0][-1] > EIGENVALUE_FLOOR * decomposition[0][0]:
        return decomposition
    _, singular_values, Vh = np.linalg.svd(centred, full_matrices=False)
    return singular_values[:k] ** 2, Vh[:k]


def _from_gram(centred: Array, k: int) -> tuple[Array, Array]:
    m, d = centred.shape
    if m >= d:
        eigenvalues, vectors = np.linalg.eigh(centred.T @ centred)
        return eigenvalues[: -k - 1 : -1], vectors[:, : -k - 1 : -1].T
    eigenvalues, vectors = np.linalg.eigh(centred @ centred.T)
    # Rounding tilts the images of weak directions against each other by at most
    # 1e-16 / EIGENVALUE_FLOOR; QR makes them orthonormal again.
    images = np.linalg.qr(centred.T @ vectors[:, : -k - 1 : -1])[0]
    return eigenvalues[: -k - 1 : -1], images.T


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
