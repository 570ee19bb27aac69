"""Smooth stills, fast motion: antialiasing chosen by what the renderer can afford."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QTimer

if TYPE_CHECKING:
    from gui.viewport.interactor import Interactor

REST_MS = 150
SOFTWARE_RENDERERS = ("llvmpipe", "softpipe", "swrast", "swiftshader", "basic render", "software")


class Antialiasing:
    """Smooths stills always, and moving pictures only where a graphics card does the work.

    FXAA and not multisampling: the points are discs cut out by a shader, whose edges multisampling
    leaves jagged, and in software rendering it takes several times as long. Texts stay sharp.

    Parameters
    ----------
    interactor
        The ``QtInteractor``.
    """

    def __init__(self, interactor: Interactor) -> None:
        self._interactor = interactor
        self._software: bool | None = None
        self.at_rest = False
        self._timer = QTimer(interactor, interval=REST_MS, singleShot=True)
        self._timer.timeout.connect(self._on_rested)
        interactor.frameSwapped.connect(self._on_frame_swapped)

    def move(self) -> None:
        """Something began to move: frames have to come fast."""
        self._timer.stop()
        self.at_rest = False
        if self._is_software():
            self._interactor.renderer.SetUseFXAA(False)

    def rest(self) -> None:
        """Nothing moves any more: draw a smooth still, unless motion begins again soon."""
        self._timer.start()

    def stop(self) -> None:
        """Forget a still that is due; the owner calls this on closing."""
        self._timer.stop()

    def _on_rested(self) -> None:
        if self._interactor.renderer.GetUseFXAA():
            self.at_rest = True
            return
        self._interactor.renderer.SetUseFXAA(True)
        self._interactor.update()
        # Where nobody sees it, no frame comes.
        self.at_rest = not self._interactor.isVisible()

    def _on_frame_swapped(self) -> None:
        if self._interactor.renderer.GetUseFXAA() and not self._timer.isActive():
            self.at_rest = True

    def _is_software(self) -> bool:
        if self._software is None:
            window = self._interactor.ren_win
            if not window.GetReadyForRendering():
                return True  # not known before the first frame
            lines = window.ReportCapabilities().lower().splitlines()
            renderer = next((line for line in lines if "renderer string" in line), "")
            self._software = any(name in renderer for name in SOFTWARE_RENDERERS)
        return self._software
