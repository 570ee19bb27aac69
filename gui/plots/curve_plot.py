"""Several curves in one plot: linear or logarithmic axes, hover, and a draggable line."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeVar

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import QPointF, Qt, Signal
from PySide6.QtGui import QColor, QFont, QMouseEvent, QPen
from PySide6.QtWidgets import QApplication, QGraphicsPolygonItem

from gui.plots.hover_label import HoverLabel
from gui.plots.plot import CLICK_RADIUS, PlotWidget
from gui.plots.plot_view import Span
from gui.plots.spec import EDGE, TINT, Axis, Band, Curve, Rule, Style, on_axes, shape_places
from gui.style.theme import SMALL, Theme, shape_of
from gui.widgets.shapes import SIDE, shape_path

STYLES: dict[Style, Qt.PenStyle] = {
    "solid": Qt.PenStyle.SolidLine,
    "dashed": Qt.PenStyle.DashLine,
    "dotted": Qt.PenStyle.DotLine,
}
REACH = 24
"""Distance to the mouse within which a point is hovered, in pixels."""
_Values = TypeVar("_Values", np.ndarray, float)

GRIP = 6
"""Distance to the mouse within which a line can be grabbed, in pixels."""
DOT, POINT = 7, 4
"""Diameters in pixels of the hovered point, and of the dots of curves."""
BEHIND = -1
"""Z value of other models' curves."""
BANDS = -2
"""Z value of bands."""
LABEL_AT, BACKED = 0.99, 0.8
"""Place of a straight line's label along it, and the opacity of its background, from 0 to 1."""


class CurvePlot(PlotWidget):
    """Curves over one pair of axes."""

    _over_marker = False  # Read by the constructor of the base class

    pointHovered = Signal(object)
    """(curve, index) of the point under the mouse, or None."""
    pointClicked = Signal(int, int, object)
    """Curve and index of a clicked point, and the keyboard modifiers held."""
    markerDragged = Signal(float)
    """New position of the dragged vertical line, in the units of x."""
    markerReset = Signal()
    """The vertical line was double-clicked, if that resets it."""

    def __init__(self, theme: Theme, x: Axis, y: Axis) -> None:
        super().__init__(theme, x, y)
        self.log = (x.log, y.log)
        self.curves: tuple[Curve, ...] = ()
        self._spans: tuple[Span, Span, Span | None] | None = None
        self._rules: list[pg.InfiniteLine] = []
        self.bands: tuple[Band, ...] = ()
        self._edges: list[np.ndarray] = []
        self._filled: list[QGraphicsPolygonItem | pg.PlotCurveItem] = []
        self._places: list[np.ndarray] = []
        self._items: list[pg.PlotCurveItem] = []
        self._points = pg.ScatterPlotItem(pxMode=True, pen=None, size=POINT)
        self.view.addItem(self._points)
        self._shapes = pg.ScatterPlotItem(pxMode=True, pen=None, size=SIDE)
        self._shapes.setZValue(1)
        self.view.addItem(self._shapes)
        self._dots = pg.ScatterPlotItem(pxMode=True)
        self._dots.setZValue(8)
        self.view.addItem(self._dots)
        self._marker = pg.InfiniteLine(angle=90, movable=False)
        self._marker.setZValue(6)
        self._marker.hide()
        self._marker_label = pg.InfLineLabel(
            self._marker, position=LABEL_AT, anchors=[(0.0, 0.0), (1.0, 0.0)]
        )
        self.view.addItem(self._marker)
        self._marker_rule: Rule | None = None
        self._holding = False
        self._label = HoverLabel(self.viewport())
        self._hover_label: tuple[int, int, str] | None = None
        self.view.sigRangeChanged.connect(self._place_label)
        self.view.sigRangeChanged.connect(self._draw_shapes)
        self.hovered.connect(self._on_hovered)
        self.clicked.connect(self._on_clicked)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.NoContextMenu)
        self.set_theme(theme)

    # ---- content ----

    def set_curves(
        self,
        curves: Sequence[Curve],
        x: Span | None = None,
        y: Span | None = None,
        rules: Sequence[Rule] = (),
        home_y: Span | None = None,
        bands: Sequence[Band] = (),
    ) -> None:
        """Set the curves; the visible part of x is kept if its span is unchanged.

        Parameters
        ----------
        curves
            Later ones are drawn over earlier ones.
        x, y
            Maximum spans of the axes, in their units; by default all curves with a margin.
        rules
            Horizontal lines; for a vertical one see :meth:`set_marker`.
        home_y
            Initial visible span of y; None for all.
        bands
            Filled ranges behind the curves.
        """
        self._draw_bands(bands)
        self._draw_rules([rule for rule in rules if rule.axis == "y"])
        for item in self._items:
            self.view.removeItem(item)
        self.curves = tuple(curves)
        self._places = [view_points(self.log, curve.x, curve.y)[0] for curve in curves]
        self._items = [
            pg.PlotCurveItem(place[:, 0], place[:, 1], antialias=True, skipFiniteCheck=True)
            for place in self._places
        ]
        for item, curve in zip(self._items, curves, strict=True):
            item.setZValue(BEHIND if curve.name else 0)
            self.view.addItem(item)
        self._draw_lines()
        self._draw_points()
        self.set_hover(None)
        spans = self._span(0, x), self._span(1, y)
        before, self._spans = self._spans, (*spans, home_y)
        if self._spans != before:
            visible = self.view.spans()[0]
            self.view.set_bounds(*spans, smallest_x=self._smallest_x(spans[0]))
            if home_y is not None:
                self.view.set_home_y(home_y)
            if before is not None and before[0] == spans[0]:
                self.view.setRange(xRange=visible, padding=0)
        self._draw_shapes()

    def set_marker(self, rule: Rule | None) -> None:
        """Place the vertical line; None hides it."""
        self._marker_rule = rule
        self._marker.setVisible(rule is not None)
        self._draw_marker()
        if rule is not None:
            self._marker.setValue(_scaled(rule.at, log=self.log[0]))
            self._marker_label.setFormat(rule.label)

    def set_hover(self, point: tuple[int, int] | None, text: str = "") -> None:
        """Show a point, (curve, index), as hovered, with a label."""
        self._hover_label = None if point is None else (*point, text)
        if point is None:
            self._dots.clear()
        else:
            where = self._at(*point)
            self._dots.setData([where.x()], [where.y()])
        self._place_label()

    def set_theme(self, theme: Theme) -> None:
        """Set the colours; curves keep theirs until they are set again."""
        super().set_theme(theme)
        self._dots.setSize(DOT)
        self._dots.setBrush(QColor(theme.hover))
        self._dots.setPen(QPen(Qt.PenStyle.NoPen))
        self._draw_marker()
        for line in self._rules:
            self._write(line.label)
        self._write(self._marker_label)

    def hover_text(self) -> str:
        """Return the full text of the hover label, even if elided; "" if there is none."""
        return "" if self._label.isHidden() or self._hover_label is None else self._hover_label[2]

    # ---- geometry ----

    def point_of(self, curve: int, index: int) -> QPointF:
        """Return the widget coordinates of a curve's point."""
        return self.view.mapViewToScene(self._at(curve, index))

    def index_at(self, point: QPointF) -> int | None:
        """Return the point within reach, counted over all curves; None if there is none."""
        best, nearest, count = None, float(REACH), 0
        (x0, x1), (y0, y1) = self.view.spans()
        area, at = self.view.sceneBoundingRect(), self.to_data(point)
        scale = np.array([area.width() / (x1 - x0), area.height() / (y1 - y0)])
        for curve, place in zip(self.curves, self._places, strict=True):
            if not curve.silent and len(place):
                distances = np.abs(place - (at.x(), at.y())) * scale
                distance = np.hypot(*distances.T)
                closest = int(distance.argmin())
                if distance[closest] < nearest:
                    best, nearest = count + closest, float(distance[closest])
            count += len(place)
        return best

    def tooltip_at(self, point: QPointF) -> str:
        if self._marker_rule is not None and self._is_on_marker(point):
            return self._marker_rule.tip
        return super().tooltip_at(point)

    def marker_point(self) -> QPointF:
        """Return the middle of the vertical line, in widget coordinates."""
        assert self._marker_rule is not None
        at, middle = self._marker_rule.at, sum(self.view.spans()[1]) / 2
        return self.view.mapViewToScene(QPointF(_scaled(at, log=self.log[0]), middle))

    # ---- mouse ----

    def mousePressEvent(self, event: QMouseEvent) -> None:
        super().mousePressEvent(event)
        pressed = self._press is not None and not self._sweeping
        self._holding = pressed and self._is_on_marker(event.position())

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if not self._holding or self._press is None:
            super().mouseMoveEvent(event)
            over = self._press is None and self._is_on_marker(event.position())
            if over != self._over_marker:
                self._over_marker = over
                self._draw_marker()
                self._show_cursor()
            return
        moved = event.position() - self._press
        if self._last is None and math.hypot(moved.x(), moved.y()) <= CLICK_RADIUS:
            return  # may be a click
        self._last = event.position()
        x0, x1 = self.view.home[0]
        x = min(max(self.to_data(event.position()).x(), x0), x1)
        self.markerDragged.emit(float(10**x if self.log[0] else x))

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        left, rule = event.button() is Qt.MouseButton.LeftButton, self._marker_rule
        resets = rule is not None and rule.back is not None
        if left and resets and self._is_on_marker(event.position()):
            self.clickRepeated.emit()
            self.markerReset.emit()
        else:
            super().mouseDoubleClickEvent(event)

    def _end_drag(self) -> None:
        self._holding = False
        super()._end_drag()

    def _show_cursor(self, *_: object) -> None:
        if self._over_marker:
            self.viewport().setCursor(Qt.CursorShape.SizeHorCursor)
        else:
            super()._show_cursor()

    def _is_on_marker(self, point: QPointF) -> bool:
        if not self._marker.isVisible() or not self.holds(point):
            return False
        at = self.view.mapViewToScene(QPointF(self._marker.value(), 0.0)).x()
        return abs(at - point.x()) <= GRIP

    def _on_hovered(self, index: int | None) -> None:
        self.pointHovered.emit(None if index is None else self._point(index))

    def _on_clicked(self, index: int, modifiers: Qt.KeyboardModifier) -> None:
        self.pointClicked.emit(*self._point(index), modifiers)

    def _point(self, index: int) -> tuple[int, int]:
        """Return curve and index of a point counted by :meth:`index_at`."""
        for number, place in enumerate(self._places):
            if index < len(place):
                curve = self.curves[number]
                return number, int(np.flatnonzero(on_axes(self.log, curve.x, curve.y))[index])
            index -= len(place)
        raise IndexError(index)

    # ---- drawing ----

    def _at(self, curve: int, index: int) -> QPointF:
        drawn, (log_x, log_y) = self.curves[curve], self.log
        return QPointF(_scaled(drawn.x[index], log=log_x), _scaled(drawn.y[index], log=log_y))

    def _smallest_x(self, span: Span) -> float:
        """Return the minimum span along x for zooming."""
        return (span[1] - span[0]) / 200

    def _span(self, axis: int, requested: Span | None) -> Span:
        """Return the maximum span of an axis, in the view's own units."""
        if requested is not None:
            low, high = requested
            return _scaled(low, log=self.log[axis]), _scaled(high, log=self.log[axis])
        drawn = [place[:, axis] for place in self._places]
        drawn += [edge[:, axis] for edge in self._edges]
        values = np.concatenate(drawn or [np.zeros(1)])
        values = values[np.isfinite(values)]
        low, high = (float(values.min()), float(values.max())) if len(values) else (0.0, 1.0)
        margin = 0.03 * (high - low) or 0.5
        return low - margin, high + margin

    def _draw_lines(self) -> None:
        for item, curve in zip(self._items, self.curves, strict=True):
            style = STYLES[curve.style] if curve.joined else Qt.PenStyle.NoPen
            item.setPen(pg.mkPen(curve.color, width=curve.width, style=style))

    def _draw_points(self) -> None:
        dotted = [pair for pair in zip(self.curves, self._places, strict=True) if pair[0].dots]
        at = np.concatenate([np.zeros((0, 2)), *(place for _, place in dotted)])
        brushes = [QColor(curve.color) for curve, place in dotted for _ in place]
        self._points.setData(at[:, 0], at[:, 1], brush=brushes)

    def _draw_shapes(self, *_: object) -> None:
        """Draw the shapes of the curves' colours at some of their visible points."""
        visible, spots = self.view.spans()[0], []
        for curve, place in zip(self.curves, self._places, strict=True):
            shape = shape_of(curve.color)
            path, brush = shape_path(shape), QColor(curve.color)
            spots += [
                {"pos": place[at], "symbol": path, "brush": brush}
                for at in shape_places(place[:, 0], visible, shape)
            ]
        self._shapes.setData(spots)

    def shapes(self) -> set[str]:
        """Return the shapes that are drawn."""
        return {shape_of(spot.brush().color().name()) for spot in self._shapes.points()}

    def _draw_marker(self) -> None:
        color = self.theme.text if self._over_marker else self.theme.muted
        style = "solid" if self._marker_rule is None else self._marker_rule.style
        self._marker.setPen(pg.mkPen(color, width=1, style=STYLES[style]))

    def _draw_bands(self, bands: Sequence[Band]) -> None:
        for item in self._filled:
            self.view.removeItem(item)
        self.bands, self._edges, self._filled = tuple(bands), [], []
        for band in bands:
            lines = [band.low, band.high, *([] if band.middle is None else [band.middle])]
            known = np.isfinite(lines).all(axis=0)
            if not known.any():
                continue
            lines = [line[known] for line in lines]
            low, high, *middle = edges = view_points(self.log, band.x[known], *lines)
            self._edges += edges
            tint, edge = QColor(band.color), QColor(band.color)
            tint.setAlphaF(TINT)
            edge.setAlphaF(EDGE)
            around = np.concatenate([low, high[::-1]])
            inside = QGraphicsPolygonItem(pg.functions.arrayToQPolygonF(*around.T.copy()))
            inside.setBrush(tint)
            inside.setPen(QPen(Qt.PenStyle.NoPen))
            self._filled.append(inside)
            for line in (low, high, *middle):
                style: Style = "dotted" if line is not low and line is not high else band.style
                pen = pg.mkPen(edge, width=1, style=STYLES[style])
                self._filled.append(
                    pg.PlotCurveItem(line[:, 0], line[:, 1], pen=pen, antialias=True)
                )
        for item in self._filled:
            item.setZValue(BANDS)
            self.view.addItem(item, ignoreBounds=True)

    def _draw_rules(self, rules: Sequence[Rule]) -> None:
        for line in self._rules:
            self.view.removeItem(line)
        self._rules = [
            pg.InfiniteLine(
                _scaled(rule.at, log=self.log[1]),
                angle=0,
                pen=pg.mkPen(self.theme.muted, width=1, style=STYLES[rule.style]),
                label=rule.label,
                labelOpts={"position": LABEL_AT, "anchors": [(1.0, 0.0), (1.0, 1.0)]},
            )
            for rule in rules
        ]
        for line in self._rules:
            self._write(line.label)
            self.view.addItem(line)

    def _write(self, label: pg.InfLineLabel) -> None:
        """Set the font and colour of a straight line's label."""
        font = QFont(QApplication.font())
        font.setPixelSize(self.theme.px(SMALL))
        label.setFont(font)
        label.setColor(self.theme.muted)
        behind = QColor(self.theme.viewport)
        behind.setAlphaF(BACKED)
        label.fill = pg.mkBrush(behind)
        label.setZValue(7)

    def _place_label(self, *_: object) -> None:
        area = self.view.sceneBoundingRect()
        if self._hover_label is None:
            self._label.show_text("", None, area)
            return
        curve, index, text = self._hover_label
        point = self.point_of(curve, index)
        self._label.show_text(text, point if area.contains(point) else None, area)


def view_points(log: tuple[bool, bool], x: np.ndarray, *lines: np.ndarray) -> list[np.ndarray]:
    """Return the view coordinates (m, 2) of lines where axes can show all of them."""
    shown = on_axes(log, x, *lines)
    across = _scaled(x[shown], log=log[0])
    return [np.column_stack([across, _scaled(line[shown], log=log[1])]) for line in lines]


def _scaled(values: _Values, *, log: bool) -> _Values:
    """Return values in the view's units: floats, logarithms on a logarithmic axis."""
    return np.log10(values) if log else values * 1.0
