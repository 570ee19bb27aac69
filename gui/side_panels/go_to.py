"""A field that goes to a position by number, with two step buttons."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QLineEdit, QToolButton, QWidget

from geometry.checkpoints.errors import RangeError
from gui.state.selection import SELECTION_LIMIT, read_positions
from gui.style.theme import GRID, format_count
from gui.widgets.boxes import grid
from gui.widgets.label import label
from gui.widgets.tooltips import wrapped

_ARROWS = (Qt.Key.Key_Left, Qt.Key.Key_Right)
_SHIFTING = Qt.KeyboardModifier.ShiftModifier | Qt.KeyboardModifier.ControlModifier


class _Field(QLineEdit):
    """A field that Esc clears.

    While the field is empty (as after Enter) or its text is selected, the arrow keys step along the
    curve instead of moving the cursor.
    """

    stepped = Signal(int)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Clear on Esc; step with the arrows while the field is empty or its text is selected."""
        if event.key() == Qt.Key.Key_Escape and self.text():
            self.clear()
        elif event.key() in _ARROWS and not event.modifiers() & _SHIFTING and self._is_over_typed():
            self.stepped.emit(1 if event.key() == Qt.Key.Key_Right else -1)
        else:
            super().keyPressEvent(event)

    def _is_over_typed(self) -> bool:
        return self.selectedText() == self.text()


class GoTo(QWidget):
    """Go to ``300``, ``10-20`` or ``5, 9, 100``; or step to the previous or next position.

    Signals
    -------
    typed(object)
        A tuple of positions, the last one the current.
    stepped(int)
        −1 or 1.
    """

    typed = Signal(object)
    stepped = Signal(int)

    def __init__(self) -> None:
        super().__init__()
        self._n_positions = 0
        self._shown: tuple[int, int | None] | None = None
        self.field = _Field()
        self.field.setPlaceholderText("Go to 100 or 10-20")
        self.field.setAccessibleName("Go to position")
        self.field.stepped.connect(self.stepped)
        self.field.returnPressed.connect(self._on_return_pressed)
        # Also when the field is cleared by Esc or after Enter.
        self.field.textChanged.connect(lambda _: self.show_message(""))
        self.message = label(role="badge", wrap=True)
        self.message.hide()
        self.previous = self._step_button(Qt.ArrowType.LeftArrow, "Previous position", -1)
        self.next = self._step_button(Qt.ArrowType.RightArrow, "Next position", 1)
        layout = grid(self, GRID // 2, GRID // 2)
        layout.addWidget(self.field, 0, 0)
        layout.addWidget(self.previous, 0, 1)
        layout.addWidget(self.next, 0, 2)
        layout.addWidget(self.message, 1, 0, 1, 3)
        self.set_table(0, None)

    def set_table(self, n_positions: int, current: int | None) -> None:
        """Set the number of positions (0 without a model) and the current position."""
        if (n_positions, current) != self._shown:
            self._n_positions, self._shown = n_positions, (n_positions, current)
            self.show_message("")
        self.setEnabled(n_positions > 0)
        tip = (
            f"Type a position, 0–{n_positions - 1}, and press Enter. 10-20 selects a range (up to "
            f"{format_count(SELECTION_LIMIT)} positions); 5, 9, 100 selects several."
            if n_positions
            else "Open a model to go to a position"
        )
        self.field.setToolTip(wrapped(tip))
        self.previous.setEnabled(n_positions > 0 and current != 0)
        self.next.setEnabled(n_positions > 0 and current != n_positions - 1)

    def show_message(self, text: str) -> None:
        """Show a sentence under the field; "" hides it."""
        self.message.setText(text)
        self.message.setVisible(bool(text))

    def _on_return_pressed(self) -> None:
        try:
            parsed = read_positions(self.field.text(), self._n_positions)
        except RangeError as error:
            self.show_message(str(error))
            self.field.selectAll()
            return
        self.field.clear()
        if parsed.positions:
            self.typed.emit(parsed.positions)
        if parsed.dropped:
            self.show_message(
                f"Only the first {format_count(SELECTION_LIMIT)} are selected; "
                f"{format_count(parsed.dropped)} more were left out."
            )

    def _step_button(self, arrow: Qt.ArrowType, tip: str, step: int) -> QToolButton:
        button = QToolButton()
        button.setArrowType(arrow)
        button.setIconSize(QSize(12, 12))
        button.setToolTip(wrapped(tip))
        button.setAccessibleName(tip)
        button.setAutoRepeat(True)
        button.setFixedSize(24, 26)
        button.clicked.connect(lambda: self.stepped.emit(step))
        return button
