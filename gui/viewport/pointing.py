"""Visible positions of a scene and their widget pixels."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QPoint

from gui.scene.picking import PICK_RADIUS, nearest_point
from gui.scene.scene import HelixScene

if TYPE_CHECKING:
    from gui.viewport.interactor import Interactor


class Pointing:
    """Finds the position under the mouse."""

    def __init__(self, interactor: Interactor, scene: HelixScene) -> None:
        self._interactor, self._scene = interactor, scene

    @property
    def _visible(self) -> slice:
        state = self._scene.state
        if state is None:
            return slice(0, 0)
        if state.outside == "faint":
            return slice(0, len(state.coordinates))
        return slice(state.positions[0], state.positions[1] + 1)

    def points(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the visible positions, and their (m, 2) pixels in the scene."""
        shown = self._visible
        xy, _ = self._scene.projection().to_screen(self._scene.displayed[shown])
        return np.arange(shown.start, shown.stop), xy

    def position_at(self, at: QPoint, radius: float = PICK_RADIUS) -> int | None:
        """Return the position within some logical pixels of a widget pixel, or None."""
        ratio, shown = self._interactor.devicePixelRatioF(), self._visible
        mouse = self.pixel_at(at)
        xy, depth = self._scene.projection().to_screen(self._scene.displayed[shown])
        nearest = nearest_point(xy, depth, mouse, radius * ratio)
        return None if nearest is None else int(shown.start) + nearest

    def pixel_at(self, at: QPoint) -> tuple[float, float]:
        """Return the scene's pixel at a widget pixel."""
        ratio = self._interactor.devicePixelRatioF()
        return at.x() * ratio, (self._interactor.height() - 1 - at.y()) * ratio

    def pixel_of(self, position: int) -> QPoint:
        """Return the widget pixel of a position's point."""
        xy, _ = self._scene.projection().to_screen(self._scene.displayed[position : position + 1])
        x, y = xy[0] / self._interactor.devicePixelRatioF()
        return QPoint(round(x), round(self._interactor.height() - 1 - y))
