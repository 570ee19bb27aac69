"""A real number that can be dragged or typed."""

from __future__ import annotations

import math
from dataclasses import dataclass

from PySide6.QtCore import QSignalBlocker, Qt, Signal
from PySide6.QtWidgets import QDoubleSpinBox, QWidget

from gui.style.theme import GRID, Theme
from gui.widgets.boxes import hbox
from gui.widgets.label import label
from gui.widgets.number_slider import Slider
from gui.widgets.tooltips import wrapped

STEPS = 400
"""Positions of the slider."""
NAME_WIDTH, FIELD_WIDTH, HEIGHT = 72, 72, 22
"""Sizes in pixels; the widths at the default size of text."""


@dataclass(frozen=True, slots=True)
class Scale:
    """Bounds of a number, and its scale on the slider."""

    low: float  # Inclusive, as is ``high``
    high: float
    decimals: int  # Decimals of the field
    # The number grows with this power of the slider's position; 0 for a logarithmic scale, with
    # ``low`` above 0.
    power: float = 1.0

    def at(self, position: float) -> float:
        """Return the number at a position of the slider, 0 to 1."""
        if not self.power:
            return float(self.low * (self.high / self.low) ** position)
        return float(self.low + (self.high - self.low) * position**self.power)

    def position(self, value: float) -> float:
        """Return the slider's position for a number, clipped to 0 to 1."""
        value = min(max(value, self.low), self.high)
        share = (value - self.low) / (self.high - self.low)
        if self.power:
            return float(share ** (1 / self.power))
        return math.log(value / self.low) / math.log(self.high / self.low)


class RealSlider(QWidget):
    """A name (shown if ``titled``), a slider and a field for the same number."""

    changed = Signal(float)
    """Emitted with the number that the user has chosen."""

    def __init__(
        self, name: str, scale: Scale, tooltip: str, theme: Theme, *, titled: bool = True
    ) -> None:
        super().__init__()
        self.scale = scale
        self.slider, self.field = Slider(Qt.Orientation.Horizontal), QDoubleSpinBox()
        self.slider.setRange(0, STEPS)
        self.slider.setFixedHeight(HEIGHT)
        self.slider.setMinimumWidth(6 * GRID)
        self.field.setDecimals(scale.decimals)
        self.field.setRange(scale.low, scale.high)
        self.field.setSingleStep(10.0**-scale.decimals)
        self.field.setAlignment(Qt.AlignmentFlag.AlignRight)
        self.field.setKeyboardTracking(False)
        self._name = label(name, "muted")
        hbox(self._name, (self.slider, 1), self.field, parent=self, spacing=GRID // 2)
        if not titled:
            self._name.hide()
        for widget in (self, self.slider, self.field):
            widget.setToolTip(wrapped(tooltip))
            widget.setAccessibleName(name)
        for control in (self.slider, self.field):
            control.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.slider.valueChanged.connect(self._on_dragged)
        self.field.valueChanged.connect(self._on_typed)
        self.set_theme(theme)

    @property
    def value(self) -> float:
        """The number as shown in the field."""
        return self.field.value()

    def show_value(self, value: float) -> None:
        """Show another number without a signal, clipped to the bounds."""
        if round(value, self.scale.decimals) == self.field.value():
            return  # do not disturb a drag or typing
        self._place(value)
        with QSignalBlocker(self.field):
            self.field.setValue(value)

    def set_theme(self, theme: Theme) -> None:
        """Set the widths, for the theme's size of text."""
        self._name.setFixedWidth(theme.px(NAME_WIDTH))
        self.field.setFixedWidth(theme.px(FIELD_WIDTH))

    def _place(self, value: float) -> None:
        with QSignalBlocker(self.slider):
            self.slider.setValue(round(STEPS * self.scale.position(value)))

    def _on_dragged(self, place: int) -> None:
        with QSignalBlocker(self.field):
            self.field.setValue(self.scale.at(place / STEPS))
        self.changed.emit(self.field.value())

    def _on_typed(self, value: float) -> None:
        self._place(value)
        self.changed.emit(value)
