"""Guides of positions moved by the motion that looks back."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from geometry.measures.lookback import CLEAR_R2
from gui.panels.lookback.question import OfPositions
from gui.state.guides import Guide
from gui.style.theme import format_number

MAX_POINTS = 4096
"""Maximum number of moved points: of longer curves, every second, third …"""
LINES = 64
"""Maximum number of points with a line to their target."""
BEYOND = 0.1
"""Extension of an axis at either end, as a share of the curve's extent along it."""
MIN_ANGLE = 1e-3
"""Minimum angle with a visible axis, in radians."""


class Carried:
    """The positions that can look back by a lag, on the path to their images.

    Parameters
    ----------
    result
        The motions.
    lag
        N, one of the fitted lags.
    components
        The three that are shown, from 1.
    """

    def __init__(self, result: OfPositions, lag: int, components: tuple[int, ...]) -> None:
        back = result.back
        self._pca, self._components = back.pca, components
        self._columns = [number - 1 for number in components]
        step = -(-(len(back.coordinates) - lag) // MAX_POINTS)
        self._source = back.coordinates[lag::step]
        self._target = back.coordinates[: len(back.coordinates) - lag : step][:, self._columns]
        self._tied = slice(None, None, -(-len(self._source) // LINES))
        self._motion = back.found.motion(lag)
        self._course: Callable[[float], np.ndarray] | None = None
        r2 = float(back.found.r2["screw"][back.found.index(lag)])
        self.clear = r2 >= CLEAR_R2
        """Whether the images are near the curve, so that the guide is worth showing."""
        self._dashed = self._axis() if self.clear else ()
        self._caption = (
            f"grey: positions moved {lag} back, R² {format_number(r2)}; lines: to their targets"
        )
        if self._dashed:
            self._caption += " · dashed: axis of rotation"

    def at(self, share: float) -> Guide:
        """Return the guide at a time, 0 to 1."""
        if share >= 1.0:
            there = self._motion.carry(self._source)
        else:
            self._course = self._course or self._motion.course(self._source)
            there = self._course(share)
        points = there[:, self._columns]
        return Guide(
            self._pca,
            self._components,
            dashed=self._dashed,
            segments=np.stack([points[self._tied], self._target[self._tied]], axis=1),
            points=points,
            caption=self._caption,
        )

    def _axis(self) -> tuple[np.ndarray, ...]:
        """Return the axis of a rotation in space, as long as the curve."""
        if len(self._motion.shift) != 3:
            return ()
        screw = self._motion.screw
        if screw.angle < MIN_ANGLE:
            return ()
        along = self._source @ screw.axis
        margin = BEYOND * float(np.ptp(along)) or BEYOND * float(np.abs(self._source).max())
        ends = np.array([along.min() - margin, along.max() + margin])
        line: np.ndarray = screw.centre + ends[:, None] * screw.axis
        return (line[:, self._columns],)
