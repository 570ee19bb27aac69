"""The line in a plot that stability is measured from: dashed, with a tab to take hold of."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from PySide6.QtCore import QPointF, Qt
from PySide6.QtGui import QColor, QPainter, QPen, QPolygonF
from PySide6.QtWidgets import QStyleOptionGraphicsItem, QWidget

from gui.plots.plot_layer import Frame, PlotLayer
from gui.style.theme import Theme

GRIP = 5
"""A line this near to the mouse, in pixels, is taken hold of."""
TAB = QPointF(4.0, 9.0)
"""Half the width, and the height, of the tab at the top."""


class AfterLine(PlotLayer):
    """An upright line at a position; made as any :class:`PlotLayer`."""

    def __init__(self, theme: Theme, frame: Callable[[], Frame]) -> None:
        super().__init__(theme, frame)
        self.position: int | None = None
        self._held = False
        self.setZValue(11)

    def set_position(self, position: int | None) -> None:
        """Stand at a position; None hides the line."""
        if position != self.position:
            self.position = position
            self.update()

    def set_held(self, held: bool) -> None:
        """Show that the mouse is on the line, or holds it."""
        if held != self._held:
            self._held = held
            self.update()

    def pixel(self) -> float | None:
        """Return where the line is in the view, in pixels; None if it is out of sight."""
        frame = self._frame_now()
        if self.position is None or not frame.x[0] <= self.position <= frame.x[1]:
            return None
        return float(frame.place(np.array([float(self.position)]), np.zeros(1))[0, 0])

    def is_near(self, point: QPointF) -> bool:
        """Tell whether a point of the view is near enough to take hold of the line."""
        at = self.pixel()
        return at is not None and abs(point.x() - at) <= GRIP

    def paint(
        self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None
    ) -> None:
        """Paint the line and its tab."""
        at, area = self.pixel(), self._frame_now().rect
        if at is None:
            return
        color = QColor(self._theme.text if self._held else self._theme.muted)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(color, 1, Qt.PenStyle.DashLine))
        painter.drawLine(QPointF(at, area.top() + TAB.y()), QPointF(at, area.bottom()))
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(color)
        top, half, height = area.top(), TAB.x(), TAB.y()
        corners = (
            (-half, 0),
            (half, 0),
            (half, height - half),
            (0, height),
            (-half, height - half),
        )
        painter.drawPolygon(QPolygonF([QPointF(at + x, top + y) for x, y in corners]))
