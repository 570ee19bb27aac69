"""Layers over a plot, drawn in pixels relative to its view."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from PySide6.QtCore import QRectF
from PySide6.QtWidgets import QGraphicsItem

from gui.style.theme import Theme


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


class PlotLayer(QGraphicsItem):
    """A layer over the whole view.

    ``frame`` returns the view's current frame.
    """

    def __init__(self, theme: Theme, frame: Callable[[], Frame]) -> None:
        super().__init__()
        self._theme, self._frame_now = theme, frame

    def set_theme(self, theme: Theme) -> None:
        """Set the colours."""
        self._theme = theme
        self.update()

    def moved(self) -> None:
        """Repaint after a change of the view."""
        self.prepareGeometryChange()
        self.update()

    def boundingRect(self) -> QRectF:
        return self._frame_now().rect
