"""A histogram with one marked value; bars are hovered at any height."""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import QPointF

from gui.plots.curve_plot import CurvePlot
from gui.plots.spec import Axis, Curve, outline
from gui.style.theme import Theme

MARK_REACH = 6
"""Distance within which the mark is hovered, in pixels."""
MARGIN = 0.02
"""Margin on either side, as a share of the axis."""


class HistogramPlot(CurvePlot):
    """Counts in bins, drawn as one line, and a vertical mark."""

    BARS, MARK = 0, 1
    """Indices of the curves."""

    def __init__(self, theme: Theme, y_title: str) -> None:
        super().__init__(theme, Axis(""), Axis(y_title))
        self.counts, self.edges = np.zeros(1, dtype=np.int64), np.array([0.0, 1.0])
        self.mark: float | None = None

    def show_counts(
        self, x_title: str, counts: np.ndarray, edges: np.ndarray, mark: float | None
    ) -> None:
        """Set the counts.

        Parameters
        ----------
        x_title
            The quantity and its unit.
        edges : (n + 1,)
            Edges of the bins, increasing.
        mark
            Position of the mark, which may be outside the bins; None for no mark.
        """
        self.counts, self.edges, self.mark = counts, edges, mark
        self.x_axis.title = x_title
        self.x_axis.set_theme(self.theme)
        top, span = 1.06 * max(float(counts.max()), 1.0), [float(edges[0]), float(edges[-1])]
        curves = [Curve(*outline(counts, edges), self.theme.muted)]
        if mark is not None:
            ends = np.array([0.0, top / 2, top])
            curves.append(Curve(np.full(3, mark), ends, self.theme.text, width=2.0))
            span = [min(span[0], mark), max(span[1], mark)]
        margin = MARGIN * (span[1] - span[0])
        self.set_curves(curves, x=(span[0] - margin, span[1] + margin), y=(0.0, top))

    def bar_of(self, index: int) -> int:
        """Return the bin of a point of the outline."""
        return min(max((index - 1) // 3, 0), len(self.counts) - 1)

    def index_at(self, point: QPointF) -> int | None:
        """Return the middle of the bar above or below the mouse, or the mark near it."""
        if not self.curves:
            return None
        n_points, at = len(self.curves[self.BARS].x), self.to_data(point).x()
        if self.mark is not None:
            mark = self.point_of(self.MARK, 1)
            if abs(mark.x() - point.x()) <= MARK_REACH:
                return n_points + 1
        if not self.edges[0] <= at <= self.edges[-1]:
            return None
        bar = min(int(np.searchsorted(self.edges, at, side="right")) - 1, len(self.counts) - 1)
        return 3 * bar + 2
