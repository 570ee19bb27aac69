"""Principal components of a range of positions, exact."""

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
