"""Single columns of the position table over position, each with its best sinusoid."""

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import scipy.fft

from geometry.checkpoints.result import result
from geometry.pca.components import Array, about_mean, read_only, rows_of_range
from geometry.pca.curve import shown_rows
from geometry.pca.pca import PositionPCA
from geometry.pca.unit import in_table_unit, in_unit

#: Frequencies tried per cycle in the range, before the best peaks are refined.
PER_CYCLE = 8
PEAK = 0.95
"""Peaks on the grid from this share of the best one on are refined: between two frequencies of the
grid a wave loses 1.3 % of its sum of squares, and some more below two cycles."""
MAX_PEAKS = 8
"""Maximum number of refined peaks: all are alike where a single row stands out."""
SINUSOID = 4
"""Parameters of a sinusoid and a mean: as many rows are fitted exactly, whatever they are."""
MIN_CYCLES = 0.5
STEPS = 24
GOLDEN = (5**0.5 - 1) / 2
POOR = 1e-3
"""Determinant of cosine and sine, relative to their squares, below which each row is summed."""
RESOLUTION = 1e-5
"""Cycles to which golden section narrows a peak down, and less."""
TRANSFORMED = 2**21
"""Numbers transformed at a time, or one column: 16 MB, and as much for the result."""

Indices = npt.NDArray[np.intp]
Bounds = tuple[float, float]


@result
class Sinusoids:
    """The best sinusoid of every column over the positions of a range.

    A column is fitted by mean + cosine · cos(ω i) + sine · sin(ω i), i counted from the range's
    first position.

    Attributes
    ----------
    positions
        First and last position, both inclusive.
    cycles : (d_model,) float64
        Periods in the range, from one half to the Nyquist limit; ω = 2π · cycles / m, m rows.
    mean, cosine, sine : (d_model,) float64
        The coefficients, in the table's units.
    r2 : (d_model,) float64
        Share of the column's variance that the sinusoid explains; 0 for a column that is constant.
    """

    positions: tuple[int, int]
    cycles: Array
    mean: Array
    cosine: Array
    sine: Array
    r2: Array

    @property
    def amplitude(self) -> Array:
        """(d_model,) amplitude of each wave."""
        return np.hypot(self.cosine, self.sine)

    def of_columns(self, columns: slice) -> "Sinusoids":
        """Return those of some columns alone."""
        arrays = (self.cycles, self.mean, self.cosine, self.sine, self.r2)
        return Sinusoids(self.positions, *(array[columns] for array in arrays))

    def values(self, column: int) -> Array:
        """(m,) the fitted wave of one column, over the range."""
        m = self.positions[1] - self.positions[0] + 1
        angle = 2 * np.pi * self.cycles[column] / m * np.arange(m)
        wave: Array = (
            self.mean[column]
            + self.cosine[column] * np.cos(angle)
            + self.sine[column] * np.sin(angle)
        )
        return wave


def best_sinusoids(W_pos: npt.ArrayLike, positions: tuple[int, int]) -> Sinusoids:
    """Fit one sinusoid and a mean to every column over a range, by least squares.

    All frequencies between half a cycle in the range and the Nyquist limit are tried on a grid of
    eighths of a cycle; all peaks nearly as high as the best one are refined by golden section, and
    the best of them counts.

    Parameters
    ----------
    W_pos : (n_positions, d_model)
        The table.
    positions
        First and last position, both inclusive; with fewer than four rows any column is fitted
        exactly.

    Raises
    ------
    RangeError
        When the range is empty or leaves the table.
    ValueError
        When W_pos is no table.
    """
    rows, positions = rows_of_range(W_pos, positions)
    rows, unit = in_unit(rows)
    m, d = rows.shape
    mean = rows.mean(axis=0)
    blocks, centred = _in_blocks(about_mean(rows))
    variance = np.einsum("ij,ij->j", centred, centred)
    low, high = MIN_CYCLES, max(m / 2, MIN_CYCLES)
    cycles = _best_peaks(blocks, m, *_peaks(centred, low, high), (low, high))
    coefficients, explained = _solve(blocks, m, cycles)
    r2 = np.divide(explained, variance, out=np.zeros(d), where=variance > 0.0).clip(0.0, 1.0)
    coefficients[0] += mean
    results: tuple[Array, ...] = (cycles, *in_table_unit(coefficients, unit), r2)
    read_only(*results)
    return Sinusoids(positions, *results)


def r2_after_projection(
    W_pos: npt.ArrayLike, pca: PositionPCA, components: Sequence[int] = (1, 2, 3)
) -> Array:
    """R² of each column as predicted by the projection on the shown components.

    Parameters
    ----------
    W_pos : (n_positions, d_model)
        The table.
    pca
        Components of the shown range.
    components
        The shown ones, counted from 1; those that a short range does not have are left out.

    Returns
    -------
    (d_model,) float64
        R² of mean + projection as a prediction of the column: 1 − SSE/SST, 0 for a constant column.
    """
    rows, _ = rows_of_range(W_pos, pca.positions)
    centred = about_mean(in_unit(rows)[0])
    basis = pca.components[shown_rows(pca, components)]
    rest = centred - (centred @ basis.T) @ basis
    sse, sst = (np.einsum("ij,ij->j", part, part) for part in (rest, centred))
    r2: Array = 1.0 - np.divide(sse, sst, out=np.ones_like(sse), where=sst > 0.0)
    read_only(r2)
    return r2


def _peaks(centred: Array, low: float, high: float) -> tuple[Array, Indices]:
    """Return the best peaks on a grid of frequencies: their cycles, and their columns, ascending.

    Each column has at least one, and at most ``MAX_PEAKS``.
    """
    m, d = centred.shape
    first, last = int(np.ceil(low * PER_CYCLE)), int(np.floor(high * PER_CYCLE))
    cycles = np.arange(first, last + 1) / PER_CYCLE
    if len(cycles) < 2:
        return np.full(d, low), np.arange(d)
    inverse = _inverse_grams(cycles, m)[:, :, :, None]
    found: tuple[list[Indices], list[Indices]] = ([], [])
    width = max(1, TRANSFORMED // (PER_CYCLE * m))
    for start in range(0, d, width):
        part = centred[:, start : start + width]
        # The transform at eighths of a cycle is that of the rows padded with seven times as many
        # zeros; its imaginary part is minus the sine sums.
        sums = scipy.fft.rfft(part, n=PER_CYCLE * m, axis=0)[first : last + 1]
        at, column = _highest(_quadratic(inverse, sums.real, -sums.imag))
        found[0].append(at)
        found[1].append(start + column)
    at, column = (np.concatenate(parts) for parts in found)
    return cycles[at], column


def _highest(values: Array) -> tuple[Indices, Indices]:
    """Return the rows and columns of each column's highest local maxima, by column."""
    best = values.argmax(axis=0)
    columns = np.arange(values.shape[1])
    i, j = np.nonzero(values >= PEAK * values[best, columns])
    here = values[i, j]
    peak = here >= values[np.maximum(i - 1, 0), j]
    peak &= here >= values[np.minimum(i + 1, len(values) - 1), j]
    peak |= i == best[j]
    i, j, here = i[peak], j[peak], here[peak]
    order = np.lexsort((-here, j))
    i, j = i[order], j[order]
    rank = np.arange(len(j)) - np.searchsorted(j, j)
    return i[rank < MAX_PEAKS], j[rank < MAX_PEAKS]


def _best_peaks(blocks: Array, m: int, peaks: Array, column: Indices, bounds: Bounds) -> Array:
    """Refine peaks, given by column, and return the frequency of each column's best one."""
    refined, explained = np.empty_like(peaks), np.empty_like(peaks)
    width = max(1, TRANSFORMED // m)
    for start in range(0, len(peaks), width):
        part = slice(start, start + width)
        least, most = (peaks[part] + step / PER_CYCLE for step in (-1, 1))
        chosen = blocks[:, :, column[part]]
        found = _refine(chosen, m, np.maximum(least, bounds[0]), np.minimum(most, bounds[1]))
        value = _solve(chosen, m, found)[1]
        # Golden section comes near to an end and never there. At the Nyquist limit less may be
        # explained than just before it, where the sine is not yet zero.
        for end in bounds:
            near = np.flatnonzero(np.abs(found - end) < RESOLUTION)
            there = _solve(chosen[:, :, near], m, np.full(len(near), end))[1]
            better = there >= value[near]
            found[near[better]], value[near[better]] = end, there[better]
        refined[part], explained[part] = found, value
    order = np.lexsort((-explained, column))
    best = refined[order][np.searchsorted(column, np.arange(blocks.shape[2]))]
    return np.asarray(best, dtype=np.float64)


def _refine(blocks: Array, m: int, low: Array, high: Array) -> Array:
    """Return the best frequency of each column between two bounds, by golden section."""
    inner, outer = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
    of_inner, of_outer = _solve(blocks, m, inner)[1], _solve(blocks, m, outer)[1]
    for _ in range(STEPS):
        lower = of_inner > of_outer
        high, low = np.where(lower, outer, high), np.where(lower, low, inner)
        moved = np.where(lower, high - GOLDEN * (high - low), low + GOLDEN * (high - low))
        of_moved = _solve(blocks, m, moved)[1]
        inner, outer = np.where(lower, moved, outer), np.where(lower, inner, moved)
        of_inner, of_outer = (
            np.where(lower, of_moved, of_outer),
            np.where(lower, of_inner, of_moved),
        )
    return (low + high) / 2


def _in_blocks(rows: Array) -> tuple[Array, Array]:
    """Put (m, d) rows in about √m blocks of equal length, (a, b, d), zero-padded.

    Returns the blocks, and the rows as a view of them.
    """
    m, d = rows.shape
    b = math.isqrt(m - 1) + 1
    blocks = np.zeros((-(-m // b), b, d))
    within = blocks.reshape(-1, d)[:m]
    within[:] = rows
    return blocks, within


def _solve(blocks: Array, m: int, cycles: Array) -> tuple[Array, Array]:
    """Fit each column at its frequency: (3, d) coefficients, and the sum of squares explained."""
    with_cosine, with_sine = _sums(blocks, 2 * np.pi / m * cycles)
    inverse = np.moveaxis(_inverse_grams(cycles, m), 0, -1)
    coefficients = inverse[:, 1] * with_cosine + inverse[:, 2] * with_sine
    return coefficients, coefficients[1] * with_cosine + coefficients[2] * with_sine


def _sums(blocks: Array, angle: Array) -> tuple[Array, Array]:
    """Sum each column times the cosine, and times the sine, of its angle at every row.

    A row's angle is that of its block plus that within the block, so only about √m cosines and
    sines are computed.
    """
    a, b, _ = blocks.shape
    within, of_block = np.arange(b)[:, None] * angle, b * np.arange(a)[:, None] * angle
    cosine = np.einsum("abd,bd->ad", blocks, np.cos(within))
    sine = np.einsum("abd,bd->ad", blocks, np.sin(within))
    turned, aside = np.cos(of_block), np.sin(of_block)
    with_cosine: Array = (cosine * turned - sine * aside).sum(axis=0)
    with_sine: Array = (cosine * aside + sine * turned).sum(axis=0)
    return with_cosine, with_sine


def _inverse_grams(cycles: Array, m: int) -> Array:
    """Inverse of the Gram matrix of 1, cosine and sine over m rows, for each frequency."""
    angle = 2 * np.pi / m * cycles
    once, twice = _geometric(angle, m), _geometric(2 * angle, m)
    a, b, ab = once.real.copy(), once.imag.copy(), twice.imag / 2
    aa, bb = (m + twice.real) / 2, (m - twice.real) / 2

    def without_mean() -> tuple[Array, Array, Array, Array]:
        """Return what is left of cosine and sine, [[p, r], [r, q]], and its determinant."""
        p, q, r = aa - a**2 / m, bb - b**2 / m, ab - a * b / m
        return p, q, r, p * q - r**2

    p, q, r, determinant = without_mean()
    poor = np.flatnonzero(determinant < POOR * (p + q) ** 2)
    if len(poor):
        # Near the Nyquist limit the sine is small, and its sums are differences of large numbers.
        rows = angle[poor, None] * np.arange(m)
        cosine, sine = np.cos(rows), np.sin(rows)
        a[poor], b[poor], ab[poor] = cosine.sum(1), sine.sum(1), (cosine * sine).sum(1)
        aa[poor], bb[poor] = np.square(cosine).sum(1), np.square(sine).sum(1)
        p, q, r, determinant = without_mean()
    regular = determinant > 1e-9 * (p + q) ** 2
    inverse = np.empty((len(cycles), 3, 3))
    with np.errstate(divide="ignore", invalid="ignore"):
        inverse[:, 1, 1], inverse[:, 2, 2] = q / determinant, p / determinant
        inverse[:, 1, 2] = inverse[:, 2, 1] = -r / determinant
        for k in (1, 2):
            mean = -(a * inverse[:, 1, k] + b * inverse[:, 2, k]) / m
            inverse[:, 0, k] = inverse[:, k, 0] = mean
        inverse[:, 0, 0] = (1.0 - a * inverse[:, 0, 1] - b * inverse[:, 0, 2]) / m
    if not regular.all():
        # At the Nyquist limit the sine vanishes; with few rows, so may other columns.
        products = np.array([[np.full(len(a), float(m)), a, b], [a, aa, ab], [b, ab, bb]])
        G = np.moveaxis(products, -1, 0)[~regular]
        inverse[~regular] = np.linalg.pinv(G, rcond=1e-10, hermitian=True)
    return inverse


def _geometric(angle: Array, m: int) -> npt.NDArray[np.complex128]:
    """Sum of exp(i · angle · t) over t = 0 … m − 1."""
    half = np.sin(angle / 2)
    small = np.abs(half) < 1e-9
    ratio = np.sin(m * angle / 2) / np.where(small, 1.0, half)
    turned = ratio * np.exp(0.5j * (m - 1) * angle)
    # Where it is small, angles are multiples of 2π or nearly so, and every term is about 1.
    return np.where(small, m, turned)


def _quadratic(inverse: Array, cosine: Array, sine: Array) -> Array:
    explained: Array = (
        inverse[:, 1, 1] * cosine**2
        + 2 * inverse[:, 1, 2] * cosine * sine
        + inverse[:, 2, 2] * sine**2
    )
    return explained
