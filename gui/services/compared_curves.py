"""Curves of compared models in a panel."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields, is_dataclass
from functools import partial
from itertools import chain, count
from typing import TYPE_CHECKING, Any

from gui.state.session import Session
from gui.style.listening import Listening
from gui.style.theme import SERIES, Theme

if TYPE_CHECKING:
    from geometry.models.model import PositionalModel
    from gui.services.questions import Question
    from gui.state.answer import Answer


@dataclass(frozen=True, eq=False, slots=True)
class ComparedCurve:
    """A compared model's curve in a panel."""

    key: int  # Key of the model
    name: str  # Its name, with range and number where necessary to make it unique
    color: int  # Index of its colour among those for several curves
    shown: bool  # Whether it is shown
    # The model, None while it is loading; its shown positions.
    model: PositionalModel | None
    positions: tuple[int, int]
    answer: Answer | None  # Answer to the panel's current question; None while there is none
    failed: str = ""  # Why the model could not be opened, as a sentence

    @property
    def result(self) -> Any:
        """The result, or None while there is none."""
        ready = self.answer is not None and self.answer.state == "ready"
        return self.answer.result if self.answer is not None and ready else None

    @property
    def drawn(self) -> bool:
        """Whether it is shown and has a result."""
        return self.shown and self.result is not None


class ComparedCurves:
    """Asks a panel's question about the compared models too, and reports the results.

    Parameters
    ----------
    slot
        The panel's slot.
    question_of
        Returns the question about a session's model; None for none.
    ask
        Called with a model's key and a question.
    changed
        Called when :attr:`curves` have changed.
    """

    def __init__(
        self,
        session: Session,
        slot: str,
        question_of: Callable[[Session], Question[object] | None],
        ask: Callable[[int, Question[object]], None],
        changed: Callable[[], None],
    ) -> None:
        self._session, self._slot = session, slot
        self._question_of, self._ask, self._changed = question_of, ask, changed
        self._asking = False
        self._curves = compared_curves(session, slot, question_of)
        self._listening = Listening()
        self._followed: dict[int, tuple[Session, Listening]] = {}
        events = session.events
        self._listening.to(events.open_models, self._follow)
        for signal in (events.hidden_curves, events.model):
            self._listening.to(signal, self._show)
        self._follow()

    def close(self) -> None:
        """Stop listening."""
        self._listening.stop()
        for _, listening in self._followed.values():
            listening.stop()
        self._followed.clear()

    @property
    def curves(self) -> tuple[ComparedCurve, ...]:
        """A curve for each compared model, in order; the same tuple until one changes."""
        return self._curves

    def ask(self, *, asking: bool = True) -> None:
        """Ask pending questions, now and from now on; or stop asking."""
        self._asking = asking
        if asking:
            for other in self._session.others:
                self._ask_about(other.key, other.session)
            self._show()

    def toggled(self, key: int) -> frozenset[tuple[str, int]]:
        """Return ``session.hidden_curves`` with one of this panel's curves toggled."""
        return self._session.hidden_curves ^ {(self._slot, key)}

    def question_about(self, key: int) -> Question[object] | None:
        """Return the question about a compared model; None for none."""
        return next(
            (self._question_of(c.session) for c in self._session.others if c.key == key), None
        )

    def _follow(self) -> None:
        here = {other.key: other.session for other in self._session.others}
        for key, (session, listening) in tuple(self._followed.items()):
            if here.get(key) is not session:
                listening.stop()
                del self._followed[key]
        for key, session in here.items():
            if key not in self._followed:
                self._followed[key] = session, self._listening_to(key, session)
            self._ask_about(key, session)
        self._show()

    def _listening_to(self, key: int, session: Session) -> Listening:
        events, listening = session.events, Listening()
        follow = partial(self._on_changed, key, session)
        for signal in (events.model, events.positions, events.dragging, events.components):
            listening.to(signal, follow)
        listening.to(events.answers, self._on_answers_changed)
        return listening

    def _on_changed(self, key: int, session: Session) -> None:
        # Nothing is asked or drawn with every tick of a drag, nor in a hidden panel.
        if self._asking and not session.dragging:
            self._ask_about(key, session)
            self._show()

    def _on_answers_changed(self) -> None:
        if self._asking:
            self._show()

    def _ask_about(self, key: int, session: Session) -> None:
        if not self._asking or session.model is None or session.dragging:
            return
        question, answer = self._question_of(session), session.answers.get(self._slot)
        if question is not None and (answer is None or answer.question != question):
            self._ask(key, question)

    def _show(self) -> None:
        curves = compared_curves(self._session, self._slot, self._question_of)
        if list(map(_looks, curves)) != list(map(_looks, self._curves)):
            self._curves = curves
            self._changed()


def compared_curves(
    session: Session, slot: str, question_of: Callable[[Session], Question[object] | None]
) -> tuple[ComparedCurve, ...]:
    """Return a panel's curves of the compared models; see :class:`ComparedCurves`."""
    curves = []
    for compared, name in zip(session.others, _names(session), strict=True):
        other = compared.session
        answer = other.answers.get(slot) if other.model is not None else None
        if answer is not None and not _still_fits(answer.question, question_of(other)):
            answer = None
        curves.append(
            ComparedCurve(
                compared.key,
                name,
                compared.color,
                (slot, compared.key) not in session.hidden_curves,
                other.model,
                other.positions,
                answer,
                compared.failed,
            )
        )
    return tuple(curves)


def _names(session: Session) -> list[str]:
    """Return unique names of the compared models, with ranges and numbers where necessary."""
    called = [model.name for model in session.open_models]
    names = []
    for compared in session.others:
        other, name = compared.session, compared.name
        if called.count(name) > 1 and other.model is not None:
            name = f"{name} {other.positions[0]}–{other.positions[1]}"
        names.append(name)
    return unique_names(names)


def model_color(number: int, theme: Theme) -> str:
    """Return the colour of a model's curves, by its :attr:`gui.state.session.OpenModel.color`."""
    colors = SERIES[theme.name]
    return colors[number % len(colors)]


def unique_names(names: Iterable[str]) -> list[str]:
    """Return unique names, with numbers after repeated ones: a, a (2), a (3)."""
    unique: dict[str, None] = {}
    for name in names:
        numbered = (f"{name} ({number})" for number in count(2))
        unique[
            next(candidate for candidate in chain((name,), numbered) if candidate not in unique)
        ] = None
    return list(unique)


def _still_fits(answered: object, question: object) -> bool:
    """Return whether an answer may stay on screen until the one for the new range arrives."""
    same_kind = type(answered) is type(question)
    if not (same_kind and is_dataclass(answered) and is_dataclass(question)):
        return answered == question
    values = [
        {f.name: getattr(asked, f.name) for f in fields(asked)} for asked in (answered, question)
    ]
    return all(values[0][name] == values[1][name] for name in values[0] if name != "positions")


def _looks(curve: ComparedCurve) -> tuple[object, ...]:
    """Return the values that determine a curve's look, for comparison with the previous one."""
    named = (curve.key, curve.name, curve.color, curve.shown, curve.positions, curve.failed)
    return (*named, id(curve.model), id(curve.answer))
