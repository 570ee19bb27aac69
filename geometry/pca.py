"""Principal components of a range of positions, exact, and what follows from them.

The fast path for dragging is `RangePCA`; both give a `PositionPCA`.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import scipy.linalg

from geometry.components import (
    Array,
    PositionPCA,
    check_range,
    check_table,
    count_components,
    make_pca,
)
from geometry.errors import RangeError
from geometry.norms import row_norms

__all__ = [
    "PositionPCA",
    "fit_pca",
    "off_subspace_residual",
    "procrustes_rotation",
]

# Squaring into a Gram matrix loses the directions below this share of the first eigenvalue:
# they are then taken from the singular value decomposition of the rows themselves.
GRAM_FLOOR = 1e-9


def fit_pca(
    W_pos: npt.ArrayLike, positions: tuple[int, int], n_components: int = 10
) -> PositionPCA:
    """Exact PCA, in float64, of an inclusive range of positions.

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
        Components of the rows minus their mean, by falling singular value, ``exact=True``.
        Ranges that do not vary (a single position, equal rows) have zero singular values,
        zero ratios and arbitrary, but orthonormal and deterministic, components.

    Raises
    ------
    RangeError
        When the range is empty or leaves the table, or no component is asked for.
    ValueError
        When W_pos is no table.
    """
    table = check_table(W_pos)
    first, last = check_range(positions, len(table))
    rows = table[first : last + 1]
    k = count_components(n_components, *rows.shape)
    mean = rows.mean(axis=0)
    centred = rows - mean
    total = float(np.vdot(centred, centred))
    eigenvalues, components = _decompose(centred, k)
    return make_pca((first, last), mean, components, eigenvalues, total, exact=True)


def _decompose(centred: Array, k: int) -> tuple[Array, Array]:
    """First k eigenvalues of the scatter matrix, falling, and their (k, d) directions."""
    m, d = centred.shape
    if min(m, d) > 2 * k:
        wide = m < d
        gram = centred @ centred.T if wide else centred.T @ centred
        size = len(gram)
        eigenvalues, vectors = scipy.linalg.eigh(
            gram, subset_by_index=(size - k, size - 1), overwrite_a=True, check_finite=False
        )
        eigenvalues, vectors = eigenvalues[::-1], vectors[:, ::-1]
        if eigenvalues[-1] > GRAM_FLOOR * eigenvalues[0]:
            if not wide:
                return eigenvalues, vectors.T
            # Rounding tilts the images of weak directions against each other by at most
            # 1e-16 / GRAM_FLOOR; QR makes them orthonormal again.
            images, triangle = np.linalg.qr(centred.T @ vectors)
            return eigenvalues, (images * np.sign(np.diag(triangle))).T
    _, singular_values, Vh = np.linalg.svd(centred, full_matrices=False)
    return singular_values[:k] ** 2, Vh[:k]


def off_subspace_residual(
    W_pos: npt.ArrayLike, pca: PositionPCA, components: Sequence[int] = (1, 2, 3)
) -> Array:
    """Share of every row that lies outside the shown components ("fraying").

    Parameters
    ----------
    W_pos : (m, d_model)
        Rows of the table, in the range or not.
    pca
        Basis and mean of the shown range.
    components
        Shown components, counted from 1. Those that a short range does not have are left out.

    Returns
    -------
    (m,) float64
        ‖x − its projection on the components‖ / ‖x‖ with x the row minus the range's mean;
        0 for a row that is the mean.

    Raises
    ------
    RangeError
        When a component is below 1.
    """
    if any(c < 1 for c in components):
        raise RangeError(f"components {tuple(components)} start below 1", "They count from 1.")
    table = check_table(W_pos)
    basis = pca.components[[c - 1 for c in components if c <= len(pca.components)]]
    # In blocks: a large table is never copied as a whole.
    blocks = np.array_split(table, max(1, len(table) // 4096))
    return np.concatenate([_residual(block - pca.mean, basis) for block in blocks])


def _residual(centred: Array, basis: Array) -> Array:
    whole = row_norms(centred)
    outside = row_norms(centred - (centred @ basis.T) @ basis)
    share = np.divide(outside, whole, out=np.zeros_like(whole), where=whole > 0.0)
    return np.minimum(share, 1.0)


def procrustes_rotation(source: npt.ArrayLike, target: npt.ArrayLike) -> Array:
    """Orthogonal map that brings one set of points closest to another.

    Parameters
    ----------
    source, target : (m, k)
        Corresponding points; neither is centred or scaled.

    Returns
    -------
    (k, k) float64
        R orthogonal (a rotation, or a reflection when that fits better) with ``source @ R.T``
        closest to `target` in least squares; the identity where nothing decides.

    Raises
    ------
    ValueError
        When the shapes differ.

    References
    ----------
    Schönemann, "A generalized solution of the orthogonal Procrustes problem", 1966.
    """
    a, b = np.asarray(source, dtype=np.float64), np.asarray(target, dtype=np.float64)
    if a.shape != b.shape or a.ndim != 2:
        raise ValueError(f"expected two sets (m, k) of one shape, got {a.shape} and {b.shape}")
    U, singular_values, Vh = np.linalg.svd(b.T @ a)
    # Directions in which neither set extends are free: spend them on staying near the identity.
    free = singular_values <= 1e-12 * max(float(singular_values[0]), np.finfo(float).tiny)
    if free.any():
        W, _, Zh = np.linalg.svd(U[:, free].T @ Vh[free].T)
        U[:, free] = U[:, free] @ (W @ Zh)
    rotation: Array = U @ Vh
    return rotation
