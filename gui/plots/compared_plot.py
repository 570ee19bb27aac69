"""A line by position, with thin lines of other models behind it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyqtgraph as pg

from gui.plots.line_plot import LinePlot, envelope
from gui.plots.plot_view import Span
from gui.style.theme import Theme

COMPARED_WIDTH = 1.5
"""Width of the open model's line among others, in pixels."""


@dataclass(frozen=True, eq=False, slots=True)
class Thin:
    """A thin line for comparison: (n,) values by position, and its colour."""

    values: np.ndarray
    color: str


class ComparedPlot(LinePlot):
    """A :class:`LinePlot` with other lines behind its own."""

    # Used by the base class's constructor.
    _thin: tuple[tuple[Thin, pg.PlotCurveItem], ...] = ()

    def set_compared(
        self, values: np.ndarray, y: Span, others: Sequence[Thin], *, end: int | None = None
    ) -> None:
        """Set the values, and those of other models.

        Parameters
        ----------
        values, y
            As in :meth:`LinePlot.set_values`.
        others
            Lines behind it, later ones over earlier ones.
        end
            The last position of the axis; that of the longest line if None.
        """
        for _, item in self._thin:
            self.view.removeItem(item)
        self._thin = tuple((thin, _thin_item(thin)) for thin in others)
        for _, item in self._thin:
            self.view.addItem(item)
        self._draw_own()
        longest = max(len(values), *(len(thin.values) for thin in others), 0) - 1
        self.set_values(values, y, end=longest if end is None else end)

    def set_theme(self, theme: Theme) -> None:
        """Set the colours; the other lines keep theirs until they are set again."""
        super().set_theme(theme)
        self._draw_own()

    def _draw_own(self) -> None:
        compared = bool(self._thin)
        color = self.theme.text if compared else self.theme.muted
        self._line.setPen(pg.mkPen(color, width=COMPARED_WIDTH if compared else 1))

    def _on_view_changed(self, *_: object) -> None:
        super()._on_view_changed()
        x0, x1 = self.view.spans()[0]
        width = max(1, int(self.view.rect().width()))
        for thin, item in self._thin:
            first = min(max(0, math.floor(x0) - 1), len(thin.values))
            stop = max(first, min(len(thin.values), math.ceil(x1) + 2))
            item.setData(*envelope(thin.values, first, stop, width))


def _thin_item(thin: Thin) -> pg.PlotCurveItem:
    item = pg.PlotCurveItem(antialias=True, skipFiniteCheck=True)
    item.setPen(pg.mkPen(thin.color, width=1))
    item.setZValue(-1)
    return item
