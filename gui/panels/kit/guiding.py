"""The guide of a panel beside the curve, which may be animated."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QElapsedTimer, QObject, QTimer, Signal

from gui.panels.kit.spec import AnyPanel
from gui.panels.kit.views import AnyView
from gui.state.guides import Guide

DURATION_MS = 1200
FRAME_MS = 16


class Playback(QObject):
    """Goes from 0 to 1 in about a second, independent of the frame rate."""

    moved = Signal(float)
    """Elapsed share of the duration, less than 1."""
    finished = Signal()
    """Emitted at the end."""

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._clock = QElapsedTimer()
        self._timer = QTimer(self, interval=FRAME_MS)
        self._timer.timeout.connect(self._on_tick)

    @property
    def is_playing(self) -> bool:
        return self._timer.isActive()

    @property
    def share(self) -> float:
        """Elapsed share of the duration."""
        return min(self._clock.elapsed() / DURATION_MS, 1.0) if self.is_playing else 1.0

    def start(self) -> None:
        """Start from the beginning; the first frame is emitted at once."""
        self._clock.start()
        self._timer.start()
        self.moved.emit(0.0)

    def stop(self) -> None:
        self._timer.stop()

    def _on_tick(self) -> None:
        if self.share < 1.0:
            self.moved.emit(self.share)
        else:
            self.stop()
            self.finished.emit()


class GuidePlayer:
    """Selects the guide that the viewport draws for a panel.

    Parameters
    ----------
    spec
        The panel.
    playback
        The clock of animated guides.
    show
        Called with a guide, while the panel is in front; None for none.

    Attributes
    ----------
    guide
        The guide, also of a panel that is not in front.
    in_front
        Whether the panel is in front.
    """

    def __init__(
        self, spec: AnyPanel, playback: Playback, show: Callable[[Guide | None], None]
    ) -> None:
        self._spec, self._playback, self._show = spec, playback, show
        self._course: Callable[[float], Guide] | None = None
        self.guide: Guide | None = None
        self.in_front = True
        playback.moved.connect(self._on_moved)

    def play(self, view: AnyView | None) -> bool:
        """Start or continue the animation of a view's guide; None stops it.

        Returns whether the guide is animated.
        """
        self._course = None if view is None else self._spec.course(view)
        if self._course is None:
            self._playback.stop()
            return False
        if self._playback.is_playing:
            self._on_moved(self._playback.share)
        else:
            self._playback.start()
        return True

    def set_guide(self, guide: Guide | None) -> None:
        """Show a guide; None for none."""
        if guide is not self.guide:
            self.guide = guide
            if self.in_front:
                self._show(guide)

    def _on_moved(self, share: float) -> None:
        if self._course is not None:
            self.set_guide(self._course(share))
