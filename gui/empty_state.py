"""What the middle of the window shows while no model is open."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QProgressBar, QPushButton, QVBoxLayout, QWidget

from gui.panels.base import Panel, label
from gui.session import Session
from gui.theme import GRID, Theme

WELCOME = "Open a model to see its positional embeddings"
EXPLANATION = (
    "Transformers such as GPT-2 learn one vector for each position in the prompt. "
    "Helixscope draws these vectors as a curve through their first three principal components: "
    "in GPT-2, a helix."
)
HOW = (
    "Choose a model from the list on the left, open a Hugging Face model folder or a single "
    "tensor file, or drop one onto this window."
)
WIDTH = 480
"""Of the text, in pixels: lines that are easy to read."""


class EmptyState(Panel):
    """Says what will be here, and offers the ways to get there.

    Signals
    -------
    folderRequested(), fileRequested()
        The user wants to open a folder, a file.
    """

    folderRequested = Signal()
    fileRequested = Signal()

    def __init__(self, session: Session, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(session, theme, parent)
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.title = label(WELCOME, "title")
        texts = [label(text, "muted") for text in (EXPLANATION, HOW)]
        self._how = texts[1]
        for text in texts:
            text.setWordWrap(True)
            text.setAlignment(Qt.AlignmentFlag.AlignHCenter)
            text.setFixedWidth(WIDTH)
        folder, file = QPushButton("Open folder…"), QPushButton("Open file…")
        folder.clicked.connect(self.folderRequested)
        file.clicked.connect(self.fileRequested)
        self._buttons = QWidget()
        row = QHBoxLayout(self._buttons)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(GRID)
        row.addWidget(folder)
        row.addWidget(file)
        self._progress = QProgressBar()
        self._progress.setRange(0, 0)
        self._progress.setTextVisible(False)
        self._progress.setFixedSize(240, 4)
        self._progress.setAccessibleName("Opening")
        # A column of its own: in a layout that aligns it, a label that wraps gets too few lines.
        self._words = QWidget()
        column = QVBoxLayout(self._words)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(2 * GRID)
        for text in texts:
            column.addWidget(text)
        layout = QVBoxLayout(self)
        layout.setSpacing(2 * GRID)
        layout.addStretch(1)
        for widget in (self.title, self._words, self._buttons, self._progress):
            row = QHBoxLayout()
            row.addStretch(1)
            row.addWidget(widget)
            row.addStretch(1)
            layout.addLayout(row)
        layout.addStretch(1)
        self.listen(session.events.model, self._on_state_changed)
        self.listen(session.events.opening, self._on_state_changed)
        self._on_state_changed()
        self.set_theme(theme)

    def set_theme(self, theme: Theme) -> None:
        """Take the viewport's background."""
        super().set_theme(theme)
        self.setStyleSheet(f"EmptyState {{ background: {theme.viewport}; }}")

    def _on_state_changed(self) -> None:
        opening = bool(self.session.opening)
        self.setVisible(self.session.model is None)
        self.title.setText(self.session.status if opening else WELCOME)
        self._progress.setVisible(opening)
        self._buttons.setVisible(not opening)
        self._how.setVisible(not opening)
