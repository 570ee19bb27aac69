"""Mouse gestures in the 3D view: hovering, clicks, drags."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, QPoint, Qt, Signal
from PySide6.QtGui import QMouseEvent

CLICK_SLACK = 4
"""A press that moves less than this (logical pixels) before its release is a click."""


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
