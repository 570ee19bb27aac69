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
    """Return why there can be no 3D view on this display; "" if there can.

    As Qt does, VTK then draws with EGL or with GLX.
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
        # GLX, which VTK prefers where there is an X server, refuses a thread with a current EGL
        # context, and Xlib then ends the process. To take Qt to X11 instead (QT_QPA_PLATFORM=xcb)
        # would blur the window where the desktop scales it, and needs Xwayland.
        os.environ.setdefault("VTK_DEFAULT_OPENGL_WINDOW", "vtkEGLRenderWindow")
    return ""


def _text(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version))


def _uses_egl() -> bool:
    """Return whether the current context is one of EGL."""
    try:
        current = ctypes.CDLL("libEGL.so.1").eglGetCurrentContext
    except OSError:
        return False
    current.restype = ctypes.c_void_p
    return bool(current())
