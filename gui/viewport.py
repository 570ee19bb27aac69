"""The 3D viewport: hosts the scene in the window, moves the camera, says what the mouse means."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QEvent, QObject, QPoint, QSize, Qt, Signal
from PySide6.QtGui import QCloseEvent, QMouseEvent, QResizeEvent
from PySide6.QtWidgets import QVBoxLayout, QWidget
from pyvistaqt import QtInteractor

from gui import selection
from gui.antialiasing import Antialiasing
from gui.camera import CameraPose, Outlook, Place, framed, view_pose, where
from gui.camera_moves import CameraMoves
from gui.camera_steps import focused, moved, turned
from gui.focus_ring import FocusRing
from gui.hand import Hand
from gui.listening import Listening
from gui.marquee import Marquee
from gui.pointing import Pointing
from gui.scene_state import resolve_scene
from gui.scenes import HelixScene
from gui.session import Session
from gui.theme import Theme
from gui.turn_ease import TurnEase

if TYPE_CHECKING:
    from geometry.norms import NormProfile

SMALLEST_SHARE = 0.35
"""A curve that fills less than this share of the view's shorter side is too small."""
_REFRESHED_BY = (
    "turn", "model", "outside", "projection", "color_by", "color_component", "colormap",
    "color_limits", "sphere", "selection", "hover", "tokens", "snapshot", "lapse", "guides",
)  # fmt: skip


class Viewport(QWidget):
    """Shows the session's curve and tells what the mouse means.

    All changes of the session are gathered and drawn once, just before the next paint.

    Signals
    -------
    hoverRequested(int or None)
        The mouse came near a point, or left it.
    selectionRequested(tuple)
        A click selects these positions, the last one being the current one.
    menuRequested(QPoint)
        The right button was clicked, in global coordinates.
    cameraLeft(Place)
        Where the camera was, before the user moves it.
    cameraMoved()
        The camera is elsewhere in the frame that is being painted, whoever moved it.
    firstFrame()
        The first frame is on the screen, with or without a curve.
    firstPainted()
        The first frame with a curve is on the screen.
    """

    hoverRequested = Signal(object)
    selectionRequested = Signal(tuple)
    menuRequested = Signal(QPoint)
    cameraLeft = Signal(object)
    cameraMoved = Signal()
    firstFrame = Signal()
    firstPainted = Signal()

    def __init__(self, session: Session, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.session = session
        self.interactor = QtInteractor(self, auto_update=False, multi_samples=0)
        self.interactor.setAcceptDrops(False)
        self.interactor.setAccessibleName("3D view of the positional embeddings")
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self.interactor)
        self.scene = HelixScene(self.interactor, theme, self.interactor.devicePixelRatioF())
        self._antialiasing = Antialiasing(self.interactor)
        self._dirty, self._swapped, self._painted = True, False, False
        self._framing: str | Place | None = "article"
        self._framed_model: object = None
        self._followed: tuple[int, int] | None = None
        self._follows = True
        self._pressed_place: Place | None = None
        self._camera_at: tuple[float, ...] = ()
        self._moves = CameraMoves(self.interactor, self._antialiasing)
        self._pointing = Pointing(self.interactor, self.scene)
        self.marquee = Marquee(self.interactor, self._pointing.points)
        self.marquee.drawn.connect(self._on_drawn)
        self.focus_ring = FocusRing(self.interactor)
        self._turn_ease = TurnEase(self.interactor, self.scene, self._antialiasing)
        self._hand = Hand(self)
        self._connect_hand()
        self.interactor.installEventFilter(self)
        self.interactor.frameSwapped.connect(self._on_frame_swapped)
        self._listening = Listening()
        self._listening.to(session.events.curve, self._on_curve_changed)
        for name in _REFRESHED_BY:
            self._listening.to(session.events[name], self.refresh)
        self._listening.to(session.events.norms, self._on_norms_changed)
        self._listening.to(session.events.turn, self._on_turn_changed)
        self._listening.to(session.events.dragging, self._on_dragging_changed)

    # ---- drawing -----------------------------------------------------------------------

    def refresh(self) -> None:
        """Draw the session's present state with the next paint."""
        if self._painted:
            # Changes may come fast (a held arrow key): only the last one is drawn smoothly.
            self._antialiasing.move()
            self._antialiasing.rest()
        self._dirty = True
        self.interactor.update()

    def _on_curve_changed(self) -> None:
        self.refresh()
        if self.session.model is not self._framed_model:
            # Painted now, and not when everybody else has heard of the new model, too.
            self.interactor.repaint()

    def _on_norms_changed(self, norms: NormProfile | None, before: NormProfile | None) -> None:
        # From where on their mean is taken nobody sees here, unless by the sphere.
        same = norms is not None and before is not None and norms.values is before.values
        if not same or self.session.sphere:
            self.refresh()

    def set_theme(self, theme: Theme) -> None:
        """Take new colours."""
        self.scene.set_theme(theme)
        self.refresh()

    def set_compact(self, on: bool) -> None:
        """Leave out what is said beside one of several views."""
        if on != self.scene.compact:
            self.scene.compact = on
            self.refresh()

    @property
    def idle(self) -> bool:
        """True when everything is drawn, nothing moves and stills are antialiased."""
        return (
            not self._dirty
            and not self._moves.easing
            and not self._turn_ease.running
            and self._antialiasing.at_rest
        )

    def _draw(self) -> None:
        """Bring the scene up to date; called once before each paint."""
        if self._dirty:
            self._dirty = False
            self.scene.set_scale(self.interactor.devicePixelRatioF())
            self.marquee.style(self.scene.theme.accent, self.interactor.devicePixelRatioF())
            self.focus_ring.style(self.scene.theme.muted, self.interactor.devicePixelRatioF())
            self.scene.show(resolve_scene(self.session))
            self._follow()
            self._turn_ease.go_on()
            if self.session.model is not self._framed_model:
                self._framed_model, self._follows = self.session.model, True
                self._framing = self._framing or "keep"
        if self._framing and self.scene.state is not None:
            framing, self._framing = self._framing, None
            if isinstance(framing, Place):
                self._followed, self._follows = self.session.positions, framing.follows
            pose = framing.pose if isinstance(framing, Place) else self._pose(framing)
            pose.apply(self.interactor.camera)
        self.interactor.renderer.ResetCameraClippingRange()
        if self.scene.state is not None and self._camera_at != where(self.interactor.camera):
            self._camera_at = where(self.interactor.camera)
            self.cameraMoved.emit()

    def _follow(self) -> None:
        """Bring the curve back into sight when another range made it too large or too small.

        Not while a handle is dragged, and not once the user has zoomed or moved the view.
        """
        curve = self.session.curve
        if curve is None or curve.pca.positions == self._followed or self.session.dragging:
            return
        self._followed = curve.pca.positions
        same_model = self.session.model is self._framed_model
        if self._painted and same_model and self._follows and not self._well_framed():
            self._moves.go_to(self._pose("keep"))

    def _well_framed(self) -> bool:
        projection = self.scene.projection()
        xy, _ = projection.to_screen(self.scene.displayed_range)
        low, high = xy.min(axis=0), xy.max(axis=0)
        inside = bool((low >= 0).all() and (high <= projection.size).all())
        return inside and float((high - low).max()) > SMALLEST_SHARE * min(projection.size)

    def _on_frame_swapped(self) -> None:
        if not self._painted and self.scene.state is not None:
            self._painted = True
            self._antialiasing.rest()
            self.firstPainted.emit()
        if not self._swapped:
            self._swapped = True
            self.firstFrame.emit()

    def _on_turn_changed(self, turn: np.ndarray, before: np.ndarray) -> None:
        # During a drag the turn follows the fit without a jump; only its end is eased.
        straightened = np.array_equal(turn, np.eye(3)) and not self.session.dragging
        if straightened and self._painted and self.session.model is self._framed_model:
            self._turn_ease.begin(before)
        else:
            self._turn_ease.stop()

    def _on_dragging_changed(self, dragging: bool) -> None:
        (self._antialiasing.move if dragging else self._antialiasing.rest)()

    # ---- the camera --------------------------------------------------------------------

    @property
    def place(self) -> Place:
        """Where the camera is, to :meth:`return_to`."""
        return Place(CameraPose.of(self.interactor.camera), self._follows)

    def begin_at(self, place: Place) -> None:
        """Look from there at the curve that comes next."""
        self._framing = place

    def return_to(self, place: Place) -> None:
        """Go to where the camera was before, when the shown range was that of the session now."""
        self._followed = self.session.positions
        self._follows = place.follows
        self._moves.go_to(place.pose)

    @property
    def outlook(self) -> Outlook | None:
        """How the camera looks at the curve; None while there is none."""
        if self.scene.state is None or self._framing is not None:
            return None
        pose = CameraPose.of(self.interactor.camera)
        return Outlook.of(pose, self.scene.framed, self._aspect)

    def look(self, outlook: Outlook) -> None:
        """Look at the curve so from the next paint on, as soon as there is one."""
        if self._dirty:
            self._draw()
        if self.scene.state is not None:
            self._moves.halt()
            outlook.at(self.scene.framed, self._aspect).apply(self.interactor.camera)
            self.interactor.renderer.ResetCameraClippingRange()
            self._camera_at = where(self.interactor.camera)  # nobody need be told
            self._antialiasing.move()
            self._antialiasing.rest()
            self.interactor.update()

    def view(self, name: str) -> None:
        """Go to one of :data:`gui.camera.VIEWS`, with the whole curve in sight."""
        if self._painted and self._dirty:
            self._draw()  # of the curve that is shown next
        if self.scene.state is not None:
            self.cameraLeft.emit(self.place)
            self._follows = True
            self._moves.go_to(self._pose(name))

    def frame(self) -> None:
        """Bring the whole shown curve into sight without turning the camera."""
        self.view("keep")

    def focus_on(self, *positions: int) -> None:
        """Bring a point to the middle, as far away as before; or several, with all in sight."""
        state = self.scene.state
        if state is None:
            return
        self.cameraLeft.emit(self.place)
        self._follows = False
        now = CameraPose.of(self.interactor.camera)
        seen = [p for p in positions if state.visible(p)] or list(positions)
        points = self.scene.displayed[seen]
        self._moves.go_to(focused(now, points, self.scene.framed, self._aspect))

    def turn(self, right: int, up: int, roll: int = 0) -> None:
        """Turn the curve by steps on the screen, as a drag does."""
        if self.scene.state is not None:
            self.cameraLeft.emit(self.place)
            self._moves.jump(turned(CameraPose.of(self.interactor.camera), right, up, roll))

    def shift(self, right: int, up: int) -> None:
        """Move the curve by steps on the screen, as a drag with Shift does."""
        if self.scene.state is not None:
            self.cameraLeft.emit(self.place)
            self._follows = False
            parallel = bool(self.interactor.camera.GetParallelProjection())
            now = CameraPose.of(self.interactor.camera)
            self._moves.jump(moved(now, right, up, parallel=parallel))

    def zoom(self, factor: float) -> None:
        """Come nearer (factor above 1) or go back."""
        self.cameraLeft.emit(self.place)
        self._follows = False
        now = CameraPose.of(self.interactor.camera)
        position = now.focal_point + (now.position - now.focal_point) / factor
        self._moves.go_to(
            CameraPose(position, now.focal_point, now.up, now.parallel_scale / factor)
        )

    def set_spinning(self, spinning: bool) -> None:
        """Turn the camera steadily around what is up on the screen, or stop."""
        if spinning:
            self.cameraLeft.emit(self.place)
        self._moves.spin(spinning)

    @property
    def _aspect(self) -> float:
        return max(self.interactor.width(), 1) / max(self.interactor.height(), 1)

    def _pose(self, view: str) -> CameraPose:
        points, aspect = self.scene.framed, self._aspect
        if view != "keep":
            return view_pose(view, points, self.session.turn, aspect)
        now = CameraPose.of(self.interactor.camera)
        return framed(points, now.position - now.focal_point, now.up, aspect)

    # ---- the mouse ---------------------------------------------------------------------

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """See the interactor's events first: hover, clicks, and one render a frame."""
        kind = event.type()
        # VTK's style renders in every mouse move, and Qt again when it paints. Only the paint
        # may: the style then only moves the camera, and moves between two paints cost nothing.
        by_mouse = isinstance(event, QMouseEvent) or kind == QEvent.Type.Wheel
        vtk_interactor = self.interactor.iren.interactor
        (vtk_interactor.EnableRenderOff if by_mouse else vtk_interactor.EnableRenderOn)()
        if kind == QEvent.Type.Paint:
            self._draw()
            return False
        if kind in (QEvent.Type.KeyPress, QEvent.Type.KeyRelease):
            # VTK and pyvista bind single keys (q closes, w shows a wireframe, ...): none reach
            # them; ignored events go on to the window.
            event.ignore()
            return True
        if isinstance(event, QMouseEvent):
            return self._on_mouse(kind, event)
        if kind == QEvent.Type.Wheel:
            self.cameraLeft.emit(self.place)
            self._follows = False
            self._antialiasing.move()
            self._antialiasing.rest()
            self.interactor.update()
        elif kind == QEvent.Type.Leave:
            self.hoverRequested.emit(None)
        elif isinstance(event, QResizeEvent):
            self._on_resized(event.oldSize())
        return False

    def _on_resized(self, before: QSize) -> None:
        """Keep the curve as large as the view's narrower side allows, as it was before."""
        if self._painted and self.scene.state is not None and not before.isEmpty():
            pose = CameraPose.of(self.interactor.camera)
            points, aspect = self.scene.framed, before.width() / before.height()
            outlook = Outlook.of(pose, points, aspect)
            outlook.at(points, self._aspect).apply(self.interactor.camera)

    def _on_mouse(self, kind: QEvent.Type, event: QMouseEvent) -> bool:
        if kind == QEvent.Type.MouseButtonPress:
            self._hand.press(event)
            self._pressed_place = self.place
            self._moves.halt()
            self._antialiasing.rest()  # an animation that is stopped does not say so
        if self.marquee.takes(kind, event):
            self.hoverRequested.emit(None)
            return True
        return self._hand.heed(kind, event)

    def _connect_hand(self) -> None:
        hand = self._hand
        hand.hovered.connect(lambda at: self.hoverRequested.emit(self.position_at(at)))
        hand.clicked.connect(self._on_clicked)
        hand.doubleClicked.connect(self._on_double_clicked)
        hand.menuWanted.connect(self.menuRequested)
        hand.dragBegan.connect(self._on_drag_began)
        hand.dragged.connect(self.interactor.update)
        hand.dragEnded.connect(self._antialiasing.rest)

    def _on_drag_began(self, rotates: bool) -> None:
        self.cameraLeft.emit(self._pressed_place)
        self._follows = self._follows and rotates
        self.hoverRequested.emit(None)
        self._antialiasing.move()

    def _on_clicked(self, at: QPoint, keys: Qt.KeyboardModifier) -> None:
        position = self.position_at(at)
        shift = bool(keys & Qt.KeyboardModifier.ShiftModifier)
        control = bool(keys & Qt.KeyboardModifier.ControlModifier)
        if position is not None:
            chosen = selection.click(
                self.session.selection, position, toggle=shift, extend=shift and control
            )
            self.selectionRequested.emit(chosen)

    def _on_double_clicked(self, at: QPoint) -> None:
        position = self.position_at(at)
        self.frame() if position is None else self.focus_on(position)

    def position_at(self, at: QPoint) -> int | None:
        """Return the position whose point is meant at a widget pixel, or None."""
        return self._pointing.position_at(at)

    def pixel_of(self, position: int) -> QPoint:
        """Return the widget pixel of a position's point."""
        return self._pointing.pixel_of(position)

    def _on_drawn(self, inside: tuple[int, ...], keys: Qt.KeyboardModifier) -> None:
        takes_out = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.AltModifier
        chosen = selection.gather(
            self.session.selection,
            inside,
            add=bool(keys & Qt.KeyboardModifier.ShiftModifier),
            remove=bool(keys & takes_out),
        )
        self.selectionRequested.emit(chosen)

    # ---- the end -----------------------------------------------------------------------

    def closeEvent(self, event: QCloseEvent) -> None:
        """Let go of the session and of VTK."""
        self._listening.stop()
        self._moves.stop()
        self._turn_ease.stop()
        self._antialiasing.stop()
        self.interactor.removeEventFilter(self)
        self.scene.release()
        self.interactor.close()
        # It keeps a reference to the surface it drew on, which Qt deletes with the widget and tells
        # nobody: what Qt makes at that address next would be taken for this surface.
        self.interactor._forget_context()
        super().closeEvent(event)
