"""Random curves made of few slow waves, as null models of a curve through positions.

The principal components of such curves look like waves of a single frequency although nothing in
them oscillates (Novembre and Stephens 2008, doi:10.1038/ng.139; Shinn 2023,
doi:10.1073/pnas.2311420120). A curve is M G, with modes M (m, k) and independent normal
coefficients G (k, d). The parameters of the modes are drawn anew for each curve.
"""

from collections.abc import Callable, Mapping
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
    modes = _MODES[kind](np.linspace(0.0, 1.0, m), rng)
    modes = modes - modes.mean(axis=0)
    size = float(np.sqrt(np.square(modes).sum() / m))
    scaled: Array = modes / size if size > 0.0 else modes
    return scaled


def _spline(t: Array, rng: np.random.Generator) -> Array:
    from scipy.interpolate import CubicSpline  # slow to import

    knots = int(rng.integers(4, 9))
    modes: Array = CubicSpline(np.linspace(0.0, 1.0, knots), np.eye(knots))(t)
    return modes


def _rank(t: Array, rng: np.random.Generator) -> Array:
    """Draw components from a squared-exponential process of twice the range's period."""
    components, length = int(rng.integers(3, 7)), rng.uniform(0.1, 0.3)
    waves = np.arange(1, 17)
    strengths = np.exp(-np.square(np.pi * waves * length) / 4)
    courses = _series(t, waves / 2) * np.tile(strengths, 2)
    relative = rng.uniform(0.5, 1.0, components)
    drawn: Array = courses @ rng.standard_normal((courses.shape[1], components)) * relative
    return drawn


def _fourier(t: Array, rng: np.random.Generator) -> Array:
    spacing = rng.choice((0.5, 0.25, 0.1))
    return _series(t, np.arange(0.5, rng.uniform(1.5, 3.0) + 1e-9, spacing))


def _cosines(t: Array, rng: np.random.Generator) -> Array:
    modes: Array = np.cos(np.pi * np.outer(t, np.arange(1, rng.integers(4, 8))))
    return modes


def _series(t: Array, cycles: Array) -> Array:
    angles = 2 * np.pi * np.outer(t, cycles)
    return np.hstack([np.cos(angles), np.sin(angles)])


_MODES: Mapping[SlowKind, Callable[[Array, np.random.Generator], Array]] = {
    "spline": _spline,
    "rank": _rank,
    "fourier": _fourier,
    "cosines": _cosines,
}
