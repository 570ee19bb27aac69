"""The first curve of a range, drawn while the exact components are computed."""

from collections.abc import Iterator, Sequence
from itertools import islice

import numpy as np
import numpy.typing as npt

from geometry.checkpoints.errors import RangeError
from geometry.checkpoints.threads import one_thread
from geometry.pca.components import (
    Array,
    PositionPCA,
    check_range,
    check_stored,
    check_table,
    count_components,
    make_pca,
)
from geometry.pca.curve import Curve, make_curve, place_curve, shown_rows
from geometry.pca.pca import fit_pca
from geometry.pca.subspace import krylov_subspaces

TOLERANCE = 1e-4
BLOCK = 6
STEPS = 6
SMALL = 256
CACHED = 128
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
    mean = table[first : last + 1].mean(axis=0, dtype=np.float64).astype(table.dtype)
    squared_distance = np.concatenate(
        [np.einsum("ij,ij->i", few, few) for few in _centred(table, mean)]
    ).astype(np.float64)
    total = float(squared_distance[first : last + 1].sum())
    if not (SMALLEST < total < 1 / SMALLEST and np.isfinite(squared_distance).all()):
        return None  # its square is beyond the range of single precision
    pca = _fit(table[first : last + 1], positions, mean, total, k)
    if pca is None:
        return None
    basis = pca.components[shown_rows(pca, components)].T.astype(np.float32)
    coordinates = np.concatenate([few @ basis for few in _centred(table, mean)])
    return make_curve(pca, components, coordinates.astype(np.float64), squared_distance)


def _centred(rows: np.ndarray, mean: Array) -> Iterator[npt.NDArray[np.float32]]:
    """Yield a few centred rows at a time, which fit into the cache: the table is not copied.

    Each time they take the place of those before.
    """
    room = np.empty((CACHED, rows.shape[1]), dtype=np.float32)
    for start in range(0, len(rows), CACHED):
        few = rows[start : start + CACHED]
        yield np.subtract(few, mean, out=room[: len(few)], casting="same_kind")


def _fit(
    rows: np.ndarray, positions: tuple[int, int], mean: Array, total: float, k: int
) -> PositionPCA | None:
    """Fit rows, centred in single precision; None if the components do not converge."""

    def gram_times(V: Array) -> Array:
        narrow, image = V.astype(np.float32), np.zeros(V.shape, dtype=np.float32)
        for few in _centred(rows, mean):
            image += few.T @ (few @ narrow)
        return image.astype(np.float64)

    subspaces = krylov_subspaces(gram_times, lambda Z: Z, rows.shape[1], BLOCK + k)
    # The first subspace never suffices.
    for Q, image in islice(subspaces, 1, STEPS):
        values, W = np.linalg.eigh(Q.T @ image)
        values, W = values[::-1], W[:, : -k - 1 : -1]
        vectors = Q @ W
        steps = -np.diff(values[: k + 1])
        gaps = np.minimum(steps, np.concatenate(([np.inf], steps[:-1])))
        residuals = np.linalg.norm(image @ W - vectors * values[:k], axis=0)
        if (residuals <= TOLERANCE * gaps).all():
            wide = mean.astype(np.float64)
            return make_pca(positions, wide, vectors.T, values[:k], total, exact=False)
    return None
