"""The lesson: the text of a step, while the window shows its subject."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from PySide6.QtCore import QSize, Qt, QUrl, Signal

from geometry.inside.effects import Effects
from gui.services.effects import EffectsResult
from gui.services.lessons.facts import CONDITIONS, holds, needs_effects, number, tensors_for
from gui.services.lessons.findings import Findings
from gui.services.lessons.text import Facts, Wanted, text_for, wanted_for
from gui.services.questions import Progress, QuestionContext, Tensor
from gui.side_panels.lesson_page import ANSWER, LessonPage
from gui.state.answer import Answer
from gui.state.lessons import OPEN_LINK, PANEL_LINK, Course, Section
from gui.state.session import Session
from gui.style.theme import GRID, Theme, format_bytes
from gui.widgets.boxes import hbox, vbox
from gui.widgets.buttons import push_button
from gui.widgets.drop_down import DropDown
from gui.widgets.label import label
from gui.widgets.links import open_web_page
from gui.widgets.panel import Panel
from gui.widgets.tooltips import wrapped

NO_MODEL = "The lesson works on the open model. Choose one in the Model panel to begin."
NO_LESSON = "No lesson could be read."
FINISH = "Finish"
MAX_TITLE_WIDTH = 280
"""Maximum width of the next lesson's title on its button, in pixels."""
AGAIN = "Restore the window's setup for this step"
EFFECTS = "effects"
"""Slot of the panel of effects, which measures on request of the user."""


class LessonPanel(Panel):
    """A step of a lesson, with buttons for navigation.

    Its numbers are those of the open model, requested as in result panels. The buttons are above
    the text, so that neither its length nor a panel below moves them.
    """

    slot: ClassVar[str] = "lesson"

    asked = Signal(object, bool)
    """A question; whether the user agrees to a large download."""
    questionCleared = Signal()
    """There is no question: an answer is not needed."""
    stepRequested = Signal(int)
    """Step by this number."""
    againRequested = Signal()
    """Set the window up for this step again."""
    finishRequested = Signal()
    """The last step is done: restore the window."""
    lessonRequested = Signal(int)
    """The index of another lesson."""
    showRequested = Signal(str)
    """A panel from a link, by its dock's name."""
    openRequested = Signal(str)
    """A source from a link."""

    def __init__(self, session: Session, theme: Theme) -> None:
        super().__init__(session, theme)
        self._shown: tuple[Course | None, Answer | None] = (None, None)
        self._answered = False
        self._effects = measured_effects(session.answers.get(EFFECTS))
        self.choice = DropDown()
        self.choice.setAccessibleName("Lesson")
        self.choice.activated.connect(self.lessonRequested)
        self.name, self.count = label(role="small"), label(role="small")
        self.title = label(role="title", wrap=True)
        self.page = LessonPage(theme)
        self.page.linked.connect(self._on_linked)
        self.note = label(role="small", wrap=True)
        self.fetch = push_button("")
        self.fetch.clicked.connect(lambda: self._ask(fetch=True))
        self.again = push_button("Restore setup", AGAIN)
        self.previous = push_button("Previous", "Previous step")
        self.next = push_button("Next", "Next step")
        self.again.clicked.connect(self.againRequested)
        self.previous.clicked.connect(lambda: self.stepRequested.emit(-1))
        self.next.clicked.connect(self._on_next)
        self.next.setText(FINISH)  # the wider of its two texts
        self.next.setMinimumWidth(self.next.sizeHint().width())
        self.further = push_button("")
        self.further.clicked.connect(self._on_further)
        self._lay_out()
        events = session.events
        for signal, slot in (
            (events.lessons, self._on_lessons_changed),
            (events.lesson, self._on_lesson_changed),
            (events.model, self._on_model_changed),
            (events.answers, self._on_answers_changed),
        ):
            self.listen(signal, slot)
        self._on_lessons_changed()
        self._on_lesson_changed()

    def set_theme(self, theme: Theme) -> None:
        super().set_theme(theme)
        self.page.set_theme(theme)

    def minimumSizeHint(self) -> QSize:
        return QSize(240, 280)

    def sizeHint(self) -> QSize:
        return QSize(320, 460)

    # ---- the session has changed ---------------------------------------------------------

    @property
    def course(self) -> Course | None:
        """The current lesson and step."""
        return self.session.lesson

    def _on_lessons_changed(self) -> None:
        self.choice.clear()
        for index, lesson in enumerate(self.session.lessons):
            self.choice.addItem(lesson.title)
            self.choice.setItemData(index, wrapped(lesson.about), Qt.ItemDataRole.ToolTipRole)
        several = len(self.session.lessons) > 1
        self.choice.setVisible(several)
        self.name.setVisible(not several)

    def _on_lesson_changed(self) -> None:
        course, model = self.course, self.session.model
        self._answered = False
        if course is not None:
            self.choice.setCurrentIndex(self.session.lessons.index(course.lesson))
            self.name.setText(course.lesson.title)
            self.count.setText(f"{course.number + 1} of {len(course.steps)}")
            self.title.setText(course.step.title)
            self.next.setText(FINISH if course.at_end else "Next")
        self._show_further()
        self.count.setVisible(course is not None)
        for widget in (self.again, self.next):
            widget.setEnabled(course is not None and model is not None)
        self.previous.setEnabled(course is not None and course.number > 0 and model is not None)
        self._ask()
        self._show_text(new=True)

    def _on_model_changed(self) -> None:
        self._effects = None  # of the previous model
        self._on_lesson_changed()

    def _show_further(self) -> None:
        """Offer the next lesson at the end of one."""
        course, model = self.course, self.session.model
        following = None if course is None else course.following(self.session.lessons)
        offered = course is not None and course.at_end and model is not None
        self.further.setVisible(following is not None and offered)
        if following is not None:
            # Titles may be of any length, and an "&" in one does not mark a key.
            title = following.title.replace("&", "&&")
            self.further.setText(
                self.fontMetrics().elidedText(
                    f"Next lesson: {title}", Qt.TextElideMode.ElideRight, MAX_TITLE_WIDTH
                )
            )
            self.further.setToolTip(wrapped(following.about))

    def _question(self) -> FactsOf | None:
        if self.course is None or self.session.model is None:
            return None
        wanted = wanted_for(self.course.step, self.session.model)
        return facts_of(wanted, self._effects) if wanted else None

    def _ask(self, *, fetch: bool = False) -> None:
        question = self._question()
        if question is None:
            self.questionCleared.emit()
        else:
            self.asked.emit(question, fetch)

    def _on_answers_changed(self) -> None:
        effects = measured_effects(self.session.answers.get(EFFECTS))
        if effects is not None and effects != self._effects:
            before, self._effects = self._question(), effects
            if self._question() != before:
                self._ask()
        answer = self._answer()
        # Until the numbers of new effects are known, the previous ones stay visible.
        if answer is not None and (self.course, answer) != self._shown:
            self._show_text(new=False)

    def _answer(self) -> Answer | None:
        """Return the answer to this step's question; None without one."""
        answer = self.session.answers.get(self.slot)
        return answer if answer is not None and answer.question == self._question() else None

    def _show_text(self, *, new: bool) -> None:
        """Show the text of the step, with its numbers as soon as they are known."""
        answer, course, model = self._answer(), self.course, self.session.model
        self._shown = course, answer
        self._show_note(answer)
        if course is None or model is None:
            self.title.setText("Lesson" if course is None else course.lesson.title)
            self.page.show_text({"": NO_LESSON if course is None else NO_MODEL})
            return
        facts: Facts | None = {}
        if wanted_for(course.step, model):
            facts = None if answer is None or answer.state != "ready" else answer.result
        text: dict[Section, str] = text_for(course.step, model, facts)
        self.page.show_text(text, answered=self._answered, keep=not new)

    def _show_note(self, answer: Answer | None) -> None:
        """Explain missing numbers."""
        state = None if answer is None else answer.state
        note, button = "", ""
        if answer is not None and state == "to fetch":
            size = format_bytes(answer.bytes_to_fetch) if answer.bytes_to_fetch else ""
            note = answer.why or f"The numbers of this step need {size} from the Hub."
            button = f"Download {size}".rstrip()
        elif answer is not None and state == "impossible":
            note, button = f"Numbers not available: {answer.why}", "Try again" * answer.retry
        elif state == "working":
            note = "Computing the numbers of this step…"
        elif state == "cancelled":
            note, button = "The numbers of this step were not computed.", "Compute"
        self.note.setText(note)
        self.note.setVisible(bool(note))
        self.fetch.setText(button)
        self.fetch.setVisible(bool(button))

    # ---- what the user wants -------------------------------------------------------------

    def _on_next(self) -> None:
        if self.course is not None and self.course.at_end:
            self.finishRequested.emit()
        else:
            self.stepRequested.emit(1)

    def _on_further(self) -> None:
        if self.course is not None:
            self.lessonRequested.emit(self.session.lessons.index(self.course.lesson) + 1)

    def _on_linked(self, url: QUrl) -> None:
        if url.toString() == ANSWER:
            self._answered = True
            self._show_text(new=False)
        elif url.scheme() == PANEL_LINK:
            self.showRequested.emit(url.path())
        elif url.scheme() == OPEN_LINK:
            self.openRequested.emit(url.path())
        else:
            open_web_page(url.toString(QUrl.ComponentFormattingOption.FullyEncoded))

    # ---- the parts -----------------------------------------------------------------------

    def _lay_out(self) -> None:
        top = hbox((self.choice, 1), (self.name, 1), (self.count, 0, Qt.AlignmentFlag.AlignRight))
        buttons = hbox(self.again, 1, self.previous, self.next, spacing=GRID)
        fetch = (self.fetch, 0, Qt.AlignmentFlag.AlignLeft)
        page = vbox(
            top,
            buttons,
            self.title,
            (self.page, 1),
            self.note,
            fetch,
            self.further,
            parent=self,
            spacing=GRID // 2,
            margins=(GRID, GRID // 2, GRID, GRID),
        )
        page.insertSpacing(page.indexOf(self.title), GRID // 2)
        page.insertSpacing(page.indexOf(self.page), GRID // 2)


@dataclass(frozen=True, slots=True)
class FactsOf:
    """Facts about the open model, without duplicates; some need results of the panel of effects."""

    wanted: tuple[Wanted, ...]
    effects: Effects | None = None

    def tensors(self) -> tuple[Tensor, ...]:
        return tensors_for([name for name, _ in self.wanted])

    def steps(self, context: QuestionContext) -> Iterator[Progress | Facts]:
        facts: dict[Wanted, str | bool | None] = {}
        for name, positions in self.wanted:
            yield Progress(len(facts) / len(self.wanted), "Computing the numbers of this step")
            findings = Findings(context, positions, self.effects)
            measure = holds if name in CONDITIONS else number
            facts[name, positions] = measure(name, findings)
        yield MappingProxyType(facts)


def facts_of(wanted: tuple[Wanted, ...], effects: Effects | None) -> FactsOf:
    """Return the question for some facts; without effects, if none is about these."""
    return FactsOf(wanted, effects if needs_effects(name for name, _ in wanted) else None)


def measured_effects(answer: Answer | None) -> Effects | None:
    """Return what the panel of effects has measured; None if that is nothing, or not a loss."""
    result = None if answer is None or answer.state != "ready" else answer.result
    if not isinstance(result, EffectsResult) or result.effects.baseline is None:
        return None
    return result.effects
