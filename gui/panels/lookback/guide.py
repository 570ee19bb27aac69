"""Positions carried by the motion that looks back, to be drawn beside the curve."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from geometry.measures.lookback import CLEAR_R2
from gui.panels.lookback.question import OfPositions
from gui.state.guides import Guide
from gui.style.theme import format_number

MOST = 4096
"""So many points are carried at most: of more, every second, third …"""
LINES = 256
"""So many of them, at most, are tied to where they should land: more lines would be a wall."""
BEYOND = 0.1
"""How far an axis goes on at either end, as a share of the curve along it."""
LEAST_ANGLE = 1e-3
"""In radians; what turns less has no axis to be seen."""


class Carried:
    """The positions that can look so far back, on their way to where the motion carries them.

    Parameters
    ----------
    result
        The motions.
    lag
        N, one of those that were fitted.
    components
        The three that are shown, from 1.
    """

    def __init__(self, result: OfPositions, lag: int, components: tuple[int, ...]) -> None:
        back = result.back
        self._pca, self._components = back.pca, components
        self._columns = [number - 1 for number in components]
        step = -(-(len(back.coordinates) - lag) // MOST)
        self._source = back.coordinates[lag::step]
        self._target = back.coordinates[: len(back.coordinates) - lag : step][:, self._columns]
        self._tied = slice(None, None, -(-len(self._source) // LINES))
        self._motion = back.found.motion(lag)
        self._course: Callable[[float], np.ndarray] | None = None
        r2 = float(back.found.r2["screw"][back.found.index(lag)])
        self._dashed = self._axis() if r2 >= CLEAR_R2 else ()
        self._caption = (
            f"grey: positions carried {lag} back, R² {format_number(r2)}; lines: to where they "
            "should land"
        )
        if self._dashed:
            self._caption += " · dashed: the axis of the turn"

    def at(self, share: float) -> Guide:
        """Return what to draw after a share of the way, 0 to 1."""
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
        """Return the axis of a turn in space, as long as the curve is along it."""
        if len(self._motion.shift) != 3:
            return ()
        screw = self._motion.screw
        if screw.angle < LEAST_ANGLE:
            return ()
        along = self._source @ screw.axis
        margin = BEYOND * float(np.ptp(along)) or BEYOND * float(np.abs(self._source).max())
        ends = np.array([along.min() - margin, along.max() + margin])
        line: np.ndarray = screw.centre + ends[:, None] * screw.axis
        return (line[:, self._columns],)


def can_be_shown(result: OfPositions, components: tuple[int, ...]) -> bool:
    """Tell whether the motions move all three of the shown components, from 1."""
    return max(components) <= len(result.back.pca.components)
