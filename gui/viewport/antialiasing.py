"""Antialiasing of stills, and of moving frames if the renderer is fast enough."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QTimer

if TYPE_CHECKING:
    from gui.viewport.interactor import Interactor

REST_MS = 150
SOFTWARE_RENDERERS = ("llvmpipe", "softpipe", "swrast", "swiftshader", "basic render", "software")


class Antialiasing:
    """Antialiases stills always, and moving frames only with hardware rendering.

    It uses FXAA, not multisampling, which does not smooth the points, discs cut out by a shader,
    and is several times slower in software rendering. Texts stay sharp.
    """

    def __init__(self, interactor: Interactor) -> None:
        self._interactor = interactor
        self._software: bool | None = None
        self.at_rest = False
        self._timer = QTimer(interactor, interval=REST_MS, singleShot=True)
        self._timer.timeout.connect(self._draw_still)
        interactor.frameSwapped.connect(self._on_frame_swapped)

    def move(self) -> None:
        """Draw fast frames, as motion has begun."""
        self._timer.stop()
        self.at_rest = False
        if self._is_software():
            self._interactor.renderer.SetUseFXAA(False)

    def rest(self) -> None:
        """Draw an antialiased still after motion, unless it begins again soon."""
        self._timer.start()

    def stop(self) -> None:
        """Cancel a pending still; called by the owner on closing."""
        self._timer.stop()

    def _draw_still(self) -> None:
        if self._interactor.renderer.GetUseFXAA():
            self.at_rest = True
            return
        self._interactor.renderer.SetUseFXAA(True)
        self._interactor.update()
        # A hidden widget gets no frame.
        self.at_rest = not self._interactor.isVisible()

    def _on_frame_swapped(self) -> None:
        if self._interactor.renderer.GetUseFXAA() and not self._timer.isActive():
            self.at_rest = True

    def _is_software(self) -> bool:
        if self._software is None:
            window = self._interactor.ren_win
            if not window.GetReadyForRendering():
                return True  # unknown before the first frame
            lines = window.ReportCapabilities().lower().splitlines()
            renderer = next((line for line in lines if "renderer string" in line), "")
            self._software = any(name in renderer for name in SOFTWARE_RENDERERS)
        return self._software
