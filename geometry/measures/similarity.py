"""Cosine similarity of positions, and its mean by distance."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from geometry.pca.components import Array, check_range, check_table, row_norms
from geometry.pca.pca import PositionPCA

#: Columns transformed at a time.
COLUMNS = 64


@dataclass(frozen=True, eq=False, slots=True)
class Similarity:
    """Cosines of all rows of a range.

    Attributes
    ----------
    positions
        First and last position, both inclusive.
    cosines : (m, m) float64
        cos(P_i, P_j) of raw rows; 0 with a row of zeros.
    by_lag : (m,) float64
        Mean over i of cos(P_i, P_{i+Δ}), both in the range, for Δ = 0 … m − 1.
    """

    positions: tuple[int, int]
    cosines: Array
    by_lag: Array


def similarity(
    W_pos: npt.ArrayLike, positions: tuple[int, int], pca: PositionPCA | None = None
) -> Similarity:
    """Cosine similarity of the rows of a range.

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
    RangeError
        When the range is empty or leaves the table.
    ValueError
        When W_pos is no table.

    References
    ----------
    Lukas Finnveden noticed the period, as "GPT-2's positional embedding matrix is a helix" (2023)
    reports.
    """
    positions, units = _units(W_pos, positions, pca)
    cosines = np.clip(units @ units.T, -1.0, 1.0)
    by_lag = np.array([np.trace(cosines, offset) for offset in range(len(units))])
    by_lag /= len(units) - np.arange(len(units))
    for array in (cosines, by_lag):
        array.flags.writeable = False
    return Similarity(positions, cosines, by_lag)


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
    from scipy import fft  # slow to import, so not at start-up

    _, units = _units(W_pos, positions, pca)
    m = len(units)
    length = fft.next_fast_len(2 * m, real=True)  # zero-padded: no lag wraps around
    power = np.zeros(length // 2 + 1)
    for start in range(0, units.shape[1], COLUMNS):
        found = fft.rfft(units[:, start : start + COLUMNS], n=length, axis=0)
        power += np.einsum("ij,ij->i", found.real, found.real)
        power += np.einsum("ij,ij->i", found.imag, found.imag)
    by_lag: Array = fft.irfft(power, n=length)[:m] / (m - np.arange(m))
    by_lag.flags.writeable = False
    return by_lag


def _units(
    W_pos: npt.ArrayLike, positions: tuple[int, int], pca: PositionPCA | None
) -> tuple[tuple[int, int], Array]:
    """Return the range and its unit-length rows, perhaps projected first; zeros stay zeros."""
    table = check_table(W_pos)
    first, last = check_range(positions, len(table))
    rows = table[first : last + 1]
    if pca is not None:
        rows = pca.mean + pca.project(rows) @ pca.components
    norms = row_norms(rows)[:, None]
    units: Array = np.divide(rows, norms, out=np.zeros_like(rows), where=norms > 0.0)
    return (first, last), units
