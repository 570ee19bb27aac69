"""Random curves made of few slow waves, as null models of a curve through positions.

The principal components of such curves look like waves of a single frequency although nothing in
them oscillates (Novembre and Stephens 2008, doi:10.1038/ng.139; Shinn 2023,
doi:10.1073/pnas.2311420120). A curve is M G, with modes M (m, k) and independent normal
coefficients G (k, d). The parameters of the modes are drawn anew for each curve.
"""

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Literal

import numpy as np

from geometry.pca.components import Array

SlowKind = Literal["spline", "rank", "fourier", "cosines"]

SLOW_MEANINGS: Mapping[SlowKind, str] = {
    "spline": "cubic splines through 4 to 8 random knots",
    "rank": "curves of 3 to 6 independent smooth components",
    "fourier": "random Fourier series, equally strong from 0.5 to between 1.5 and 3 cycles",
    "cosines": "cosine series of 3 to 6 equally strong terms, from half a cycle on",
}

RANK_WAVES = 16
"""Waves of which the components of a curve of few components are sums."""


def slow_modes(kind: SlowKind, m: int, rng: np.random.Generator) -> Array:
    """Draw the modes of a random curve of few slow waves.

    Parameters
    ----------
    kind
        Of the curve, see :data:`SLOW_MEANINGS`.
    m
        Rows of the curve.
    rng
        Generator of the parameters, such as the number of knots.

    Returns
    -------
    (m, k) float64
        Modes with a mean square over rows of 1 in all, after centring.
    """
    modes = _MODES[kind](m, rng)
    modes = modes - modes.mean(axis=0)
    size = float(np.sqrt(np.square(modes).sum() / m))
    scaled: Array = modes / size if size > 0.0 else modes
    return scaled


def _spline(m: int, rng: np.random.Generator) -> Array:
    return _splines(m, int(rng.integers(4, 9)))


@lru_cache(maxsize=32)
def _splines(m: int, knots: int) -> Array:
    from scipy.interpolate import CubicSpline  # slow to import

    through_each = CubicSpline(np.linspace(0.0, 1.0, knots), np.eye(knots))
    modes: Array = through_each(np.linspace(0.0, 1.0, m))
    return modes


def _rank(m: int, rng: np.random.Generator) -> Array:
    """Draw components from a squared-exponential process of twice the range's period."""
    components, length = int(rng.integers(3, 7)), rng.uniform(0.1, 0.3)
    strengths = np.exp(-np.square(np.pi * np.arange(1, RANK_WAVES + 1) * length) / 4)
    relative = rng.uniform(0.5, 1.0, components)
    coefficients = rng.standard_normal((2 * RANK_WAVES, components)) * relative
    return _series(m, 0.5, RANK_WAVES) @ (np.tile(strengths, 2)[:, None] * coefficients)


def _fourier(m: int, rng: np.random.Generator) -> Array:
    spacing = float(rng.choice((0.5, 0.25, 0.1)))
    return _series(m, spacing, len(np.arange(0.5, rng.uniform(1.5, 3.0) + 1e-9, spacing)))


def _cosines(m: int, rng: np.random.Generator) -> Array:
    count = int(rng.integers(4, 8)) - 1
    return _series(m, 0.5, count)[:, :count]


@lru_cache(maxsize=64)
def _series(m: int, spacing: float, count: int) -> Array:
    """Return cosines, then sines, of half a cycle over m rows and so many more, evenly spaced."""
    angles = 2 * np.pi * np.outer(np.linspace(0.0, 1.0, m), 0.5 + spacing * np.arange(count))
    return np.hstack([np.cos(angles), np.sin(angles)])


_MODES: Mapping[SlowKind, Callable[[int, np.random.Generator], Array]] = {
    "spline": _spline,
    "rank": _rank,
    "fourier": _fourier,
    "cosines": _cosines,
}
