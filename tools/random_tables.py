"""Tables that the shape rule is tried on: random curves without a helix, and helices of many kinds.

All parameters are drawn anew for each table; lengths are in ranges, frequencies in cycles over it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from geometry.pca.components import Array

Random = np.random.Generator
ROWS = (200, 500)
"""Fewest and most rows of a table."""
TURNS = (1.5, 30.0)
"""Fewest and most turns of a helix."""
NEIGHBOUR = 1.3
"""Minimum ratio of the two frequencies of a helix that has two."""


class Table(NamedTuple):
    """A drawn table, (m, d); of a helix, the numbers of turns that count as right."""

    rows: Array
    turns: tuple[float, ...] = ()


# Random curves


def stationary(t: Array, d: int, rng: Random, kernel: Callable[[Array], Array]) -> Array:
    """Draw independent columns of a Gaussian process, (m, d), by circulant embedding.

    Parameters
    ----------
    t : (m,)
        Equally spaced places over the range.
    d
        Number of columns.
    rng
        Generator of random numbers.
    kernel
        Covariance by distance, in ranges.
    """
    m = len(t)
    lags = np.minimum(np.arange(4 * m), 4 * m - np.arange(4 * m)) / (m - 1)
    power = np.maximum(np.fft.rfft(kernel(lags)).real, 0.0)
    noise = np.fft.rfft(rng.standard_normal((4 * m, d)), axis=0)
    drawn: Array = np.fft.irfft(noise * np.sqrt(power)[:, None], n=4 * m, axis=0)[:m]
    return drawn


def squared_exponential(t: Array, d: int, rng: Random) -> Array:
    """Draw a process of a squared-exponential kernel, of length 0.05 to 0.35."""
    length = rng.uniform(0.05, 0.35)
    return stationary(t, d, rng, lambda lag: np.exp(-0.5 * (lag / length) ** 2))


def matern_5_2(t: Array, d: int, rng: Random) -> Array:
    """Draw a Matérn-5/2 process, of length 0.05 to 0.4."""
    s = np.sqrt(5.0) / rng.uniform(0.05, 0.4)
    return stationary(t, d, rng, lambda g: (1 + s * g + (s * g) ** 2 / 3) * np.exp(-s * g))


def matern_3_2(t: Array, d: int, rng: Random) -> Array:
    """Draw a Matérn-3/2 process, of length 0.05 to 0.5."""
    s = np.sqrt(3.0) / rng.uniform(0.05, 0.5)
    return stationary(t, d, rng, lambda lag: (1 + s * lag) * np.exp(-s * lag))


def matern_1_2(t: Array, d: int, rng: Random) -> Array:
    """Draw a Matérn-1/2 process, of length 0.05 to 0.5."""
    length = rng.uniform(0.05, 0.5)
    return stationary(t, d, rng, lambda lag: np.exp(-lag / length))


def rational_quadratic(t: Array, d: int, rng: Random) -> Array:
    """Draw a rational-quadratic process: a mixture of many lengths."""
    length, power = rng.uniform(0.05, 0.35), rng.uniform(0.5, 4.0)
    return stationary(t, d, rng, lambda lag: (1 + (lag / length) ** 2 / (2 * power)) ** -power)


def flat_band(t: Array, d: int, rng: Random) -> Array:
    """Draw a process of a spectrum that is flat up to 1 to 4 cycles, and zero above."""
    high = rng.uniform(1.0, 4.0)
    return stationary(t, d, rng, lambda lag: np.sinc(2 * high * lag))


def walk(t: Array, d: int, rng: Random) -> Array:
    """Draw a random walk."""
    return np.cumsum(rng.standard_normal((len(t), d)), axis=0)


def walk_with_trend(t: Array, d: int, rng: Random) -> Array:
    """Draw a random walk beside a straight line."""
    trend = rng.uniform(0.2, 1.5) * np.sqrt(len(t)) * rng.standard_normal(d)
    return walk(t, d, rng) + np.outer(t, trend)


def bridge(t: Array, d: int, rng: Random) -> Array:
    """Draw a random walk that returns to its start."""
    drawn = walk(t, d, rng)
    return drawn - np.outer(t, drawn[-1])


def integrated_walk(t: Array, d: int, rng: Random) -> Array:
    """Draw the running sum of a random walk."""
    return np.cumsum(walk(t, d, rng), axis=0)


def power_law(t: Array, d: int, rng: Random) -> Array:
    """Draw a Fourier series of amplitudes that fall as a power of the frequency."""
    waves, steepness = np.arange(1, len(t) // 2), rng.uniform(0.5, 3.0)
    phases = rng.standard_normal((2, len(waves), d)) * (waves**-steepness)[:, None]
    angles = np.pi * np.outer(t, waves)
    return np.cos(angles) @ phases[0] + np.sin(angles) @ phases[1]


def spline(t: Array, d: int, rng: Random) -> Array:
    """Draw cubic splines through 4 to 9 random knots."""
    from scipy.interpolate import CubicSpline

    knots = int(rng.integers(4, 10))
    return CubicSpline(np.linspace(0.0, 1.0, knots), rng.standard_normal((knots, d)))(t)


def low_rank(t: Array, d: int, rng: Random) -> Array:
    """Draw 3 to 7 smooth components of different strength, along random directions."""
    components = int(rng.integers(3, 8))
    courses = squared_exponential(t, components, rng) * rng.uniform(0.4, 1.0, components)
    return courses @ rng.standard_normal((components, d))


def fourier(low: float, high: tuple[float, float]) -> Callable[[Array, int, Random], Array]:
    """Return a draw of Fourier series, equally strong between two frequencies."""

    def draw(t: Array, d: int, rng: Random) -> Array:
        last, spacing = rng.uniform(*high), rng.choice((0.5, 0.25, 0.1))
        angles = 2 * np.pi * np.outer(t, np.arange(low, last + 1e-9, spacing))
        a, b = rng.standard_normal((2, angles.shape[1], d))
        return np.cos(angles) @ a + np.sin(angles) @ b

    return draw


def cosines(fewest: int, most: int) -> Callable[[Array, int, Random], Array]:
    """Return a draw of cosine series of equally strong terms from half a cycle on."""

    def draw(t: Array, d: int, rng: Random) -> Array:
        terms = np.arange(1, rng.integers(fewest, most + 1) + 1)
        return np.cos(np.pi * np.outer(t, terms)) @ rng.standard_normal((len(terms), d))

    return draw


def polynomial(t: Array, d: int, rng: Random) -> Array:
    """Draw sums of the Legendre polynomials up to degree 2 to 7, equally strong."""
    degree = int(rng.integers(2, 8))
    waves = np.polynomial.legendre.legvander(2 * t - 1, degree)
    return waves @ rng.standard_normal((degree + 1, d))


def warped(t: Array, d: int, rng: Random) -> Array:
    """Draw a process whose smoothness changes by up to a factor of four along the range."""
    place = np.cumsum(np.exp(np.log(2.0) * rng.uniform(-1, 1) * (2 * t - 1)))
    place = (place - place[0]) / (place[-1] - place[0])
    drawn = squared_exponential(t, d, rng)
    at = place * (len(t) - 1)
    low = np.minimum(at.astype(int), len(t) - 2)
    return drawn[low] + (at - low)[:, None] * (drawn[low + 1] - drawn[low])


def enveloped(t: Array, d: int, rng: Random) -> Array:
    """Draw a process whose strength changes by up to a factor of 4.5 along the range."""
    return squared_exponential(t, d, rng) * np.exp(rng.uniform(-1.5, 1.5) * t)[:, None]


def noisy(t: Array, d: int, rng: Random) -> Array:
    """Draw a process with white noise of up to its own strength."""
    drawn = squared_exponential(t, d, rng)
    return drawn / drawn.std() + rng.uniform(0.1, 1.0) * rng.standard_normal((len(t), d))


def with_trend(t: Array, d: int, rng: Random) -> Array:
    """Draw a process beside a straight line."""
    drawn = squared_exponential(t, d, rng)
    return drawn / drawn.std() + np.outer(t, rng.uniform(0.5, 5.0) * rng.standard_normal(d))


def uneven(t: Array, d: int, rng: Random) -> Array:
    """Draw a process whose columns differ in strength, so that few count."""
    return squared_exponential(t, d, rng) * np.exp(rng.uniform(0.5, 2.0) * rng.standard_normal(d))


def lissajous(t: Array, d: int, rng: Random) -> Array:
    """Draw three to five sinusoids along random directions, their frequencies at least 0.75 apart.

    Two of the same frequency would be a circle or an ellipse.
    """
    count = int(rng.integers(3, 6))
    apart = 0.5 + 0.75 * np.arange(count) + np.sort(rng.uniform(0.0, 2.0, count))
    angles = np.outer(t, apart) + rng.uniform(0, 1, count)
    return np.sin(2 * np.pi * angles) @ rng.standard_normal((count, d))


def arc(t: Array, d: int, rng: Random) -> Array:
    """Draw an arc of less than 1.2 turns, with noise."""
    angle = 2 * np.pi * rng.uniform(0.2, 1.2) * t
    curve = np.stack([np.cos(angle), np.sin(angle), rng.uniform(0, 2) * t], axis=1)
    spread = rng.uniform(0.0, 0.5) / np.sqrt(d)
    return curve @ frame(3, d, rng) + spread * rng.standard_normal((len(t), d))


def noise(t: Array, d: int, rng: Random) -> Array:
    """Draw independent rows."""
    return rng.standard_normal((len(t), d))


# Helices


def frame(k: int, d: int, rng: Random) -> Array:
    """Return k random orthonormal rows, (k, d)."""
    return np.linalg.qr(rng.standard_normal((d, k)))[0].T


@dataclass(frozen=True)
class Helix:
    """A helix of radius 1 in a random frame, about a mean row of up to two radii.

    Attributes
    ----------
    turns
        Fewest and most turns over the range.
    climb
        Least and largest climb over the range, in radii.
    pitch
        The frequency varies by up to this share.
    ratio
        Least ratio of the axes of the ellipse.
    cone
        The radius changes linearly, by up to this share.
    drift
        The centre bends by up to this many radii.
    frayed
        Distance of the first row from the curve, in radii; it decays in up to 3 % of the range.
    outliers
        Number of rows that are multiplied.
    times
        Least and largest factor of them.
    second
        Amplitude of a second frequency.
    noise
        Least and largest norm of the noise in each row, in radii.
    """

    turns: tuple[float, float] = TURNS
    climb: tuple[float, float] = (0.3, 2.0)
    pitch: float = 0.0
    ratio: float = 1.0
    cone: float = 0.0
    drift: float = 0.0
    frayed: float = 0.0
    outliers: int = 0
    times: tuple[float, float] = (1.0, 1.0)
    second: float = 0.0
    noise: tuple[float, float] = (0.0, 0.1)

    def __call__(self, t: Array, d: int, rng: Random) -> Table:
        """Draw a table of this kind."""
        turns = float(np.exp(rng.uniform(*np.log(self.turns))))
        cycles = turns * t + rng.uniform(0, 1)
        if self.pitch:
            bend = rng.uniform(-self.pitch, self.pitch)
            # Once along the range, or as a wave: the frequency deviates by at most its share.
            waves = rng.uniform(0.5, 1.5)
            cycles += rng.choice((
                turns * bend * t * (t - 1),
                turns * bend * np.sin(2 * np.pi * waves * t) / (2 * np.pi * waves),
            ))  # fmt: skip
        radius = 1.0 + self.cone * rng.uniform(-1, 1) * (t - 0.5)
        angle = 2 * np.pi * cycles
        courses = [
            radius * np.cos(angle),
            radius * np.sin(angle) * rng.uniform(self.ratio, 1.0),
            rng.uniform(*self.climb) * t,
        ]
        right: tuple[float, ...] = (float(cycles[-1] - cycles[0]),)
        if self.second:
            other = turns
            while max(other / turns, turns / other) < NEIGHBOUR:
                other = float(np.exp(rng.uniform(*np.log(self.turns))))
            angle = 2 * np.pi * other * t + rng.uniform(0, 2 * np.pi)
            courses += [self.second * np.cos(angle), self.second * np.sin(angle)]
            right += (other,) if self.second == 1.0 else ()
        if self.drift:
            courses.append(self.drift * rng.uniform(-1, 1) * np.cos(np.pi * t))
        rows = np.stack(courses, axis=1) @ frame(len(courses), d, rng)
        rows += rng.uniform(0, 2) * frame(1, d, rng)
        if self.frayed:
            decay = np.exp(-t / rng.uniform(0.005, 0.03))
            rows += self.frayed * rng.uniform(0.5, 1) * np.outer(decay, frame(1, d, rng))
        rows += rng.uniform(*self.noise) / np.sqrt(d) * rng.standard_normal((len(t), d))
        if self.outliers:
            at = rng.choice(len(t), self.outliers, replace=False)
            rows[at] *= rng.uniform(*self.times, self.outliers)[:, None]
        return Table(rows, right)


RANDOM: Mapping[str, Callable[[Array, int, Random], Array]] = {
    "squared-exponential process": squared_exponential,
    "Matérn-5/2 process": matern_5_2,
    "Matérn-3/2 process": matern_3_2,
    "Matérn-1/2 process": matern_1_2,
    "rational-quadratic process": rational_quadratic,
    "process of warped position": warped,
    "process with an envelope": enveloped,
    "process with noise": noisy,
    "process with a trend": with_trend,
    "process of uneven columns": uneven,
    "flat band": flat_band,
    "power-law spectrum": power_law,
    "walk": walk,
    "walk with a trend": walk_with_trend,
    "Brownian bridge": bridge,
    "integrated walk": integrated_walk,
    "cubic spline": spline,
    "low rank": low_rank,
    "Fourier series, 0.5 to 1.5 cycles": fourier(0.5, (1.5, 1.5)),
    "Fourier series, 0.5 to 2 cycles": fourier(0.5, (2.0, 2.0)),
    "Fourier series, 0.5 to 1.5–3 cycles": fourier(0.5, (1.5, 3.0)),
    "cosine series of 3 terms": cosines(3, 3),
    "cosine series of 4 to 6 terms": cosines(4, 6),
    "polynomial": polynomial,
    "sinusoids of unrelated frequencies": lissajous,
    "arc of less than 1.2 turns": arc,
    "noise": noise,
}
"""Random curves by name; none of them is a helix."""

HELICES: Mapping[str, Helix] = {
    "helix": Helix(),
    "1.5 turns": Helix(turns=(1.5, 1.5)),
    "pitch varies by up to 30 %": Helix(pitch=0.3),
    "ellipse, axis ratio down to 0.7": Helix(ratio=0.7),
    "cone": Helix(cone=0.6),
    "bent axis": Helix(drift=0.5),
    "frayed start": Helix(frayed=3.0),
    "six outlier norms": Helix(outliers=6, times=(1.6, 4.0)),
    "two huge rows": Helix(outliers=2, times=(10.0, 30.0)),
    "second frequency of half the amplitude": Helix(second=0.5),
    "second frequency of equal amplitude": Helix(second=1.0),
    "noise of up to half the radius": Helix(noise=(0.1, 0.5)),
    "noise of half the radius": Helix(noise=(0.5, 0.5)),
}
"""Helices by kind."""


def draw(name: str, d: int, rng: Random) -> Table:
    """Draw a table of :data:`RANDOM` or :data:`HELICES`, or a circle.

    Parameters
    ----------
    name
        A key of either; "circle" for a helix without a climb.
    d
        Number of columns, at least 6.
    rng
        Generator of random numbers.
    """
    t = np.linspace(0.0, 1.0, int(rng.integers(*ROWS)))
    if name in RANDOM:
        return Table(RANDOM[name](t, d, rng))
    kind = Helix(climb=(0.0, 0.0)) if name == "circle" else HELICES[name]
    return kind(t, d, rng)
