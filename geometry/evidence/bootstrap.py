"""Intervals of a single table: its turns, radius, R² and turning share, and its components.

A table is one draw of a training, of which there is no second. What can be resampled are its rows'
departures from the curve that they follow. Neighbours depart alike, so that rows, or short blocks
of rows, drawn with replacement give intervals that are too narrow. In the basis of a cosine
transform over position, the departures of a stationary process are nearly independent, and their
variance is smooth over frequency; so blocks are of neighbouring frequencies here, not positions.

The curve is a wave of one frequency beside a straight line, in all columns, the wave's amplitude
and phase changing linearly. It takes away some of the lowest frequencies. What the departures have
there is extrapolated from the frequencies above by their spectrum, that of a first-order
autoregression with white noise beside it. Coverage is measured by
`tools/study_intervals.py`, see `resources/guide/evidence.md`.

References
----------
.. [1] E. Paparoditis and D. N. Politis, "The local bootstrap for periodogram statistics", Journal
   of Time Series Analysis 20, 1999
.. [2] A. C. Davison and D. V. Hinkley, "Bootstrap methods and their application", 1997, section 8.2
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
import numpy.typing as npt

from geometry.evidence.turning_share import TurningShare, balanced_turning, turn_counts
from geometry.pca.components import Array, about_mean
from geometry.pca.unit import in_unit

DRAWS = 200
LEVEL = 95.0
"""Number of draws, and percentage of them between the ends of an interval."""
FEWEST = 32
"""Minimum number of rows."""
WIDTH = 32
"""Principal directions that are resampled; the variance of the others stays as it is."""
CORRELATIONS = np.concatenate([[0.0], 1 - np.geomspace(0.6, 0.002, 20)])
WHITE = np.array([0.0, 0.02, 0.1, 0.3, 0.6])
"""Autocorrelations of neighbours, and shares of white noise, among which the spectrum is sought."""
TRIED, APART = 1.0, 0.1
"""Turns by which draws may differ, or that share of them if it is more; steps in which they are
tried."""
TOGETHER = 2**20
"""Points of curves that are drawn at once."""
ALTERNATIONS = 6
"""Alternations between the orientation and the size of a helix."""

Interval = tuple[float, float]


class Turning(Protocol):
    """A circle or helix, such as a :class:`geometry.measures.shape_fit.ShapeFit`."""

    @property
    def turns(self) -> float:
        """Turns from the first row to the last."""

    @property
    def radius(self) -> float:
        """Radius at the middle, in units of the table."""

    @property
    def climb(self) -> float:
        """Along the axis from one row to the next; 0 for a circle."""

    @property
    def r2(self) -> float:
        """R² of the fit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Intervals:
    """Intervals of 95 %, each of the value expected of rows that follow the same curve.

    Attributes
    ----------
    b
        Balanced turning share.
    turns, radius, r2
        Of the circle or helix; None if none describes the rows.
    angle
        Degrees below which the largest angle between the components' subspace and the curve's lies
        in 95 % of the draws.
    correlation
        Autocorrelation of neighbouring rows' departures, apart from white noise.
    draws
        Number of draws.
    """

    b: Interval
    turns: Interval | None = None
    radius: Interval | None = None
    r2: Interval | None = None
    angle: float
    correlation: float
    draws: int


class Departures:
    """A table as a curve, and departures from it that can be drawn anew.

    Parameters
    ----------
    rows : (m, d)
        At least 32, in order.
    turns
        Turns of the curve from the first row to the last.

    Attributes
    ----------
    curve : (m − 1, k) float64
        The curve in the table's first principal directions, as cosine transform over position
        without the mean.
    left
        Sum of squares in the other directions.
    """

    def __init__(self, rows: Array, turns: float) -> None:
        from scipy.fft import dct

        X = about_mean(rows)
        m = len(X)
        basis = np.linalg.qr(_waves(m, turns))[0]
        modes: Array = dct(basis, axis=0, norm="ortho")[1:]
        taken = np.square(modes).sum(axis=1)
        self._donors = np.flatnonzero(taken < 0.5)
        whole: Array = dct(X, axis=0, norm="ortho")[1:]
        remaining = 1 / np.maximum(1 - taken, 0.5)
        power = np.square(whole - modes @ (modes.T @ whole)).sum(axis=1) * remaining
        spectrum, self.correlation = _spectrum(power, self._donors)
        self._scale = np.sqrt(spectrum)
        coefficients = _leading(whole, WIDTH)
        self.left = max(0.0, float(np.vdot(X, X) - np.vdot(coefficients, coefficients)))
        self.curve: Array = modes @ (modes.T @ coefficients)
        departures = (coefficients - self.curve) * np.sqrt(remaining)[:, None]
        self._white = departures / self._scale[:, None]
        # A neighbourhood of sqrt(m)/2 frequencies is smooth in variance, and has some degrees of
        # freedom; it is shifted at the ends.
        self._span = min(2 * max(4, round(np.sqrt(m) / 4)) + 1, len(self._donors))
        place = np.searchsorted(self._donors, np.arange(m - 1)) - self._span // 2
        self._first = np.clip(place, 0, len(self._donors) - self._span)

    def draw(self, random: np.random.Generator) -> Array:
        """Return the curve with departures drawn anew, (m − 1, k).

        Each coefficient is that of one of the neighbouring frequencies, with a random sign. The
        level of a neighbourhood varies as an estimate from so many coefficients does.
        """
        (count, k), span = self.curve.shape, self._span
        chosen = self._donors[self._first + random.integers(0, span, count)]
        level = np.sqrt(span / random.chisquare(span, (-(-count // span), k)))
        signs = random.choice((-1.0, 1.0), (count, 1))
        drawn: Array = self._white[chosen]
        drawn *= self._scale[:, None]
        drawn *= np.repeat(level, span, axis=0)[:count]
        drawn *= signs
        drawn += self.curve
        return drawn


def intervals(
    rows: npt.ArrayLike,
    evidence: TurningShare,
    shape: Turning | None = None,
    *,
    components: tuple[int, ...] = (1, 2, 3),
    draws: int = DRAWS,
    seed: int = 0,
    check: Callable[[], None] | None = None,
) -> Intervals | None:
    """Resample a table, and return how far its numbers vary.

    Parameters
    ----------
    rows : (m, d)
        Consecutive rows of a position table, in order.
    evidence
        Its balanced turning share.
    shape
        The circle or helix that describes the rows; None if none does.
    components
        The principal components in which it was found, from 1.
    draws, seed
        Number of draws, and of the random numbers.
    check
        Called before each draw; may raise to stop.

    Returns
    -------
    Intervals
        None for fewer than 32 rows, for rows that do not vary, and for rows of fewer components.
    """
    from scipy.fft import idct
    from scipy.linalg import eigh

    X, unit = in_unit(np.asarray(rows, dtype=np.float64))
    m, most, turns = len(X), max(components), evidence.turns
    if m < FEWEST or min(X.shape) <= most or not np.ptp(X, axis=0).any():
        return None
    departures = Departures(X, shape.turns if shape is not None and shape.turns else turns)
    curve, k = departures.curve, departures.curve.shape[1]
    chosen = [-number for number in components]
    own = np.linalg.svd(curve, full_matrices=False)[2][[number - 1 for number in components]]
    random, counts = np.random.default_rng(seed), turn_counts(m)
    near = counts[np.abs(counts - turns) <= max(TRIED, turns * APART)]
    helix = shape if shape is not None and shape.turns else None
    angles, shares, helices = np.empty(draws), np.empty(draws), np.empty((3, draws))
    for some in np.array_split(np.arange(draws), -(-draws * m // TOGETHER)):
        points, totals = np.zeros((len(some), m, len(components))), np.empty(len(some))
        for at, number in enumerate(some):
            if check is not None:
                check()
            drawn = departures.draw(random)
            vectors = eigh(drawn.T @ drawn, subset_by_index=[max(0, k - most), k - 1])[1][:, chosen]
            points[at, 1:] = drawn @ vectors
            totals[at] = np.vdot(drawn, drawn) + departures.left
            cosines = np.linalg.svd(own @ vectors, compute_uv=False)
            angles[number] = np.degrees(np.arccos(np.clip(cosines.min(), 0.0, 1.0)))
        points = idct(points, axis=1, norm="ortho")
        shares[some] = 2 * balanced_turning(points, near)[0] / totals
        if helix is not None:
            helices[:, some] = _helices(points, helix, unit)
    found = Intervals(
        b=interval_about(evidence.b, shares, share=True),
        angle=float(np.percentile(angles, LEVEL)),
        correlation=departures.correlation,
        draws=draws,
    )
    if helix is None:
        return found
    counted, radii, r2 = helices
    low, high = interval_about(helix.radius / unit, radii)
    return replace(
        found,
        turns=interval_about(helix.turns, counted),
        radius=(low * unit, high * unit),
        r2=interval_about(helix.r2, r2, share=True),
    )


def interval_about(value: float, drawn: Array, *, share: bool = False) -> Interval:
    """Return the interval of 95 % about a value from those of the draws.

    The draws vary about their own median as the value does about what is expected, on the scale of
    logarithms, or of log-odds for shares.
    """
    limits = np.finfo(np.float64)
    least, most = (limits.eps, 1.0 - limits.eps) if share else (limits.tiny, np.inf)

    def scaled(numbers: npt.ArrayLike) -> Array:
        x = np.clip(numbers, least, most)
        scale: Array = np.log(x) - (np.log1p(-x) if share else 0.0)
        return scale

    off = scaled(drawn) - np.median(scaled(drawn))
    upper, lower = scaled(value) - np.percentile(off, [50 - LEVEL / 2, 50 + LEVEL / 2])
    ends = (1 / (1 + np.exp(-end)) if share else np.exp(end) for end in (lower, upper))
    low, high = (float(end) for end in ends)
    return low, high


def _leading(X: Array, count: int) -> Array:
    """Return rows in their first singular directions, (m, at most count)."""
    from scipy.linalg import eigh

    wide = X.shape[1] > len(X)
    gram = X @ X.T if wide else X.T @ X
    last = len(gram) - 1
    values, vectors = eigh(gram, subset_by_index=[max(0, last + 1 - count), last])
    scores: Array = vectors * np.sqrt(np.maximum(values, 0.0)) if wide else X @ vectors
    return scores


def _waves(m: int, turns: float) -> Array:
    """Return constants, the ramp, and waves whose amplitude and phase change linearly, (m, 6)."""
    t = np.linspace(-1.0, 1.0, m)
    wave = np.stack([np.cos(np.pi * turns * t), np.sin(np.pi * turns * t)], axis=1)
    return np.column_stack([np.ones(m), t, wave, t[:, None] * wave])


def _spectrum(power: Array, known: npt.NDArray[np.intp]) -> tuple[Array, float]:
    """Return the shape of a spectrum, (n,), and the autocorrelation of its process.

    The best by Whittle's likelihood of the frequencies that are known, and white unless the
    Bayesian information criterion prefers another. It is one for all columns together: each
    principal direction of a process has a few of its frequencies.
    """
    n = len(power)
    cosines = np.cos(np.pi * np.arange(1, n + 1) / (n + 1))
    pairs = [(rho, white) for rho in CORRELATIONS for white in WHITE if rho or not white]
    rho, white = np.array(pairs).T[:, :, None]
    spectra = (1 - white) * (1 - rho**2) / (1 + rho**2 - 2 * rho * cosines) + white
    there = spectra[:, known]
    variance = (power[known] / there).mean(axis=1)
    worse = np.log(np.maximum(variance, np.finfo(np.float64).tiny)) + np.log(there).mean(axis=1)
    parameters = (rho > 0.0).astype(float) + (white > 0.0)
    best = int((worse + parameters[:, 0] * np.log(len(known)) / len(known)).argmin())
    return spectra[best], float(rho[best, 0])


def _helices(points: Array, shape: Turning, unit: float) -> tuple[Array, Array, Array]:
    """Fit helices or circles to curves near one; see :mod:`geometry.measures.shape`.

    Parameters
    ----------
    points : (draws, m, 3)
        The curves.
    shape
        The one that they are near.
    unit
        By which the curves have been divided.

    Returns
    -------
    turns, radii, r2 : (draws,)
    """
    draws, m, _ = points.shape
    turns = shape.turns + APART * max(TRIED, APART * shape.turns) * np.arange(-10, 11)
    turns = turns[turns > APART]
    s = np.arange(m) - (m - 1) / 2
    angles = np.pi * np.outer(turns, np.linspace(-1.0, 1.0, m))
    curves = np.concatenate([np.cos(angles), np.sin(angles), s[None]])
    centred = points - points.mean(axis=1, keepdims=True)
    count = len(turns)
    sums = (curves @ np.moveaxis(centred, 1, 0).reshape(m, -1)).reshape(-1, draws, 3)
    along = np.broadcast_to(sums[-1], (count, draws, 3))
    products = np.stack([sums[:count], sums[count:-1], along], axis=-1)
    # The squares of the waves without their means, which only those of the cosines have.
    means = np.square(np.cos(angles).sum(axis=1)) / m
    even = (m - means)[:, None]
    radius = np.full((count, draws), shape.radius / unit)
    climb = np.full((count, draws), shape.climb / unit)
    for _ in range(ALTERNATIONS):
        sizes = np.stack([radius, radius, climb], axis=-1)
        left, _, right = np.linalg.svd(products * sizes[..., None, :])
        fitted = np.einsum("...ij,...ji->...i", np.swapaxes(left @ right, -1, -2), products)
        radius = (fitted[..., 0] + fitted[..., 1]) / even
        if shape.climb:
            climb = fitted[..., 2] / float(s @ s)
    total = np.square(centred).sum(axis=(1, 2))
    errors = total - even * radius**2 - float(s @ s) * climb**2
    at, each = np.clip(errors.argmin(axis=0), 1, count - 2), np.arange(draws)
    before, here, after = (errors[at + shift, each] for shift in (-1, 0, 1))
    bend = before + after - 2 * here
    # The lowest point of the parabola through three of them.
    part = np.clip(np.divide(before - after, 2 * bend, out=np.zeros(draws), where=bend > 0), -1, 1)
    least = here - bend * part**2 / 2 if draws else here
    radii = radius[at, each] + part * (radius[at + 1, each] - radius[at - 1, each]) / 2
    step = turns[1] - turns[0]
    return turns[at] + part * step, radii, 1 - least / np.where(total > 0.0, total, 1.0)
