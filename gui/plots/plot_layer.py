"""What is painted over a plot: placed in pixels, wherever its view is at the moment."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from PySide6.QtCore import QRectF
from PySide6.QtWidgets import QGraphicsItem

from gui.style.theme import Theme


@dataclass(frozen=True, slots=True)
class Frame:
    """Where a view is in pixels, and the spans of data it shows."""

    rect: QRectF
    x: tuple[float, float]
    y: tuple[float, float]

    def place(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return (m, 2) pixels; a y beyond the view lands on its edge."""
        across = (x - self.x[0]) / (self.x[1] - self.x[0])
        up = np.clip((y - self.y[0]) / (self.y[1] - self.y[0]), 0, 1)
        return np.column_stack(
            [
                self.rect.left() + across * self.rect.width(),
                self.rect.bottom() - up * self.rect.height(),
            ]
        )

    def beyond(self, value: float) -> int:
        """Return +1 or −1 for a value above or below the view, else 0."""
        return int(value > self.y[1]) - int(value < self.y[0])


class PlotLayer(QGraphicsItem):
    """Something painted over a whole view.

    Parameters
    ----------
    theme
        Colours.
    frame
        Tells where the view is now.
    """

    def __init__(self, theme: Theme, frame: Callable[[], Frame]) -> None:
        super().__init__()
        self._theme, self._frame_now = theme, frame

    def set_theme(self, theme: Theme) -> None:
        """Take new colours."""
        self._theme = theme
        self.update()

    def moved(self) -> None:
        """Follow the view, which shows something else."""
        self.prepareGeometryChange()
        self.update()

    def boundingRect(self) -> QRectF:
        """Return the whole view."""
        return self._frame_now().rect
