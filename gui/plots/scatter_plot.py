"""Tens of thousands of points on the screen: hovered, clicked, and encircled."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import QPointF, Qt, Signal
from PySide6.QtGui import QKeyEvent, QMouseEvent

from gui.plots.hover_label import HoverLabel
from gui.plots.plot import PlotWidget
from gui.plots.scatter import Scatter, ScatterAxis
from gui.plots.spec import Axis
from gui.scene.picking import nearest_point, points_inside
from gui.state.colors import ColorScale, point_colors
from gui.style.theme import Theme

POINT, RING = 6, 11
"""Diameters of a point and of the ring around a selected one, in pixels."""
REACH = 12.0
"""Maximum distance of the mouse to a hovered point, in pixels."""
MARGIN = 0.04
"""Space around the points, as a share of their span."""
MAX_NAMES, MAX_NAME_LENGTH = 24, 14
"""Maximum number of names at an axis, and letters of each."""
GESTURES = (
    "Click selects a point, Shift-click adds or removes it, drag with Shift encircles points. "
    "Double-click or Enter opens a checkpoint.\n"
    "Wheel zooms (over the y axis: along y), drag pans, double-click beside the points or F resets "
    "the zoom."
)


class ScatterPlot(PlotWidget):
    """Points of two columns.

    Signals
    -------
    encircled(object, object)
        A drag with Shift was drawn around these points, (m,) int, with these modifiers.
    opened(int)
        A point was double-clicked.
    """

    encircled = Signal(object, object)
    opened = Signal(int)

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme, Axis(""), Axis(""))
        self.scatter: Scatter | None = None
        self.text_of: Callable[[int], str] = lambda _: ""
        self.levels: tuple[float, float] | None = None
        self._places = np.zeros((0, 2))
        self._selected = np.zeros(0, dtype=np.intp)
        self._hovered: int | None = None
        self._outline: list[QPointF] = []
        self._lines = pg.PlotCurveItem(antialias=True)
        self._points = pg.ScatterPlotItem(pxMode=True, size=POINT, pen=None)
        self._rings = pg.ScatterPlotItem(pxMode=True, size=RING, brush=None)
        self._over = pg.ScatterPlotItem(pxMode=True, size=RING, brush=None)
        self._drawn = pg.PlotCurveItem()
        for height, item in enumerate(
            (self._lines, self._points, self._rings, self._over, self._drawn)
        ):
            item.setZValue(height)
            self.view.addItem(item)
        self._label = HoverLabel(self.viewport())
        self.hovered.connect(self._show_hovered)
        self.view.sigRangeChanged.connect(self._place_label)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.NoContextMenu)

    # ---- content -----------------------------------------------------------------------

    def show_scatter(self, scatter: Scatter, text_of: Callable[[int], str]) -> None:
        """Draw points; the zoom is kept if the axes are unchanged.

        Parameters
        ----------
        text_of
            Returns the label of a point under the mouse.
        """
        before, self.scatter, self.text_of = self.scatter, scatter, text_of
        self._hovered = None
        self._places = scatter.places()
        self._selected = np.zeros(0, dtype=np.intp)
        kept = before is not None and all(
            _same(old, new) for old, new in ((before.x, scatter.x), (before.y, scatter.y))
        )
        zoomed = self.view.spans() if kept and self.view.is_zoomed else None
        if not kept:
            self._build_axes(scatter)
        spans = _span(self._places[:, 0]), _span(self._places[:, 1])
        self.view.set_bounds(*spans, smallest_x=(spans[0][1] - spans[0][0]) / 1000)
        if zoomed is not None:
            self.view.setRange(xRange=zoomed[0], yRange=zoomed[1], padding=0)
        self._draw()

    def select(self, points: Sequence[int] | np.ndarray) -> None:
        """Draw rings around points."""
        self._selected = np.asarray(points, dtype=np.intp)
        self._draw_rings()

    @property
    def scale(self) -> ColorScale:
        """The colours of the points, with the set limits."""
        assert self.scatter is not None
        scale = self.scatter.scale
        if self.levels is None or scale.categories:
            return scale
        return replace(scale, limits=self.levels)

    def set_levels(self, levels: tuple[float, float] | None) -> None:
        """Set the values at the ends of the colour map; those of the scatter if None."""
        self.levels = levels
        self._draw_points()

    def set_theme(self, theme: Theme) -> None:
        super().set_theme(theme)
        self._draw()

    def _build_axes(self, scatter: Scatter) -> None:
        for old in (self.x_axis, self.y_axis):
            self.centralLayout.removeItem(old)
            old.unlinkFromView()
            old.setParentItem(None)
            self.scene().removeItem(old)
        self.x_axis = self._add_axis("bottom", scatter.x)
        self.y_axis = self._add_axis("left", scatter.y)
        for drawn, axis in ((self.x_axis, scatter.x), (self.y_axis, scatter.y)):
            drawn.set_theme(self.theme)
            if axis.names:
                names = axis.names if len(axis.names) <= MAX_NAMES else ()
                drawn.setTicks([[(at, _short(name)) for at, name in enumerate(names)]])
        self.y_axis.hide_title_unless(self.room_for_y_title())

    # ---- drawing -----------------------------------------------------------------------

    def _draw(self) -> None:
        if self.scatter is None:
            return
        at, joined = self.scatter.lines(self._places)
        self._lines.setData(at[:, 0], at[:, 1], connect=joined.astype(np.int32))
        self._lines.setPen(pg.mkPen(self.theme.faint, width=1))
        self._rings.setPen(pg.mkPen(self.theme.accent, width=2))
        self._over.setPen(pg.mkPen(self.theme.hover, width=2))
        self._drawn.setPen(pg.mkPen(self.theme.accent, width=1))
        self._draw_points()
        self._draw_rings()
        self._show_hovered(self._hovered)

    def _draw_points(self) -> None:
        if self.scatter is None:
            return
        colors = point_colors(self.scale, self.theme.viewport)
        shown = np.flatnonzero(np.isfinite(self._places[:, 0]))
        # One brush per colour: a brush for each point would be slow.
        unique, which = np.unique(colors[shown], axis=0, return_inverse=True)
        brushes = np.array([pg.mkBrush(*map(int, color)) for color in unique] or [None])
        self._points.setData(
            self._places[shown, 0],
            self._places[shown, 1],
            brush=brushes[which.ravel()] if shown.size else None,
        )

    def _draw_rings(self) -> None:
        at = self._places[self._selected]
        at = at[np.isfinite(at[:, 0])]
        self._rings.setData(at[:, 0], at[:, 1])

    def _show_hovered(self, point: int | None) -> None:
        self._hovered = point
        at = self._places[[] if point is None else [point]]
        self._over.setData(at[:, 0], at[:, 1])
        self._place_label()

    def _place_label(self, *_: object) -> None:
        point, text = None, ""
        if self._hovered is not None:
            at = self.view.mapViewToScene(QPointF(*self._places[self._hovered]))
            point, text = QPointF(self.mapFromScene(at)), self.text_of(self._hovered)
        self._label.show_text(text, point, self.view.sceneBoundingRect())

    # ---- mouse and keys ----------------------------------------------------------------

    def pixels(self) -> np.ndarray:
        """Return the points' pixels on the widget, NaN for points not shown: (n, 2)."""
        area, ((x0, x1), (y0, y1)) = self.view.sceneBoundingRect(), self.view.spans()
        x = area.left() + (self._places[:, 0] - x0) / (x1 - x0) * area.width()
        y = area.bottom() - (self._places[:, 1] - y0) / (y1 - y0) * area.height()
        return np.column_stack([x, y])

    def index_at(self, point: QPointF) -> int | None:
        xy = np.nan_to_num(self.pixels(), nan=-1e9)
        return nearest_point(xy, np.zeros(len(xy)), (point.x(), point.y()), REACH)

    def tooltip_at(self, point: QPointF) -> str:
        return "" if self.index_at(point) is not None else GESTURES

    def mousePressEvent(self, event: QMouseEvent) -> None:
        super().mousePressEvent(event)
        self._outline = [event.position()] if self._sweeping else []

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Hover or pan; with Shift, draw around points."""
        super().mouseMoveEvent(event)
        if self._outline:
            self._outline.append(event.position())
            corners = [self.to_data(point) for point in (*self._outline, self._outline[0])]
            self._drawn.setData([point.x() for point in corners], [point.y() for point in corners])

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        outline = np.array([(at.x(), at.y()) for at in self._outline])
        dragged = self._last is not None
        super().mouseReleaseEvent(event)
        if dragged and len(outline) > 2:
            xy = np.nan_to_num(self.pixels(), nan=-1e9)
            self.encircled.emit(np.flatnonzero(points_inside(xy, outline)), event.modifiers())

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        """Open a point, or show everything."""
        point = self.index_at(event.position())
        if event.button() is Qt.MouseButton.LeftButton and point is not None:
            self.opened.emit(point)
        else:
            super().mouseDoubleClickEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Leave Enter to the window."""
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            event.ignore()
        else:
            super().keyPressEvent(event)

    def _swept_items(self, point: QPointF) -> tuple[int, int] | None:
        return None  # a drag with Shift is an outline

    def _end_drag(self) -> None:
        super()._end_drag()
        self._outline = []
        self._drawn.setData([], [])


def _same(old: ScatterAxis, new: ScatterAxis) -> bool:
    return (old.title, old.log, old.whole, old.names) == (new.title, new.log, new.whole, new.names)


def _span(places: np.ndarray) -> tuple[float, float]:
    """Return the span of an axis, with space around the points."""
    known = places[np.isfinite(places)]
    if not known.size:
        return 0.0, 1.0
    low, high = float(known.min()), float(known.max())
    space = MARGIN * (high - low) or max(abs(low), 1.0) / 2
    return low - space, high + space


def _short(name: str) -> str:
    return name if len(name) <= MAX_NAME_LENGTH else name[: MAX_NAME_LENGTH - 1] + "…"
