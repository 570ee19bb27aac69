"""The clock of a movement that is played once: how much of the way is done."""

from __future__ import annotations

from PySide6.QtCore import QElapsedTimer, QObject, QTimer, Signal

DURATION_MS = 1200
FRAME_MS = 16


class Way(QObject):
    """Goes from 0 to 1 in about a second, whatever a frame takes."""

    moved = Signal(float)
    """The share of the way that is done."""
    playing = Signal(bool)
    """It has begun, or ended."""

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self.share = 1.0
        self._clock = QElapsedTimer()
        self._timer = QTimer(self, interval=FRAME_MS)
        self._timer.timeout.connect(self._on_tick)

    @property
    def is_playing(self) -> bool:
        """Whether it goes on by itself."""
        return self._timer.isActive()

    def toggle(self) -> None:
        """Begin at the start, or go to the end at once."""
        if self.is_playing:
            self.finish()
            return
        self._clock.start()
        self._timer.start()
        self.playing.emit(True)
        self._go(0.0)

    def finish(self) -> None:
        """Be at the end."""
        self.stop()
        self._go(1.0)

    def stop(self) -> None:
        """Go on no more."""
        if self.is_playing:
            self._timer.stop()
            self.playing.emit(False)

    def _on_tick(self) -> None:
        share = self._clock.elapsed() / DURATION_MS
        if share >= 1.0:
            self.finish()
        else:
            self._go(share)

    def _go(self, share: float) -> None:
        self.share = share
        self.moved.emit(share)
