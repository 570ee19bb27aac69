"""Questions of a panel about the open model, other models, and null distributions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any
from weakref import ref

from gui.panels.kit.spec import AnyPanel
from gui.panels.kit.views import Scope, Shown
from gui.services.questions import Question
from gui.state.answer import Answer
from gui.state.session import OpenModel, Session


def question_about(session: Session, spec: AnyPanel, choices: Any) -> Question[object] | None:
    """Return a panel's question about the open model; None for none."""
    answers = {name: session.answers.get(name) for name in spec.depends_on}
    results = {
        name: answer.result
        for name, answer in answers.items()
        if answer and answer.state == "ready"
    }
    return spec.question(replace(scope_of(session), results=results), choices)


def question_about_other(session: Session, spec: AnyPanel, choices: Any) -> Question[object] | None:
    """Return a panel's question about another open model, in its session; None for none."""
    if session.model is None or not spec.compares(choices):
        return None
    return spec.question_about_other(scope_of(session), choices)


def waits_for_drag(session: Session, spec: AnyPanel) -> bool:
    """Return whether a panel's question waits for the end of a drag."""
    if spec.follows_drag:
        return False
    others = session.others if spec.compares_all_models else ()
    return any(shown.dragging for shown in (session, *(other.session for other in others)))


def scope_of(session: Session) -> Scope:
    """Return the scope of a question about the open model."""
    assert session.model is not None
    grid = tuple(_shown(listed, session) for listed in session.open_models)
    return Scope(session.model, session.positions, session.components, session.pca, grid)


def _shown(listed: OpenModel, of: Session) -> Shown:
    session = listed.session
    return Shown(
        listed.key,
        listed.name if session.model is None else session.model.name,
        None if session.model is None else ref(session.model),
        session.positions,
        session.components,
        failed=bool(listed.failed),
        current=listed.key == of.current_key,
    )


def nulls_slot(spec: AnyPanel) -> str:
    """Return the slot of the questions about null distributions."""
    return f"{spec.name} nulls"


class NullAnswers:
    """The null distributions beside a panel's result, requested once the result is complete.

    Parameters
    ----------
    session, spec
        The panel's session and spec.
    ask
        Called with a question; with None once its answer is no longer needed.

    Attributes
    ----------
    last_answer
        The last answer that the panel has handled.
    drawn
        The drawn null distributions; None without them.
    """

    def __init__(
        self,
        session: Session,
        spec: AnyPanel,
        ask: Callable[[Question[object] | None], None],
    ) -> None:
        self._session, self._spec, self._ask = session, spec, ask
        self._asked: Question[object] | None = None
        self.last_answer: Answer | None = None
        self.drawn: object = None

    @property
    def answer(self) -> Answer | None:
        """The current answer."""
        return self._session.answers.get(nulls_slot(self._spec))

    def question(self, ready: Answer | None, choices: Any) -> Question[object] | None:
        """Return the question beside a shown result; None while that is incomplete or changing."""
        if ready is None or ready.state != "ready" or self._session.dragging:
            return None
        if self._session.model is None:
            return None
        if ready.question != question_about(self._session, self._spec, choices):
            return None
        return self._spec.nulls_question(scope_of(self._session), choices)

    def ask(self, question: Question[object] | None) -> None:
        """Ask, if the question has changed."""
        if question != self._asked:
            self._asked = question
            self._ask(question)

    def give_up(self) -> None:
        """Cancel the question if its answer is pending."""
        if self.drawn is None and self._asked is not None:
            self._asked = None
            self._ask(None)

    def result(self, ready: Answer | None, choices: Any) -> Any:
        """Return the null distributions beside a shown result; None without them."""
        question, answer = self.question(ready, choices), self.answer
        return answer.result if answer is not None and answer.question == question else None

    def is_drawing(self, question: Question[object]) -> bool:
        """Return whether the answer of a question is being computed."""
        answer = self.answer
        return answer is not None and answer.question == question and answer.state == "working"
