"""Antialiasing of stills, and of moving frames where the renderer is fast enough."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QTimer

if TYPE_CHECKING:
    from gui.viewport.interactor import Interactor

REST_MS = 150
SOFTWARE_RENDERERS = ("llvmpipe", "softpipe", "swrast", "swiftshader", "basic render", "software")


class Antialiasing:
    """Antialiases stills always, and moving frames only with hardware rendering.

    FXAA and not multisampling: the points are discs cut out by a shader, whose edges multisampling
    leaves jagged, and in software rendering it is several times slower. Texts stay sharp.
    """

    def __init__(self, interactor: Interactor) -> None:
        self._interactor = interactor
        self._software: bool | None = None
        self.at_rest = False
        self._timer = QTimer(interactor, interval=REST_MS, singleShot=True)
        self._timer.timeout.connect(self._on_rested)
        interactor.frameSwapped.connect(self._on_frame_swapped)

    def move(self) -> None:
        """Something began to move: frames have to be fast."""
        self._timer.stop()
        self.at_rest = False
        if self._is_software():
            self._interactor.renderer.SetUseFXAA(False)

    def rest(self) -> None:
        """Motion ended: draw an antialiased still, unless motion begins again soon."""
        self._timer.start()

    def stop(self) -> None:
        """Cancel a pending still; called by the owner on closing."""
        self._timer.stop()

    def _on_rested(self) -> None:
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
