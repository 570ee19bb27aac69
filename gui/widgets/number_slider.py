"""An integer that can be dragged or typed."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

from PySide6.QtCore import QSignalBlocker, Qt, Signal
from PySide6.QtGui import QWheelEvent
from PySide6.QtWidgets import QSlider, QSpinBox, QWidget

from gui.style.theme import GRID
from gui.widgets.boxes import hbox
from gui.widgets.label import label
from gui.widgets.tooltips import wrapped

WIDTH, HEIGHT = 120, 22
"""Size of the slider in pixels."""


def number_field(name: str, width: int, tip: str = "") -> QSpinBox:
    """Create a field for an integer, of a width in pixels; single typed digits change nothing."""
    field = QSpinBox()
    field.setKeyboardTracking(False)
    field.setAlignment(Qt.AlignmentFlag.AlignHCenter)
    field.setFixedWidth(width)
    field.setAccessibleName(name)
    field.setToolTip(wrapped(tip or name))
    return field


class NumberSlider(QWidget):
    """A name, a slider and a field for the same number.

    Parameters
    ----------
    name
        Name of the number, such as "k".
    low, high, value
        Its inclusive bounds and initial value.
    """

    changed = Signal(int)
    """Emitted with the number that the user has chosen."""

    def __init__(self, name: str, low: int, high: int, value: int, tooltip: str) -> None:
        super().__init__()
        self._stops: Sequence[int] = range(low, high + 1)
        self._shown = value
        self.slider, self.field = Slider(Qt.Orientation.Horizontal), QSpinBox()
        self.slider.setFixedSize(WIDTH, HEIGHT)
        self.slider.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.field.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.field.setKeyboardTracking(False)
        self.field.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        title = label(name, "muted")
        hbox(title, self.slider, self.field, parent=self, spacing=GRID // 2)
        for widget in (self, self.slider, self.field):
            widget.setToolTip(wrapped(tooltip))
            widget.setAccessibleName(name)
        self.set_bounds(low, high)
        self.show_value(value)
        self.slider.valueChanged.connect(self._on_changed)
        self.field.valueChanged.connect(self._on_changed)

    @property
    def value(self) -> int:
        """The current number."""
        return self.field.value()

    def show_value(self, value: int) -> None:
        """Show another number without a signal, clipped to the bounds."""
        for widget in (self.slider, self.field):
            with QSignalBlocker(widget):
                widget.setValue(value)
        self._shown = self.value

    def set_bounds(self, low: int, high: int) -> None:
        """Change the bounds without a signal; all integers between them can be chosen."""
        self.set_stops(range(low, high + 1))

    def set_stops(self, stops: Sequence[int]) -> None:
        """Set the allowed numbers, increasing, without a signal."""
        self._stops = stops
        for widget in (self.slider, self.field):
            with QSignalBlocker(widget):
                widget.setRange(stops[0], stops[-1])
        self._shown = self.value

    def step(self, direction: int) -> None:
        """Choose the next (1) or the previous (−1) allowed number."""
        self._choose(self._beside(direction))

    def _beside(self, direction: int) -> int:
        at = bisect_left(self._stops, self._shown) + direction
        return self._stops[min(max(at, 0), len(self._stops) - 1)]

    def _choose(self, value: int) -> None:
        before = self._shown
        self.show_value(value)
        if value != before:
            self.changed.emit(value)

    def _on_changed(self, value: int) -> None:
        nearest, moved = nearest_of(self._stops, value), value - self._shown
        # If stops are far apart, a step of 1 would be rounded back.
        stuck = nearest == self._shown and abs(moved) == 1
        self._choose(self._beside(moved) if stuck else nearest)


def nearest_of(stops: Sequence[int], value: int) -> int:
    """Return the nearest of some increasing numbers."""
    at = bisect_left(stops, value)
    return min(stops[max(at - 1, 0) : at + 1], key=lambda stop: abs(stop - value))


class Slider(QSlider):
    """A slider that leaves the wheel to the panel unless it has the focus."""

    def wheelEvent(self, event: QWheelEvent) -> None:
        if self.hasFocus():
            super().wheelEvent(event)
        else:
            event.ignore()
