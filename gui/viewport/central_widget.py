"""The central widget: the viewport, and over it the empty state while no model is open."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QGuiApplication, QShowEvent
from PySide6.QtWidgets import QStackedLayout, QWidget

NATIVE_CHILD_ON = "xcb"
"""Platform on which the widget is a native window: X11, the only one where this is tested. It
matters for software rendering, which is rare elsewhere.
"""


class CentralWidget(QWidget):
    """Shows the viewport and, over it, the empty state."""

    def __init__(self, viewport: QWidget, empty_state: QWidget) -> None:
        super().__init__()
        stack = QStackedLayout(self)
        stack.setStackingMode(QStackedLayout.StackingMode.StackAll)
        stack.addWidget(viewport)
        stack.addWidget(empty_state)
        stack.setCurrentWidget(empty_state)
        self._frame: QObject | None = None
        # Qt composes a window that contains an OpenGL widget by OpenGL: every frame of the viewport
        # repaints all panels, and every key stroke the viewport. A native child window avoids this.
        # (Created after the viewport, as its surface must match.)
        if QGuiApplication.platformName() == NATIVE_CHILD_ON:
            self.setAttribute(Qt.WidgetAttribute.WA_DontCreateNativeAncestors)
            self.setAttribute(Qt.WidgetAttribute.WA_NativeWindow)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        frame = self.window().windowHandle()
        if self.testAttribute(Qt.WidgetAttribute.WA_NativeWindow) and frame is not self._frame:
            self._frame = frame
            frame.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Repaint areas that a dialog has covered.

        Qt 6 does not repaint an exposed window without OpenGL content if an OpenGL widget is in a
        native child: it waits for textures of another window.
        """
        if watched is self._frame and event.type() == QEvent.Type.Expose:
            self.window().update()
        return False
