"""The empty state: shown in the middle of the window while no model is open."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QPushButton, QToolButton, QVBoxLayout, QWidget

from geometry.checkpoints.transfer import TransferProgress
from gui.state.session import Session
from gui.style.theme import GRID, Theme
from gui.widgets.boxes import hbox, vbox
from gui.widgets.fetch_status import FetchBar, transfer_text
from gui.widgets.label import label
from gui.widgets.panel import Panel
from gui.widgets.scroll_column import ScrollColumn

WELCOME = "Open a model to see its positional embeddings"
EXPLANATION = (
    "Transformers such as GPT-2 learn one vector for each position in their context. "
    "Helixscope draws these vectors as a curve through their first three principal components: "
    "in GPT-2, a helix."
)
HOW = (
    "Choose a model in the Model panel, enter the id of any model on the Hugging Face Hub, "
    "or open a model folder or a single tensor file. Folders and files can also be dropped onto "
    "this window."
)
LESSON = "New here? Start with a lesson"
WIDTH = 480
"""Width of the text in pixels, for readable lines."""


class EmptyState(Panel):
    """Explains the window, and has buttons to open a model."""

    hubRequested = Signal()  # The user wants to open a model on the Hub
    folderRequested = Signal()  # The user wants to open a folder
    fileRequested = Signal()  # The user wants to open a file
    lessonRequested = Signal()  # The user wants to begin with a lesson
    cancelRequested = Signal()  # The user cancels the opening

    def __init__(self, session: Session, theme: Theme) -> None:
        super().__init__(session, theme)
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.title = label(WELCOME, "title")
        texts = [label(text, "muted") for text in (EXPLANATION, HOW)]
        self._how = texts[1]
        self.details = label(role="small")
        texts.append(self.details)
        self._texts = (self.title, *texts)
        for text in self._texts:
            text.setWordWrap(True)
            text.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        self.cancel = QPushButton("Cancel")
        self.cancel.setToolTip("Stop opening the model")
        buttons = (
            (QPushButton("Open from the Hub…"), self.hubRequested),
            (QPushButton("Open folder…"), self.folderRequested),
            (QPushButton("Open file…"), self.fileRequested),
        )
        self._buttons = QWidget()
        self._row = hbox(*(button for button, _ in buttons), parent=self._buttons, spacing=GRID)
        for button, signal in buttons:
            button.clicked.connect(lambda _=False, signal=signal: signal.emit())
        self.lesson = QToolButton()
        self.lesson.setText(LESSON)
        self.lesson.clicked.connect(lambda: self.lessonRequested.emit())
        self.cancel.clicked.connect(lambda: self.cancelRequested.emit())
        self.bar = FetchBar()
        self.bar.setFixedWidth(240)
        # A separate column: in an aligned layout, wrapped labels get too few lines.
        self._words = QWidget()
        vbox(*texts[:2], parent=self._words, spacing=2 * GRID)
        # Room for the texts of a wait, so that nothing moves when it begins.
        self.details.setFixedHeight(2 * self.details.fontMetrics().lineSpacing())
        self.details.setAlignment(Qt.AlignmentFlag.AlignHCenter | Qt.AlignmentFlag.AlignTop)
        inside = QWidget()
        inside.setObjectName("welcome")
        vbox(ScrollColumn(inside), parent=self)
        layout = QVBoxLayout(inside)
        layout.setSpacing(2 * GRID)
        layout.addStretch(1)
        wait = (self.bar, self.details, self.cancel)
        for widget in (self.title, self._words, self._buttons, self.lesson, *wait):
            layout.addLayout(hbox(1, widget, 1))
        layout.addStretch(1)
        self.listen(session.events.model, self._on_state_changed)
        self.listen(session.events.opening, self._on_state_changed)
        self.listen(session.events.status, self._on_state_changed)
        self.listen(session.events.transfer, self._on_transfer_changed)
        self._on_state_changed()
        self.set_theme(theme)

    def set_theme(self, theme: Theme) -> None:
        super().set_theme(theme)
        # Also below the scroll bar, which takes its room when there is nothing to scroll.
        parts = "EmptyState, EmptyState QScrollArea, EmptyState QScrollBar, #welcome"
        self.setStyleSheet(f"{parts} {{ background: {theme.viewport}; }}")

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Wrap the texts, and put the buttons below each other, in a narrow view."""
        super().resizeEvent(event)
        room = self.width() - 6 * GRID
        for text in self._texts:
            text.setFixedWidth(min(WIDTH, room))
        across, down = self._row.Direction.LeftToRight, self._row.Direction.TopToBottom
        self._row.setDirection(across)
        if self._row.sizeHint().width() > room:
            self._row.setDirection(down)

    def _on_state_changed(self) -> None:
        opening = bool(self.session.opening)
        self.setVisible(self.session.model is None)
        self.title.setText(self.session.status if opening else WELCOME)
        for widget in (self.bar, self.details, self.cancel):
            widget.setVisible(opening)
        self._buttons.setVisible(not opening)
        self.lesson.setVisible(not opening)
        self._how.setVisible(not opening)

    def _on_transfer_changed(self, progress: TransferProgress | None) -> None:
        self.bar.show_transfer(progress)
        self.details.setText(transfer_text(progress))
