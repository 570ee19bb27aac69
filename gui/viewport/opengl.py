"""The OpenGL of the display."""

from __future__ import annotations

import ctypes
import os
from functools import cache

from PySide6.QtGui import QOffscreenSurface, QOpenGLContext

from gui.scene.opengl import LEAST

GL_VERSION = 0x1F02


@cache
def missing_opengl() -> str:
    """Return why a 3D view is impossible on this display; "" if it is possible.

    Sets up VTK to use EGL or GLX, as Qt does.
    """
    needed = f"The 3D view needs OpenGL {_text(LEAST)}"
    surface, context = QOffscreenSurface(), QOpenGLContext()
    surface.create()
    created = context.create() and context.makeCurrent(surface)
    if not created or not context.functions().glGetString(GL_VERSION):
        return f"{needed}, and this display has no OpenGL."
    version = context.format().version()
    uses_egl = _uses_egl()
    context.doneCurrent()
    if context.isOpenGLES() or version < LEAST:
        kind = "OpenGL ES" if context.isOpenGLES() else "OpenGL"
        return f"{needed}, and this display has {kind} {_text(version)}."
    if uses_egl:
        # GLX, which VTK prefers if there is an X server, fails on a thread with a current EGL
        # context, and Xlib then ends the process. Using X11 in Qt instead (QT_QPA_PLATFORM=xcb)
        # would blur the window on scaled desktops, and needs Xwayland.
        os.environ.setdefault("VTK_DEFAULT_OPENGL_WINDOW", "vtkEGLRenderWindow")
    return ""


def _text(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version))


def _uses_egl() -> bool:
    """Return whether the current context is an EGL context."""
    try:
        current = ctypes.CDLL("libEGL.so.1").eglGetCurrentContext
    except OSError:
        return False
    current.restype = ctypes.c_void_p
    return bool(current())
