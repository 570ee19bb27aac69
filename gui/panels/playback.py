"""The clock of a movement that is played once: how much of the way is done."""

from __future__ import annotations

from PySide6.QtCore import QElapsedTimer, QObject, QTimer, Signal

DURATION_MS = 1200
FRAME_MS = 16


class Playback(QObject):
    """Goes from 0 to 1 in about a second, whatever a frame takes."""

    moved = Signal(float)
    """The share of the way that is done, less than 1."""
    finished = Signal()
    """The end is reached."""

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._clock = QElapsedTimer()
        self._timer = QTimer(self, interval=FRAME_MS)
        self._timer.timeout.connect(self._on_tick)

    @property
    def is_playing(self) -> bool:
        """Whether it goes on by itself."""
        return self._timer.isActive()

    @property
    def share(self) -> float:
        """The share of the way that is done now."""
        return min(self._clock.elapsed() / DURATION_MS, 1.0) if self.is_playing else 1.0

    def start(self) -> None:
        """Begin at the start; the first frame is drawn at once."""
        self._clock.start()
        self._timer.start()
        self.moved.emit(0.0)

    def stop(self) -> None:
        """Go on no more."""
        self._timer.stop()

    def _on_tick(self) -> None:
        if self.share < 1.0:
            self.moved.emit(self.share)
        else:
            self.stop()
            self.finished.emit()
