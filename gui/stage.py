"""The middle of the window: the viewport, and over it what is said while no model is open."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QStackedLayout, QWidget

NATIVE_CHILDREN = ("xcb", "windows")
"""Platforms where a window inside a window is an ordinary thing."""


class Stage(QWidget):
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
        # Qt composes a whole window by OpenGL when an OpenGL widget is in it: every frame of the
        # viewport paints all panels too, and every key stroke the viewport. In a native window of
        # its own each costs what it is. (After the viewport went in: the surface has to suit it.)
        if QGuiApplication.platformName() in NATIVE_CHILDREN:
            self.setAttribute(Qt.WidgetAttribute.WA_DontCreateNativeAncestors)
            self.setAttribute(Qt.WidgetAttribute.WA_NativeWindow)
