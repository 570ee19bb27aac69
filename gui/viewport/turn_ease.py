"""Animation of a rotated curve to the true orientation of its components."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QVariantAnimation

from gui.scene.scene import HelixScene
from gui.state.turn import ease_to_true
from gui.viewport.antialiasing import Antialiasing
from gui.viewport.camera_moves import easing

if TYPE_CHECKING:
    from gui.viewport.interactor import Interactor


class TurnEase:
    """Animates a scene's display transform to the identity."""

    def __init__(
        self, interactor: Interactor, scene: HelixScene, antialiasing: Antialiasing
    ) -> None:
        self._interactor, self._scene, self._antialiasing = interactor, scene, antialiasing
        self._start: np.ndarray | None = None
        self._ease = easing(interactor, self._on_eased, antialiasing)

    @property
    def running(self) -> bool:
        """Whether the animation is running."""
        return self._ease.state() == QVariantAnimation.State.Running

    def begin(self, turn: np.ndarray) -> None:
        """Start from a display transform, (3, 3)."""
        self._start = turn
        self._antialiasing.move()
        self._ease.stop()
        self._ease.start()

    def stop(self) -> None:
        """Stop; the caller sets the transform."""
        self._ease.stop()
        self._start = None

    def resume(self) -> None:
        """Continue after the scene has been redrawn."""
        if self._start is not None and self._scene.state is not None:
            self._scene.set_turn(ease_to_true(self._start, self._ease.currentValue()))

    def _on_eased(self, fraction: float) -> None:
        if self._start is None or self._scene.state is None:
            return
        self._scene.set_turn(ease_to_true(self._start, fraction))
        if fraction >= 1.0:
            self._start = None
        self._interactor.update()
