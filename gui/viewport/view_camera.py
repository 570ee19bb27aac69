"""The camera of one view: user control, and keeping the curve in view."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QObject, QSize, Signal

from gui.scene.scene import HelixScene
from gui.state.camera import (
    ALONG,
    SIDE,
    CameraPose,
    Outlook,
    Place,
    farther_around,
    framed,
    resized,
    view_axes,
    where,
)
from gui.state.session import Session
from gui.style.motion import motion_reduced
from gui.viewport.antialiasing import Antialiasing
from gui.viewport.camera_moves import CameraMoves
from gui.viewport.camera_steps import focused, moved, turned

if TYPE_CHECKING:
    from gui.viewport.interactor import Interactor

SAME_SIDE = 0.9999
"""Minimum cosine at which the camera counts as looking along an axis."""
MIN_SHARE = 0.35
"""Minimum share of the view's shorter side that a curve should fill."""


class ViewCamera(QObject):
    """Controls the camera of a viewport.

    ``draw`` updates the scene from the session.
    """

    left = Signal(object)  # Place: the place before the user moves the camera
    moved = Signal()  # The camera has moved in the frame being painted, for any reason

    def __init__(
        self,
        interactor: Interactor,
        scene: HelixScene,
        session: Session,
        antialiasing: Antialiasing,
        draw: Callable[[], None],
    ) -> None:
        super().__init__(interactor)
        self._interactor, self._scene, self._session = interactor, scene, session
        self._antialiasing, self._draw = antialiasing, draw
        self._painted = False
        self._framing: str | Place | Outlook | None = SIDE
        self._framed: CameraPose | None = None  # The last framing of the curve
        self._lines: tuple[int, int] | None = None  # Lines of caption and legend in that framing
        self._side: np.ndarray | None = None  # (3,): direction of the last side view
        self._size = QSize()  # The view's size when the pose was last used
        # The user's pose, its size, and the resulting pose for the current size. As all poses
        # derive from the first one, the same size always has the same pose.
        self._user_pose: tuple[CameraPose, QSize, CameraPose] | None = None
        self._framed_model: object = None
        self._model: object = None  # Whose curve was shown last
        self._followed: tuple[object, object] | None = None  # Framed range and components
        self._follows = True
        self._dragged = False
        self._pressed_at: Place | None = None
        self._at: tuple[float, ...] = ()
        self._moves = CameraMoves(interactor, antialiasing)

    # ---- state -------------------------------------------------------------------------

    @property
    def place(self) -> Place:
        """The camera's place, for :meth:`return_to`."""
        if isinstance(self._framing, Place):  # it has not been shown yet
            return self._framing
        pose = self._pose
        return Place(pose, self._follows, self._is_framed(pose))

    @property
    def outlook(self) -> Outlook | None:
        """The camera's view relative to the curve; None if there is none."""
        if self._scene.state is None or self._framing is not None:
            return None
        return Outlook.of(self._pose, self._scene.framed_alone, self._aspect)

    @property
    def place_of_curve(self) -> Place | None:
        """The camera's place, for :meth:`begin_at`; None before a curve has been framed."""
        framed = self._framing is None and self._scene.state is not None
        return self.place if framed or isinstance(self._framing, Place) else None

    @property
    def aim(self) -> CameraPose:
        """The pose to which the camera is moving, or its own."""
        return self._aim

    @property
    def easing(self) -> bool:
        """Whether the camera is moving to a pose."""
        return self._moves.easing

    @property
    def moving(self) -> bool:
        """Whether the camera moves by itself."""
        return self._moves.moving

    def has_framed(self, model: object) -> bool:
        """Return whether the curve of a model has been framed, as it was when it was opened."""
        return model is self._framed_model

    # ---- user control ------------------------------------------------------------------

    def begin_at(self, place: Place | Outlook) -> None:
        """Use this place, or this view relative to the curve, for the next curve."""
        self._framing = place

    def return_to(self, place: Place) -> None:
        """Return to an earlier place, which was used with the session's current range."""
        if self._framing is not None:  # a hidden view may be painted long after the move has ended
            self._framing = place
        self._be_at(place)
        self._moves.go_to(place.pose, saved=True)  # for any size of the view

    def stand_at(self, pose: CameraPose) -> None:
        """Move to any pose, like a drag to it."""
        self._release_framing()
        self._moves.go_to(pose, saved=True)

    def _be_at(self, place: Place) -> None:
        """Take over what a place says, but for its pose."""
        self._followed = self._session.positions, self._session.components
        self._follows = place.follows
        self._framed = place.pose if place.framed else None

    def look(self, outlook: Outlook, *, follows: bool) -> None:
        """Set the view relative to the curve, if there is one.

        ``follows`` is whether :meth:`follow` may frame other ranges.
        """
        self._draw()
        if self._scene.state is not None:
            self._follows = follows
            self._moves.halt()
            outlook.at(self._scene.framed_alone, self._aspect).apply(self._interactor.camera)
            self._interactor.renderer.ResetCameraClippingRange()
            self._at = where(self._interactor.camera)  # without notification
            self._antialiasing.move()
            self._antialiasing.rest()
            self._interactor.update()

    def view(self, name: str) -> None:
        """Go to one of :data:`gui.state.camera.VIEWS`, with the whole curve framed."""
        if self._painted:
            self._draw()  # to frame the current curve
        if self._scene.state is not None:
            self.left.emit(self.place)
            self._follows = True
            self._moves.go_to(self._pose_of(name))

    def look_along(self, axis: int) -> None:
        """Look along an axis (0–2) with the whole curve framed; repeated, from the other side."""
        self._draw()
        if self._scene.state is None:
            return
        direction, up = view_axes(ALONG[axis], *self._at_rest())
        offset = self._aim.position - self._aim.focal_point
        if offset @ direction > SAME_SIDE * np.linalg.norm(offset):
            direction = -direction
        self.left.emit(self.place)
        self._follows = True
        self._moves.go_to(self._framing_from(direction, up))

    def frame(self) -> None:
        """Frame the whole shown curve without rotating the camera."""
        self.view("keep")

    def focus_on(self, *positions: int) -> None:
        """Centre one point at the same distance, or several with all in view."""
        state = self._scene.state
        if state is None:
            return
        self._release_framing()
        visible = [p for p in positions if state.visible(p)] or list(positions)
        whole, turn = self._at_rest()
        points = state.coordinates[visible] @ turn.T
        self._moves.go_to(focused(self._aim, points, whole, self._aspect))

    def turn(self, right: int, up: int, roll: int = 0) -> None:
        """Rotate the curve by steps on the screen, like a drag."""
        if self._scene.state is not None:
            self.left.emit(self.place)
            self._moves.jump(turned(self._pose, right, up, roll))

    def shift(self, right: int, up: int) -> None:
        """Shift the curve by steps on the screen, like a drag with Shift."""
        if self._scene.state is not None:
            self._release_framing()
            parallel = bool(self._interactor.camera.GetParallelProjection())
            self._moves.jump(moved(self._pose, right, up, parallel=parallel))

    def zoom(self, factor: float) -> None:
        """Move nearer (factor above 1) or farther."""
        self._release_framing()
        now = self._pose
        position = now.focal_point + (now.position - now.focal_point) / factor
        self._moves.go_to(
            CameraPose(position, now.focal_point, now.up, now.parallel_scale / factor)
        )

    def go_round(self) -> None:
        """Turn slowly once around the curve, unless the system requests reduced motion."""
        if self._scene.state is None or motion_reduced():
            return
        points, _ = self._at_rest()
        margins = self._scene.margins(self._pixels(self._interactor.size()))
        parallel = bool(self._interactor.camera.GetParallelProjection())
        self._moves.go_round(
            farther_around(points, self._pose, self._aspect, margins, parallel=parallel)
        )

    def end_round(self) -> bool:
        """Stop the turn of :meth:`go_round`; return whether there was one."""
        going = self._moves.going_round
        if going:
            self._moves.halt()
            self._antialiasing.rest()
        return going

    def set_spinning(self, spinning: bool) -> None:
        """Rotate the camera steadily around the screen's up direction, or stop."""
        if spinning:
            self.left.emit(self.place)
        self._moves.spin(spinning)

    # ---- mouse: VTK's style moves the camera -------------------------------------------

    def press(self) -> None:
        """Stop on a button press, and store the start of a possible drag."""
        self._pressed_at = self.place
        self._moves.halt()
        self._antialiasing.rest()  # a stopped animation does not notify

    def drag(self, *, rotates: bool) -> None:
        """Begin a drag that rotates or shifts."""
        self.left.emit(self._pressed_at)
        self._follows = self._follows and rotates
        self._antialiasing.move()

    def wheel(self) -> None:
        """Prepare for the zoom of the wheel."""
        self._moves.halt()
        self._release_framing()
        self._antialiasing.move()
        self._antialiasing.rest()
        self._interactor.update()

    # ---- keeping the curve in view -----------------------------------------------------

    def on_painted(self) -> None:
        """Keep the curve in view from now on, after the first one is painted."""
        self._painted = True

    def well_framed(self) -> bool:
        """Return whether the whole shown curve is in view, and not too small."""
        projection = self._scene.projection()
        xy, _ = projection.to_screen(self._scene.displayed_range)
        low, high = xy.min(axis=0), xy.max(axis=0)
        inside = bool((low >= 0).all() and (high <= projection.size).all())
        return inside and float((high - low).max()) > MIN_SHARE * min(projection.size)

    def follow(self) -> None:
        """Frame the curve of another range, or in other components.

        Not while a handle is dragged, nor after the user has zoomed or shifted the view. After a
        drag, and at a later step of a training, the curve is framed only if it is too large or too
        small. Another model's curve is framed by the next :meth:`settle`: in its own side view, if
        the last one was in its side view, otherwise from the same direction.
        """
        curve, same_model = self._session.curve, self.has_framed(self._session.opened_model)
        shown = None if curve is None else (curve.pca.positions, curve.components)
        another = shown is not None and shown != self._followed
        later = same_model and self._session.model is not self._model
        self._model = self._session.model
        if self._session.dragging:
            self._dragged = self._dragged or another
        elif curve is not None and (another or later):
            stays = (self._dragged or not another) and self.well_framed()
            self._followed, self._dragged = shown, False
            if self._painted and same_model and self._follows and not stays:
                aim = self._aim
                offset = aim.position - aim.focal_point
                self._moves.go_to(self._framing_from(offset, aim.up))
        else:  # a drag that ended where it began
            self._dragged = False
        if same_model:
            self._fit_texts()
        else:
            self._framed_model, self._follows = self._session.opened_model, True
            self._framing = self._framing or (SIDE if self._from_the_side() else "keep")

    def _fit_texts(self) -> None:
        """Frame the curve if lines of text have changed, unless the user has zoomed or shifted."""
        lines, aim = self._scene.lines_of_text, self._aim
        if self._scene.compact or self._session.dragging or lines == self._lines:
            return
        if self._painted and self._follows and not self._moves.spinning:
            self._moves.go_to(self._framing_from(aim.position - aim.focal_point, aim.up))

    def settle(self) -> None:
        """Set the pose for the next frame."""
        camera = self._interactor.camera
        if self._framing and self._scene.state is not None:
            framing, self._framing = self._framing, None
            if self._moves.restoring:
                pass  # its end is the place
            elif isinstance(framing, Place):
                self._be_at(framing)
                self._set_pose(framing.pose)
            elif isinstance(framing, Outlook):
                self._set_pose(framing.at(self._scene.framed_alone, self._aspect))
            else:
                self._set_pose(self._pose_of(framing))
        self._interactor.renderer.ResetCameraClippingRange()
        self._size = self._interactor.size()
        if self._scene.state is not None and self._at != where(camera):
            self._at = where(camera)
            self.moved.emit()

    def _set_pose(self, pose: CameraPose) -> None:
        if self._moves.easing:
            self._moves.halt()
            self._antialiasing.rest()
        pose.apply(self._interactor.camera)

    def keep_size(self) -> None:
        """Keep the curve as large as possible when the view has been resized.

        A framed curve is framed again; a pose set by the user is kept relative to the framed curve.
        """
        if not self._painted or self._scene.state is None or self._moves.restoring:
            return
        if self._interactor.size().isEmpty():
            return
        aim = self._aim
        if self._is_framed(aim):
            pose = self._framing_from(aim.position - aim.focal_point, aim.up)
        else:
            if self._user_pose is None or not aim.is_near(self._user_pose[2]):
                self._user_pose = aim, self._size, aim
            start, size, _ = self._user_pose
            pose = self._resized(start, size)
            self._user_pose = start, size, pose
        self._size = self._interactor.size()
        if self._moves.easing:
            self._moves.redirect(pose)
        else:
            pose.apply(self._interactor.camera)

    def _resized(self, pose: CameraPose, before: QSize) -> CameraPose:
        """Convert a pose for another size to the current size."""
        now = self._interactor.size()
        if before.isEmpty() or before == now:
            return pose
        (points, _), aspect = self._at_rest(), before.width() / before.height()
        if self._scene.compact:
            return Outlook.of(pose, points, aspect).at(points, self._aspect)
        margins = self._scene.margins(self._pixels(before)), self._scene.margins(self._pixels(now))
        return resized(pose, points, aspect, self._aspect, margins)

    def _pixels(self, size: QSize) -> tuple[int, int]:
        ratio = self._interactor.devicePixelRatioF()
        return round(size.width() * ratio), round(size.height() * ratio)

    def _is_framed(self, pose: CameraPose) -> bool:
        """Return whether a pose is the last framing of the curve."""
        return self._framed is not None and pose.is_near(self._framed)

    def fit_again(self) -> None:
        """Frame the curve before the next frame, unless the user has zoomed or shifted the view."""
        if self._follows and self._framing is None:
            self._framing = "keep"

    def stop(self) -> None:
        """Stop all motion; called by the owner on closing."""
        self._moves.stop()

    def _release_framing(self) -> None:
        """Stop framing the curve, as the user controls the camera from now on."""
        self.left.emit(self.place)
        self._follows = False

    @property
    def _pose(self) -> CameraPose:
        return CameraPose.of(self._interactor.camera)

    @property
    def _aim(self) -> CameraPose:
        """The pose to which the camera is moving, or its own."""
        return self._moves.target or self._pose

    @property
    def _aspect(self) -> float:
        return max(self._interactor.width(), 1) / max(self._interactor.height(), 1)

    def _pose_of(self, view: str) -> CameraPose:
        if view == "keep":
            aim = self._aim
            direction, up = aim.position - aim.focal_point, aim.up
        else:
            direction, up = view_axes(view, *self._at_rest())
        if view == SIDE:
            self._side = direction
        return self._framing_from(direction, up)

    def _from_the_side(self) -> bool:
        """Return whether the camera is in the last side view, or moves to it."""
        if self._side is None or self._moves.going_round:
            return self._side is not None
        offset = self._aim.position - self._aim.focal_point
        lengths = np.linalg.norm(offset) * np.linalg.norm(self._side)
        return bool(offset @ self._side > SAME_SIDE * lengths)

    def _at_rest(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the points to frame and the turn, after the animation of the curve."""
        turn = self._session.turn if self._session.keep_turned else np.eye(3)
        return self._scene.framed_at(turn), turn

    def _framing_from(self, direction: np.ndarray, up: np.ndarray) -> CameraPose:
        points, _ = self._at_rest()
        if self._scene.compact:
            # Compared views are framed independently of the direction, so that they rotate alike.
            self._framed = framed(points, direction, up, self._aspect)
        else:
            size = self._pixels(self._interactor.size())
            self._framed = self._scene.framing(points, direction, up, size)
            self._lines = self._scene.lines_of_text
        return self._framed
