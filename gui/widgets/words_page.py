"""A panel's message in place of a result, with advice and a button."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QPushButton, QVBoxLayout, QWidget

from gui.style.theme import GRID
from gui.widgets.boxes import hbox
from gui.widgets.label import label


class WordsPage(QWidget):
    """A centred message, with optional muted advice and a button below."""

    def __init__(self) -> None:
        super().__init__()
        self.message, self.advice = _line(""), _line("muted")
        self.button = QPushButton()
        words = QVBoxLayout(self)
        words.setSpacing(GRID)
        words.addStretch(1)
        words.addWidget(self.message)
        words.addWidget(self.advice)
        words.addLayout(hbox(1, self.button, 1))
        words.addStretch(1)

    def say(self, text: str, advice: str = "", button: str = "") -> None:
        """Set the message; empty advice or button are hidden."""
        self.message.setText(text)
        self.advice.setText(advice.strip())
        self.advice.setVisible(bool(advice.strip()))
        self.button.setText(button)
        self.button.setVisible(bool(button))


def _line(role: str) -> QLabel:
    made = label("", role, wrap=True)
    made.setAlignment(Qt.AlignmentFlag.AlignCenter)
    return made
