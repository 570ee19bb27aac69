"""The clock of an animation."""

from __future__ import annotations

from PySide6.QtCore import QElapsedTimer, QObject, QTimer, Signal

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
        """Whether it is playing."""
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
        """Stop."""
        self._timer.stop()

    def _on_tick(self) -> None:
        if self.share < 1.0:
            self.moved.emit(self.share)
        else:
            self.stop()
            self.finished.emit()
