"""The curves of the compared models in a panel: asked for, followed, hidden. Knows no toolkit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import partial
from itertools import chain, count
from typing import TYPE_CHECKING, Any

from gui.state.session import Session
from gui.style.listening import Listening
from gui.style.theme import SERIES, Theme, format_number

if TYPE_CHECKING:
    import numpy as np

    from geometry.models.model import PositionalModel
    from gui.services.questions import Question
    from gui.state.answer import Answer


@dataclass(frozen=True, eq=False, slots=True)
class OverlayCurve:
    """What a panel has of a compared model.

    Attributes
    ----------
    key
        The model's.
    name
        What it is called; with its range where two are called the same, and then a number.
    color
        Which of the colours for several curves it has.
    shown
        Whether it is to be drawn.
    model, positions
        The model, None while it is being read; which of its positions are shown.
    answer
        What came of the question that the panel asks now; None while nothing has.
    """

    key: int
    name: str
    color: int
    shown: bool
    model: PositionalModel | None
    positions: tuple[int, int]
    answer: Answer | None

    @property
    def result(self) -> Any:
        """The result, if it is there; else None."""
        ready = self.answer is not None and self.answer.state == "ready"
        return self.answer.result if self.answer is not None and ready else None

    @property
    def drawn(self) -> bool:
        """Whether there is something to draw, and it is wanted."""
        return self.shown and self.result is not None


@dataclass(frozen=True, eq=False, slots=True)
class OverlayLine:
    """A compared model's curve, ready to be drawn.

    Attributes
    ----------
    name, color
        Of the model; ``#rrggbb``.
    x, y : (n,)
        The curve.
    """

    name: str
    color: str
    x: np.ndarray
    y: np.ndarray


class OverlayCurves:
    """Asks compared models what a panel asks about the open one, and tells what came of it.

    Parameters
    ----------
    session
        The open model's.
    slot
        The name that the panel asks under.
    question_of
        Returns what to ask about the model of a session; None for nothing.
    ask
        Called with a model's key and a question.
    changed
        Called when :attr:`curves` are others.
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
        self._curves = overlay_curves(session, slot, question_of)
        self._listening, self._others = Listening(), Listening()
        events = session.events
        self._listening.to(events.compared, self._follow)
        for signal in (events.hidden_curves, events.compared_colors, events.model):
            self._listening.to(signal, self._show)
        self._follow()

    def close(self) -> None:
        """Stop following."""
        self._listening.stop()
        self._others.stop()

    @property
    def curves(self) -> tuple[OverlayCurve, ...]:
        """A curve for each compared model, in their order; the same tuple until one changes."""
        return self._curves

    def ask(self, *, asking: bool = True) -> None:
        """Ask what is not known yet, now and from now on; or ask no more."""
        self._asking = asking
        if asking:
            for compared in self._session.compared:
                self._ask_about(compared.key, compared.session)
            self._show()

    def toggled(self, key: int) -> frozenset[tuple[str, int]]:
        """Return ``session.hidden_curves`` with one of this panel's hidden or shown."""
        return self._session.hidden_curves ^ {(self._slot, key)}

    def question_about(self, key: int) -> Question[object] | None:
        """Return what to ask about a compared model; None for nothing."""
        return next(
            (self._question_of(c.session) for c in self._session.compared if c.key == key), None
        )

    def _follow(self) -> None:
        self._others.stop()
        for compared in self._session.compared:
            events = compared.session.events
            follow = partial(self._on_changed, compared.key, compared.session)
            for signal in (events.model, events.positions, events.dragging, events.components):
                self._others.to(signal, follow)
            self._others.to(events.answers, self._on_answers_changed)
            self._ask_about(compared.key, compared.session)
        self._show()

    def _on_changed(self, key: int, other: Session) -> None:
        # With every tick of a drag nothing is asked or drawn anew, nor is it where nobody looks.
        if self._asking and not other.dragging:
            self._ask_about(key, other)
            self._show()

    def _on_answers_changed(self) -> None:
        if self._asking:
            self._show()

    def _ask_about(self, key: int, other: Session) -> None:
        if not self._asking or other.model is None or other.dragging:
            return
        question, answer = self._question_of(other), other.answers.get(self._slot)
        if question is not None and (answer is None or answer.question != question):
            self._ask(key, question)

    def _show(self) -> None:
        curves = overlay_curves(self._session, self._slot, self._question_of)
        if list(map(_looks, curves)) != list(map(_looks, self._curves)):
            self._curves = curves
            self._changed()


def overlay_curves(
    session: Session, slot: str, question_of: Callable[[Session], Question[object] | None]
) -> tuple[OverlayCurve, ...]:
    """Return what a panel has of the compared models; see :class:`OverlayCurves`."""
    found = []
    for number, (compared, name) in enumerate(zip(session.compared, _names(session), strict=True)):
        other = compared.session
        answer = other.answers.get(slot) if other.model is not None else None
        if answer is not None and not _still_fits(answer.question, question_of(other)):
            answer = None
        found.append(
            OverlayCurve(
                compared.key,
                name,
                session.compared_colors.get(compared.key, number),
                (slot, compared.key) not in session.hidden_curves,
                other.model,
                other.positions,
                answer,
            )
        )
    return tuple(found)


def _names(session: Session) -> list[str]:
    """Name the compared models: with ranges where two are called the same, and then numbers."""
    called = [c.name for c in session.compared]
    if session.compared and session.model is not None:
        called.append(session.model.name)
    names = []
    for compared in session.compared:
        other, name = compared.session, compared.name
        if called.count(name) > 1 and other.model is not None:
            name = f"{name} {other.positions[0]}–{other.positions[1]}"
        names.append(name)
    return told_apart(names)


def overlay_color(number: int, theme: Theme) -> str:
    """Return one of the colours for several curves; the open model's is none of them."""
    colors = SERIES[theme.name][1:]
    return colors[number % len(colors)]


def span_with(first: float, last: float, others: Sequence[OverlayLine]) -> tuple[float, float]:
    """Return where an axis begins and ends that holds a curve and others along x."""
    ends = [(first, last), *((float(other.x[0]), float(other.x[-1])) for other in others)]
    return min(begin for begin, _ in ends), max(end for _, end in ends)


def top_of(values: np.ndarray, others: Sequence[OverlayLine]) -> float:
    """Return the highest value of a curve and others; 0 where none is above that."""
    curves = [values, *(other.y for other in others)]
    return max(float(curve.max(initial=0.0)) for curve in curves)


def said_at(position: int, others: Sequence[OverlayLine]) -> list[str]:
    """Return the values of other models at a position, of those that have it."""
    return [
        f"{other.name} {format_number(float(other.y[position - int(other.x[0])]))}"
        for other in others
        if other.x[0] <= position <= other.x[-1]
    ]


def overlay_columns(
    own: Mapping[str, np.ndarray], others: Sequence[tuple[str, Mapping[str, np.ndarray]]]
) -> dict[str, np.ndarray]:
    """Return numbers for a file: the open model's, then those of others under their names."""
    columns = dict(own)
    for name, (_, theirs) in zip(told_apart(name for name, _ in others), others, strict=True):
        columns |= {f"{name}: {column}": values for column, values in theirs.items()}
    return columns


def told_apart(names: Iterable[str]) -> list[str]:
    """Return names with a number behind each that was there before: a, a (2), a (3)."""
    found: dict[str, None] = {}
    for name in names:
        numbered = (f"{name} ({number})" for number in count(2))
        found[next(one for one in chain((name,), numbered) if one not in found)] = None
    return list(found)


def _still_fits(answered: object, question: object) -> bool:
    """Tell whether an answer may be seen: of another range, until that of the new one is there."""
    same_kind = type(answered) is type(question)
    if not (same_kind and is_dataclass(answered) and is_dataclass(question)):
        return answered == question
    values = [{f.name: getattr(one, f.name) for f in fields(one)} for one in (answered, question)]
    return all(values[0][name] == values[1][name] for name in values[0] if name != "positions")


def _looks(curve: OverlayCurve) -> tuple[object, ...]:
    """Return what tells a curve from what was there before."""
    named = (curve.key, curve.name, curve.color, curve.shown, curve.positions)
    return (*named, id(curve.model), id(curve.answer))
