"""A plot in which a press or a drag anywhere scrubs along x: to a step, or a lag."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from PySide6.QtCore import QPointF, QRect, QSize, Qt, QTimer
from PySide6.QtGui import QColor, QFontMetrics, QMouseEvent, QPainter, QPaintEvent, QPalette, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from gui.plots.curve_plot import CurvePlot
from gui.plots.spec import EDGE, TINT, Axis, Reading, Rule
from gui.style.theme import SMALL, Theme
from gui.widgets.shapes import draw_sample
from gui.widgets.tooltips import wrapped

SWATCH, GAP = 14, 4
PAINT_MS = 100
"""Minimum time between updates of numbers while scrubbing, so that the viewport keeps its frame
rate.
"""


class ScrubPlot(CurvePlot):
    """Curves with a cursor that moves without repainting them.

    ``markerDragged`` is emitted with the mouse's position on the axis.
    """

    def __init__(self, theme: Theme, x: Axis, y: Axis, tip: str = "") -> None:
        self._cursor: QWidget | None = None
        self._tip = tip
        super().__init__(theme, replace(x, whole=not x.log), y)
        # Not an item of the plot, which would be repainted on each move.
        self._cursor = QWidget(self.viewport())
        self._cursor.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self._cursor.setAutoFillBackground(True)
        self._cursor.hide()
        self.view.sigRangeChanged.connect(self._place_cursor)
        self.view.sigResized.connect(self._place_cursor)
        self.set_theme(theme)

    def set_marker(self, rule: Rule | None) -> None:
        """Place the cursor at a step; None hides it."""
        self._marker_rule = rule
        self._place_cursor()

    def cursor_place(self) -> QRect | None:
        """Return the cursor's rectangle in the plot; None if it is hidden."""
        if self._cursor is None or self._cursor.isHidden():
            return None
        return self._cursor.geometry()

    def set_theme(self, theme: Theme) -> None:
        super().set_theme(theme)
        if self._cursor is not None:
            palette = self._cursor.palette()
            palette.setColor(QPalette.ColorRole.Window, QColor(theme.muted))
            self._cursor.setPalette(palette)

    def _place_cursor(self, *_: object) -> None:
        if self._cursor is None:
            return
        area = self.view.sceneBoundingRect()
        at = None if self._marker_rule is None else self.marker_point().x()
        if at is not None and area.left() <= at <= area.right():
            top, height = round(area.top()), round(area.height())
            self._cursor.setGeometry(round(at), top, 1, height)
            self._cursor.show()
        else:
            self._cursor.hide()

    def tooltip_at(self, point: QPointF) -> str:
        return self._tip

    def mousePressEvent(self, event: QMouseEvent) -> None:
        inside = self.holds(event.position())
        if event.button() is Qt.MouseButton.LeftButton and inside and self.curves:
            self._holding = True
            self._press = self._last = event.position()
            self.mouseMoveEvent(event)
            return
        super().mousePressEvent(event)

    def _show_cursor(self, *_: object) -> None:
        self.viewport().setCursor(Qt.CursorShape.SizeHorCursor)


class CurveLegend(QWidget):
    """A row over a plot with the names of lines and their values at the cursor."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._entries: tuple[Reading, ...] = ()
        self._soon = QTimer(self, interval=PAINT_MS, singleShot=True)
        self._soon.timeout.connect(self._show)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)

    def show_readings(self, readings: Sequence[Reading]) -> None:
        """Show readings of curves."""
        entries = tuple(readings)
        if entries == self._entries:
            return
        self._entries = entries
        if not self._soon.isActive():
            self._soon.start()

    def _show(self) -> None:
        self.setAccessibleName(self.text())
        self.setToolTip(wrapped(self.text()))
        self.update()

    def text(self) -> str:
        """Return the full text, even if elided."""
        return " · ".join(f"{entry.name} {entry.text}".strip() for entry in self._entries)

    def set_theme(self, theme: Theme) -> None:
        """Set the colours."""
        self._theme = theme
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(80, 16)

    def minimumSizeHint(self) -> QSize:
        return QSize(40, 16)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        font = self.font()
        font.setPixelSize(self._theme.px(SMALL))
        painter.setFont(font)
        metrics, middle, x = QFontMetrics(font), self.height() // 2, 4
        # Names take precedence over numbers, which are in the tooltip as well.
        numbers = self._width(metrics, numbers=True) <= self.width()
        for entry in self._entries:
            if entry.color:
                self._draw_swatch(painter, entry, x, middle)
                x += SWATCH + GAP
            shades = ((entry.name, self._theme.muted), (entry.text, self._theme.text))
            for text, tone in shades[: 1 + numbers]:
                room = max(self.width() - x, 0)
                painter.setPen(QColor(tone))
                shown = metrics.elidedText(text, Qt.TextElideMode.ElideRight, room)
                painter.drawText(x, 0, room, self.height(), _MIDDLE, shown)
                x += metrics.horizontalAdvance(text) + GAP
            x += GAP

    def _draw_swatch(self, painter: QPainter, entry: Reading, x: int, middle: int) -> None:
        if entry.style in ("band", "dashed band"):
            tint, edge = QColor(entry.color), QColor(entry.color)
            tint.setAlphaF(TINT)
            edge.setAlphaF(EDGE)
            painter.fillRect(x, middle - 4, SWATCH, 8, tint)
            dashed = Qt.PenStyle.DashLine if entry.style == "dashed band" else Qt.PenStyle.SolidLine
            painter.setPen(QPen(edge, 1, dashed))
            painter.drawLine(x, middle - 4, x + SWATCH - 1, middle - 4)
            painter.drawLine(x, middle + 4, x + SWATCH - 1, middle + 4)
            return
        pen = QPen(QColor(entry.color), 2)
        if entry.style != "solid":
            # There is room for two dashes, or four dots.
            pen.setDashPattern([2.5, 2.0] if entry.style == "dashed" else [0.75, 1.25])
            pen.setCapStyle(Qt.PenCapStyle.FlatCap)
        draw_sample(painter, QColor(entry.color), x, SWATCH, middle, pen)

    def _width(self, metrics: QFontMetrics, *, numbers: bool) -> int:
        """Return the width, with or without the numbers."""
        texts = [
            text for entry in self._entries for text in (entry.name, entry.text)[: 1 + numbers]
        ]
        width = sum(metrics.horizontalAdvance(text) + GAP for text in texts)
        return width + (SWATCH + 2 * GAP) * len(self._entries)


_MIDDLE = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft
