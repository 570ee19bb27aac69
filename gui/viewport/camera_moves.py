"""Animated motion of a viewport's camera, and of the curve to its true orientation."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QEasingCurve, QObject, QTimer, QVariantAnimation

from gui.scene.scene import HelixScene
from gui.state.camera import CameraPose, away
from gui.state.turn import ease_to_true
from gui.viewport.antialiasing import Antialiasing

if TYPE_CHECKING:
    from gui.viewport.interactor import Interactor

EASE_MS = 250
SPIN_MS = 16
SPIN_DEGREES_PER_SECOND = 24.0
ROUND_MS = 15_000
"""Duration of the turn at the first start."""


class CameraMoves:
    """Animates the camera to poses, and rotates it steadily."""

    def __init__(self, interactor: Interactor, antialiasing: Antialiasing) -> None:
        self._interactor, self._antialiasing = interactor, antialiasing
        self._path: tuple[CameraPose, CameraPose] | None = None
        self._is_saved = False
        self._ease = easing(interactor, self._on_eased, antialiasing)
        self._spin = QTimer(interactor, interval=SPIN_MS)
        self._spin.timeout.connect(self._on_spin_tick)
        self._round = QVariantAnimation(
            interactor, startValue=0.0, endValue=360.0, duration=ROUND_MS
        )
        self._round.setEasingCurve(QEasingCurve.Type.InOutSine)
        self._round.valueChanged.connect(self._on_round)
        self._round.finished.connect(antialiasing.rest)
        self._turned = self._farther = 0.0

    @property
    def easing(self) -> bool:
        """Whether the camera is moving to a pose."""
        return self._ease.state() == QVariantAnimation.State.Running

    @property
    def target(self) -> CameraPose | None:
        """The pose to which the camera is moving, if any."""
        return self._path[1] if self.easing and self._path is not None else None

    @property
    def restoring(self) -> bool:
        """Whether the camera is moving to a saved pose."""
        return self.easing and self._is_saved

    @property
    def going_round(self) -> bool:
        """Whether the camera turns once around."""
        return self._round.state() == QVariantAnimation.State.Running

    @property
    def moving(self) -> bool:
        """Whether the camera moves by itself."""
        return self.easing or self.going_round or self.spinning

    @property
    def spinning(self) -> bool:
        """Whether the camera rotates steadily."""
        return self._spin.isActive()

    def go_to(self, target: CameraPose, *, saved: bool = False) -> None:
        """Move to a pose from the current one; a saved pose is not changed meanwhile."""
        self.halt()
        self._path = (CameraPose.of(self._interactor.camera), target)
        self._is_saved = saved
        self._antialiasing.move()
        self._ease.start()

    def redirect(self, target: CameraPose) -> None:
        """Change the target during a motion, without changing its end time."""
        if self._path is not None and self.easing:
            self._path = self._path[0], target

    def jump(self, pose: CameraPose) -> None:
        """Go to a pose at once, as for the many small steps of a held key."""
        self.halt()
        self._antialiasing.move()
        pose.apply(self._interactor.camera)
        self._antialiasing.rest()
        self._interactor.update()

    def halt(self) -> None:
        """Stop moving to a pose or once around."""
        self._ease.stop()
        self._round.stop()

    def go_round(self, farther: float) -> None:
        """Turn slowly once around the screen's up direction, back to the current pose.

        Meanwhile the camera is farther away, by up to the share ``farther`` of its distance.
        """
        self.halt()
        self._turned, self._farther = 0.0, farther
        self._antialiasing.move()
        self._round.start()

    def spin(self, on: bool) -> None:
        """Rotate the camera steadily around the screen's up direction, or stop."""
        self.halt()
        if on:
            self._antialiasing.move()
            self._spin.start()
        else:
            self._spin.stop()
            self._antialiasing.rest()

    def stop(self) -> None:
        """Stop all motion; called by the owner on closing."""
        self.halt()
        self._spin.stop()

    def _on_eased(self, fraction: float) -> None:
        if self._path is None:
            return
        start, end = self._path
        (end if fraction >= 1.0 else start.towards(end, fraction)).apply(self._interactor.camera)
        self._interactor.update()

    def _on_round(self, degrees: float) -> None:
        camera = self._interactor.camera
        before, now = (1 + self._farther * away(angle) for angle in (self._turned, degrees))
        camera.Azimuth(degrees - self._turned)
        camera.Dolly(before / now)
        camera.SetParallelScale(camera.GetParallelScale() * now / before)
        self._turned = degrees
        self._interactor.update()

    def _on_spin_tick(self) -> None:
        self._antialiasing.move()
        self._interactor.camera.Azimuth(SPIN_DEGREES_PER_SECOND * SPIN_MS / 1000)
        self._interactor.update()


def easing(
    parent: QObject, slot: Callable[[float], None], antialiasing: Antialiasing
) -> QVariantAnimation:
    """Return an animation from 0 to 1 with eased start and end, with notifications of motion."""
    animation = QVariantAnimation(parent, startValue=0.0, endValue=1.0, duration=EASE_MS)
    animation.setEasingCurve(QEasingCurve.Type.InOutCubic)
    animation.valueChanged.connect(slot)
    animation.finished.connect(antialiasing.rest)
    return animation


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
