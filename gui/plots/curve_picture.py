"""A small picture of a curve: points coloured by position, joined by a line."""

from __future__ import annotations

import math

import numpy as np
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPen, QPolygonF

from gui.state.colors import legible, lookup_table
from gui.style.theme import Theme

MARGIN = 6
DOT = 4.0
MAX_DOTS = 512
"""Maximum number of points in a picture."""


def position_colors(colormap: str, theme: Theme) -> list[QColor]:
    """Return colours of a map from the first position to the last."""
    table = legible(lookup_table(colormap), theme.viewport)
    return [QColor(*(int(part) for part in row[:3])) for row in table[::4]]


def pictures_across(count: int) -> int:
    """Return the number of columns for pictures in a figure, in a ratio of about 3 to 2."""
    return max(math.ceil(math.sqrt(1.5 * count)), 1)


def thinned(coordinates: np.ndarray) -> np.ndarray:
    """Return at most :data:`MAX_DOTS` points, including the first and the last."""
    count = len(coordinates)
    kept = np.linspace(0, count - 1, min(count, MAX_DOTS)).round().astype(int)
    return np.asarray(coordinates[kept])


def places_in(rect: QRectF, points: np.ndarray, reach: np.ndarray) -> np.ndarray:
    """Return the pixels of points in a rectangle, (n, 2).

    Parameters
    ----------
    points : (n, 2)
        Coordinates to the right and upwards.
    reach : (2,)
        Maximum absolute values of both, the same for pictures of the same scale.
    """
    size = np.array([rect.width(), rect.height()])
    room = np.maximum(size / 2 - MARGIN, 1.0)
    scale = float((room / np.maximum(reach, 1e-30)).min())
    middle = np.array([rect.left(), rect.top()]) + size / 2
    return np.asarray(middle + scale * points * (1, -1))


def paint_curve(
    painter: QPainter, places: np.ndarray, colors: list[QColor], theme: Theme, dot: float = DOT
) -> None:
    """Draw a line through (n, 2) places, and a dot at each; ``dot`` is its diameter in pixels."""
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    points = [QPointF(x, y) for x, y in places.tolist()]
    painter.setPen(QPen(QColor(theme.faint), 1))
    painter.drawPolyline(QPolygonF(points))
    painter.setPen(Qt.PenStyle.NoPen)
    last = len(colors) - 1
    for i, point in enumerate(points):
        painter.setBrush(colors[round(i * last / max(len(points) - 1, 1))])
        painter.drawEllipse(point, dot / 2, dot / 2)


def paint_ground(painter: QPainter, rect: QRectF, theme: Theme) -> None:
    """Fill a picture with the viewport's colour, and frame it."""
    painter.fillRect(rect, QColor(theme.viewport))
    painter.setPen(QPen(QColor(theme.line), 1))
    painter.drawRect(rect.adjusted(0.5, 0.5, -0.5, -0.5))
