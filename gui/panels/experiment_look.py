"""How the panel "Line or helix" lays out and colours its curves, on the screen and in print."""

from __future__ import annotations

import numpy as np

from geometry.measures.synthetic import KINDS, CurveKind
from gui.style.theme import SERIES, Theme

#: How the coordinates around the axis (two), along it and away from the origin lie in a picture,
#: across and upwards: the axis across, and one is looked at a little from the side.
ACROSS = np.array([0.0, 0.45, 1.0, 0.0])
UPWARDS = np.array([1.0, 0.25, 0.0, 1.0])

MOST_DOTS = 512
"""Of a picture, which is not much wider; more cannot be told apart."""
MOST_STEPS = 4.0
"""Longer steps, in mean ones, go beyond the plot: one across the origin is as long as all."""


def flat(coordinates: np.ndarray) -> np.ndarray:
    """Lay (n, 4) coordinates into a picture: (n, 2), their middle at the origin."""
    placed = coordinates @ np.stack([ACROSS, UPWARDS], axis=1)
    middle = (placed.max(axis=0) + placed.min(axis=0)) / 2
    return np.asarray(placed - middle)


def thinned(coordinates: np.ndarray) -> np.ndarray:
    """Leave out points that there is no room for, but never the first or the last one."""
    count = len(coordinates)
    kept = np.linspace(0, count - 1, min(count, MOST_DOTS)).round().astype(int)
    return np.asarray(coordinates[kept])


def shares_of(steps: np.ndarray) -> np.ndarray:
    """Return steps in mean ones; zeros of a curve that is a point."""
    mean = float(steps.mean())
    return np.asarray(steps / mean if mean > 0.0 else steps)


def colors_of(theme: Theme) -> dict[CurveKind, str]:
    """Return the colour of each curve in the plots."""
    return dict(zip(KINDS, SERIES[theme.name][1:], strict=False))
