"""Python's cyclic garbage, collected on the GUI thread between events.

By default Python collects after any allocation, on any thread, and also while Qt calls Python. Qt
objects among the garbage are then deleted, which Qt does not allow: a text document or a timer
belongs to its thread, and a widget deleted while others are painted or styled leaves dangling
pointers.
"""

from __future__ import annotations

import gc

from PySide6.QtCore import QObject, QTimer, Signal

INTERVAL_MS = 1000
"""Interval between collections; what is not in a cycle is freed at once."""


class GarbageCollector(QObject):
    """Collects garbage in the event loop only, from its construction to its release.

    Python's thresholds apply to each generation, at most once in an interval.
    """

    collected = Signal()

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._was_enabled = gc.isenabled()
        gc.disable()
        self._timer = QTimer(self, interval=INTERVAL_MS)
        self._timer.timeout.connect(self.collect)

    def start(self) -> None:
        """Begin to collect; until then garbage is kept."""
        self._timer.start()

    def collect(self) -> None:
        """Collect the oldest generation that is due, and all younger ones."""
        due = [
            generation
            for generation, (count, threshold) in enumerate(
                zip(gc.get_count(), gc.get_threshold(), strict=True)
            )
            if count > threshold
        ]
        if due:
            gc.collect(due[-1])
            self.collected.emit()

    def release(self) -> None:
        """Let Python collect again as before."""
        self._timer.stop()
        if self._was_enabled:
            gc.enable()
