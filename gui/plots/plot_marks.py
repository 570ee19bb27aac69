"""Marks over curves by position: positions out of range, and accented points."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter, QPen, QPolygonF
from PySide6.QtWidgets import QApplication, QGraphicsItem, QStyleOptionGraphicsItem, QWidget

from gui.style.theme import SMALL, Theme, format_position


@dataclass(frozen=True, slots=True)
class Frame:
    """Position of a view in pixels, and its data spans."""

    rect: QRectF
    x: tuple[float, float]
    y: tuple[float, float]

    def place(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return (m, 2) pixels; y beyond the view is clipped to its edge."""
        across = (x - self.x[0]) / (self.x[1] - self.x[0])
        up = np.clip((y - self.y[0]) / (self.y[1] - self.y[0]), 0, 1)
        return np.column_stack(
            [
                self.rect.left() + across * self.rect.width(),
                self.rect.bottom() - up * self.rect.height(),
            ]
        )

    def beyond(self, value: float) -> int:
        """Return +1 or −1 for a value above or below the view, otherwise 0."""
        return int(value > self.y[1]) - int(value < self.y[0])


RING = 4.0
LABEL_LIMIT = 200
"""Maximum number of placed labels; there is no room for more."""


class PlotMarks(QGraphicsItem):
    """A veil outside a range of positions, rings around some of them, and their numbers.

    Everything is placed in pixels of the view's current ``frame``, and painted by one item, so that
    moving the range costs only a repaint, however long the curve is. A ring beyond the view is an
    arrow at its edge.
    """

    def __init__(self, theme: Theme, frame: Callable[[], Frame]) -> None:
        super().__init__()
        self._theme, self._frame_now = theme, frame
        self._first, self._values = 0, np.zeros(0)
        self._shown: tuple[int, int] | None = None
        self._ringed = np.zeros(0, dtype=int)
        self._current: int | None = None
        self._sweep: tuple[int, int] | None = None
        self._labels: list[tuple[int, QRectF]] | None = None
        self._font = QFont(QApplication.font())
        self._font.setPixelSize(theme.px(SMALL))
        self.setZValue(5)

    def set_theme(self, theme: Theme) -> None:
        """Set the colours and the size of the numbers."""
        self._theme = theme
        self._font.setPixelSize(theme.px(SMALL))
        self.invalidate()

    def set_values(self, first: int, values: np.ndarray) -> None:
        """Set the curve with the rings: its first position, and its values from there on."""
        self._first, self._values = first, values
        self._ringed = self._inside(self._ringed)
        self.invalidate()

    def set_shown(self, span: tuple[int, int] | None) -> None:
        """Veil everything outside an inclusive range."""
        if span != self._shown:
            self._shown = span
            self.update()

    def set_ringed(self, positions: Sequence[int]) -> None:
        """Mark positions by rings with their numbers."""
        self._ringed = self._inside(np.asarray(positions, dtype=int))
        self.invalidate()

    def set_current(self, position: int | None) -> None:
        """Show the number of this position, too."""
        if position != self._current:
            self._current = position
            self.invalidate()

    def set_sweep(self, span: tuple[int, int] | None) -> None:
        """Tint the range that a drag will select."""
        self._sweep = span
        self.update()

    def invalidate(self) -> None:
        """Place the labels again after a change of the view or the marks."""
        self._labels = None
        self.prepareGeometryChange()
        self.update()

    def boundingRect(self) -> QRectF:
        return self._frame_now().rect

    def ring_near(self, point: QPointF, reach: float) -> int | None:
        """Return the ringed position nearest to a point of the view, if within reach."""
        if not len(self._ringed):
            return None
        pixels = self._pixels(self._frame_now(), self._ringed)
        distance = np.hypot(pixels[:, 0] - point.x(), pixels[:, 1] - point.y())
        nearest = int(distance.argmin())
        return int(self._ringed[nearest]) if distance[nearest] <= reach else None

    def labels(self) -> list[tuple[int, QRectF]]:
        """Return the placed numbers with their rectangles, in the view's pixels."""
        if self._labels is None:
            self._labels = self._place_labels(self._frame_now())
        return self._labels

    def _place_labels(self, frame: Frame) -> list[tuple[int, QRectF]]:
        """Place each number at a free side of its ring; numbers without room are left out."""
        ringed = self._visible(frame, self._ringed)
        ringed = ringed[: 0 if self._crowded(frame, ringed) else LABEL_LIMIT]
        current = np.array([] if self._current is None else [self._current], dtype=int)
        current = self._visible(frame, self._inside(current))
        positions = list(dict.fromkeys([*current.tolist(), *ringed.tolist()]))
        anchors = [self._anchor(frame, position) for position in positions]
        taken = [_around(anchor, RING + 1) for anchor in anchors]
        metrics, area = QFontMetricsF(self._font), frame.rect.adjusted(2, 2, -2, -2)
        placed: list[tuple[int, QRectF]] = []
        for i, position in enumerate(positions):
            size = metrics.size(0, format_position(position))
            occupied = [*taken[:i], *taken[i + 1 :]]
            free = [
                place
                for place in _places(anchors[i], size.width(), size.height())
                if area.contains(place)
                and not any(place.adjusted(-3, 0, 3, 0).intersects(rect) for rect in occupied)
            ]
            # Prefer places beside the line.
            free.sort(key=lambda place: self._covers_line(frame, place))
            if free:
                placed.append((position, free[0]))
                taken.append(free[0])
        return placed

    def _covers_line(self, frame: Frame, place: QRectF) -> bool:
        scale = (frame.x[1] - frame.x[0]) / frame.rect.width()
        left, right = place.left() - frame.rect.left(), place.right() - frame.rect.left()
        first = max(0, int(frame.x[0] + left * scale) - self._first)
        part = self._values[first : int(frame.x[0] + right * scale) + 2 - self._first]
        if not len(part):
            return False
        ends = np.array([part.max(), part.min()])
        top, bottom = frame.place(np.zeros(2), ends)[:, 1]
        return bool(top <= place.bottom() and bottom >= place.top())

    def _anchor(self, frame: Frame, position: int) -> QPointF:
        """Return the place of a position's ring, or the middle of its arrow at the view's edge."""
        x, y = self._pixels(frame, np.array([position]))[0]
        return QPointF(x, y + (RING + 1) * frame.beyond(self._values[position - self._first]))

    def _crowded(self, frame: Frame, positions: np.ndarray) -> bool:
        """Return whether the rings would overlap along the whole line."""
        return len(positions) * 2 * RING > frame.rect.width()

    def _pixels(self, frame: Frame, positions: np.ndarray) -> np.ndarray:
        return frame.place(positions, self._values[positions - self._first])

    def _visible(self, frame: Frame, positions: np.ndarray) -> np.ndarray:
        return positions[(positions >= frame.x[0]) & (positions <= frame.x[1])]

    def _inside(self, positions: np.ndarray) -> np.ndarray:
        last = self._first + len(self._values) - 1
        return positions[(positions >= self._first) & (positions <= last)]

    # ---- painting ----------------------------------------------------------------------------

    def paint(
        self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None
    ) -> None:
        frame = self._frame_now()
        if not len(self._values):
            return
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        self._paint_veil(painter, frame)
        if self._sweep is not None:
            span = np.array([min(self._sweep) - 0.5, max(self._sweep) + 0.5])
            low, high = frame.place(span, np.zeros(2))[:, 0]
            tint = QColor(self._theme.accent)
            tint.setAlphaF(0.15)
            painter.fillRect(QRectF(low, frame.rect.top(), high - low, frame.rect.height()), tint)
        self._paint_rings(painter, frame)
        painter.setFont(self._font)
        for position, rect in self.labels():
            current = position == self._current
            painter.setPen(QColor(self._theme.accent if current else self._theme.text))
            painter.drawText(rect, Qt.AlignmentFlag.AlignCenter, format_position(position))

    def _paint_veil(self, painter: QPainter, frame: Frame) -> None:
        if self._shown is None:
            return
        veil, area = QColor(self._theme.viewport), frame.rect
        veil.setAlphaF(0.72)
        last = self._first + len(self._values) - 1
        span = np.array([self._shown[0] - 0.5, self._shown[1] + 0.5])
        low, high = np.clip(frame.place(span, np.zeros(2))[:, 0], area.left(), area.right())
        if self._shown[1] >= last:
            high = area.right()  # the axis may continue with other models' curves
        painter.fillRect(QRectF(area.topLeft(), QPointF(low, area.bottom())), veil)
        painter.fillRect(QRectF(QPointF(high, area.top()), area.bottomRight()), veil)
        painter.setPen(QPen(QColor(self._theme.line), 1))
        for x, cuts in ((low, self._shown[0] > self._first), (high, self._shown[1] < last)):
            if cuts and area.left() < x < area.right():
                painter.drawLine(QPointF(x, area.top()), QPointF(x, area.bottom()))

    def _paint_rings(self, painter: QPainter, frame: Frame) -> None:
        ringed = self._visible(frame, self._ringed)
        pixels = self._pixels(frame, ringed)
        if self._crowded(frame, ringed):
            pen = QPen(QColor(self._theme.text), 2)
            pen.setCapStyle(Qt.PenCapStyle.RoundCap)
            painter.setPen(pen)
            painter.drawPoints(QPolygonF([QPointF(x, y) for x, y in pixels.tolist()]))
            return
        painter.setPen(QPen(QColor(self._theme.text), 1))
        painter.setBrush(QColor(self._theme.viewport))
        radius = RING - 0.5
        for (x, y), value in zip(pixels.tolist(), self._values[ringed - self._first], strict=True):
            beyond = frame.beyond(value)
            if not beyond:
                painter.drawEllipse(QPointF(x, y), radius, radius)
                continue
            base = y + beyond * (2 * radius + 1)
            wings = (QPointF(x - radius, base), QPointF(x + radius, base))
            painter.drawPolygon(QPolygonF([QPointF(x, y + beyond), *wings]))


def _around(point: QPointF, radius: float) -> QRectF:
    return QRectF(point.x() - radius, point.y() - radius, 2 * radius, 2 * radius)


def _places(point: QPointF, width: float, height: float) -> list[QRectF]:
    """Return the places for a label around a point, in order of preference."""
    gap = RING + 3
    right, left, centre = point.x() + gap, point.x() - gap - width, point.x() - width / 2
    above, below, middle = point.y() - gap - height, point.y() + gap, point.y() - height / 2
    corners = (
        (right, middle),
        (left, middle),
        (centre, above),
        (centre, below),
        (right, above),
        (left, above),
        (right, below),
        (left, below),
    )
    return [QRectF(x, y, width, height) for x, y in corners]
