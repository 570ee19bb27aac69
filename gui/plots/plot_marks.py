"""Marks over a line: the shown range, marked, selected and hovered positions.

Everything is painted in pixels by one item, so that changing a range or hover costs only a repaint,
independent of the line's length.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter, QPen, QPolygonF
from PySide6.QtWidgets import QApplication, QStyleOptionGraphicsItem, QWidget

from gui.plots.plot_layer import Frame, PlotLayer
from gui.style.theme import SMALL, Theme, format_count

RING, DOT = 4.0, 2.5
LABEL_LIMIT = 200
"""Maximum number of labels; more would not find a place."""
SPARSE = 8
"""Minimum distance of points in pixels for drawing them as dots."""


def format_position(position: float) -> str:
    """Format a position as in captions: 1023; with thin spaces from 10 000 on."""
    return format_count(round(position)) if abs(position) >= 10_000 else f"{position:.0f}"


class Marks(PlotLayer):
    """The layer over a line plot."""

    def __init__(self, theme: Theme, frame: Callable[[], Frame]) -> None:
        super().__init__(theme, frame)
        self._values = np.zeros(0)
        self._shown: tuple[int, int] | None = None
        self._marked = np.zeros(0, dtype=int)
        self._selected = np.zeros(0, dtype=int)
        self._hover: int | None = None
        self._sweep: tuple[int, int] | None = None
        self._labels: list[tuple[int, QRectF]] | None = None
        self._font = QFont(QApplication.font())
        self._font.setPixelSize(SMALL)
        self.setZValue(10)

    # ---- content ----

    def set_values(self, values: np.ndarray) -> None:
        """Set the line's values; marks beyond its end are dropped."""
        self._values = values
        self._marked = self._inside(self._marked)
        self._selected = self._inside(self._selected)
        self.set_hover(self._hover)
        self.invalidate()

    def set_shown(self, span: tuple[int, int] | None) -> None:
        """Draw everything outside an inclusive range pale."""
        if span != self._shown:
            self._shown = span
            self.update()

    def set_marked(self, positions: Sequence[int]) -> None:
        """Mark positions with a ring and their number."""
        self._marked = self._inside(np.asarray(positions, dtype=int))
        self.invalidate()

    def set_selected(self, positions: Sequence[int]) -> None:
        """Accent positions; the last one gets a ring and its number."""
        self._selected = self._inside(np.asarray(positions, dtype=int))
        self.invalidate()

    def set_hover(self, position: int | None) -> None:
        """Set the hovered position."""
        inside = position is not None and 0 <= position < len(self._values)
        self._hover = position if inside else None
        self.update()

    def set_sweep(self, span: tuple[int, int] | None) -> None:
        """Show the range that a drag would select."""
        self._sweep = span
        self.update()

    def invalidate(self) -> None:
        """Place the labels again after a change of the view or the marks."""
        self._labels = None
        self.moved()

    # ---- geometry ----

    def hover_point(self) -> QPointF | None:
        """Return the hovered position's point in the view; None if it is not visible."""
        if self._hover is None:
            return None
        frame = self._frame_now()
        if not frame.x[0] <= self._hover <= frame.x[1]:
            return None
        return QPointF(*self._pixels(frame, np.array([self._hover]))[0])

    def mark_near(self, point: QPointF, reach: float) -> int | None:
        """Return the marked position nearest to a point of the view, if within reach."""
        if not len(self._marked):
            return None
        pixels = self._pixels(self._frame_now(), self._marked)
        distance = np.hypot(pixels[:, 0] - point.x(), pixels[:, 1] - point.y())
        nearest = int(distance.argmin())
        return int(self._marked[nearest]) if distance[nearest] <= reach else None

    def labels(self) -> list[tuple[int, QRectF]]:
        """Return the placed numbers with their rectangles, in the view's pixels."""
        if self._labels is None:
            self._labels = self._place_labels(self._frame_now())
        return self._labels

    def _place_labels(self, frame: Frame) -> list[tuple[int, QRectF]]:
        """Place each number on a free side of its ring; omit those without one."""
        marked = self._in_sight(frame, self._marked)
        marked = marked[: 0 if self._crowded(frame, marked) else LABEL_LIMIT]
        current = self._in_sight(frame, self._selected[-1:])
        positions = list(dict.fromkeys([*current.tolist(), *marked.tolist()]))
        anchors = [self._anchor(frame, position) for position in positions]
        taken = [_around(anchor, RING + 1) for anchor in anchors]
        metrics, area = QFontMetricsF(self._font), frame.rect.adjusted(2, 2, -2, -2)
        placed: list[tuple[int, QRectF]] = []
        for i, position in enumerate(positions):
            size = metrics.size(0, format_position(position))
            others = [*taken[:i], *taken[i + 1 :]]
            free = [
                place
                for place in _places(anchors[i], size.width(), size.height())
                if area.contains(place)
                and not any(place.adjusted(-3, 0, 3, 0).intersects(other) for other in others)
            ]
            # Preferably beside the line, but a place on it is better than none.
            free.sort(key=lambda place: self._covers_line(frame, place))
            if free:
                placed.append((position, free[0]))
                taken.append(free[0])
        return placed

    def _covers_line(self, frame: Frame, place: QRectF) -> bool:
        scale = (frame.x[1] - frame.x[0]) / frame.rect.width()
        first = max(0, int(frame.x[0] + (place.left() - frame.rect.left()) * scale))
        stop = int(frame.x[0] + (place.right() - frame.rect.left()) * scale) + 2
        part = self._values[first:stop]
        if not len(part):
            return False
        ends = np.array([part.max(), part.min()])
        top, bottom = frame.place(np.zeros(2), ends)[:, 1]
        return bool(top <= place.bottom() and bottom >= place.top())

    def _anchor(self, frame: Frame, position: int) -> QPointF:
        """Return the pixel of a position's ring, or of its arrow at the view's edge."""
        x, y = self._pixels(frame, np.array([position]))[0]
        return QPointF(x, y + (RING + 1) * frame.beyond(self._values[position]))

    def _crowded(self, frame: Frame, positions: np.ndarray) -> bool:
        """Return whether rings would overlap all along the line."""
        return len(positions) * 2 * RING > frame.rect.width()

    def _pixels(self, frame: Frame, positions: np.ndarray) -> np.ndarray:
        return frame.place(positions, self._values[positions])

    def _in_sight(self, frame: Frame, positions: np.ndarray) -> np.ndarray:
        return positions[(positions >= frame.x[0]) & (positions <= frame.x[1])]

    def _inside(self, positions: np.ndarray) -> np.ndarray:
        return positions[(positions >= 0) & (positions < len(self._values))]

    # ---- painting ----

    def paint(
        self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None
    ) -> None:
        """Paint everything, the selection last."""
        frame = self._frame_now()
        if not len(self._values):
            return
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        self._paint_dots(painter, frame)
        self._paint_range(painter, frame)
        self._paint_sweep(painter, frame)
        self._paint_marked(painter, frame)
        self._paint_hover(painter, frame)
        self._paint_selected(painter, frame)
        self._paint_labels(painter)

    def _paint_dots(self, painter: QPainter, frame: Frame) -> None:
        first, last = max(0, int(frame.x[0])), min(len(self._values) - 1, int(frame.x[1]) + 1)
        if (last - first) * SPARSE <= frame.rect.width():
            positions = np.arange(first, last + 1)
            _paint_discs(painter, self._pixels(frame, positions), DOT - 0.5, self._theme.muted)

    def _paint_range(self, painter: QPainter, frame: Frame) -> None:
        """Veil the line outside the range, at the same cost for any length."""
        if self._shown is None:
            return
        veil, area = _translucent(self._theme.viewport, 0.72), frame.rect
        span = np.array([self._shown[0] - 0.5, self._shown[1] + 0.5])
        edges = frame.place(span, np.zeros(2))[:, 0]
        low, high = np.clip(edges, area.left(), area.right())
        if self._shown[1] >= len(self._values) - 1:
            high = area.right()  # the axis may continue with other lines
        painter.fillRect(QRectF(area.topLeft(), QPointF(low, area.bottom())), veil)
        painter.fillRect(QRectF(QPointF(high, area.top()), area.bottomRight()), veil)
        painter.setPen(QPen(QColor(self._theme.line), 1))
        for x, cuts in ((low, self._shown[0] > 0), (high, self._shown[1] < len(self._values) - 1)):
            if cuts and area.left() < x < area.right():
                painter.drawLine(QPointF(x, area.top()), QPointF(x, area.bottom()))

    def _paint_sweep(self, painter: QPainter, frame: Frame) -> None:
        if self._sweep is not None:
            span = np.array([min(self._sweep) - 0.5, max(self._sweep) + 0.5])
            low, high = frame.place(span, np.zeros(2))[:, 0]
            band = QRectF(low, frame.rect.top(), high - low, frame.rect.height())
            painter.fillRect(band, _translucent(self._theme.accent, 0.15))

    def _paint_marked(self, painter: QPainter, frame: Frame) -> None:
        painter.setPen(QPen(QColor(self._theme.text), 1))
        painter.setBrush(QColor(self._theme.viewport))
        marked = self._in_sight(frame, self._marked)
        if self._crowded(frame, marked):
            _paint_discs(painter, self._pixels(frame, marked), 1, self._theme.text)
            return
        for position in marked:
            self._paint_point(painter, frame, position, RING - 0.5)

    def _paint_hover(self, painter: QPainter, frame: Frame) -> None:
        point = self.hover_point()
        if point is not None and self._hover is not None:
            painter.setPen(QPen(QColor(self._theme.hover), 1))
            area = frame.rect
            painter.drawLine(QPointF(point.x(), area.top()), QPointF(point.x(), area.bottom()))
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(self._theme.hover))
            self._paint_point(painter, frame, self._hover, RING)

    def _paint_selected(self, painter: QPainter, frame: Frame) -> None:
        selected = self._in_sight(frame, self._selected)
        _paint_discs(painter, self._pixels(frame, selected), DOT, self._theme.accent)
        if len(selected) and selected[-1] == self._selected[-1]:
            painter.setPen(QPen(QColor(self._theme.accent), 1.5))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            self._paint_point(painter, frame, selected[-1], RING + 1)

    def _paint_point(self, painter: QPainter, frame: Frame, position: int, radius: float) -> None:
        """Paint a disc at a point, or an arrow at the edge if it lies beyond."""
        x, y = self._pixels(frame, np.array([position]))[0]
        beyond = frame.beyond(self._values[position])
        if not beyond:
            painter.drawEllipse(QPointF(x, y), radius, radius)
            return
        base = y + beyond * (2 * radius + 1)
        tip = QPointF(x, y + beyond)
        wings = (QPointF(x - radius, base), QPointF(x + radius, base))
        painter.drawPolygon(QPolygonF([tip, *wings]))

    def _paint_labels(self, painter: QPainter) -> None:
        painter.setFont(self._font)
        current = self._selected[-1] if len(self._selected) else None
        for position, rect in self.labels():
            painter.setPen(QColor(self._theme.accent if position == current else self._theme.text))
            painter.drawText(rect, Qt.AlignmentFlag.AlignCenter, format_position(position))


def _around(point: QPointF, radius: float) -> QRectF:
    return QRectF(point.x() - radius, point.y() - radius, 2 * radius, 2 * radius)


def _places(point: QPointF, width: float, height: float) -> list[QRectF]:
    """Return the rectangles for a label around a point, best first."""
    gap = RING + 3
    right, left, centre = point.x() + gap, point.x() - gap - width, point.x() - width / 2
    above, below, middle = point.y() - gap - height, point.y() + gap, point.y() - height / 2
    return [
        QRectF(x, y, width, height)
        for x, y in (
            (right, middle),
            (left, middle),
            (centre, above),
            (centre, below),
            (right, above),
            (left, above),
            (right, below),
            (left, below),
        )
    ]


def _paint_discs(painter: QPainter, pixels: np.ndarray, radius: float, color: str) -> None:
    """Paint many equal discs in one call, as points of a round pen."""
    cap = Qt.PenCapStyle.RoundCap
    painter.setPen(QPen(QColor(color), 2 * radius, Qt.PenStyle.SolidLine, cap))
    painter.drawPoints(QPolygonF([QPointF(x, y) for x, y in pixels.tolist()]))


def _translucent(color: str, opacity: float) -> QColor:
    made = QColor(color)
    made.setAlphaF(opacity)
    return made
