"""The middle of the window: the viewport, and over it what is said while no model is open."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QGuiApplication, QShowEvent
from PySide6.QtWidgets import QStackedLayout, QWidget

NATIVE_CHILD_ON = "xcb"
"""The platform where the stage is a window of its own: X11, where this was seen to work. It
matters where no graphics card composes the window, which is rare elsewhere."""


class CentralWidget(QWidget):
    """Shows the viewport and, over it, the empty state.

    Parameters
    ----------
    viewport, empty_state
        The two; which of them is seen is theirs to say.
    """

    def __init__(self, viewport: QWidget, empty_state: QWidget) -> None:
        super().__init__()
        stack = QStackedLayout(self)
        stack.setStackingMode(QStackedLayout.StackingMode.StackAll)
        stack.addWidget(viewport)
        stack.addWidget(empty_state)
        stack.setCurrentWidget(empty_state)
        self._frame: QObject | None = None
        # Qt composes a whole window by OpenGL when an OpenGL widget is in it: every frame of the
        # viewport paints all panels too, and every key stroke the viewport. In a native window of
        # its own each costs what it is. (After the viewport went in: the surface has to suit it.)
        if QGuiApplication.platformName() == NATIVE_CHILD_ON:
            self.setAttribute(Qt.WidgetAttribute.WA_DontCreateNativeAncestors)
            self.setAttribute(Qt.WidgetAttribute.WA_NativeWindow)

    def showEvent(self, event: QShowEvent) -> None:
        """Watch the window that this is in."""
        super().showEvent(event)
        frame = self.window().windowHandle()
        if self.testAttribute(Qt.WidgetAttribute.WA_NativeWindow) and frame is not self._frame:
            self._frame = frame
            frame.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Repaint what a dialog had covered.

        Qt 6 shows nothing anew when a window without OpenGL content is exposed that has an OpenGL
        widget in a native child: it waits for textures that are not its own.
        """
        if watched is self._frame and event.type() == QEvent.Type.Expose:
            self.window().update()
        return False
