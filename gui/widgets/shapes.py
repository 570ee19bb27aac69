"""Samples of curves as legends show them: a piece of line, with the shape of its colour."""

from __future__ import annotations

import functools

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPainterPath, QPen, QPixmap, QPolygonF, QTransform

from gui.style.theme import shape_of

SIDE = 8
"""Width of a shape in pixels."""
_POLYGONS = {
    "s": [(-0.4, -0.4), (0.4, -0.4), (0.4, 0.4), (-0.4, 0.4)],
    "^": [(0, -0.5), (0.5, 0.4), (-0.5, 0.4)],
    "v": [(0, 0.5), (0.5, -0.4), (-0.5, -0.4)],
    "D": [(0, -0.55), (0.55, 0), (0, 0.55), (-0.55, 0)],
    "*": [(0, -0.6), (0.15, -0.2), (0.6, -0.2), (0.25, 0.1), (0.37, 0.55), (0, 0.27),
          (-0.37, 0.55), (-0.25, 0.1), (-0.6, -0.2), (-0.15, -0.2)],
}  # fmt: skip


@functools.cache
def shape_path(shape: str) -> QPainterPath:
    """Return the outline of one of :data:`gui.style.theme.SHAPES`, of width 1, around 0."""
    path = QPainterPath()
    if shape in _POLYGONS:
        path.addPolygon(QPolygonF([QPointF(x, y) for x, y in _POLYGONS[shape]]))
        path.closeSubpath()
    elif shape in ("P", "X"):
        path.addRect(QRectF(-0.55, -0.17, 1.1, 0.34))
        path.addRect(QRectF(-0.17, -0.55, 0.34, 1.1))
        path.setFillRule(Qt.FillRule.WindingFill)
        if shape == "X":
            path = QTransform().rotate(45).map(path)
    elif shape:
        path.addEllipse(QRectF(-0.45, -0.45, 0.9, 0.9))
    return path


def draw_shape(painter: QPainter, color: QColor, middle: QPointF) -> None:
    """Draw the shape that goes with a colour; nothing for one without a shape."""
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.translate(middle)
    painter.scale(SIDE, SIDE)
    painter.fillPath(shape_path(shape_of(color.name())), color)
    painter.restore()


def draw_sample(
    painter: QPainter, color: QColor, left: float, width: float, middle: float, pen: QPen
) -> None:
    """Draw a horizontal piece of a curve with its shape."""
    painter.setPen(pen)
    painter.drawLine(QPointF(left, middle), QPointF(left + width, middle))
    draw_shape(painter, color, QPointF(left + width / 2, middle))


def shape_pixmap(color: str, ratio: float = 1.0, *, line: int = 0) -> QPixmap:
    """Return the shape that goes with a colour as a picture, on a piece of line of a width.

    Parameters
    ----------
    color
        ``#rrggbb``.
    ratio
        Physical pixels per logical one.
    line
        Width of the line in logical pixels; without it, a colour without a shape has an empty one.
    """
    width, height = max(line, SIDE + 2), SIDE + 2
    picture = QPixmap(round(width * ratio), round(height * ratio))
    picture.setDevicePixelRatio(ratio)
    picture.fill(Qt.GlobalColor.transparent)
    painter = QPainter(picture)
    pen = QPen(QColor(color), 2) if line else QPen(Qt.PenStyle.NoPen)
    draw_sample(painter, QColor(color), 0, width, height / 2, pen)
    painter.end()
    return picture
