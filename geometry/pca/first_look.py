"""The first curve of a range, drawn while the exact components are computed."""

from collections.abc import Callable, Sequence
from itertools import islice

import numpy as np
import numpy.typing as npt

from geometry.checkpoints.errors import RangeError
from geometry.checkpoints.threads import for_each_part, one_thread
from geometry.pca.components import (
    Array,
    check_range,
    check_stored,
    check_table,
    count_components,
    make_pca,
    mean_row,
    with_signs,
)
from geometry.pca.curve import Curve, make_curve, place_curve, shown_rows
from geometry.pca.pca import fit_pca
from geometry.pca.subspace import krylov_subspaces

Narrow = npt.NDArray[np.float32]

TOLERANCE = 1e-4
BLOCK = 6
STEPS = 6
SMALL = 256
SMALLEST = 1e-15


def first_look(
    W_pos: npt.ArrayLike, positions: tuple[int, int], components: Sequence[int] = (1, 2, 3)
) -> Curve:
    """Return the curve in the components of an inclusive range, faster than by exact PCA.

    The components are those of a block Krylov subspace in single precision, which suffices for the
    screen; most of the time is spent on reading the rows. The subspace is extended until each
    component's residual, divided by its distance to the next eigenvalue, shows that it is rotated
    by less than 1e-4 (the sine theorem of Davis and Kahan, with estimated gaps, so without
    guarantee). Small ranges, and those whose components do not converge because their singular
    values are nearly equal, are decomposed exactly.

    Parameters
    ----------
    W_pos : (n_positions, d_model)
        The table; row i belongs to position i. In single precision it is not widened.
    positions
        First and last position, both inclusive.
    components
        1-based numbers of the components on the axes; a small range may lack some.

    Returns
    -------
    Curve
        ``pca.exact`` is False, unless it had to be decomposed exactly; ``pca`` has the components
        up to the last one on an axis. The mean is exact to the table's precision.

    Raises
    ------
    RangeError
        The range is empty or leaves the table, or a component number is below 1.
    ValueError
        W_pos is not a table.
    """
    table = check_stored(W_pos)
    first, last = check_range(positions, len(table))
    if min(components) < 1:
        raise RangeError(f"components count from 1, got {tuple(components)}")
    shape = (last - first + 1, table.shape[1])
    k = count_components(max(components), *shape)
    curve = None
    if min(shape) > max(SMALL, 4 * (BLOCK + k)):
        # Values beyond the range of single precision become infinite, and are not used.
        with one_thread(), np.errstate(over="ignore", invalid="ignore"):
            curve = _look(table, (first, last), components, k)
    return curve or place_curve(check_table(table), fit_pca(table, positions, k), components)


def _look(
    table: np.ndarray, positions: tuple[int, int], components: Sequence[int], k: int
) -> Curve | None:
    first, last = positions
    rows = table[first : last + 1]
    centre = mean_row(rows).astype(table.dtype)
    found = _leading(rows, centre, k)
    if found is None:
        return None
    values, vectors = found
    basis = vectors.T.astype(np.float32)

    def place(centred: Narrow) -> np.ndarray:
        return np.column_stack((centred @ basis, np.einsum("ij,ij->i", centred, centred)))

    placed = np.concatenate(_each(place, table, centre)).astype(np.float64)
    coordinates, squared_distance = placed[:, :-1], placed[:, -1]
    total = float(squared_distance[first : last + 1].sum())
    if not (SMALLEST < total < 1 / SMALLEST and np.isfinite(squared_distance).all()):
        return None  # its square is beyond the range of single precision
    mean = centre.astype(np.float64)
    pca = make_pca(positions, mean, vectors, values, total, exact=False)
    return make_curve(
        pca, components, coordinates[:, shown_rows(pca, components)], squared_distance
    )


def _each(
    act: Callable[[Narrow], np.ndarray], rows: np.ndarray, centre: np.ndarray
) -> list[np.ndarray]:
    """Return what a function gives for each part of the rows minus a row: they are not copied."""

    def centred(few: np.ndarray, room: Narrow) -> np.ndarray:
        return act(np.subtract(few, centre, out=room, casting="same_kind"))

    return for_each_part(centred, rows, np.float32)


def _leading(rows: np.ndarray, centre: np.ndarray, k: int) -> tuple[Array, Array] | None:
    """Return the first k eigenvalues of the rows' scatter matrix, and eigenvectors (k, d_model).

    None if they do not converge in single precision.
    """

    def gram_times(V: Array) -> Array:
        narrow = V.astype(np.float32)

        def product(centred: Narrow) -> np.ndarray:
            return (centred @ narrow).T @ centred  # faster than its transpose

        image: Array = np.sum(_each(product, rows, centre), axis=0, dtype=np.float64)
        return image.T

    subspaces = krylov_subspaces(gram_times, lambda Z: Z, rows.shape[1], BLOCK + k)
    # The first subspace never suffices.
    for Q, image in islice(subspaces, 1, STEPS):
        if not np.isfinite(image).all():
            break
        values, W = np.linalg.eigh(Q.T @ image)
        values, W = values[::-1], W[:, : -k - 1 : -1]
        vectors = Q @ W
        steps = -np.diff(values[: k + 1])
        gaps = np.minimum(steps, np.concatenate(([np.inf], steps[:-1])))
        residuals = np.linalg.norm(image @ W - vectors * values[:k], axis=0)
        if (residuals <= TOLERANCE * gaps).all():
            return values[:k], with_signs(vectors.T)
    return None
