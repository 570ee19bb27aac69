"""The base of all panels that show an answer: four states, a header, and a menu to take it away."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from PySide6.QtCore import QSize, Qt, QTimer, Signal
from PySide6.QtGui import QContextMenuEvent, QKeyEvent, QResizeEvent, QShowEvent
from PySide6.QtWidgets import QMenu, QStackedLayout, QVBoxLayout, QWidget

from gui.panels.base import Panel
from gui.panels.result_header import ResultHeader
from gui.panels.result_menu import result_menu, show_menu
from gui.services.loading import short_name
from gui.state.answer import Answer
from gui.state.session import Session
from gui.style.sentences import as_sentence
from gui.style.theme import GRID, Theme, format_bytes
from gui.widgets.words_page import WordsPage
from gui.widgets.working_strip import WorkingStrip

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from gui.state.guides import Guide

CANCELLED = "This was cancelled before it was done."


class ResultPanel(Panel):
    """A panel that asks a question about the open model and shows what comes of it.

    It asks only while it can be seen, and anew when its question becomes another one. While an
    answer is on its way the one before stays, if it is about the same model, until something is
    known of the new one. Esc gives up waiting, as the button does.

    Subclasses say what they are in the class attributes, add their controls to :attr:`header`, put
    what they show into the widget that :meth:`build` makes, and call :meth:`ask` whenever something
    that :meth:`question` depends on has changed.
    """

    slot: ClassVar[str]
    """The name it asks under, which is that of its dock."""
    formula: ClassVar[str]
    meaning: ClassVar[str]
    explanation: ClassVar[str]
    """What is shown, as a formula; in words; in two sentences."""
    empty: ClassVar[str]
    """What it will show, in one sentence that begins "Open a model to see"."""
    instead: ClassVar[str] = ""
    """What still works where this does not, as a sentence."""

    asked = Signal(object, bool)
    """A question; whether the user agrees to a large download."""
    unwatched = Signal()
    """Nobody looks at the panel any more: what it waits for may be given up."""
    cancelRequested = Signal()
    selectionRequested = Signal(tuple)
    """Positions, the last one becomes the current one."""
    hoverRequested = Signal(object)
    """The position under the mouse, or None."""
    fieldRequested = Signal(str, object)
    """A field of the session that the user wants to be another one; its value."""
    guideRequested = Signal(object)
    """What to draw beside the curve, a :class:`gui.state.guides.Guide`; None for nothing."""
    showRequested = Signal(str, object)
    """Another panel is to be shown, by its dock's name; options for its :meth:`configure`."""

    def __init__(self, session: Session, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(session, theme, parent)
        self.content: QWidget | None = None
        self.saver: Any = None
        self._answer: Answer | None = None
        self._ready: Answer | None = None
        self._in_front = True
        self._guide: Guide | None = None
        self.header = ResultHeader(self.formula, self.meaning, self.explanation, theme)
        self.header.menuRequested.connect(lambda at: show_menu(self, at))
        self.strip = WorkingStrip(theme)
        self.strip.cancelRequested.connect(self.cancelRequested)
        self.words = WordsPage()
        self.message, self.advice = self.words.message, self.words.advice
        self.button = self.words.button
        self.button.clicked.connect(self._on_button)
        self._builder = QTimer(self, interval=0, singleShot=True)
        self._builder.timeout.connect(self._make_content)
        self._build_layout()
        events = session.events
        for signal, slot in (
            (events.model, self._on_model_changed),
            (events.opening, self._show_answer),
            (events.answers, self._on_answers_changed),
        ):
            self.listen(signal, slot)
        self._show_answer()

    # What subclasses say. None of it is asked for while no model is open.

    def question(self) -> Any | None:
        """Return the :class:`gui.services.questions.Question` to ask now; None for none."""
        raise NotImplementedError

    def build(self) -> QWidget:
        """Make what a result is shown in; called once, before the first one is there."""
        raise NotImplementedError

    def show_result(self, result: Any) -> None:
        """Show a result in what :meth:`build` made."""
        raise NotImplementedError

    def caption(self, result: Any) -> str:
        """Return one line: the model, the scope, and what sums the result up."""
        raise NotImplementedError

    def figure(self, result: Any) -> Callable[[], Figure]:
        """Return what draws the result for print; it is called on a thread, without the panel."""
        raise NotImplementedError

    def numbers(self, result: Any) -> Mapping[str, np.ndarray]:
        """Return the numbers behind what is shown, by names for columns."""
        raise NotImplementedError

    def python(self) -> str:
        """Return a script that computes what is shown with ``geometry``, and prints it."""
        raise NotImplementedError

    def key_acts(self) -> Mapping[int, Callable[[], None]]:
        """Return what keys without a modifier do now."""
        return {}

    # What subclasses call.

    def ask(self) -> None:
        """Ask, if the panel can be seen and its question is another one than before."""
        if self.session.model is None or not self._in_front or not self.isVisible():
            return
        question = self.question()
        if question is None:
            return
        answer = self._answer
        if answer is None or answer.question != question or answer is not self._current():
            self.asked.emit(question, False)
            if self.content is None:
                # While the answer is worked out: with it, it would be one long wait for the user.
                self._builder.start()

    @property
    def result(self) -> Any:
        """The result that is shown, which may lack something yet; None if none is."""
        return None if self._ready is None else self._ready.result

    @property
    def answered(self) -> Any:
        """The question that the result which is shown answers; None if none is."""
        return None if self._ready is None else self._ready.question

    def show_caption(self) -> None:
        """Write the caption anew, after a control that is no part of the question has changed."""
        if self._ready is not None:
            self.header.caption.set_text(self.caption(self._ready.result))

    def show_guide(self, guide: Guide | None) -> None:
        """Draw something beside the curve for as long as the panel is in front, or nothing.

        It goes when the panel has no result, and when another model is opened.
        """
        if guide is not self._guide:
            self._guide = guide
            if self._in_front:
                self.guideRequested.emit(guide)

    # Being seen.

    def set_in_front(self, in_front: bool) -> None:
        if in_front is not self._in_front and self._guide is not None:
            self.guideRequested.emit(self._guide if in_front else None)
        self._in_front = in_front
        if in_front:
            self.ask()
        else:
            self.unwatched.emit()

    def showEvent(self, event: QShowEvent) -> None:
        """Ask what was not asked while nobody could see it."""
        super().showEvent(event)
        self.ask()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Keep the progress in its place."""
        super().resizeEvent(event)
        self._place_strip()

    def set_theme(self, theme: Theme) -> None:
        """Take new colours."""
        super().set_theme(theme)
        self.header.set_theme(theme)
        self.strip.set_theme(theme)

    def minimumSizeHint(self) -> QSize:
        """Return the least size in which a plot can be read."""
        return QSize(240, 176)

    def sizeHint(self) -> QSize:
        """Return a size for a dock under the viewport."""
        return QSize(960, 208)

    # What the session says.

    def _on_model_changed(self) -> None:
        self._answer = self._ready = None
        self._show_answer()
        self.ask()

    def _current(self) -> Answer | None:
        return self.session.answers.get(self.slot)

    def _on_answers_changed(self) -> None:
        answer = self._current()
        if answer is not self._answer:
            self._answer = answer
            self._show_answer()

    def _show_answer(self) -> None:
        """Show the state of things: the four that there are, and what to do about it."""
        self.header.set_controls_enabled(self.session.model is not None)
        answer = self._answer
        state = None if answer is None or self.session.model is None else answer.state
        self.strip.setVisible(state == "working")
        if answer is not None and state == "ready":
            self._show_ready(answer)
        elif answer is not None and state == "working":
            self.strip.show_progress(answer.fraction, answer.message)
            if answer.result is not None:
                self._show_ready(answer)
            elif self._ready is None:
                self._say("")
            self._place_strip()
        elif answer is not None and state == "impossible":
            advice = f"{answer.advice} {self.instead}"
            self._say(as_sentence(answer.why), advice, "Try again" * answer.retry)
        elif answer is not None and state == "cancelled":
            self._say(CANCELLED, button="Compute")
        elif answer is not None and state == "to fetch":
            size = format_bytes(answer.bytes_to_fetch) if answer.bytes_to_fetch else ""
            why = answer.why or f"This takes {size} from the Hub."
            verb = "Download" if answer.why else "Fetch"
            self._say(why, self.instead, f"{verb} {size}".rstrip())
        elif self._ready is None:
            self._say(self._waiting_for())

    def _waiting_for(self) -> str:
        if self.session.opening:
            return f"Opening {short_name(self.session.opening)}…"
        return self.empty if self.session.model is None else ""

    def _show_ready(self, answer: Answer) -> None:
        self._ready = answer
        self._make_content()
        self.show_result(answer.result)
        self.show_caption()
        # What lacks something is not taken away.
        self.header.more.setEnabled(answer.state == "ready")
        self._stack.setCurrentWidget(self._content_page)

    def _make_content(self) -> None:
        if self.content is None:
            self.content = self.build()
            self._page.addWidget(self.content, 1)

    def _say(self, text: str, advice: str = "", button: str = "") -> None:
        """Show words in place of a result."""
        self._ready = None
        self.show_guide(None)
        self.header.caption.set_text("")
        self.header.more.setEnabled(False)
        self.words.say(text, advice, button)
        self._stack.setCurrentWidget(self.words)

    # What the user wants.

    def _on_button(self) -> None:
        if self.session.model is not None and (question := self.question()) is not None:
            self.asked.emit(question, self._answer is not None and self._answer.state == "to fetch")

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Do what the panel's keys do; else give up waiting with Esc: it may be its own window."""
        plain = not event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier
        act = self.key_acts().get(event.key()) if plain else None
        if act is not None:
            act()
        elif event.key() == Qt.Key.Key_Escape and not self.strip.isHidden():
            self.cancelRequested.emit()
        else:
            super().keyPressEvent(event)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        """Offer to save and copy."""
        if self._ready is not None and self._ready.state == "ready":
            show_menu(self, event.globalPos())

    def menu(self) -> QMenu:
        """Return the menu of what can be done with the result; the caller shows it."""
        return result_menu(self)

    def file_name(self) -> str:
        """Return the name that files are offered under, without an ending."""
        assert self.session.model is not None
        # A revision such as gpt2@refs/pr/1 is no folder.
        return f"{self.session.model.name.replace('/', '-')} {self.slot}"

    # The parts.

    def _build_layout(self) -> None:
        page = QVBoxLayout(self)
        page.setContentsMargins(GRID, GRID // 2, GRID, GRID // 2)
        page.setSpacing(GRID // 2)
        # As a window of its own the panel would keep the least width of the widest arrangement.
        page.setSizeConstraint(QVBoxLayout.SizeConstraint.SetNoConstraint)
        page.addWidget(self.header)
        self._holder = QWidget()
        self._stack = QStackedLayout(self._holder)
        page.addWidget(self._holder, 1)
        self._content_page = QWidget()
        self._page = QVBoxLayout(self._content_page)
        self._page.setContentsMargins(0, 0, 0, 0)
        self._stack.addWidget(self.words)
        self._stack.addWidget(self._content_page)
        self.strip.setParent(self)
        self.strip.hide()

    def _place_strip(self) -> None:
        """Put the progress in the middle, or into a corner where a result stays in sight."""
        if not self.strip.isHidden():
            shown = "" if self._ready is None else self._ready.state
            self.strip.place(self._holder.geometry(), shown)
