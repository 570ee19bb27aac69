"""The result of a PCA of positions, and conventions shared by all methods."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from geometry.checkpoints.errors import RangeError
from geometry.checkpoints.result import result
from geometry.checkpoints.threads import for_each_part
from geometry.pca.unit import in_table_unit, unit_of

Array = npt.NDArray[np.float64]


@result
class PositionPCA:
    """Principal components of a range of positions.

    Attributes
    ----------
    positions
        First and last position of the range, both inclusive.
    mean : (d_model,) float64
        Mean of the range's rows, subtracted before the decomposition.
    components : (k, d_model) float64
        Orthonormal rows by decreasing singular value. Sign: the entry of largest magnitude is
        positive (the first of them if several are equally large). k is the requested number,
        or fewer: at most the number of rows in the range and the number of dimensions.
    singular_values : (k,) float64
        Singular values of the centred range, in the table's units.
    explained_variance_ratio : (k,) float64
        σ² over the range's total variance; zeros where the range does not vary.
    exact
        True if the components are exact to rounding; False from the fast path, whose
        coordinates are within 1e-4 of the largest coordinate.

    Notes
    -----
    Components with equal singular values span a plane (or more) in which their directions are
    arbitrary: any rotation within it is equally valid, and small changes of the range may rotate
    them. So are those of singular value 0, along which the range does not vary.
    """

    positions: tuple[int, int]
    mean: Array
    components: Array
    singular_values: Array
    explained_variance_ratio: Array
    exact: bool

    @property
    def rank(self) -> int:
        """Number of the components along which the range varies; the others are arbitrary."""
        return int(np.count_nonzero(self.singular_values))

    def first(self, count: int) -> "PositionPCA":
        """Return the first components alone, or all where there are fewer."""
        return replace(
            self,
            components=self.components[:count],
            singular_values=self.singular_values[:count],
            explained_variance_ratio=self.explained_variance_ratio[:count],
        )

    def project(self, rows: npt.ArrayLike) -> Array:
        """Return the coordinates of any rows in this basis.

        Parameters
        ----------
        rows : (m, d_model)
            Rows of the table, inside the range or not; not centred.

        Returns
        -------
        (m, k) float64
            (rows − mean) · componentsᵀ, in the table's units; 0 in components beyond `rank`.

        Raises
        ------
        ValueError
            The rows have another width than the components.
        """
        table = np.asarray(rows, dtype=np.float64)
        if table.ndim != 2 or table.shape[1] != self.mean.size:
            raise ValueError(f"expected rows (m, {self.mean.size}), got {table.shape}")
        basis = self.components.T
        # The mean is projected instead of subtracted: no copy of a large table.
        with np.errstate(over="ignore", invalid="ignore"):
            coordinates: Array = table @ basis - self.mean @ basis
        if not np.isfinite(coordinates).all():  # an intermediate sum overflowed
            unit = unit_of(table, self.mean)
            coordinates = in_table_unit((table / unit) @ basis - (self.mean / unit) @ basis, unit)
        coordinates[:, self.rank :] = 0.0
        return coordinates


def check_range(positions: tuple[int, int], n_positions: int) -> tuple[int, int]:
    """Return the inclusive range as plain integers.

    Raises
    ------
    RangeError
        It is empty, reversed or leaves the table.
    """
    first, last = int(positions[0]), int(positions[1])
    if 0 <= first <= last < n_positions:
        return first, last
    raise RangeError(
        f"positions {first}–{last} are not a range of this table, which has 0–{n_positions - 1}",
        "Choose a first and a last position within the table, in this order.",
    )


def check_table(W_pos: npt.ArrayLike) -> Array:
    """Return the table as float64, without a copy where it is that already.

    Raises
    ------
    ValueError
        It is not (n_positions, d_model) with at least one row and one column.
    """
    return check_shape(np.asarray(W_pos, dtype=np.float64))


def check_stored(W_pos: npt.ArrayLike) -> np.ndarray:
    """Return a table in single precision as it is, and any other as :func:`check_table`."""
    table = np.asarray(W_pos)
    return check_shape(table) if table.dtype == np.float32 else check_table(table)


def rows_of_range(
    W_pos: npt.ArrayLike, positions: tuple[int, int]
) -> tuple[Array, tuple[int, int]]:
    """Return the rows of an inclusive range as float64, and the range as plain integers.

    Raises
    ------
    RangeError, ValueError
        As :func:`check_range` and :func:`check_table`.
    """
    table = check_table(W_pos)
    first, last = check_range(positions, len(table))
    return table[first : last + 1], (first, last)


def check_shape(table: np.ndarray) -> np.ndarray:
    """Check the shape of a table, and return it unchanged.

    Raises
    ------
    ValueError
        It is not (n_positions, d_model) with at least one row and one column.
    """
    if table.ndim != 2 or 0 in table.shape:
        raise ValueError(f"expected a table (n_positions, d_model), got {table.shape}")
    return table


def count_components(requested: int, n_rows: int, d_model: int) -> int:
    """Return how many components a range of that many rows has, at most `requested`.

    Raises
    ------
    RangeError
        Fewer than one component is requested.
    """
    if requested < 1:
        raise RangeError(f"{requested} components were requested", "Request at least one.")
    return min(requested, n_rows, d_model)


def make_pca(
    positions: tuple[int, int],
    mean: Array,
    components: Array,
    eigenvalues: Array,
    total_variance: float,
    *,
    exact: bool,
    unit: float = 1.0,
) -> PositionPCA:
    """Fix the components' signs and create the result.

    Parameters
    ----------
    positions, mean
        As in `PositionPCA`.
    components : (k, d_model)
        Orthonormal rows of any sign.
    eigenvalues : (k,)
        Squared singular values of the centred range.
    total_variance
        Squared Frobenius norm of the centred range.
    exact
        As in `PositionPCA`.
    unit
        Unit of the given numbers, in the table's units.
    """
    variances = np.maximum(eigenvalues, 0.0)
    ratios = variances / total_variance if total_variance > 0.0 else np.zeros_like(variances)
    arrays = (
        in_table_unit(mean, unit),
        with_signs(components),
        in_table_unit(np.sqrt(variances), unit),
        np.minimum(ratios, 1.0),
    )
    read_only(*arrays)
    return PositionPCA(positions, *arrays, exact=exact)


def with_signs(vectors: Array) -> Array:
    """Return rows (k, d) of any sign so that the largest entry of each is positive."""
    largest = np.abs(vectors).argmax(axis=1)
    signs = np.where(vectors[np.arange(len(vectors)), largest] < 0.0, -1.0, 1.0)
    return vectors * signs[:, None]


def read_only(*arrays: np.ndarray) -> None:
    """Make arrays of a result read-only: it is cached, and shown in several places."""
    for array in arrays:
        array.flags.writeable = False


def mean_row(rows: np.ndarray) -> Array:
    """Return the mean of rows (m, d), float64, without a copy of them."""
    sums = for_each_part(lambda few, _: few.sum(axis=0, dtype=np.float64), rows, dtype=np.float64)
    mean: Array = np.sum(sums, axis=0) / len(rows)
    return mean


def about_mean(rows: Array) -> Array:
    """Subtract the mean of rows (m, d) from each; the result is exactly 0 for equal numbers."""
    # Subtract a row first: the rounded mean of equal numbers may differ from them.
    centred: Array = np.subtract(rows, rows[len(rows) // 2], dtype=np.float64)
    centred -= centred.mean(axis=0)
    return centred


def block_means(rows: Array, size: int) -> tuple[Array, npt.NDArray[np.int64]]:
    """Return the mean of every so many rows, (b, d), and their number; the last may be fewer."""
    starts = np.arange(0, len(rows), size)
    lengths = np.diff(starts, append=len(rows))
    return np.add.reduceat(rows, starts, axis=0) / lengths[:, None], lengths


def unit_rows(rows: Array) -> Array:
    """Divide each row of (m, d) by its Euclidean norm; rows of zeros stay zero."""
    norms = row_norms(rows)[:, None]
    units: Array = rows / np.where(norms > 0.0, norms, 1.0)
    return units


def row_norms(rows: Array) -> Array:
    """Return the Euclidean norm of each row of (m, d), as (m,), without a copy of the rows.

    Scaled where the squares would leave float64's range; infinite where the norm itself does.
    """
    with np.errstate(over="ignore"):
        return norms_from(np.einsum("ij,ij->i", rows, rows), lambda at: rows[at])


def norms_from(squares: Array, rows_at: Callable[[npt.NDArray[np.intp]], Array]) -> Array:
    """Return norms by their squares, as :func:`row_norms`.

    Parameters
    ----------
    squares : (m,)
        Squared norms, perhaps infinite or rounded to zero.
    rows_at
        Returns some rows by their indices.
    """
    norms: Array = np.sqrt(squares)
    extreme = np.flatnonzero(~((norms > 1e-140) & (norms < np.inf)))
    if extreme.size:
        rows = rows_at(extreme)
        scale = np.abs(rows).max(axis=1, initial=0.0, keepdims=True)
        scale[scale == 0.0] = 1.0
        with np.errstate(over="ignore"):
            norms[extreme] = np.linalg.norm(rows / scale, axis=1) * scale[:, 0]
    return norms
