"""The form of two sums of a token and a position each, and the list of examples."""

from __future__ import annotations

from dataclasses import replace

from PySide6.QtCore import QObject, QSignalBlocker, Qt, QTimer, Signal
from PySide6.QtGui import QHideEvent
from PySide6.QtWidgets import QLineEdit, QSizePolicy, QSpinBox, QWidget

from gui.panels.layernorm.question import Example, Term, Typed
from gui.style.theme import GRID, SMALL, Theme
from gui.widgets.boxes import grid
from gui.widgets.drop_down import DropDown
from gui.widgets.label import label
from gui.widgets.opening_row import FixedText
from gui.widgets.tooltips import wrapped

TYPING_PAUSE_MS = 400
"""Delay after the last key before a token is read; Enter reads it at once."""
TOKEN_TIP = (
    "Text that forms a single token, including spaces: “ cat” and “cat” are different tokens. A "
    "number after #, such as #100, selects the token with that id."
)
EXAMPLES: tuple[tuple[Example, str, str], ...] = (
    (
        "two tokens",
        "Two tokens",
        (
            "“cat” at 3 and “apple” at 6, as in the article; random tokens where these are not "
            "single tokens"
        ),
    ),
    ("one token", "One token", "One token at two positions: only the positions differ"),
    ("one position", "One position", "Two tokens at one position: only the tokens differ"),
    (
        "most alike",
        "Position-like token",
        "The token with the largest cosine with any position, half the table away from it, and "
        "another token at that position: is the first mistaken for a token at that position?",
    ),
    ("nearest", "Nearest pair", "The two closest sums of all random pairs"),
)
WIDTH = 46 * GRID
"""Maximum width, in pixels."""


class SumField(QObject):
    """The parts of one sum: ``E`` of a token, plus ``p`` of a position.

    Parameters
    ----------
    name
        For assistive technology: "First" or "Second".
    letters
        The token's and the position's letter in the formula.
    """

    edited = Signal()
    """The text was edited."""
    entered = Signal()
    """Editing has finished."""

    def __init__(self, name: str, letters: tuple[str, str], parent: QWidget) -> None:
        super().__init__(parent)
        self.token, self.position = QLineEdit(), QSpinBox()
        self.meant = FixedText(1, SMALL)
        self.meant.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.meant.setFixedWidth(11 * GRID)
        self.heading, self.plus = label(f"E({letters[0]})", "muted"), label("+ p", "muted")
        self.token.setAccessibleName(f"{name} token")
        self.token.setToolTip(wrapped(TOKEN_TIP))
        self.token.setMinimumWidth(9 * GRID)
        self.position.setAccessibleName(f"{name} position")
        self.position.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        self.position.setFixedWidth(7 * GRID)
        # No question for each typed digit.
        self.position.setKeyboardTracking(False)
        self.token.textEdited.connect(self.edited)
        self.token.editingFinished.connect(self.entered)
        self.position.valueChanged.connect(self.entered)

    def typed(self) -> Typed:
        """Return the typed sum."""
        return Typed(self.token.text(), self.position.value())

    def show_typed(self, typed: Typed) -> None:
        """Show a sum, without a signal."""
        if self.token.text() != typed.token:
            self.token.setText(typed.token)
        with QSignalBlocker(self.position):
            self.position.setValue(typed.position)

    def show_last(self, last: int) -> None:
        """Offer positions up to the table's last one, without a signal."""
        with QSignalBlocker(self.position):
            self.position.setRange(0, last)
        self.position.setToolTip(
            wrapped(f"Position, 0–{last}: type, or use the arrow keys or the wheel")
        )

    def show_meant(self, term: Term) -> None:
        """Show the recognised token."""
        token = term.token
        number = "" if token.id is None or token.text == f"token {token.id}" else f" #{token.id}"
        self.meant.set_text("" if token.id is None else f"{token.text}{number}")


class ExampleBox(DropDown):
    """A list of examples; no example is current for the user's own sums."""

    exampleChosen = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self.setPlaceholderText("Examples")
        self.setAccessibleName("Example")
        self.setToolTip("Pairs that show the contributions of token and position")
        for name, text, tip in EXAMPLES:
            self.addItem(text, name)
            self.setItemData(self.count() - 1, wrapped(tip), Qt.ItemDataRole.ToolTipRole)
        self.activated.connect(lambda _: self.exampleChosen.emit(self.currentData()))

    def show_example(self, name: Example | None) -> None:
        """Set the current example, or none, without a signal."""
        self.setCurrentIndex(-1 if name is None else self.findData(name))


class InterferenceForm(QWidget):
    """Two sums, one per line, and the reason why a sum is invalid."""

    changed = Signal()
    """The sums have changed."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.first = SumField("First", ("a", "i"), self)
        self.second = SumField("Second", ("b", "j"), self)
        self.why = label(role="badge", wrap=True)
        self.why.hide()
        self._pause = QTimer(self, interval=TYPING_PAUSE_MS, singleShot=True)
        self._pause.timeout.connect(self._report)
        self._reported = self.typed()
        self._lay_out()
        for field in (self.first, self.second):
            field.edited.connect(self._pause.start)
            field.entered.connect(self._report)
        self.set_theme(theme)

    def typed(self) -> tuple[Typed, Typed]:
        """Return both typed sums."""
        return self.first.typed(), self.second.typed()

    def take_positions(self, positions: tuple[int, int]) -> None:
        """Set the positions, as if typed."""
        for field, position in zip((self.first, self.second), positions, strict=True):
            field.show_typed(Typed(field.token.text(), position))
        self._report()

    def show_table(self, n_positions: int) -> None:
        """Offer the positions of a table, without a signal."""
        last = n_positions - 1
        for field in (self.first, self.second):
            field.show_last(last)
        first, second = (
            replace(typed, position=min(typed.position, last)) for typed in self._reported
        )
        self._reported = first, second

    def show_terms(self, first: Term, second: Term) -> None:
        """Show the recognised tokens, and the sums unless they were typed here."""
        typed = (first.typed, second.typed) == self._reported
        for field, term in ((self.first, first), (self.second, second)):
            if not typed:
                field.show_typed(term.typed)
            field.show_meant(term)
        if not typed:
            self._pause.stop()
            self._reported = self.typed()
        why = next((term.token.why for term in (first, second) if term.token.why), "")
        self.why.setText(why)
        self.why.setVisible(bool(why))

    def set_theme(self, theme: Theme) -> None:
        for field in (self.first, self.second):
            field.meant.set_color(theme.muted)

    def stop(self) -> None:
        """Discard pending edits."""
        self._pause.stop()

    def hideEvent(self, event: QHideEvent) -> None:
        """Discard pending edits while hidden."""
        super().hideEvent(event)
        self._pause.stop()

    def _report(self) -> None:
        self._pause.stop()
        if (typed := self.typed()) != self._reported:
            self._reported = typed
            self.changed.emit()

    def _lay_out(self) -> None:
        cells = grid(self, GRID // 2, GRID // 2)
        for row, field in enumerate((self.first, self.second)):
            parts = (field.heading, field.token, field.plus, field.position, field.meant)
            for column, part in enumerate(parts):
                cells.addWidget(part, row, column)
        cells.addWidget(self.why, 2, 0, 1, 5)
        cells.setColumnStretch(1, 1)
        self.setMaximumWidth(WIDTH)
