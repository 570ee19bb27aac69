"""A choice between two or three visible options."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QSize, Qt, Signal
from PySide6.QtGui import QPaintEvent, QShowEvent
from PySide6.QtWidgets import (
    QButtonGroup,
    QFrame,
    QHBoxLayout,
    QPushButton,
    QSizePolicy,
    QStyle,
    QStyleOptionButton,
    QStylePainter,
)

from gui.widgets.tooltips import wrapped

FRAME = 3
"""Free pixels at both ends of a button's text."""


class _Segment(QPushButton):
    """A button whose text is elided if there is too little room."""

    def paintEvent(self, event: QPaintEvent) -> None:
        painter, option = QStylePainter(self), QStyleOptionButton()
        self.initStyleOption(option)
        option.text = self.fontMetrics().elidedText(
            self.text(), Qt.TextElideMode.ElideRight, self.width() - 2 * FRAME
        )
        painter.drawControl(QStyle.ControlElement.CE_PushButton, option)


class Segmented(QFrame):
    """Buttons side by side, exactly one of which is on.

    Left and Right choose by keyboard. ``chosen`` is emitted with the value of a button that the
    user switched on.

    Parameters
    ----------
    options
        For each button its value, its text and its tooltip.
    name
        The accessible name of the choice.
    """

    chosen = Signal(str)

    def __init__(self, options: Sequence[tuple[str, str, str]], name: str) -> None:
        super().__init__()
        self.setProperty("class", "segments")
        self.setAccessibleName(name)
        self._group = QButtonGroup(self)
        self._group.setExclusive(True)
        self.buttons: dict[str, QPushButton] = {}
        self._row = row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(0)
        for value, text, tip in options:
            self.buttons[value] = button = _Segment(text)
            button.setProperty("class", "segment")
            button.setCheckable(True)
            # In a dialog, Enter presses the default button.
            button.setAutoDefault(False)
            button.setToolTip(wrapped(tip))
            button.setAccessibleName(f"{name}: {text}")
            button.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
            button.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
            self._group.addButton(button)
            row.addWidget(button)
        self._group.buttonClicked.connect(self._on_clicked)
        self._value = options[0][0]
        self.show_value(self._value)

    def sizeHint(self) -> QSize:
        for button in self.buttons.values():
            button.ensurePolished()  # otherwise the style's padding is missing
        width = sum(button.sizeHint().width() for button in self.buttons.values())
        return QSize(width + 2 * self.frameWidth() + 2, super().sizeHint().height())

    def showEvent(self, event: QShowEvent) -> None:
        self._share_width()  # the widths needed are known once the style is applied
        super().showEvent(event)

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() in (QEvent.Type.StyleChange, QEvent.Type.FontChange):
            self._share_width()  # the size of text may have changed
            self.updateGeometry()

    def _share_width(self) -> None:
        """Let the buttons share the width in proportion to what they need."""
        for number, button in enumerate(self.buttons.values()):
            self._row.setStretch(number, button.sizeHint().width())

    def value(self) -> str:
        """Return the value of the button that is on."""
        return self._value

    def show_value(self, value: str) -> None:
        """Switch a button on without a signal."""
        self._value = value
        self.buttons[value].setChecked(True)

    def _on_clicked(self) -> None:
        value = next(value for value, button in self.buttons.items() if button.isChecked())
        if value != self._value:
            self.show_value(value)
            self.chosen.emit(value)
