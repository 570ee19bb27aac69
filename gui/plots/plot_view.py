"""The view of a plot: it zooms and pans within the bounds of its data."""

from __future__ import annotations

import math

import pyqtgraph as pg
from PySide6.QtCore import Signal

Span = tuple[float, float]


class PlotView(pg.ViewBox):
    """A bounded view with a home position that shows everything.

    Attributes
    ----------
    home
        Spans of the home position, along x and y.
    is_zoomed
        Whether the view is not at its home position.
    """

    zoomed = Signal(bool)
    """Emitted with :attr:`is_zoomed` when it changes."""

    def __init__(self) -> None:
        super().__init__(enableMenu=False, enableMouse=False, defaultPadding=0)
        self.is_zoomed = False
        self.home: tuple[Span, Span] = ((0.0, 1.0), (0.0, 1.0))
        self.sigRangeChanged.connect(self._on_range_changed)

    def set_bounds(self, x: Span, y: Span, *, smallest_x: float) -> None:
        """Set the bounds, and show everything.

        Parameters
        ----------
        x, y
            First and last value that can be visible.
        smallest_x
            Minimum span along x when zooming.
        """
        self.home = (x, y)
        self.setLimits(
            xMin=x[0],
            xMax=x[1],
            yMin=y[0],
            yMax=y[1],
            minXRange=min(smallest_x, x[1] - x[0]),
            minYRange=(y[1] - y[0]) / 1000,
        )
        self.show_all()

    def set_home_y(self, y: Span) -> None:
        """Set the home span along y, and show it; the bounds are unchanged."""
        self.home = (self.home[0], y)
        self.setRange(yRange=y, padding=0)

    def show_all(self) -> None:
        """Show everything."""
        self.setRange(xRange=self.home[0], yRange=self.home[1], padding=0)

    def spans(self) -> tuple[Span, Span]:
        """Return the visible span along x and along y."""
        (x0, x1), (y0, y1) = self.viewRange()
        return (x0, x1), (y0, y1)

    def zoom_x(self, share: float, about: float | None = None) -> None:
        """Zoom the x span to this share, keeping ``about`` (default: its middle) in place."""
        self.setRange(xRange=_scaled(self.spans()[0], share, about), padding=0)

    def zoom_y(self, share: float, about: float | None = None) -> None:
        """Zoom the y span to this share, keeping ``about`` (default: its middle) in place."""
        self.setRange(yRange=_scaled(self.spans()[1], share, about), padding=0)

    def pan(self, dx: float, dy: float) -> None:
        """Shift the view in data units, within the bounds."""
        (x0, x1), (y0, y1) = self.spans()
        self.setRange(xRange=(x0 + dx, x1 + dx), yRange=(y0 + dy, y1 + dy), padding=0)

    def reveal(self, x: float) -> None:
        """Pan along x as little as necessary to show ``x`` with a margin."""
        x0, x1 = self.spans()[0]
        margin = 0.05 * (x1 - x0)
        self.pan(min(0.0, x - margin - x0) or max(0.0, x + margin - x1), 0.0)

    def _on_range_changed(self, *_: object) -> None:
        zoomed = not all(
            math.isclose(value, home, abs_tol=1e-6 * (home_span[1] - home_span[0]))
            for span, home_span in zip(self.spans(), self.home, strict=True)
            for value, home in zip(span, home_span, strict=True)
        )
        if zoomed != self.is_zoomed:
            self.is_zoomed = zoomed
            self.zoomed.emit(zoomed)


def _scaled(span: Span, share: float, about: float | None) -> Span:
    """Return a span scaled by ``share`` about a fixed value."""
    fixed = (span[0] + span[1]) / 2 if about is None else about
    return (fixed - share * (fixed - span[0]), fixed + share * (span[1] - fixed))
