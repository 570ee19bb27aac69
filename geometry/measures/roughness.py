"""How smoothly a curve goes on from position to position, and how often it goes round."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.fft import dct

from geometry.pca.components import Array

#: What changes within fewer positions than these is no course of the curve but its shaking.
SHORT_PERIOD = 8

FEWEST = 8


@dataclass(frozen=True, eq=False, slots=True)
class Roughness:
    """What "shaky" means of a curve through positions, in numbers.

    Attributes
    ----------
    turning_angles : (m − 2,) float64
        Angle between the step to a position and the step from it, in degrees: 0 where the curve
        goes straight on, 180 where it goes back. NaN beside a step of no length.
    turning_angle
        Their median. Of a smooth helix 360° · turns / positions at most; of independent random
        points somewhat above 120°.
    high_frequency_energy
        Share of the centred curve's energy in waves shorter than eight positions: 0 of a smooth
        curve, 0.75 of white noise.
    loops
        How often the curve goes round: the frequency below which half of the energy is that a
        straight ramp leaves, in turns over the range; N of a helix of N turns. 0 of a line.
    """

    turning_angles: Array
    turning_angle: float
    high_frequency_energy: float
    loops: float


def roughness(coordinates: npt.ArrayLike) -> Roughness:
    """Measure how smooth a curve is.

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
    Frequencies are those of the cosine transform, which takes a range as half of an even period:
    the jump between its ends, of which a Fourier transform makes high frequencies, is none.
    """
    points = np.asarray(coordinates, dtype=np.float64)
    if points.ndim != 2 or len(points) < FEWEST or points.shape[1] == 0:
        raise ValueError(f"expected at least {FEWEST} points (m, k), got {points.shape}")
    centred = points - points.mean(axis=0)
    angles = _turning_angles(points)
    angles.flags.writeable = False
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
    with np.errstate(invalid="ignore"):
        units = steps / np.where(lengths > 0.0, lengths, np.nan)[:, None]
    # Between unit vectors, 2·atan2(‖a − b‖, ‖a + b‖) is exact where the arc cosine is not: near 0.
    apart = np.linalg.norm(units[1:] - units[:-1], axis=1)
    along = np.linalg.norm(units[1:] + units[:-1], axis=1)
    angles: Array = np.degrees(2 * np.arctan2(apart, along))
    return angles


def _energy(centred: Array) -> Array:
    """(m,) energy of the waves of k half-cycles in the range, k from 0."""
    energy: Array = (dct(centred, norm="ortho", axis=0) ** 2).sum(axis=1)
    return energy


def _loops(centred: Array, total: float) -> float:
    s = np.arange(len(centred)) - (len(centred) - 1) / 2
    left = centred - np.outer(s, s @ centred / (s @ s))
    energy = _energy(left)
    if energy.sum() <= 1e-12 * total:
        return 0.0
    # The middle of each wave's step in the sum, so that one wave alone is its own median.
    middle = (np.cumsum(energy) - energy / 2) / energy.sum()
    return float(np.interp(0.5, middle, np.arange(len(energy)) / 2))
