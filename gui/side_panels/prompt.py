"""The prompt: a text whose tokens label the positions they take."""

from __future__ import annotations

from PySide6.QtCore import QMimeData, QSignalBlocker, Qt, QTimer, Signal
from PySide6.QtGui import QHideEvent, QKeyEvent, QTextOption
from PySide6.QtWidgets import QPlainTextEdit, QStackedWidget, QWidget

from gui.side_panels.next_tokens import NextTokens
from gui.state.session import Session
from gui.style.theme import GRID, TEXT, Theme, format_bytes, format_count
from gui.widgets.boxes import hbox, vbox
from gui.widgets.buttons import push_button
from gui.widgets.clicks import selection_after_click
from gui.widgets.label import label
from gui.widgets.panel import Panel
from gui.widgets.segmented import Segmented
from gui.widgets.token_flow import TokenFlow
from gui.widgets.tooltips import wrapped

TYPING_PAUSE_MS = 150
"""Delay after the last key before the text is used; Enter uses it at once."""

_NOTHING_OPEN = "Open a model, then enter text: its tokens label the positions they occupy."
_NOTHING_TYPED = (
    "Enter text: its tokens label the positions they occupy, on the curve and in the inspector."
)
_WORKING = "Splitting the text into tokens…"
RUN_TIP = (
    "Run the text through the network, in a process of its own: which token comes next, also after "
    "the change that Effects shows in 3D. Kernels then shows each head’s attention over these "
    "tokens. The model has to be complete on this machine."
)
STOP_TIP = "Stop running the text (Esc)"
RUNNING = "Running…"
TOKENS, NEXT = "tokens", "next"
PAGES = (
    (TOKENS, "Tokens", "The tokens of the text"),
    (NEXT, "Next", "What the network makes of the text: its next token"),
)


class PromptField(QPlainTextEdit):
    """Two lines of text; Enter submits it, Shift+Enter starts a new line."""

    entered = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.setPlaceholderText("e.g. Hello my name is Adam")
        self.setAccessibleName("Prompt")
        self.setToolTip(
            "Text whose tokens label the positions.\nEnter applies it at once, Shift+Enter starts "
            "a new line."
        )
        self.setTabChangesFocus(True)
        self.setWordWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.document().setDocumentMargin(2)

    def exact_text(self) -> str:
        """Return what was typed; unlike ``toPlainText`` this keeps no-break spaces."""
        raw = self.document().toRawText()
        return raw.replace("\u2029", "\n").replace("\u2028", "\n")

    def keyPressEvent(self, event: QKeyEvent) -> None:
        enter = event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter)
        if enter and not event.modifiers() & Qt.KeyboardModifier.ShiftModifier:
            self.entered.emit()
        else:
            super().keyPressEvent(event)

    def canInsertFromMimeData(self, source: QMimeData) -> bool:
        """Leave files to the window, which opens them."""
        return not source.hasUrls() and super().canInsertFromMimeData(source)


class PromptPanel(Panel):
    """A text field, the tokens of its text, and the network's predictions for it.

    Signals
    -------
    promptRequested(str)
        The text with the labels of the positions; "" for none.
    tokenizerRequested()
        The user agrees to the download of a large tokenizer.
    runRequested(), stopRequested()
        Run the text through the network, or stop that.
    selectionRequested(object)
        A tuple of positions in the order of selection, the last one the current.
    hoverRequested(object)
        The position to highlight in all views, or None.
    """

    promptRequested = Signal(str)
    tokenizerRequested = Signal()
    runRequested = Signal()
    stopRequested = Signal()
    selectionRequested = Signal(object)
    hoverRequested = Signal(object)

    def __init__(self, session: Session, theme: Theme) -> None:
        super().__init__(session, theme)
        self.field = PromptField()
        self.count = label(role="small")
        self.surplus = label(role="badge")
        self.progress = label(RUNNING, "small")
        self.shown = Segmented(PAGES, "Shown")
        self.run = push_button("Run")
        self.clear = push_button("Clear", "Remove the text and its labels")
        self.sentence = label(role="muted", wrap=True)
        self.sentence.setAlignment(Qt.AlignmentFlag.AlignTop)
        self.fetch = push_button("", "Download the tokenizer; it is cached for later use")
        self.flow = TokenFlow(theme)
        self.outcome = NextTokens(theme)
        self._pause = QTimer(self, interval=TYPING_PAUSE_MS, singleShot=True)
        self._late = QTimer(self, interval=TYPING_PAUSE_MS, singleShot=True)
        self._lay_out()
        self._connect()
        self._on_prompt_changed()
        self._show_tokens()
        self._show_run()

    def take_focus(self) -> None:
        self.field.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self.field.selectAll()

    def set_theme(self, theme: Theme) -> None:
        super().set_theme(theme)
        self._set_height()
        self.flow.set_theme(theme)
        self.outcome.set_theme(theme)

    def _set_height(self) -> None:
        """Set the height of the field to two lines."""
        self.field.setFixedHeight(2 * (self.theme.px(TEXT) + 3) + 14)

    def _connect(self) -> None:
        events = self.session.events
        self.listen(events.prompt, self._on_prompt_changed)
        for event in (events.model, events.opening, events.tokens, events.tokens_missing):
            self.listen(event, self._show_tokens)
        for event in (events.prompt_run, events.prompt_running, events.prompt_run_failed):
            self.listen(event, self._show_run)
        self.listen(events.hover, self._show_marks)
        self.listen(events.selection, self._show_marks)
        self.field.textChanged.connect(self._on_typed)
        self.field.entered.connect(self._request)
        self._pause.timeout.connect(self._request)
        self._late.timeout.connect(lambda: self._show_sentence(_WORKING))
        self.shown.chosen.connect(self._show_page)
        self.run.clicked.connect(self._on_run_clicked)
        self.clear.clicked.connect(self._on_clear_clicked)
        self.fetch.clicked.connect(lambda: self.tokenizerRequested.emit())
        self.flow.hovered.connect(self.hoverRequested)
        self.flow.chosen.connect(self._on_chosen)

    # What the user wants.

    def _on_typed(self) -> None:
        self.clear.setVisible(bool(self.field.exact_text()))
        self._pause.start()

    def _request(self) -> None:
        self._pause.stop()
        self.promptRequested.emit(self.field.exact_text())

    def _on_clear_clicked(self) -> None:
        self.field.clear()
        self._request()
        self.field.setFocus()

    def _on_run_clicked(self) -> None:
        (self.stopRequested if self.session.prompt_running else self.runRequested).emit()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Stop on Esc, also if the panel is a window of its own."""
        if event.key() == Qt.Key.Key_Escape and self.session.prompt_running:
            self.stopRequested.emit()
        else:
            super().keyPressEvent(event)

    def hideEvent(self, event: QHideEvent) -> None:
        """Stop a run when the panel is closed, but not when the window is minimised."""
        super().hideEvent(event)
        if self.session.prompt_running and not event.spontaneous():
            self.stopRequested.emit()

    def _on_chosen(self, position: int, modifiers: Qt.KeyboardModifier) -> None:
        self.selectionRequested.emit(
            selection_after_click(self.session.selection, position, modifiers)
        )

    # The session has changed.

    def _on_prompt_changed(self) -> None:
        # While the user types, the field is newer than the session.
        if not self._pause.isActive() and self.field.exact_text() != self.session.prompt:
            with QSignalBlocker(self.field):
                self.field.setPlainText(self.session.prompt)
        self.clear.setVisible(bool(self.field.exact_text()))
        self._show_tokens()

    def _show_tokens(self) -> None:
        session = self.session
        self.field.setEnabled(session.model is not None)
        waiting = (
            session.model is not None
            and bool(session.prompt)
            and session.tokens is None
            and not session.tokens_missing
        )
        if waiting:
            # Delayed: the tokens usually arrive immediately.
            if not self._late.isActive():
                self._late.start()
            return
        self._late.stop()
        sentence = self._sentence()
        if sentence or session.tokens is None:
            self._show_sentence(sentence)
            return
        tokens = session.tokens
        self.flow.set_tokens(tokens.texts, tokens.ids)
        self._show_counts(len(tokens.texts), tokens.truncated)
        self._show_marks()
        self._show_page()

    def _show_run(self) -> None:
        """Show the state of the run; a new result is shown in front."""
        session = self.session
        run, failure = session.prompt_run, session.prompt_run_failed
        known = run is not None or bool(failure)
        self.outcome.show_run(run, failure)
        running = session.prompt_running
        self.run.setText("Stop" if running else "Run")
        self.run.setToolTip(wrapped(STOP_TIP if running else RUN_TIP))
        self.shown.show_value(NEXT if known else TOKENS)
        self._show_page()

    def _show_page(self) -> None:
        """Show the tokens or the outcome, and the widgets beside the buttons."""
        session = self.session
        split = session.tokens is not None and not self._sentence()
        known = split and (session.prompt_run is not None or bool(session.prompt_run_failed))
        counted = not known and not session.prompt_running
        surplus = bool(self.surplus.text())
        # Hide first, then show: there is no room for all, and the panel would grow.
        visible = {
            self.count: counted and not surplus,
            self.surplus: counted and surplus,
            self.progress: split and session.prompt_running,
            self.shown: known,
            self.run: split,
        }
        for part in sorted(visible, key=lambda part: visible[part]):
            part.setVisible(visible[part])
        if split:
            outcome = known and self.shown.value() == NEXT
            self._pages.setCurrentWidget(self.outcome if outcome else self.flow)

    def _sentence(self) -> str:
        session = self.session
        if session.model is None:
            return _NOTHING_OPEN if session.opening is None else f"Opening {session.opening.name}…"
        return session.tokens_missing or ("" if session.prompt else _NOTHING_TYPED)

    def _show_sentence(self, sentence: str) -> None:
        to_fetch = self.session.tokens_to_fetch if sentence == self.session.tokens_missing else 0
        self.fetch.setText(f"Download {format_bytes(to_fetch)}")
        self.fetch.setVisible(to_fetch > 0)
        self.sentence.setText(sentence)
        self.count.clear()
        self.surplus.clear()
        self.flow.set_tokens((), ())
        self._show_page()
        self._pages.setCurrentIndex(0)

    def _show_counts(self, tokens: int, truncated: int) -> None:
        model = self.session.model
        if model is None:
            return
        n_positions = format_count(model.n_positions)
        self.count.setText(f"{format_count(tokens)} of {n_positions}")
        self.count.setToolTip("Positions with a token;\nthe first token is at position 0")
        self.surplus.setText(f"{format_count(truncated)} too many" if truncated else "")
        self.surplus.setToolTip(
            wrapped(
                f"The table ends at position {model.n_positions - 1}:\n"
                f"{format_count(truncated)} further tokens of the text have no position."
            )
        )

    def _show_marks(self) -> None:
        self.flow.set_marks(self.session.hover, self.session.selection)

    def _sentence_page(self) -> QWidget:
        """Return a page with the sentence and the button below it."""
        page = QWidget()
        fetch = (self.fetch, 0, Qt.AlignmentFlag.AlignLeft)
        vbox(self.sentence, fetch, 1, parent=page, spacing=GRID)
        return page

    def _lay_out(self) -> None:
        self.setFocusProxy(self.field)
        self._set_height()
        parts = (self.count, self.surplus, self.progress, self.shown, 1, self.run, self.clear)
        row = hbox(*parts, spacing=GRID)
        self._pages = QStackedWidget()
        self._pages.addWidget(self._sentence_page())
        self._pages.addWidget(self.flow)
        self._pages.addWidget(self.outcome)
        margins = (GRID, GRID, GRID, GRID // 2)
        vbox(self.field, row, (self._pages, 1), parent=self, spacing=GRID // 2, margins=margins)
