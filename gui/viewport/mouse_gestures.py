"""What the mouse does over the 3D view: hovering, clicks, drags."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, QPoint, Qt, Signal
from PySide6.QtGui import QMouseEvent

CLICK_SLACK = 4
"""A press that moved fewer logical pixels than this before its release is a click."""


class MouseGestures(QObject):
    """Tells clicks from drags.

    Signals
    -------
    hovered(QPoint)
        The mouse moved with no button held.
    clicked(QPoint, modifiers)
        The left button was pressed and released at one place, and which keys were held.
    doubleClicked(QPoint)
        It was so twice.
    menuWanted(QPoint)
        The right button was, in global coordinates.
    dragBegan(bool)
        The mouse moves with a button held, for more than the tremble of a click; True for one that
        turns the curve where it is.
    dragged()
        It moved on, or a button was released.
    dragEnded()
        A button was released after that.
    """

    hovered = Signal(QPoint)
    clicked = Signal(QPoint, object)
    doubleClicked = Signal(QPoint)
    menuWanted = Signal(QPoint)
    dragBegan = Signal(bool)
    dragged = Signal()
    dragEnded = Signal()

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._press: QPoint | None = None
        self._drags = False

    def press(self, event: QMouseEvent) -> None:
        """Take notice of a press, from which it begins, whoever else takes it."""
        self._press, self._drags = event.position().toPoint(), False

    def heed(self, kind: QEvent.Type, event: QMouseEvent) -> bool:
        """Take notice of any other mouse event; True where nobody else may have it."""
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
            self.menuWanted.emit(event.globalPosition().toPoint())
        elif self._press is not None and event.button() == Qt.MouseButton.LeftButton:
            self.clicked.emit(at, event.modifiers())
        self._press = None
        self.dragged.emit()
