"""Principal components of a range of positions, and quantities derived from them.

`fit_pca` is exact, `RangePCA` the fast path for dragging; both give a `PositionPCA`.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from geometry.checkpoints.errors import RangeError
from geometry.pca.components import Array, PositionPCA, check_table, row_norms
from geometry.pca.curve import ROUNDING, shown_rows
from geometry.pca.exact_pca import fit_pca
from geometry.pca.range_pca import RangePCA
from geometry.pca.unit import in_unit

__all__ = [
    "PositionPCA",
    "RangePCA",
    "fit_pca",
    "off_subspace_residual",
    "procrustes_rotation",
]


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
