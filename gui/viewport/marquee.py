"""Selection by a box or a lasso in the 3D view."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

import numpy as np
from PySide6.QtCore import QEvent, QObject, QPointF, Qt, Signal
from PySide6.QtGui import QMouseEvent

from gui.scene.hud import Lines2D
from gui.scene.picking import points_inside

if TYPE_CHECKING:
    from gui.viewport.interactor import Interactor

Shape = Literal["box", "lasso"]
DRAG_SLACK = 4.0
"""A press that moves less than this (logical pixels) before its release draws nothing."""
CORNER_SPACING = 2.0
"""Minimum distance between two corners of a lasso, in logical pixels."""
LINE_WIDTH = 1.5


class Marquee(QObject):
    """Once armed, draws one outline with the left button, and emits the points inside.

    A click without a drag keeps its usual meaning.

    ``points`` returns the visible positions and the (m, 2) pixels of their points, from the lower
    left.
    """

    # An outline was closed around these positions (an ordered tuple), with these modifiers.
    drawn = Signal(tuple, object)
    armedChanged = Signal(object)  # The shape that the next drag draws, or None

    def __init__(
        self, interactor: Interactor, points: Callable[[], tuple[np.ndarray, np.ndarray]]
    ) -> None:
        super().__init__(interactor)
        self._interactor, self._points = interactor, points
        self._armed: Shape | None = None
        self._path: list[tuple[float, float]] = []
        self._dragged = False
        self._lines: Lines2D | None = None
        self._style = ("#000000", 1.0)

    @property
    def armed(self) -> Shape | None:
        """The shape that the next drag draws; None if it rotates the curve."""
        return self._armed

    def arm(self, shape: Shape | None) -> None:
        """Set the shape that the next drag draws, or none; cancels an unfinished outline."""
        self._path = []
        self._show(np.zeros((0, 2)))
        if shape != self._armed:
            self._armed = shape
            if shape is None:
                self._interactor.unsetCursor()
            else:
                self._interactor.setCursor(Qt.CursorShape.CrossCursor)
            self.armedChanged.emit(shape)

    def style(self, color: str, scale: float) -> None:
        """Set the colour (``#rrggbb``), and the number of pixels per logical pixel."""
        self._style = (color, scale)
        if self._lines is not None:
            self._lines.style(color, LINE_WIDTH * scale)

    def handle(self, kind: QEvent.Type, event: QMouseEvent) -> bool:
        """Draw with a mouse event; return whether it is handled."""
        if self._armed is None:
            return False
        if kind == QEvent.Type.MouseButtonPress and event.button() == Qt.MouseButton.LeftButton:
            self._path, self._dragged = [self._pixel(event.position())], False
            return True
        if not self._path:
            return False
        if kind == QEvent.Type.MouseMove and event.buttons() & Qt.MouseButton.LeftButton:
            self._lengthen(self._pixel(event.position()))
            return True
        if kind == QEvent.Type.MouseButtonRelease and event.button() == Qt.MouseButton.LeftButton:
            self._lengthen(self._pixel(event.position()))
            return self._close(event.modifiers())
        return False

    def outline(self) -> np.ndarray:
        """Return the corners drawn so far, (k, 2) in pixels from the lower left."""
        if self._armed == "lasso":
            return np.array(self._path).reshape(-1, 2)
        (left, bottom), (right, top) = self._path[0], self._path[-1]
        return np.array([(left, bottom), (right, bottom), (right, top), (left, top)])

    def _close(self, keys: Qt.KeyboardModifier) -> bool:
        """Emit the points inside; return False if nothing was drawn."""
        if not self._dragged:
            self._path = []
            return False
        positions, xy = self._points()
        inside = positions[points_inside(xy, self.outline())]
        self.arm(None)
        self.drawn.emit(tuple(inside.tolist()), keys)
        return True

    def _lengthen(self, pixel: tuple[float, float]) -> None:
        scale = self._interactor.devicePixelRatioF()
        distance = np.abs(np.subtract(pixel, self._path[-1])).sum()
        if not self._dragged and distance < DRAG_SLACK * scale:
            return
        self._dragged = True
        if self._armed == "box":
            self._path = [self._path[0], pixel]
        elif distance >= CORNER_SPACING * scale:
            self._path.append(pixel)
        self._show(self.outline())

    def _pixel(self, at: QPointF) -> tuple[float, float]:
        """Return the scene's pixel under the mouse, clipped to the view."""
        ratio, view = self._interactor.devicePixelRatioF(), self._interactor
        x = min(max(at.x(), 0.0), view.width() - 1.0)
        y = min(max(at.y(), 0.0), view.height() - 1.0)
        return (x * ratio, (view.height() - 1 - y) * ratio)

    def _show(self, outline: np.ndarray) -> None:
        if self._lines is None and len(outline):
            self._lines = Lines2D(self._interactor.renderer)
            self.style(*self._style)
        if self._lines is not None:
            self._lines.draw([np.vstack([outline, outline[:1]])] if len(outline) else [])
            self._interactor.update()
