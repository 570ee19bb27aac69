"""Cosine similarity of positions, and its mean by distance."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from geometry.checkpoints.result import result
from geometry.evidence.drawn_tables import MEANINGS, Kind, drawn_tables
from geometry.evidence.null import Band, Null, band_of, null_of
from geometry.pca.components import Array, block_means, read_only, rows_of_range, unit_rows
from geometry.pca.curve import shown_rows
from geometry.pca.pca import PositionPCA, fit_pca
from geometry.pca.unit import in_unit

MOST = 4096
"""Maximum number of rows whose cosines are all kept: 134 MB; of more, means over blocks are."""
BLOCKS = 1024
"""Number of blocks along each side then, about as many as a figure has pixels."""
TRANSFORMED = 2**21
"""Numbers transformed at a time, or one column: 16 MB, and as much for the result."""
LAGS = 0.75
"""Share of the lags in which a rise is looked for: longer ones are means of few pairs."""
RISES = 0.1
"""A twentieth of the scale of cosines; a curve that rises by less has no rise to be seen."""


@result
class Similarity:
    """Cosines of all rows of a range.

    Attributes
    ----------
    positions
        First and last position, both inclusive.
    cosines : (⌈m / block⌉, ⌈m / block⌉) float64
        cos(P_i, P_j) of raw rows; 0 with a row of zeros. With a block of more than one row, their
        mean over all pairs of a row in one block and a row in the other; the last block may have
        fewer rows.
    by_lag : (m,) float64
        Mean over i of cos(P_i, P_{i+Δ}), both in the range, for Δ = 0 … m − 1.
    block
        Consecutive rows in each block: 1 up to 4,096 rows.
    by_offset : (2R − 1, 2C − 1) float64
        Of the patches of a picture, R rows of C: :func:`mean_by_offset`; None for others.
    """

    positions: tuple[int, int]
    cosines: Array
    by_lag: Array
    block: int = 1
    by_offset: Array | None = None


def similarity(
    W_pos: npt.ArrayLike, positions: tuple[int, int], pca: PositionPCA | None = None
) -> Similarity:
    """Cosine similarity of the rows of a range, of blocks of rows where there are more than 4,096.

    Parameters
    ----------
    W_pos : (n_positions, d_model)
        The table.
    positions
        First and last position, both inclusive.
    pca
        If given, rows are first replaced by mean + projection on these components. Any remaining
        periodicity is explained by these components.

    Raises
    ------
    RangeError, ValueError
        When the range is empty or leaves the table; when W_pos is no table.

    References
    ----------
    Lukas Finnveden noticed the period, as "GPT-2's positional embedding matrix is a helix" (2023)
    reports.
    """
    positions, units = _units(W_pos, positions, pca)
    m = len(units)
    block = 1 if m <= MOST else -(-m // BLOCKS)
    # The mean cosine of all pairs of two blocks is the product of the blocks' mean unit rows.
    means = units if block == 1 else block_means(units, block)[0]
    cosines = np.clip(means @ means.T, -1.0, 1.0)
    if block == 1:
        by_lag = np.array([np.trace(cosines, offset) for offset in range(m)]) / (m - np.arange(m))
    else:
        by_lag = _mean_by_lag(units)
    read_only(cosines, by_lag)
    return Similarity(positions, cosines, by_lag, block)


def patch_mosaic(cosines: npt.ArrayLike, grid: tuple[int, int]) -> Array:
    """Arrange the cosines of all pairs of patches as a picture of pictures.

    Parameters
    ----------
    cosines : (n, n)
        Of the patches, row by row.
    grid
        Rows and columns of patches, n in all.

    Returns
    -------
    (rows², columns²) float64
        A tile for each patch, in its place; in it, also in their places, the cosines with all.

    References
    ----------
    Figure 7 (centre) of Dosovitskiy et al., "An Image is Worth 16x16 Words" (arXiv:2010.11929).
    """
    rows, columns = grid
    pairs = np.asarray(cosines, dtype=np.float64).reshape(rows, columns, rows, columns)
    return pairs.transpose(0, 2, 1, 3).reshape(rows * rows, columns * columns)


def mean_by_offset(cosines: npt.ArrayLike, grid: tuple[int, int]) -> Array:
    """Mean cosine of the pairs of patches that are equally far apart in both directions.

    Parameters
    ----------
    cosines, grid
        As of :func:`patch_mosaic`.

    Returns
    -------
    (2 rows − 1, 2 columns − 1) float64
        For rows from 1 − rows to rows − 1 down, and columns from 1 − columns to columns − 1 across.
    """
    rows, columns = grid
    pairs = np.asarray(cosines, dtype=np.float64).reshape(rows, columns, rows, columns)
    sums = np.zeros((2 * rows - 1, 2 * columns - 1))
    for row, column in np.ndindex(rows, columns):
        top, left = rows - 1 - row, columns - 1 - column
        sums[top : top + rows, left : left + columns] += pairs[row, column]
    down, across = (n - np.abs(np.arange(1 - n, n)) for n in grid)
    means: Array = sums / np.outer(down, across)
    read_only(means)
    return means


def mean_by_lag(
    W_pos: npt.ArrayLike, positions: tuple[int, int], pca: PositionPCA | None = None
) -> Array:
    """Mean cosine of the rows of a range by their distance, without the cosine of every pair.

    The contribution of each column is its autocorrelation, computed by Fourier transform: a range
    of 16,384 positions, with 2 GB of cosines, takes a few MB.

    Parameters
    ----------
    W_pos, positions, pca
        As in :func:`similarity`.

    Returns
    -------
    (m,) float64, read-only
        :attr:`Similarity.by_lag`.

    Raises
    ------
    RangeError, ValueError
        As :func:`similarity`.
    """
    by_lag = _mean_by_lag(_units(W_pos, positions, pca)[1])
    read_only(by_lag)
    return by_lag


def _mean_by_lag(units: Array) -> Array:
    from scipy import fft  # slow to import, so not at start-up

    m = len(units)
    length = fft.next_fast_len(2 * m, real=True)  # zero-padded: no lag wraps around
    power = np.zeros(length // 2 + 1)
    columns = max(1, TRANSFORMED // length)
    for start in range(0, units.shape[1], columns):
        found = fft.rfft(units[:, start : start + columns], n=length, axis=0)
        parts = found.view(units.dtype)  # real and imaginary ones
        power += np.einsum("ij,ij->i", parts, parts)
    return fft.irfft(power, n=length)[:m] / (m - np.arange(m))


@dataclass(frozen=True, slots=True)
class Rise:
    """The largest rise of a mean cosine from one lag to a longer one.

    Attributes
    ----------
    size
        By how much it rises; 0 where it only falls.
    low, high
        From which lag to which.
    """

    size: float
    low: int
    high: int


def largest_rise(by_lag: npt.ArrayLike) -> Rise:
    """Return the largest rise within the first three quarters of the lags.

    Parameters
    ----------
    by_lag : (m,)
        The mean cosine at lags 0, 1, …, as of :func:`mean_by_lag`.
    """
    values = np.asarray(by_lag, dtype=np.float64)
    values = values[: max(int(LAGS * len(values)), 1)]
    rises = values - np.minimum.accumulate(values)
    high = int(rises.argmax())
    return Rise(float(rises[high]), int(values[: high + 1].argmin()), high)


@result
class SimilarityNulls:
    """The mean cosine by lag of random curves.

    Attributes
    ----------
    by_lag
        The band of the mean cosine at lags 0, 1, …, m − 1.
    rise
        Its largest rise, see :func:`largest_rise`.
    """

    by_lag: Band
    rise: Null


def similarity_nulls(
    W_pos: npt.ArrayLike,
    positions: tuple[int, int],
    components: Sequence[int] | None = None,
    *,
    kind: Kind = "process",
    draws: int = 100,
    seed: int = 0,
    check: Callable[[], None] | None = None,
) -> SimilarityNulls:
    """Draw the mean cosine by lag of random curves of a range's size.

    Parameters
    ----------
    W_pos, positions
        As in :func:`similarity`; three positions or more.
    components
        If given, rows are projected on their mean and these of their own components, from 1.
    kind, draws, seed
        As of :func:`geometry.evidence.drawn_tables.drawn_tables`.
    check
        Called between two draws; may raise to stop.

    Raises
    ------
    RangeError, ValueError
        As :func:`similarity`.
    """
    rows, _ = rows_of_range(W_pos, positions)
    curves, lags, step = [], np.arange(len(rows)), 1
    for drawn in drawn_tables(rows, kind, draws, seed):
        if check is not None:
            check()
        whole, pca = (0, len(drawn) - 1), None
        if components is not None:
            pca = fit_pca(drawn, whole, max(components))
            kept = shown_rows(pca, components)
            values = pca.singular_values[kept]
            pca = replace(pca, components=pca.components[kept], singular_values=values)
        step = -(-len(lags) // len(drawn))  # long tables are thinned
        curves.append(mean_by_lag(drawn, whole, pca))
    rises, meaning = [largest_rise(curve).size for curve in curves], MEANINGS[kind]
    band = band_of(kind, meaning, curves)
    if step > 1:
        at = step * np.arange(len(band.low))
        low, middle, high = (
            np.interp(lags, at, line) for line in (band.low, band.middle, band.high)
        )
        band = replace(band, low=low, middle=middle, high=high)
    return SimilarityNulls(band, null_of(kind, meaning, rises))


def _units(
    W_pos: npt.ArrayLike, positions: tuple[int, int], pca: PositionPCA | None
) -> tuple[tuple[int, int], Array]:
    """Return the range and its unit-length rows, perhaps projected first; zeros stay zeros.

    Those that are projected are given in an orthonormal basis of the components and the mean.
    """
    rows, positions = rows_of_range(W_pos, positions)
    rows, unit = in_unit(rows)
    if pca is not None:
        pca = replace(pca, mean=pca.mean / unit)
        along = pca.components @ pca.mean
        beside = np.linalg.norm(pca.mean - along @ pca.components)
        rows = np.column_stack([pca.project(rows) + along, np.full(len(rows), beside)])
    return positions, unit_rows(rows)
