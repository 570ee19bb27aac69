"""A whole number that can be dragged or typed."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QWheelEvent
from PySide6.QtWidgets import QHBoxLayout, QSlider, QSpinBox, QWidget

from gui.style.theme import GRID, Theme
from gui.widgets.label import label
from gui.widgets.tooltips import wrapped

WIDTH, HEIGHT = 120, 22
"""Of the slider, in pixels."""


class NumberSlider(QWidget):
    """A name, a slider and a field, which always show the same number.

    Parameters
    ----------
    name
        What the number is, such as "k".
    low, high, value
        Its bounds, both included, and what it is at first.
    tooltip
        Explains it.
    theme
        Colours.
    """

    changed = Signal(int)
    """The user wants another number."""

    def __init__(
        self, name: str, low: int, high: int, value: int, tooltip: str, theme: Theme
    ) -> None:
        super().__init__()
        self.slider, self.field = Slider(Qt.Orientation.Horizontal), QSpinBox()
        self.slider.setFixedSize(WIDTH, HEIGHT)
        self.slider.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.field.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.field.setKeyboardTracking(False)
        self.field.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(GRID // 2)
        row.addWidget(label(name, "muted"))
        row.addWidget(self.slider)
        row.addWidget(self.field)
        for widget in (self, self.slider, self.field):
            widget.setToolTip(wrapped(tooltip))
            widget.setAccessibleName(name)
        self.set_bounds(low, high)
        self.show_value(value)
        self.slider.valueChanged.connect(self._on_changed)
        self.field.valueChanged.connect(self._on_changed)
        self.set_theme(theme)

    @property
    def value(self) -> int:
        """The number."""
        return self.field.value()

    def show_value(self, value: int) -> None:
        """Show another number without telling anybody; it is kept inside the bounds."""
        for widget in (self.slider, self.field):
            blocked = widget.blockSignals(True)
            widget.setValue(value)
            widget.blockSignals(blocked)

    def set_bounds(self, low: int, high: int) -> None:
        """Change the bounds without telling anybody."""
        for widget in (self.slider, self.field):
            blocked = widget.blockSignals(True)
            widget.setRange(low, high)
            widget.blockSignals(blocked)

    def set_theme(self, theme: Theme) -> None:
        """Take new colours."""
        self.slider.setStyleSheet(slider_style(theme))

    def _on_changed(self, value: int) -> None:
        self.show_value(value)
        self.changed.emit(value)


def slider_style(theme: Theme) -> str:
    """Return the style sheet of a :class:`Slider` in a theme's colours."""
    return f"""
QSlider::groove:horizontal {{ height: 4px; border-radius: 2px; background: {theme.line}; }}
QSlider::sub-page:horizontal {{ background: {theme.muted}; border-radius: 2px; }}
QSlider::handle:horizontal {{
    width: 10px; height: 16px; margin: -7px 0; border-radius: 5px;
    background: {theme.field}; border: 1px solid {theme.muted};
}}
QSlider::handle:horizontal:hover {{ border-color: {theme.text}; background: {theme.line}; }}
QSlider::handle:horizontal:focus {{ border-color: {theme.text}; background: {theme.faint}; }}
"""


class Slider(QSlider):
    """A slider that leaves the wheel to the panel unless it has the focus."""

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Move the slider with the focus; else the wheel is scrolling the panel."""
        if self.hasFocus():
            super().wheelEvent(event)
        else:
            event.ignore()
