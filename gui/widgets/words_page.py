"""A panel's message instead of a result, with advice and a button."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QPushButton, QVBoxLayout, QWidget

from gui.style.sentences import thin_spaced
from gui.style.theme import GRID
from gui.widgets.boxes import hbox
from gui.widgets.label import label


class WordsPage(QWidget):
    """A centred message, with optional muted advice and a button below."""

    def __init__(self) -> None:
        super().__init__()
        self.message, self.advice = _line(""), _line("muted")
        self.button = QPushButton()
        layout = QVBoxLayout(self)
        layout.setSpacing(GRID)
        layout.addStretch(1)
        layout.addWidget(self.message)
        layout.addWidget(self.advice)
        layout.addLayout(hbox(1, self.button, 1))
        layout.addStretch(1)

    def show_message(self, text: str, advice: str = "", button: str = "") -> None:
        """Set the message; empty advice or button are hidden."""
        self.message.setText(thin_spaced(text))
        self.advice.setText(thin_spaced(advice.strip()))
        self.advice.setVisible(bool(advice.strip()))
        self.button.setText(button)
        self.button.setVisible(bool(button))


def _line(role: str) -> QLabel:
    line = label("", role, wrap=True)
    line.setAlignment(Qt.AlignmentFlag.AlignCenter)
    return line
