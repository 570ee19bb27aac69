"""Several curves over position, hovered at any height of the mouse, and their gestures."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import QObject, QPointF, Qt
from PySide6.QtGui import QBrush, QColor, QPen

from gui.plots.curve_plot import CurvePlot
from gui.plots.plot_marks import Frame, PlotMarks
from gui.plots.plot_view import Span
from gui.plots.spec import Axis, Curve
from gui.plots.thinning import envelope
from gui.state import selection
from gui.state.session import Session
from gui.style.theme import Theme
from gui.widgets.clicks import selection_after_click

REACH = 8
"""Distance in pixels at which a ringed point takes precedence over the nearest position."""
MIN_POSITIONS = 8.0
"""Minimum number of visible positions when zooming."""
MANY = 4000
"""Number of points above which curves are thinned to a few points per pixel."""
SELECTED, CURRENT = 5, 10
"""Diameters in pixels of a selected position's dot and of the ring around the current one."""


class PositionCurves(CurvePlot):
    """Curves that all have a point at every position of one range.

    The hovered position is the nearest one horizontally, on the nearest curve there. Selected
    positions are accented on every curve, and the current one has a ring. Points of the first
    curve may be ringed, with their positions beside them.
    """

    def __init__(self, theme: Theme, x_title: str, y_title: str) -> None:
        self._selected: tuple[int, ...] = ()
        self.marks = PlotMarks(theme, lambda: Frame(self.view.rect(), *self.view.spans()))
        self._chosen = pg.ScatterPlotItem(pxMode=True)
        self._chosen.setZValue(7)
        super().__init__(theme, Axis(x_title, whole=True), Axis(y_title))
        self.view.addItem(self._chosen)
        self.ring_tooltip = ""
        self.marks.setParentItem(self.view)
        self.view.sigRangeChanged.connect(self._on_view_changed)
        self.view.sigResized.connect(self._on_view_changed)
        # A hover from another view may come before the plot has its size.
        self.view.sigResized.connect(self._place_label)

    def set_curves(self, curves: Sequence[Curve], *spans: Any, **options: Any) -> None:
        super().set_curves(curves, *spans, **options)
        if curves:
            self.marks.set_values(int(curves[0].x[0]), curves[0].y)
        self._mark()
        self._on_view_changed()

    def set_selected(self, positions: Sequence[int]) -> None:
        """Accent positions on every curve; those outside the curves are ignored."""
        self._selected = tuple(positions)
        self._mark()

    def set_theme(self, theme: Theme) -> None:
        """Set the colours; curves keep theirs until they are set again."""
        super().set_theme(theme)
        self.marks.set_theme(theme)
        self._mark()

    def show_sweep(self, span: tuple[int, int] | None) -> None:
        if span is not None:
            span = self.position_of(span[0]), self.position_of(span[1])
        self.marks.set_sweep(span)

    def tooltip_at(self, point: QPointF) -> str:
        """Return the rule behind a ringed point, or the base class's tooltip."""
        on_ring = self.marks.ring_near(self.view.mapFromScene(point), REACH) is not None
        return self.ring_tooltip if on_ring else super().tooltip_at(point)

    def marked(self) -> tuple[int, ...]:
        """Return the accented positions."""
        return tuple(position for position in self._selected if self._row(position) is not None)

    def index_at(self, point: QPointF) -> int | None:
        """Return the point at the mouse's position, counted over all curves."""
        ringed = self.marks.ring_near(self.view.mapFromScene(point), REACH)
        if ringed is not None:
            return int(ringed - self.curves[0].x[0])
        at, count, best, nearest = self.to_data(point), 0, None, np.inf
        for curve, place in zip(self.curves, self._places, strict=True):
            if not curve.silent and len(place):
                row, last = round(at.x() - place[0, 0]), len(place) - 1
                if row > last + 1 and self.view.home[0][1] > place[-1, 0] + last // 10 + 1:
                    continue  # the axis continues with other models' curves
                row = min(max(row, 0), last)
                distance = abs(place[row, 1] - at.y())
                if distance < nearest:
                    best, nearest = count + row, distance
            count += len(place)
        return best

    def position_of(self, index: int) -> int:
        """Return the position of a point counted by :meth:`index_at`."""
        curve, row = self._point(index)
        return int(self.curves[curve].x[row])

    def positions(self) -> tuple[int, int] | None:
        """Return the first and the last position of the curves; None if there are none."""
        if not self.curves:
            return None
        x = self.curves[0].x
        return int(x[0]), int(x[-1])

    def _on_view_changed(self, *_: object) -> None:
        """Place the marks again, and draw the visible part of long curves."""
        self.marks.invalidate()
        x0, x1 = self.view.spans()[0]
        width = max(1, int(self.view.rect().width()))
        for item, place in zip(self._items, self._places, strict=True):
            if len(place) > MANY:
                begin = place[0, 0]
                first = min(max(0, math.floor(x0 - begin) - 1), len(place))
                stop = max(first, min(len(place), math.ceil(x1 - begin) + 2))
                x, y = envelope(place[:, 1], first, stop, width)
                item.setData(x + begin, y)

    def _smallest_x(self, span: Span) -> float:
        return MIN_POSITIONS

    def _row(self, position: int) -> int | None:
        """Return a position's index in the curves, or None."""
        active = next((curve for curve in self.curves if not curve.silent), None)
        if active is None or not active.x[0] <= position <= active.x[-1]:
            return None
        return int(position - active.x[0])

    def _mark(self) -> None:
        accent, hollow = QColor(self.theme.accent), QBrush(Qt.BrushStyle.NoBrush)
        nothing, ring = QPen(Qt.PenStyle.NoPen), pg.mkPen(accent, width=1.5)
        spots = []
        for position in self.marked():
            current = position == self._selected[-1]
            for curve in (curve for curve in self.curves if not curve.silent):
                at = (position, float(curve.y[self._row(position)]))
                spots.append({"pos": at, "size": SELECTED, "pen": nothing, "brush": QBrush(accent)})
                if current:
                    spots.append({"pos": at, "size": CURRENT, "pen": ring, "brush": hollow})
        self._chosen.setData(spots)


class PositionGestures(QObject):
    """Translates a plot's gestures to selections of positions.

    A click selects, Shift-click adds or removes, a drag with Shift selects a range, Left and Right
    step, and a double-click, which shows everything, selects nothing.
    """

    def __init__(
        self,
        plot: PositionCurves,
        session: Session,
        select: Callable[[tuple[int, ...]], None],
    ) -> None:
        super().__init__(plot)
        self._plot, self._session, self._select = plot, session, select
        self._before: tuple[int, ...] = ()
        plot.clicked.connect(self._on_clicked)
        plot.clickRepeated.connect(self._on_click_repeated)
        plot.swept.connect(self._on_swept)
        plot.stepped.connect(self._on_stepped)

    def _on_clicked(self, item: int, modifiers: Qt.KeyboardModifier) -> None:
        self._before = self._session.selection
        position = self._plot.position_of(item)
        self._select(selection_after_click(self._before, position, modifiers))

    def _on_click_repeated(self) -> None:
        # Undo the selection by the first half of the double-click.
        self._select(self._before)

    def _on_swept(self, first: int, last: int) -> None:
        start, end = (self._plot.position_of(point) for point in (first, last))
        self._select(selection.click((start,), end, extend=True))

    def _on_stepped(self, step: int, modifiers: Qt.KeyboardModifier) -> None:
        drawn, current = self._plot.positions(), self._session.current
        if drawn is None:
            return
        start = self._session.positions[0] - step if current is None else current
        position = min(max(start + step, drawn[0]), drawn[1])
        extend = bool(modifiers & Qt.KeyboardModifier.ShiftModifier)
        self._select(selection.click(self._session.selection, position, extend=extend))
        self._plot.view.reveal(position)
