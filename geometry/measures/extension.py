"""A table continued beyond the rows that are kept of it, and how far that is from its real rows.

Three ways to more positions: the kept rows stretched, as in position interpolation (Chen et al.,
arXiv:2306.15595); the helix fitted to them, continued; and a few waves fitted to each of their
components, continued. What is held out says how well each does, beside two baselines: the last kept
row repeated, and the mean of the kept rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from geometry.checkpoints.errors import RangeError
from geometry.checkpoints.result import result
from geometry.measures.norms import norm_profile
from geometry.pca.components import Array, about_mean, check_table, read_only
from geometry.pca.unit import in_table_unit, in_unit

Method = Literal["interpolate", "helix", "fourier"]
METHODS: tuple[Method, ...] = get_args(Method)

FEWEST = 4
"""Rows below which no helix is fitted."""
COMPONENTS = 8
"""Components of the kept rows that are continued by waves; the others keep their mean."""
MAX_WAVES = 3
"""Waves of one component, at most."""
MIN_CYCLES = 1.0
"""Of a wave within the kept rows: less of it may be any bend, whose continuation is a guess.

Chosen after the errors on GPT-2's held-out rows and the bundled model's had been seen.
"""
PER_CYCLE = 8
"""Frequencies tried for each cycle in the kept rows, before they are refined."""
APART = 1.5
"""Cycles between two waves of a component, at least, before they are refined by up to half one."""
CHANCE = 0.01
"""Probability with which white noise would have a wave as strong as one that is fitted."""
MAX_TRIES = 40
"""Steps in which the frequencies of a component are refined, at most."""
NOTHING = 1e-24
"""Share of a component's sum of squares that is rounding."""


@result
class Continued:
    """Rows of every position, in a few directions.

    Attributes
    ----------
    mean : (d,) float64
        The mean of the kept rows.
    scores, basis : (n, k), (k, d) float64
        Coordinates of all positions, also of the kept ones, and the directions.
    """

    mean: Array
    scores: Array
    basis: Array

    def times(self, unit: float) -> Continued:
        """Return the continuation of rows that are so many times as large."""
        return Continued(
            in_table_unit(self.mean, unit), in_table_unit(self.scores, unit), self.basis
        )

    def rows(self, first: int = 0) -> Array:
        """Return the rows from a position on, (n − first, d)."""
        return self.mean + self.scores[first:] @ self.basis


@result
class Extension:
    """A table beside what is made of its first rows.

    Errors are ‖p̂ − p‖ / ‖p − m‖, with m the mean of the kept rows: one that is at that mean has 1
    everywhere, so that below 1 something is known of a position, and above it less than nothing.
    ‖p‖ would not do as a measure: much of it may be common to all rows.

    Attributes
    ----------
    kept
        Number of the rows that are kept; the others are held out.
    errors : (n,) float64 each
        By method, at every position: at the kept ones, those of the fit itself.
    last : (n − kept,) float64
        Errors of the last kept row, repeated, at the positions held out.
    totals
        The root of Σ‖p̂ − p‖² / Σ‖p − m‖² over the positions held out, by method and for "last".
    continued
        What was fitted, by method; not of "interpolate", which fits nothing.
    """

    kept: int
    errors: Mapping[Method, Array]
    last: Array
    totals: Mapping[str, float]
    continued: Mapping[Method, Continued]

    @property
    def best(self) -> Method:
        """The method of the least error."""
        return min(METHODS, key=lambda method: self.totals[method])


def _nothing() -> None: ...


def extension(
    W_pos: npt.ArrayLike, kept: int, *, check: Callable[[], None] = _nothing
) -> Extension:
    """Continue the first rows of a table in every way, and compare the result with the others.

    Outliers among the kept rows, by their norms, count neither in the fits nor in the mean.

    Parameters
    ----------
    W_pos : (n, d)
        The table, all stored rows in order.
    kept
        Number of its first rows to keep, from 4 to n − 1.
    check
        Called between steps; may raise to stop.

    Raises
    ------
    RangeError
        When there are fewer rows to keep, or none to hold out.
    ValueError
        When W_pos is no table.
    """
    table, unit = in_unit(check_table(W_pos))
    n = len(table)
    if not FEWEST <= kept < n:
        raise RangeError(
            f"{kept} of {n} positions cannot be kept to continue them",
            f"Keep at least {FEWEST}, and fewer than all.",
        )
    rows = table[:kept]
    _, steady = _steady(rows)
    mean, last = steady.mean(axis=0), steady[-1]
    # A row at the mean has no error of its own size.
    least = max(1e-12 * float(np.sqrt(np.mean(np.square(table)))), 1e-100)
    away = np.maximum(np.linalg.norm(table - mean, axis=1), least)

    errors: dict[Method, Array] = {}
    continued: dict[Method, Continued] = {}
    for method in METHODS:
        check()
        if method == "interpolate":
            made = resample_rows(rows, n)
        else:
            continued[method] = continue_rows(rows, n, method, check=check)
            made = continued[method].rows()
        errors[method] = np.linalg.norm(made - table, axis=1) / away
    repeated = np.linalg.norm(last - table[kept:], axis=1) / away[kept:]
    held, whole = away[kept:], np.linalg.norm(away[kept:])
    totals = {
        name: float(np.linalg.norm(values * held) / whole)
        for name, values in (*((m, errors[m][kept:]) for m in METHODS), ("last", repeated))
    }
    read_only(*errors.values(), repeated)
    return Extension(
        kept,
        MappingProxyType(errors),
        repeated,
        MappingProxyType(totals),
        MappingProxyType({method: made.times(unit) for method, made in continued.items()}),
    )


def extend_table(
    rows: npt.ArrayLike,
    n_positions: int,
    method: Method,
    *,
    check: Callable[[], None] = _nothing,
) -> Array:
    """Return a table of more positions: the rows stretched, or followed by their continuation.

    Parameters
    ----------
    rows : (m, d)
        A row for each position, at least 4.
    n_positions
        Rows of the result, more than m.
    method
        "interpolate": all rows are between those that there are (:func:`resample_rows`). "helix"
        and "fourier": the rows themselves, and after them those of :func:`continue_rows`.

    Returns
    -------
    (n_positions, d) float64

    Raises
    ------
    RangeError
        When there are too few rows, or no more positions.
    """
    table = check_table(rows)
    if len(table) < FEWEST or n_positions <= len(table):
        raise RangeError(
            f"{len(table)} positions cannot be extended to {n_positions}",
            f"Extend at least {FEWEST} to more than there are.",
        )
    if method == "interpolate":
        return resample_rows(table, n_positions)
    further = continue_rows(table, n_positions, method, check=check).rows(len(table))
    return np.concatenate([table, further])


def resample_rows(table: npt.ArrayLike, n_positions: int) -> npt.NDArray[np.float64]:
    """Stretch or compress a table to another number of positions.

    Parameters
    ----------
    table : (n, d)
        A row for each position.
    n_positions
        Rows of the result.

    Returns
    -------
    (n_positions, d) float64
        Row p is that at the place p · n / n_positions, at most n − 1, between two rows linearly.
    """
    P = np.asarray(table, dtype=np.float64)
    places = np.minimum(np.arange(n_positions) * len(P) / n_positions, len(P) - 1.0)
    before = np.floor(places).astype(np.intp)
    share = (places - before)[:, None]
    made: npt.NDArray[np.float64] = (1 - share) * P[before]
    made += share * P[np.minimum(before + 1, len(P) - 1)]
    return made


def continue_rows(
    rows: npt.ArrayLike,
    n_positions: int,
    method: Method,
    *,
    check: Callable[[], None] = _nothing,
) -> Continued:
    """Fit a helix or waves to rows, and return them at their positions and beyond.

    Parameters
    ----------
    rows : (m, d)
        Those of the first positions, at least 4.
    n_positions
        Number of positions of the result.
    method
        "helix": the helix fitted to the first three components of the rows. "fourier": in each of
        the first eight components the mean, a trend, and at most three waves, fitted by least
        squares. A wave counts if it has at least one period in the rows, and white noise would not
        have one as strong. What lies in no such component keeps its mean.
    check
        Called between steps; may raise to stop.
    """
    # Sources import this module, and a part of SciPy is too slow for the start.
    from geometry.measures.shape import fit_shapes

    table, unit = in_unit(check_table(rows))
    start, steady = _steady(table)
    mean = steady.mean(axis=0)
    count = 3 if method == "helix" else COMPONENTS
    U, sizes, V = np.linalg.svd(about_mean(steady), full_matrices=False)
    known, basis = U[:, :count] * sizes[:count], V[:count]
    at: Array = np.arange(n_positions) - np.float64(start)
    if method == "helix":
        points = np.zeros((len(known), 3))
        points[:, : known.shape[1]] = known
        scores = fit_shapes(points, check=check).fits["helix"].at(at)[:, : known.shape[1]]
    else:
        scores = np.empty((n_positions, known.shape[1]))
        for column, values in enumerate(known.T):
            check()
            scores[:, column] = _waves_at(values, at)
    read_only(mean, scores, basis)
    return Continued(mean, scores, basis).times(unit)


def _steady(rows: Array) -> tuple[int, Array]:
    """Return the rows without outliers at their ends, and the number of the first of these rows.

    Outliers between others are replaced by what is between these. All rows are as they are if most
    of them stand out.
    """
    usual = np.setdiff1d(np.arange(len(rows)), norm_profile(rows).outliers)
    if len(usual) < max(FEWEST, len(rows) / 2):
        return 0, rows
    first, last = int(usual[0]), int(usual[-1])
    steady = rows[first : last + 1].copy()
    for at in np.setdiff1d(np.arange(first, last + 1), usual).tolist():
        after = int(np.searchsorted(usual, at))
        low, high = int(usual[after - 1]), int(usual[after])
        share = (at - low) / (high - low)
        steady[at - first] = (1 - share) * rows[low] + share * rows[high]
    return first, steady


# ---- waves of one component ----------------------------------------------------------------------


def _waves_at(values: Array, at: Array) -> Array:
    """Fit mean, trend and waves to values (m,); return them at places counted from the first."""
    m = len(values)
    cycles = np.empty(0)
    while len(cycles) < MAX_WAVES and m >= 2 * len(cycles) + 8:
        found = _next_wave(values, cycles)
        if found is None:
            break
        cycles = _refined(values, np.append(cycles, found))
    fitted, *_ = np.linalg.lstsq(_columns(np.arange(m), cycles, m), values, rcond=None)
    return _columns(at, cycles, m) @ fitted


def _columns(at: Array | npt.NDArray[np.intp], cycles: Array, m: int) -> Array:
    """Return mean, trend, cosines and sines at some places, (len(at), 2 + 2 · waves)."""
    s = (at - (m - 1) / 2) / m
    angle = 2 * np.pi * np.outer(s, cycles)
    return np.column_stack([np.ones(len(s)), s, np.cos(angle), np.sin(angle)])


def _next_wave(values: Array, cycles: Array) -> float | None:
    """Return the cycles in the rows of the wave that explains most beside those that are known.

    None if there is nothing left, or it explains no more than the strongest wave of white noise.
    """
    import scipy.fft

    m = len(values)
    # Every frequency is fitted together with the mean, the trend and the known waves: what they
    # explain of its cosine and sine is taken off.
    Q = np.linalg.qr(_columns(np.arange(m), cycles, m))[0]
    rest = values - Q @ (Q.T @ values)
    left = float(rest @ rest)
    if left <= NOTHING * float(values @ values):
        return None
    size = PER_CYCLE * m
    of_rest = scipy.fft.fft(rest, size)
    of_basis = scipy.fft.fft(Q, size, axis=0)
    of_ones = scipy.fft.fft(np.ones(m), size)
    tried = np.arange(round(MIN_CYCLES * PER_CYCLE), size // 2)
    for known in cycles:
        tried = tried[np.abs(tried / PER_CYCLE - known) >= APART]
    if not len(tried):
        return None
    twice = of_ones[2 * tried % size]
    C, S = of_basis[tried].real, -of_basis[tried].imag
    cc = (m + twice.real) / 2 - np.square(C).sum(axis=1)
    ss = (m - twice.real) / 2 - np.square(S).sum(axis=1)
    cs = -twice.imag / 2 - (C * S).sum(axis=1)
    c, s = of_rest[tried].real, -of_rest[tried].imag
    determinant = cc * ss - cs**2
    sound = determinant > 1e-6 * (cc + ss) ** 2
    explained = np.where(sound, ss * c**2 - 2 * cs * c * s + cc * s**2, 0.0)
    explained /= np.where(sound, determinant, 1.0)
    best = int(explained.argmax())
    share = min(float(explained[best]) / left, 1.0)
    # Fisher's test of the largest of so many ordinates of a periodogram (1929), its leading term.
    ordinates = m // 2
    if ordinates * (1.0 - share) ** (ordinates - 1) > CHANCE:
        return None
    return float(tried[best]) / PER_CYCLE


def _refined(values: Array, cycles: Array) -> Array:
    """Return all frequencies refined together, each by at most half a cycle."""
    from scipy.optimize import least_squares

    m = len(values)
    scale = float(np.linalg.norm(values))

    def apart(tried: Array) -> Array:
        columns = _columns(np.arange(m), tried, m)
        fitted, *_ = np.linalg.lstsq(columns, values, rcond=None)
        return (values - columns @ fitted) / scale

    low = np.maximum(cycles - 0.5, 0.9 * MIN_CYCLES)  # the start has to be inside
    high = np.minimum(cycles + 0.5, m / 2)
    found = least_squares(
        apart, cycles, bounds=(low, high), xtol=1e-14, ftol=1e-14, gtol=1e-15, max_nfev=MAX_TRIES
    )
    return found.x
