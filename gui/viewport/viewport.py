"""The 3D viewport: the scene as a widget, with mouse gestures."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QEvent, QObject, QPoint, Qt, Signal
from PySide6.QtGui import QCloseEvent, QHelpEvent, QMouseEvent, QResizeEvent
from PySide6.QtWidgets import QToolTip, QWidget

from gui.scene.opengl import HELP
from gui.scene.picking import MOVING_RADIUS, PICK_RADIUS, nearest_point
from gui.scene.scene import HelixScene
from gui.scene.scene_state import resolve_scene
from gui.state import selection
from gui.state.session import DRAWN, Session
from gui.style.listening import Listening
from gui.style.theme import Theme
from gui.viewport.antialiasing import Antialiasing
from gui.viewport.camera_moves import TurnEase
from gui.viewport.focus_ring import FocusRing
from gui.viewport.interactor import Interactor
from gui.viewport.marquee import Marquee
from gui.viewport.opengl import missing_opengl
from gui.viewport.view_camera import ViewCamera
from gui.widgets.boxes import vbox
from gui.widgets.clicks import selection_after_click
from gui.widgets.label import label
from gui.widgets.tooltips import wrapped

if TYPE_CHECKING:
    from geometry.measures.norms import NormProfile

CLICK_SLACK = 4
"""A press that moves less than this (logical pixels) before its release is a click."""


class Viewport(QWidget):
    """Shows the session's curve and emits the user's requests.

    Changes of the session are collected and drawn once, just before the next paint. On a display
    without OpenGL there is a message instead of the curve.

    ``selected`` returns the selection that gestures modify; by default the session's.
    """

    hoverRequested = Signal(object)  # The position under the mouse, or None
    selectionRequested = Signal(tuple)  # Positions to select, the last one as the current one
    menuRequested = Signal(QPoint)  # The right button was clicked, in global coordinates
    firstFrame = Signal()  # The first frame is on the screen, with or without a curve
    firstPainted = Signal()  # The first frame with a curve is on the screen

    def __init__(self, session: Session, theme: Theme) -> None:
        super().__init__()
        self.session = session
        self.selected: Callable[[], tuple[int, ...]] = lambda: session.selection
        missing = missing_opengl()
        # With an OpenGL widget in it, Qt would compose the whole window by OpenGL.
        self.interactor = Interactor(None if missing else self)
        self.interactor.setAcceptDrops(False)
        self.interactor.setAccessibleName("3D view of the positional embeddings")
        if missing:
            reason = label(f"{missing} {HELP}", "muted", selectable=True, wrap=True)
            reason.setAlignment(Qt.AlignmentFlag.AlignCenter)
            reason.setAutoFillBackground(True)
            vbox(reason, parent=self)
            self.destroyed.connect(self.interactor.deleteLater)
        else:
            vbox(self.interactor, parent=self)
        self.scene = HelixScene(self.interactor, theme, self.interactor.devicePixelRatioF())
        self._antialiasing = Antialiasing(self.interactor)
        self._dirty, self._swapped, self._painted = True, False, False
        self._hovered_at = QPoint(-1, -1)
        self._click_radius = PICK_RADIUS
        self.camera = ViewCamera(
            self.interactor, self.scene, session, self._antialiasing, self.catch_up
        )
        self.marquee = Marquee(self.interactor, self._points)
        self.marquee.drawn.connect(self._on_drawn)
        self.focus_ring = FocusRing(self.interactor)
        self._turn_ease = TurnEase(self.interactor, self.scene, self._antialiasing)
        self._gestures = MouseGestures(self)
        self._connect_gestures()
        self.interactor.installEventFilter(self)
        self.interactor.frameSwapped.connect(self._on_frame_swapped)
        self._listening = Listening()
        self._listening.to(session.events.curve, self._on_curve_changed)
        for name in DRAWN:
            self._listening.to(session.events[name], self.refresh)
        self._listening.to(session.events.norms, self._on_norms_changed)
        self._listening.to(session.events.turn, self._on_turn_changed)
        self._listening.to(session.events.dragging, self._on_dragging_changed)

    # ---- drawing -----------------------------------------------------------------------

    def refresh(self) -> None:
        """Redraw the session's state on the next paint."""
        if self._painted:
            # Changes may be fast (a held arrow key): only the last one is antialiased.
            self._antialiasing.move()
            self._antialiasing.rest()
        self._dirty = True
        self.interactor.update()

    def _on_curve_changed(self) -> None:
        self.refresh()
        if not self.camera.has_framed(self.session.opened_model):
            # Paint at once, before other listeners handle the new model.
            self.interactor.repaint()

    def _on_norms_changed(self, norms: NormProfile | None, before: NormProfile | None) -> None:
        # The start of the norms' stable stretch matters only for the sphere.
        same = norms is not None and before is not None and norms.values is before.values
        if not same or self.session.sphere:
            self.refresh()

    def set_theme(self, theme: Theme) -> None:
        """Set the colours."""
        self.scene.set_theme(theme)
        self.refresh()

    def set_compact(self, on: bool) -> None:
        """Omit captions, as one of several views."""
        if on != self.scene.compact:
            self.scene.compact = on
            self.camera.fit_again()
            self.refresh()

    @property
    def idle(self) -> bool:
        """Whether everything is drawn, nothing moves and stills are antialiased."""
        return (
            not self._dirty
            and not self.camera.easing
            and not self._turn_ease.running
            and self._antialiasing.at_rest
        )

    def _draw(self) -> None:
        """Update the scene; called once before each paint."""
        if self._dirty:
            self._dirty = False
            self.scene.set_scale(self.interactor.devicePixelRatioF())
            self.marquee.style(self.scene.theme.accent, self.interactor.devicePixelRatioF())
            self.focus_ring.style(self.scene.theme.muted, self.interactor.devicePixelRatioF())
            self.scene.show(resolve_scene(self.session))
            self.camera.follow()
            self._turn_ease.resume()
        self.camera.settle()

    def catch_up(self) -> None:
        """Draw pending changes before a paint."""
        if self._dirty:
            self._draw()

    def _on_frame_swapped(self) -> None:
        if not self._painted and self.scene.state is not None:
            self._painted = True
            self.camera.on_painted()
            self._antialiasing.rest()
            self.firstPainted.emit()
        if not self._swapped:
            self._swapped = True
            self.firstFrame.emit()

    def _on_turn_changed(self, turn: np.ndarray, before: np.ndarray) -> None:
        # During a drag the turn follows each fit; only its end is animated.
        true = np.eye(3)
        straightened = np.array_equal(turn, true) and not np.array_equal(before, true)
        straightened = straightened and not self.session.dragging
        if straightened and self._painted and self.camera.has_framed(self.session.opened_model):
            self._turn_ease.begin(before)
        else:
            self._turn_ease.stop()

    def _on_dragging_changed(self, dragging: bool) -> None:
        (self._antialiasing.move if dragging else self._antialiasing.rest)()

    # ---- mouse -------------------------------------------------------------------------

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Handle the interactor's events first: hover, clicks, and one render per frame."""
        kind = event.type()
        # VTK's style renders on every mouse move, and Qt on painting. Rendering is enabled only for
        # painting, so that mouse moves only move the camera.
        by_mouse = isinstance(event, QMouseEvent) or kind == QEvent.Type.Wheel
        vtk_interactor = self.interactor.iren.interactor
        (vtk_interactor.EnableRenderOff if by_mouse else vtk_interactor.EnableRenderOn)()
        if kind == QEvent.Type.Paint:
            self._draw()
            return False
        if kind in (QEvent.Type.KeyPress, QEvent.Type.KeyRelease):
            # VTK and pyvista bind single keys (q closes, w shows a wireframe, ...): keys are
            # ignored here, and so go to the window.
            event.ignore()
            return True
        if isinstance(event, QMouseEvent):
            return self._on_mouse(kind, event)
        if kind == QEvent.Type.Wheel:
            self.camera.wheel()
        elif kind == QEvent.Type.Leave:
            self._highlight(None)
            self.hoverRequested.emit(None)
        elif isinstance(event, QHelpEvent) and kind == QEvent.Type.ToolTip:
            QToolTip.showText(event.globalPos(), wrapped(self._tip()), self.interactor)
            return True
        elif kind == QEvent.Type.DevicePixelRatioChange:  # moved to a denser screen
            self.refresh()
        elif kind == QEvent.Type.Resize:
            self.camera.keep_size()
        return False

    def _on_mouse(self, kind: QEvent.Type, event: QMouseEvent) -> bool:
        if kind == QEvent.Type.MouseButtonPress:
            self._gestures.press(event)
            self._click_radius = MOVING_RADIUS if self.camera.moving else PICK_RADIUS
            self.camera.press()
        if self.marquee.handle(kind, event):
            self.hoverRequested.emit(None)
            return True
        return self._gestures.handle(kind, event)

    def _connect_gestures(self) -> None:
        gestures = self._gestures
        gestures.hovered.connect(self._on_hovered)
        gestures.clicked.connect(self._on_clicked)
        gestures.doubleClicked.connect(self._on_double_clicked)
        gestures.menuRequested.connect(self.menuRequested)
        gestures.dragBegan.connect(self._on_drag_began)
        gestures.dragged.connect(self.interactor.update)
        gestures.dragEnded.connect(self._antialiasing.rest)

    def _on_drag_began(self, rotates: bool) -> None:
        self.camera.drag(rotates=rotates)
        self.hoverRequested.emit(None)

    def _on_hovered(self, at: QPoint) -> None:
        self._hovered_at, axis = at, self.axis_at(at)
        self._highlight(axis)
        self.hoverRequested.emit(self.position_at(at) if axis is None else None)

    def _highlight(self, axis: int | None) -> None:
        """Highlight the end of an axis' arrow, or none."""
        if axis != self.scene.arrows.hovered:
            self.scene.arrows.hovered = axis
            pointing = self.marquee.armed is None and axis is not None
            if pointing:
                self.interactor.setCursor(Qt.CursorShape.PointingHandCursor)
            elif self.marquee.armed is None:
                self.interactor.unsetCursor()
            self.refresh()

    def _axis_clicked(self, at: QPoint) -> int | None:
        """Return the axis that a click chooses.

        If the mouse has not moved, it is the highlighted one, although the arrows may have rotated,
        so that a second click is for the same axis.
        """
        unmoved = (at - self._hovered_at).manhattanLength() < CLICK_SLACK
        return self.scene.arrows.hovered if unmoved else self.axis_at(at)

    def _tip(self) -> str:
        """Return the tooltip of the highlighted arrow."""
        axis, state = self.scene.arrows.hovered, self.scene.state
        if axis is None or state is None:
            return ""
        name, _, share = state.axis_labels[axis].partition(" · ")
        of_variance = f", {share} of the variance" if share.endswith("%") else ""
        return f"{name}{of_variance}\nClick: look along it; again: from the other side"

    def _on_clicked(self, at: QPoint, keys: Qt.KeyboardModifier) -> None:
        if (axis := self._axis_clicked(at)) is not None:
            self.camera.look_along(axis)
            return
        position = self.position_at(at, self._click_radius)
        if position is not None:
            chosen = selection_after_click(self.selected(), position, keys)
            self.selectionRequested.emit(chosen)

    def _on_double_clicked(self, at: QPoint) -> None:
        if (axis := self._axis_clicked(at)) is not None:
            self.camera.look_along(axis)
            return
        position = self.position_at(at)
        self.camera.frame() if position is None else self.camera.focus_on(position)

    def _points(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the visible positions, and their (m, 2) pixels in the scene."""
        shown = self._visible
        xy, _ = self.scene.projection().to_screen(self.scene.displayed[shown])
        return np.arange(shown.start, shown.stop), xy

    @property
    def _visible(self) -> slice:
        state = self.scene.state
        if state is None:
            return slice(0, 0)
        if state.outside == "faint":
            return slice(0, len(state.coordinates))
        return slice(state.positions[0], state.positions[1] + 1)

    def position_at(self, at: QPoint, radius: float = PICK_RADIUS) -> int | None:
        """Return the position within some logical pixels of a widget pixel, or None."""
        ratio, shown = self.interactor.devicePixelRatioF(), self._visible
        xy, depth = self.scene.projection().to_screen(self.scene.displayed[shown])
        nearest = nearest_point(xy, depth, self._pixel_at(at), radius * ratio)
        return None if nearest is None else int(shown.start) + nearest

    def axis_at(self, at: QPoint) -> int | None:
        """Return the axis (0–2) whose arrow ends at a widget pixel, or None."""
        return self.scene.arrows.end_at(*self._pixel_at(at))

    def _pixel_at(self, at: QPoint) -> tuple[float, float]:
        """Return the scene's pixel at a widget pixel."""
        ratio = self.interactor.devicePixelRatioF()
        return at.x() * ratio, (self.interactor.height() - 1 - at.y()) * ratio

    def pixel_of(self, position: int) -> QPoint:
        """Return the widget pixel of a position's point."""
        xy, _ = self.scene.projection().to_screen(self.scene.displayed[position : position + 1])
        x, y = xy[0] / self.interactor.devicePixelRatioF()
        return QPoint(round(x), round(self.interactor.height() - 1 - y))

    def _on_drawn(self, inside: tuple[int, ...], keys: Qt.KeyboardModifier) -> None:
        removing = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.AltModifier
        chosen = selection.gather(
            self.selected(),
            inside,
            add=bool(keys & Qt.KeyboardModifier.ShiftModifier),
            remove=bool(keys & removing),
        )
        self.selectionRequested.emit(chosen)

    # ---- size and closing --------------------------------------------------------------

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.interactor.resize(event.size())  # without OpenGL it is not in the layout

    def closeEvent(self, event: QCloseEvent) -> None:
        self._listening.stop()
        self.camera.stop()
        self._turn_ease.stop()
        self._antialiasing.stop()
        self.interactor.removeEventFilter(self)
        self.scene.release()
        self.interactor.close()
        # The interactor keeps a pointer to the surface it drew on, which Qt deletes with the
        # widget; a new surface at the same address would be mistaken for it.
        self.interactor._forget_context()
        super().closeEvent(event)


class MouseGestures(QObject):
    """Distinguishes clicks from drags."""

    hovered = Signal(QPoint)  # The mouse moved without a button
    clicked = Signal(QPoint, object)  # Left button clicked, with the keyboard modifiers
    doubleClicked = Signal(QPoint)  # Left button double-clicked
    menuRequested = Signal(QPoint)  # Right button clicked, in global coordinates
    # The mouse has moved with a button held, farther than in a click; True for a rotation.
    dragBegan = Signal(bool)
    dragged = Signal()  # The mouse moved on, or a button was released
    dragEnded = Signal()  # A button was released after a drag

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._press: QPoint | None = None
        self._drags = False

    def press(self, event: QMouseEvent) -> None:
        """Handle a press, before any other handler."""
        self._press, self._drags = event.position().toPoint(), False

    def handle(self, kind: QEvent.Type, event: QMouseEvent) -> bool:
        """Handle other mouse events; return whether no other handler may get them."""
        at = event.position().toPoint()
        if kind == QEvent.Type.MouseMove and event.buttons():
            self._on_drag(at, event)
        elif kind == QEvent.Type.MouseMove:
            self.hovered.emit(at)
        elif kind == QEvent.Type.MouseButtonRelease:
            self._on_release(at, event)
        elif kind == QEvent.Type.MouseButtonDblClick:
            self.doubleClicked.emit(at)
            return True
        return False

    def _on_drag(self, at: QPoint, event: QMouseEvent) -> None:
        if self._press is not None and not self._drags:
            self._drags = (at - self._press).manhattanLength() >= CLICK_SLACK
            if self._drags:
                plain = event.modifiers() == Qt.KeyboardModifier.NoModifier
                self.dragBegan.emit(plain and event.buttons() == Qt.MouseButton.LeftButton)
        self.dragged.emit()

    def _on_release(self, at: QPoint, event: QMouseEvent) -> None:
        if self._drags:
            self.dragEnded.emit()
        elif self._press is not None and event.button() == Qt.MouseButton.RightButton:
            self.menuRequested.emit(event.globalPosition().toPoint())
        elif self._press is not None and event.button() == Qt.MouseButton.LeftButton:
            self.clicked.emit(at, event.modifiers())
        self._press = None
        self.dragged.emit()
