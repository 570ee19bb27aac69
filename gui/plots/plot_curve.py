"""One curve of a plot: its points, how it looks, and where it is on linear or logarithmic axes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from PySide6.QtCore import Qt

Style = Literal["solid", "dashed", "dotted"]
STYLES = {
    "solid": Qt.PenStyle.SolidLine,
    "dashed": Qt.PenStyle.DashLine,
    "dotted": Qt.PenStyle.DotLine,
}


@dataclass(frozen=True, eq=False, slots=True)
class PlotCurve:
    """One curve.

    Attributes
    ----------
    x, y : (n,)
        Finite; on a logarithmic axis what is not positive is left out.
    color
        ``#rrggbb``.
    style, width
        Of the line; width in pixels.
    silent
        Whether the mouse passes it by: a line for comparison.
    name
        Of the compared model that it is of, behind those of the open one; "" for those.
    """

    x: np.ndarray
    y: np.ndarray
    color: str
    style: Style = "solid"
    width: float = 1.0
    silent: bool = False
    name: str = ""

    def shown(self, log: tuple[bool, bool]) -> list[int]:
        """Return the indices of the points that the axes, x and y, can show."""
        shown = np.ones(len(self.x), dtype=bool)
        for logarithmic, values in zip(log, (self.x, self.y), strict=True):
            if logarithmic:
                shown &= values > 0.0
        found: list[int] = np.flatnonzero(shown).tolist()
        return found

    def places(self, log: tuple[bool, bool]) -> np.ndarray:
        """Return where these points are in a view whose axes are logarithmic or not: (m, 2)."""
        kept = self.shown(log)
        columns = (np.asarray(self.x, float)[kept], np.asarray(self.y, float)[kept])
        scaled = [
            np.log10(values) if logarithmic else values
            for logarithmic, values in zip(log, columns, strict=True)
        ]
        return np.column_stack(scaled)
