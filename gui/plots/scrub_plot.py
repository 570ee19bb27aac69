"""A plot against training steps, or lags: a press or a drag anywhere in it goes to one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import QPointF, QRect, QSize, Qt
from PySide6.QtGui import QColor, QFontMetrics, QMouseEvent, QPainter, QPaintEvent, QPalette, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from gui.plots.curve_plot import CurvePlot, view_points
from gui.plots.spec import Curve, Line, Reading
from gui.services.overlay_curves import OverlayLine, span_with
from gui.style.theme import SMALL, Theme
from gui.widgets.tooltips import wrapped

SCRUB_TIP = "Press or drag to see the model as it was at a step; wheel zooms"
DOT = 4
SWATCH, GAP = 14, 4


class ScrubPlot(CurvePlot):
    """Lines over steps on a logarithmic axis, each snapshot a dot, with a cursor.

    ``markerDragged`` tells where on the axis the mouse is held.

    Parameters
    ----------
    theme
        Colours.
    y_title, x_title
        Quantity and unit.
    log_x, log_y
        Whether an axis is logarithmic.
    dots
        Whether each value has a dot.
    tip
        What the mouse does.
    """

    def __init__(
        self,
        theme: Theme,
        y_title: str,
        x_title: str = "step",
        *,
        log_x: bool = True,
        log_y: bool = False,
        dots: bool = True,
        tip: str = SCRUB_TIP,
    ) -> None:
        self._points: pg.ScatterPlotItem | None = None
        self._cursor: QWidget | None = None
        self._at_x: float | None = None
        self._dotted, self._tip = dots, tip
        super().__init__(theme, x_title, y_title, log_x=log_x, log_y=log_y, whole_x=not log_x)
        # No item of the plot: with each of its moves the whole plot would be painted.
        self._cursor = QWidget(self.viewport())
        self._cursor.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self._cursor.setAutoFillBackground(True)
        self._cursor.hide()
        self.view.sigRangeChanged.connect(self._place_cursor)
        self.view.sigResized.connect(self._place_cursor)
        self.set_theme(theme)
        self._points = pg.ScatterPlotItem(pxMode=True, pen=None, size=DOT)
        self.view.addItem(self._points)
        self.setAccessibleName(f"{y_title} against {x_title}")

    def show_lines(
        self,
        lines: Sequence[Line],
        places: np.ndarray,
        y: tuple[float, float] | None = None,
        others: Sequence[OverlayLine] = (),
    ) -> None:
        """Show other lines.

        Parameters
        ----------
        lines, places
            What is shown, over these places on the axis.
        y
            What the axis spans at most; by default all lines, and a margin.
        others
            The same of other models, behind them.
        """
        curves = [
            Curve(
                places[run], line.values[run], line.color, "dashed" if line.dashed else "solid",
                1.0 if line.dashed else 1.5, silent=True,
            )
            for line in lines
            for run in line.runs()
        ]  # fmt: skip
        curves += [
            Curve(other.x, other.y, other.color, silent=True, name=other.name) for other in others
        ]
        ends = float(places[0]), span_with(0, float(places[-1]), others)[1]
        span = (ends[0] / 1.2, ends[1] * 1.2) if self.log[0] else (0.0, ends[1])
        self.set_curves(curves, x=span, y=y)
        own = [curve for curve in curves if not curve.name]
        dotted = [curve for curve in own if curve.style == "solid" and self._dotted]
        found = [view_points(curve, self.log) for curve in dotted]
        brushes = [QColor(curve.color) for curve, at in zip(dotted, found, strict=True) for _ in at]
        at = np.concatenate(found) if found else np.zeros((0, 2))
        assert self._points is not None
        self._points.setData(at[:, 0], at[:, 1], brush=brushes)

    def set_marker(self, x: float | None, tooltip: str = "") -> None:
        """Stand the cursor at a step; None hides it."""
        self._at_x = x
        self._place_cursor()

    def marker_point(self) -> QPointF:
        """Return where the cursor crosses the middle of the plot, in the widget."""
        assert self._at_x is not None
        middle = sum(self.view.spans()[1]) / 2
        at = float(np.log10(self._at_x)) if self.log[0] else self._at_x
        return self.view.mapViewToScene(QPointF(at, middle))

    def cursor_place(self) -> QRect | None:
        """Return where the cursor is drawn in the plot; None while it is not."""
        if self._cursor is None or self._cursor.isHidden():
            return None
        return self._cursor.geometry()

    def set_theme(self, theme: Theme) -> None:
        """Take new colours."""
        super().set_theme(theme)
        if self._cursor is not None:
            palette = self._cursor.palette()
            palette.setColor(QPalette.ColorRole.Window, QColor(theme.muted))
            self._cursor.setPalette(palette)

    def _place_cursor(self, *_: object) -> None:
        if self._cursor is None:
            return
        area = self.view.sceneBoundingRect()
        at = None if self._at_x is None else self.marker_point().x()
        if at is not None and area.left() <= at <= area.right():
            top, height = round(area.top()), round(area.height())
            self._cursor.setGeometry(round(at), top, 1, height)
            self._cursor.show()
        else:
            self._cursor.hide()

    def tooltip_at(self, point: QPointF) -> str:
        """Say what the mouse does."""
        return self._tip

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Go where the mouse is, and follow it while the button is held."""
        inside = self.holds(event.position())
        if event.button() is Qt.MouseButton.LeftButton and inside and self.curves:
            self._holding = True
            self.mouseMoveEvent(event)
            return
        super().mousePressEvent(event)

    def _show_cursor(self, *_: object) -> None:
        self.viewport().setCursor(Qt.CursorShape.SizeHorCursor)


class CurveLegend(QWidget):
    """Which line is which, and what it is at the cursor: one row over a plot.

    Parameters
    ----------
    theme
        Colours.
    """

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._entries: tuple[Reading, ...] = ()
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)

    def show_lines(self, lines: Sequence[Line], snapshot: int, empty: str = "") -> None:
        """Show lines and their values at a snapshot; or, where there is none, why."""
        self.show_readings([line.reading(snapshot) for line in lines] or [Reading(empty)])

    def show_readings(self, readings: Sequence[Reading]) -> None:
        """Show what is said of curves."""
        entries = tuple(readings)
        if entries == self._entries:
            return
        self._entries = entries
        self.setAccessibleName(self.text())
        self.setToolTip(wrapped(self.text()))
        self.update()

    def text(self) -> str:
        """Return all of it, cut or not."""
        return " · ".join(f"{one.name} {one.text}".strip() for one in self._entries)

    def set_theme(self, theme: Theme) -> None:
        """Take new colours."""
        self._theme = theme
        self.update()

    def sizeHint(self) -> QSize:
        """Return the height of a line; any width will do."""
        return QSize(80, 16)

    def minimumSizeHint(self) -> QSize:
        """Return the same height: it is never cut."""
        return QSize(40, 16)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw each line's colour, name and value, as many as have room."""
        painter = QPainter(self)
        font = self.font()
        font.setPixelSize(SMALL)
        painter.setFont(font)
        metrics, middle, x = QFontMetrics(font), self.height() // 2, 4
        # Names before numbers: these are in the tooltip as well.
        numbers = self._width(metrics, numbers=True) <= self.width()
        for one in self._entries:
            if one.color:
                solid = one.style == "solid"
                style = Qt.PenStyle.SolidLine if solid else Qt.PenStyle.DotLine
                painter.setPen(QPen(QColor(one.color), 2, style))
                painter.drawLine(x, middle, x + SWATCH, middle)
                x += SWATCH + GAP
            shades = ((one.name, self._theme.muted), (one.text, self._theme.text))
            for text, tone in shades[: 1 + numbers]:
                room = max(self.width() - x, 0)
                painter.setPen(QColor(tone))
                shown = metrics.elidedText(text, Qt.TextElideMode.ElideRight, room)
                painter.drawText(x, 0, room, self.height(), _MIDDLE, shown)
                x += metrics.horizontalAdvance(text) + GAP
            x += GAP

    def _width(self, metrics: QFontMetrics, *, numbers: bool) -> int:
        """Return how wide all of it is, with the numbers or without."""
        texts = [text for one in self._entries for text in (one.name, one.text)[: 1 + numbers]]
        words = sum(metrics.horizontalAdvance(text) + GAP for text in texts)
        return words + (SWATCH + 2 * GAP) * len(self._entries)


_MIDDLE = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft
