"""The OpenGL that VTK draws pictures with."""

from __future__ import annotations

from functools import cache

LEAST = (3, 2)
"""The version of OpenGL that VTK needs. With less it leaves things out, or crashes."""
HELP = "Update the graphics driver, or on Linux set LIBGL_ALWAYS_SOFTWARE=1 to draw without it."


@cache
def draws_off_screen() -> bool:
    """Return whether VTK can draw pictures, by GLX or EGL."""
    # Not above: the display is looked at before VTK is loaded, which takes longer.
    import vtkmodules.vtkRenderingOpenGL2  # noqa: F401  the kinds of windows
    from vtkmodules.vtkRenderingCore import vtkRenderWindow

    window = vtkRenderWindow()
    window.SetOffScreenRendering(True)
    window.Initialize()
    # A window without any library says that it supports OpenGL.
    return bool(window.GetInitialized() and window.SupportsOpenGL())
