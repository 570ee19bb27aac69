"""Smoothness of a curve through positions, and its number of loops."""

import numpy as np
import numpy.typing as npt
from scipy.fft import dct

from geometry.checkpoints.result import result
from geometry.pca.components import Array, about_mean, read_only
from geometry.pca.curve import ROUNDING
from geometry.pca.unit import in_unit

#: Changes within fewer positions than this count as roughness of the curve.
SHORT_PERIOD = 8

FEWEST = 8


@result
class Roughness:
    """Measures of how "shaky" a curve through positions is.

    Attributes
    ----------
    turning_angles : (m − 2,) float64
        Angle between the step to a position and the step from it, in degrees: 0 for a straight
        course, 180 for a reversal. NaN next to a step of length 0.
    turning_angle
        Their median. At most 360° · turns / positions for a smooth helix; somewhat above 120° for
        independent random points.
    high_frequency_energy
        Share of the centred curve's energy in waves shorter than eight positions: 0 for a smooth
        curve, 0.75 for white noise.
    loops
        Number of loops: the median frequency of the energy that remains without a linear trend, in
        turns over the range; N for a helix of N turns, 0 for a line.
    """

    turning_angles: Array
    turning_angle: float
    high_frequency_energy: float
    loops: float


def roughness(coordinates: npt.ArrayLike) -> Roughness:
    """Measure the smoothness of a curve.

    Parameters
    ----------
    coordinates : (m, k)
        Consecutive positions in any number of dimensions: shown components, or rows of P; at
        least 8 of them.

    Raises
    ------
    ValueError
        When there are fewer positions, or no coordinates.

    Notes
    -----
    Frequencies are those of the cosine transform, which treats a range as half of an even period,
    so that the jump between its ends, which adds high frequencies to a Fourier transform, does not
    occur.
    """
    points = np.asarray(coordinates, dtype=np.float64)
    if points.ndim != 2 or len(points) < FEWEST or points.shape[1] == 0:
        raise ValueError(f"expected at least {FEWEST} points (m, k), got {points.shape}")
    points, _ = in_unit(points)
    centred = about_mean(points)
    angles = _turning_angles(points)
    read_only(angles)
    known = angles[np.isfinite(angles)]
    energy = _energy(centred)
    slow = 2 * len(points) // SHORT_PERIOD
    total = float(energy.sum())
    return Roughness(
        angles,
        float(np.median(known)) if len(known) else 0.0,
        float(energy[slow + 1 :].sum()) / total if total > 0.0 else 0.0,
        _loops(centred, total),
    )


def _turning_angles(points: Array) -> Array:
    steps = np.diff(points, axis=0)
    lengths = np.linalg.norm(steps, axis=1)
    least = ROUNDING * float(np.linalg.norm(points, axis=1).max())
    with np.errstate(invalid="ignore"):
        units = steps / np.where(lengths > least, lengths, np.nan)[:, None]
    # Between unit vectors, 2·atan2(‖a − b‖, ‖a + b‖) is accurate near 0, where the arc cosine is
    # not.
    apart = np.linalg.norm(units[1:] - units[:-1], axis=1)
    along = np.linalg.norm(units[1:] + units[:-1], axis=1)
    angles: Array = np.degrees(2 * np.arctan2(apart, along))
    return angles


def _energy(centred: Array) -> Array:
    """(m,) energy of the waves with k half-cycles in the range, k from 0."""
    energy: Array = (dct(centred, norm="ortho", axis=0) ** 2).sum(axis=1)
    return energy


def _loops(centred: Array, total: float) -> float:
    s = np.arange(len(centred)) - (len(centred) - 1) / 2
    left = centred - np.outer(s, s @ centred / (s @ s))
    energy = _energy(left)
    if energy.sum() <= 1e-12 * total:
        return 0.0
    # The middle of each wave's step in the cumulative sum, so that a single wave is its own median.
    middle = (np.cumsum(energy) - energy / 2) / energy.sum()
    return float(np.interp(0.5, middle, np.arange(len(energy)) / 2))
