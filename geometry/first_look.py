"""PCA of one range, once: what is drawn first, while the exact components are computed."""

from itertools import islice

import numpy as np
import numpy.typing as npt

from geometry.components import (
    Array,
    PositionPCA,
    check_range,
    check_table,
    count_components,
    make_pca,
)
from geometry.exact_pca import fit_pca
from geometry.subspace import krylov_subspaces, ritz_pairs
from geometry.threads import one_thread

TOLERANCE = 1e-4
BLOCK = 6
STEPS = 6
SMALL = 256
LEAST = 1e-15


def first_look(
    W_pos: npt.ArrayLike, positions: tuple[int, int], n_components: int = 3
) -> PositionPCA:
    """First components of an inclusive range, several times faster than exactly.

    A block Krylov subspace in single precision, which is as good as the screen: reading the rows
    is what takes the time. It is grown until each component's residual, over its distance to the
    next eigenvalue, says that it is turned by less than 1e-4 (the sine theorem of Davis and
    Kahan, with estimated gaps: this is no guarantee). Small ranges, and those whose components
    will not settle because their singular values are nearly equal, are decomposed exactly.

    Parameters
    ----------
    W_pos : (n_positions, d_model)
        The table; row i belongs to position i.
    positions
        First and last position, both inclusive.
    n_components
        How many components to return; a small range gives fewer.

    Returns
    -------
    PositionPCA
        ``exact=False``, unless it had to be decomposed exactly. The mean is exact.

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
    found = None
    if min(rows.shape) > max(SMALL, 4 * (BLOCK + k)):
        with one_thread():
            found = _look(rows, (first, last), k)
    return found or fit_pca(table, positions, n_components)


def _look(rows: Array, positions: tuple[int, int], k: int) -> PositionPCA | None:
    mean = rows.mean(axis=0)
    single = np.empty(rows.shape, dtype=np.float32)
    with np.errstate(over="ignore"):
        np.subtract(rows, mean, out=single, casting="same_kind")
    with np.errstate(over="ignore"):
        total = float(np.einsum("ij,ij->i", single, single).sum(dtype=np.float64))
    if not LEAST < total < 1 / LEAST:
        return None  # its square would leave the range of single precision

    def times(V: Array) -> Array:
        image: Array = (single @ V.astype(np.float32)).astype(np.float64)
        return image

    def transposed(Z: Array) -> Array:
        image: Array = (single.T @ Z.astype(np.float32)).astype(np.float64)
        return image

    subspaces = krylov_subspaces(times, transposed, rows.shape[1], BLOCK + k)
    # The first subspace never suffices.
    for Q, Y in islice(subspaces, 1, STEPS):
        pairs = ritz_pairs(Q, Y, transposed, k)
        steps = -np.diff(pairs.values[: k + 1])
        gaps = np.minimum(steps, np.concatenate(([np.inf], steps[:-1])))
        residuals = np.linalg.norm(pairs.residuals, axis=0)
        if (residuals <= TOLERANCE * gaps).all():
            values = pairs.values[:k]
            return make_pca(positions, mean, pairs.vectors.T, values, total, exact=False)
    return None
