"""pyvistaqt's OpenGL widget, with fewer copies of each frame."""

from __future__ import annotations

from PySide6.QtCore import QRect
from PySide6.QtGui import QAccessible
from PySide6.QtOpenGL import QOpenGLFramebufferObject
from PySide6.QtWidgets import QWidget
from pyvistaqt import QtInteractor

GL_RGB8 = 0x8051
GL_READ_FRAMEBUFFER, GL_DRAW_FRAMEBUFFER = 0x8CA8, 0x8CA9
GL_SCISSOR_TEST, GL_COLOR_BUFFER_BIT, GL_NEAREST = 0x0C11, 0x4000, 0x2600


class Interactor(QtInteractor):
    """An opaque interactor, without its own antialiasing.

    In software rendering, copying pixels is a large part of a frame's cost. So there is no alpha
    channel, which would need clearing and blending, and frames are copied directly into the widget,
    without VTK's intermediate buffer.
    """

    accessible_role = QAccessible.Role.Canvas

    def __init__(self, parent: QWidget | None) -> None:
        super().__init__(parent, auto_update=False, multi_samples=0)
        self.setTextureFormat(GL_RGB8)

    def initializeGL(self) -> None:
        # VTK queries the current framebuffer, and warns if there is none, as with EGL before the
        # widget has its own.
        placeholder = QOpenGLFramebufferObject(1, 1)
        placeholder.bind()
        super().initializeGL()
        placeholder.release()

    def _blit(self, target_id: int, rect: QRect) -> None:
        """Copy the frame into the widget's framebuffer; called by pyvistaqt on each paint."""
        window = self.ren_win
        if window.GetSwapBuffers():
            # VTK has copied the first frame already; this is switched off from now on.
            super()._blit(target_id, rect)
            window.SwapBuffersOff()
            return
        state = window.GetState()
        state.vtkglDisable(GL_SCISSOR_TEST)
        state.PushFramebufferBindings()
        window.GetRenderFramebuffer().Bind(GL_READ_FRAMEBUFFER)
        window.GetRenderFramebuffer().ActivateReadBuffer(0)
        state.vtkglBindFramebuffer(GL_DRAW_FRAMEBUFFER, target_id)
        width, height = window.GetSize()
        target = (rect.x(), rect.y(), rect.x() + rect.width(), rect.y() + rect.height())
        state.vtkglBlitFramebuffer(0, 0, width, height, *target, GL_COLOR_BUFFER_BIT, GL_NEAREST)
        state.PopFramebufferBindings()
