"""A field for an amount of data: "2 GB", typed or stepped."""

from __future__ import annotations

import math
import re

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QFocusEvent, QKeyEvent, QValidator
from PySide6.QtWidgets import QSpinBox

_MB = 1_000_000
_UNITS = {"MB": 1, "GB": 1_000, "TB": 1_000_000}
_AMOUNT = re.compile(r"\s*(?P<figure>[0-9]+(?:[.,][0-9]*)?|[.,][0-9]+)\s*(?P<unit>[A-Za-z]*)\s*")
_PART = re.compile(r"\s*[0-9]*[.,]?[0-9]*\s*[A-Za-z]{0,2}\s*")
_LARGEST = 2**31 - 1
_ENTER = (Qt.Key.Key_Return, Qt.Key.Key_Enter)
_AWAY = (Qt.FocusReason.ActiveWindowFocusReason, Qt.FocusReason.PopupFocusReason)
"""Reasons for losing the focus with the whole window, without going to another field."""


class AmountBox(QSpinBox):
    """Whole megabytes, shown as MB, GB or TB; a number without a unit is in the unit shown.

    Enter or leaving the field chooses the typed or stepped value; Esc restores the chosen one.

    Parameters
    ----------
    minimum, maximum
        Bounds in bytes.
    """

    chosen = Signal(object)  # Emitted with the chosen amount in bytes
    edited = Signal()  # The unconfirmed value has changed

    def __init__(self, minimum: int, maximum: int) -> None:
        super().__init__()
        self._chosen = minimum
        self.setRange(minimum // _MB, maximum // _MB)
        # Otherwise the value, and with it the unit of a bare number, would follow the typing.
        self.setKeyboardTracking(False)
        self.set_nbytes(minimum)
        self.lineEdit().textChanged.connect(lambda _: self.edited.emit())

    def set_nbytes(self, nbytes: int) -> None:
        """Show an amount as the chosen one, to the megabyte, discarding unconfirmed input."""
        self._chosen = nbytes
        self.setValue(min(round(nbytes / _MB), self.maximum()))
        self._show_value()

    def typed(self) -> int | None:
        """Return the typed amount in bytes; None if it is invalid or out of bounds."""
        megabytes = self._read(self.text())
        if megabytes is None or not self.minimum() <= megabytes <= self.maximum():
            return None
        return megabytes * _MB

    # ---- text and value ------------------------------------------------------------------

    def textFromValue(self, value: int) -> str:
        unit = next((u for u in ("TB", "GB") if value >= _UNITS[u]), "MB")
        return f"{value / _UNITS[unit]:.10g}\N{NO-BREAK SPACE}{unit}"

    def valueFromText(self, text: str) -> int:
        """Parse megabytes; invalid text keeps the value."""
        megabytes = self._read(text)
        return self.value() if megabytes is None else megabytes

    def validate(self, text: str, position: int) -> tuple[QValidator.State, str, int]:
        """Accept amounts within the bounds; other input is intermediate."""
        state = QValidator.State.Invalid
        if _PART.fullmatch(text):
            megabytes = self._read(text)
            within = megabytes is not None and self.minimum() <= megabytes <= self.maximum()
            state = QValidator.State.Acceptable if within else QValidator.State.Intermediate
        return state, text, position

    def fixup(self, text: str) -> str:
        megabytes = self.valueFromText(text)
        return self.textFromValue(min(max(megabytes, self.minimum()), self.maximum()))

    def stepBy(self, steps: int) -> None:
        """Step to the next round amount: 100 MB, from 1 GB on 500 MB, from 10 GB on 5 GB."""
        self.interpretText()
        for _ in range(abs(steps)):
            value = self.value()
            # Stepping down from 1 GB uses the smaller steps.
            here = value - 1 if steps < 0 else value
            step = 100 if here < 1_000 else 500 if here < 10_000 else 5_000
            self.setValue((math.ceil(value / step) - 1 if steps < 0 else value // step + 1) * step)
        self._show_value()
        self.selectAll()

    def _show_value(self) -> None:
        """Replace the typed text; Qt emits no signal for its own change of the text."""
        self.lineEdit().setText(self.textFromValue(self.value()))
        self.edited.emit()

    def _read(self, text: str) -> int | None:
        match = _AMOUNT.fullmatch(text)
        if match is None:
            return None
        shown = self.textFromValue(self.value())[-2:]
        unit = {"": shown, "M": "MB", "G": "GB", "T": "TB"}.get(match["unit"].upper())
        size = _UNITS.get(unit or match["unit"].upper())
        if size is None:
            return None
        return min(round(float(match["figure"].replace(",", ".")) * size), _LARGEST)

    # ---- choosing ------------------------------------------------------------------------

    def keyPressEvent(self, event: QKeyEvent) -> None:
        changed = self.typed() != self._chosen
        if event.key() == Qt.Key.Key_Escape and changed:
            self.set_nbytes(self._chosen)
            self.selectAll()
        elif event.key() in _ENTER:
            self._choose()
            self.selectAll()
        else:
            super().keyPressEvent(event)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        """Choose when the focus goes to another widget of the window."""
        super().focusOutEvent(event)
        if event.reason() not in _AWAY:
            self._choose()

    def _choose(self) -> None:
        self.interpretText()
        self._show_value()
        nbytes = self.value() * _MB
        if nbytes != self._chosen:
            self._chosen = nbytes
            self.chosen.emit(nbytes)
