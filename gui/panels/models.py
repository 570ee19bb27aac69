"""The models: search, what is here and what is not, recent ones, and what is being opened."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import (
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QProgressBar,
    QPushButton,
    QSizePolicy,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from gui.loading import remembered_name
from gui.panels.base import Panel, label
from gui.panels.model_list import ModelList
from gui.panels.model_rows import Line, list_groups, not_here, source_title
from gui.session import Session
from gui.theme import GRID, Theme
from gui.tooltips import wrapped

_EMPTY = "No models are listed. Open a folder or a file with a checkpoint of your own."


class ModelPanel(Panel):
    """The catalogue with search and state, recent sources, and the buttons to open others.

    Signals
    -------
    openRequested
        A source: an id of the catalogue or a path.
    folderRequested, fileRequested
        The user wants to choose a folder or a file.
    cancelRequested
        The user gives up on what is being opened.
    """

    openRequested = Signal(str)
    folderRequested = Signal()
    fileRequested = Signal()
    cancelRequested = Signal()

    def __init__(self, session: Session, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(session, theme, parent)
        self.search = QLineEdit()
        self.search.setPlaceholderText("Search models")
        self.search.setClearButtonEnabled(True)
        self.search.setAccessibleName("Search models")
        self.search.setToolTip(
            wrapped("Search by name, id or group; Enter opens the first that is here")
        )
        self.search.installEventFilter(self)
        self.list = ModelList(theme)
        self.message = self._make_note("")
        self.explanation = self._make_note("small")
        self.folder = QPushButton("Open folder…")
        self.folder.setToolTip("Open a checkpoint: a folder in the Hugging Face layout")
        self.file = QPushButton("Open file…")
        self.file.setToolTip("Open a .safetensors, .bin, .pt, .npy or .npz file")
        self.opening = label()
        self.cancel = QPushButton("Cancel")
        self.cancel.setToolTip("Give up on what is being opened; what is open stays")
        # Fewer than four lines of the list are no list.
        self.setMinimumHeight(184)
        self._arrange()
        self._connect()
        self.set_theme(theme)
        self._on_models_changed()
        self._on_opening_changed()

    def set_theme(self, theme: Theme) -> None:
        """Take new colours."""
        super().set_theme(theme)
        self.list.set_theme(theme)

    def focus_search(self) -> None:
        """Put the cursor in the search field, ready to replace what is there."""
        self.search.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self.search.selectAll()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Let Down go from the search field to the list, and Esc clear the field."""
        if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress:
            if event.key() == Qt.Key.Key_Down:
                self.list.enter()
                return True
            if event.key() == Qt.Key.Key_Escape and self.search.text():
                self.search.clear()
                return True
        return super().eventFilter(watched, event)

    # -- building ---------------------------------------------------------------------------

    def _make_note(self, role: str) -> QLabel:
        note = label(role=role or "muted")
        note.setWordWrap(True)
        note.setAlignment(Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignLeft)
        return note

    def _arrange(self) -> None:
        self._stack = QStackedWidget()
        self._stack.addWidget(self.list)
        self._stack.addWidget(self.message)
        self.opening.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        progress = QProgressBar()
        progress.setRange(0, 0)
        progress.setTextVisible(False)
        progress.setFixedHeight(4)
        progress.setAccessibleName("Opening")
        names = QVBoxLayout()
        names.setSpacing(2)
        names.addWidget(self.opening)
        names.addWidget(progress)
        self._working = QWidget()
        working = QHBoxLayout(self._working)
        working.setContentsMargins(0, 0, 0, 0)
        working.addLayout(names, 1)
        working.addWidget(self.cancel)
        buttons = QHBoxLayout()
        buttons.setSpacing(GRID)
        buttons.addWidget(self.folder)
        buttons.addWidget(self.file)
        column = QVBoxLayout(self)
        column.setContentsMargins(GRID, GRID // 2, GRID, GRID)
        column.setSpacing(GRID // 2)
        column.addWidget(self.search)
        column.addWidget(self._stack, 1)
        column.addWidget(self.explanation)
        column.addWidget(self._working)
        column.addLayout(buttons)
        self.explanation.hide()

    def _connect(self) -> None:
        self.search.textChanged.connect(self._on_search_changed)
        self.search.returnPressed.connect(self.list.choose_first)
        self.list.chosen.connect(self._on_line_chosen)
        self.folder.clicked.connect(self.folderRequested)
        self.file.clicked.connect(self.fileRequested)
        self.cancel.clicked.connect(self.cancelRequested)
        events = self.session.events
        self.listen(events.models, self._on_models_changed)
        self.listen(events.recent, self._on_models_changed)
        self.listen(events.model, self._on_model_changed)
        self.listen(events.opening, self._on_opening_changed)

    # -- what the user wants ----------------------------------------------------------------

    def _on_line_chosen(self, line: Line) -> None:
        self._explain("" if line.here else not_here(line))
        # The second click of a double-click finds the model open, or being opened, already.
        if line.here and line.source not in (self.session.opening, self._open_source()):
            self.openRequested.emit(line.source)

    def _on_search_changed(self, search: str) -> None:
        self._explain("")
        self.list.set_search(search)
        self._show_list_or_message()

    # -- what the session says --------------------------------------------------------------

    def _open_source(self) -> str:
        model = self.session.model
        return remembered_name(model.source) if model is not None else ""

    def _on_models_changed(self) -> None:
        self.list.show_groups(list_groups(self.session.models, self.session.recent))
        self._show_list_or_message()
        self._on_model_changed()

    def _on_model_changed(self) -> None:
        source = self._open_source()
        # "gpt2" opens the catalogue's "openai-community/gpt2".
        ids = [row.entry.id for row in self.session.models]
        short = [name for name in ids if name.rsplit("/", 1)[-1].casefold() == source.casefold()]
        self.list.show_open(short[0] if short and source not in ids else source)

    def _on_opening_changed(self) -> None:
        source = self.session.opening
        self._working.setVisible(bool(source))
        if source:
            self._explain("")
            self.opening.setText(f"Opening {source_title(source, self.session.models)}…")
            self.opening.setToolTip(wrapped(source))

    def _show_list_or_message(self) -> None:
        search = self.search.text().strip()
        if not self.session.models and not self.session.recent:
            self.message.setText(_EMPTY)
        elif not self.list.lines():
            self.message.setText(f"No model matches “{search}”. Search by name, id or group.")
        else:
            self._stack.setCurrentWidget(self.list)
            return
        self._stack.setCurrentWidget(self.message)

    def _explain(self, text: str) -> None:
        self.explanation.setText(text)
        self.explanation.setVisible(bool(text))
