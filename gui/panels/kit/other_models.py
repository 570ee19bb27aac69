"""The open models but the current one, in a panel: their curves, and the legend."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass
from functools import partial
from typing import Any

from gui.panels.kit.asking import question_about_other, scope_of
from gui.panels.kit.intents import HideCurves
from gui.panels.kit.others_legend import OtherCurve, OthersLegend
from gui.panels.kit.outputs import unique_names
from gui.panels.kit.spec import AnyPanel
from gui.panels.kit.views import AnyView, View
from gui.services.questions import Question
from gui.state.colors import model_color
from gui.state.session import OpenModel, Session
from gui.style.listening import Listening
from gui.style.theme import Theme


class OtherModels:
    """Asks a panel's question about the other open models too, and shows their curves' legend.

    Parameters
    ----------
    session, spec, legend
        The panel's session, spec and legend.
    choices
        Returns the panel's choices.
    ask
        Called with a model's key, a question about it, and whether a large download is agreed to.
    intend
        Called with intents.
    changed
        Called when the curves have changed.
    """

    def __init__(
        self,
        session: Session,
        spec: AnyPanel,
        legend: OthersLegend,
        choices: Callable[[], Any],
        *,
        ask: Callable[[int, Question[object], bool], None],
        intend: Callable[[object], None],
        changed: Callable[[], None],
    ) -> None:
        self._session, self._spec, self._legend = session, spec, legend
        self._choices, self._ask, self._intend = choices, ask, intend
        self._changed = changed
        self._asking = False
        self._curves = self._current_curves()
        self._listening, self._following = Listening(), Listening()
        self._followed: set[tuple[int, Session]] = set()
        events = session.events
        self._listening.to(events.open_models, self._follow)
        for signal in (events.hidden_curves, events.model):
            self._listening.to(signal, self._update)
        self._follow()
        legend.toggled.connect(self._on_toggled)
        legend.fetchRequested.connect(self._on_fetch)

    def close(self) -> None:
        """Stop listening."""
        self._listening.stop()
        self._following.stop()

    def ask(self, *, asking: bool) -> None:
        """Ask pending questions, now and from now on; or stop asking."""
        self._asking = asking
        if asking:
            for other in self._session.others:
                self._ask_about(other)
            self._update()

    def own_color(self, theme: Theme) -> str:
        """Return the colour of the current model beside others; "" if it is the only one."""
        session = self._session
        colors = {model.key: model.color for model in session.open_models}
        alone = not session.others or session.current_key not in colors
        return "" if alone else model_color(colors[session.current_key], theme)

    def views(self, choices: Any, theme: Theme) -> tuple[AnyView, ...]:
        """Return the views of the drawn curves with the given choices."""
        if not self._spec.compares(self._choices()):
            return ()
        return tuple(
            View(
                scope_of(curve.session),
                choices,
                curve.answer.question,
                curve.result,
                theme,
                curve.name,
                model_color(curve.color, theme),
                label_at=curve.session.label_at,
            )
            for curve in self._curves
            if curve.shown and curve.answer is not None and curve.result is not None
        )

    def show_legend(self, *, has_result: bool, summary_of: Callable[[OtherCurve], str]) -> None:
        """Show the legend beside a result, if there are curves.

        ``summary_of`` returns a summary of a curve, for its tooltip.
        """
        curves = self._curves if has_result else ()
        words = self._spec.compares(self._choices()) if curves else ""
        self._legend.setVisible(bool(words))
        if words:
            model = self._session.model
            own = "" if model is None else model.name, self.own_color(self._legend.theme)
            self._legend.show_curves(words, own, curves, summary_of)
        else:
            self._legend.forget()

    def _on_toggled(self, key: int) -> None:
        self._intend(HideCurves(self._session.hidden_curves ^ {(self._spec.name, key)}))

    def _on_fetch(self, key: int) -> None:
        for other in self._session.others:
            question = self._question_about(other.session) if other.key == key else None
            if question is not None:
                self._ask(key, question, True)

    # ---- questions -------------------------------------------------------------------------

    def _follow(self) -> None:
        """Listen to the other models, and ask about those that are new."""
        others = self._session.others
        followed = {(other.key, other.session) for other in others}
        if followed != self._followed:
            self._following.stop()
            self._followed = followed
            for other in others:
                events, follow = other.session.events, partial(self._on_changed, other)
                for signal in (events.model, events.positions, events.dragging, events.components):
                    self._following.to(signal, follow)
                self._following.to(events.answers, self._on_answers_changed)
        for other in others:
            self._ask_about(other)
        self._update()

    def _on_changed(self, other: OpenModel) -> None:
        # Nothing is asked or drawn with every tick of a drag, nor in a hidden panel.
        if self._asking and not other.session.dragging:
            self._ask_about(other)
            self._update()

    def _on_answers_changed(self) -> None:
        if self._asking:
            self._update()

    def _ask_about(self, other: OpenModel) -> None:
        if not self._asking or other.session.dragging:
            return
        question = self._question_about(other.session)
        answer = other.session.answers.get(self._spec.name)
        if question is not None and (answer is None or answer.question != question):
            self._ask(other.key, question, False)

    def _question_about(self, session: Session) -> Question[object] | None:
        return question_about_other(session, self._spec, self._choices())

    # ---- curves ----------------------------------------------------------------------------

    def _update(self) -> None:
        curves = self._current_curves()
        if curves != self._curves:
            self._curves = curves
            self._changed()

    def _current_curves(self) -> tuple[OtherCurve, ...]:
        session, slot = self._session, self._spec.name
        curves = []
        for other, name in zip(session.others, names_of_others(session), strict=True):
            theirs = other.session
            answer = theirs.answers.get(slot) if theirs.model is not None else None
            if answer is not None and not _still_fits(
                answer.question, self._question_about(theirs)
            ):
                answer = None
            curves.append(
                OtherCurve(
                    other.key,
                    name,
                    other.color,
                    (slot, other.key) not in session.hidden_curves,
                    theirs,
                    theirs.model,
                    theirs.positions,
                    answer,
                    other.failed,
                )
            )
        return tuple(curves)


def names_of_others(session: Session) -> list[str]:
    """Return unique names of the other models, with ranges and numbers where necessary."""
    all_names = [model.name for model in session.open_models]
    names = []
    for other in session.others:
        theirs, name = other.session, other.name
        if all_names.count(name) > 1 and theirs.model is not None:
            name = f"{name} {theirs.positions[0]}–{theirs.positions[1]}"
        names.append(name)
    return unique_names(names)


def _still_fits(answered: object, question: object) -> bool:
    """Return whether an answer may stay on screen until the one for the new range arrives."""
    if type(answered) is not type(question) or not is_dataclass(answered):
        return answered == question
    return all(
        getattr(answered, f.name) == getattr(question, f.name)
        for f in fields(answered)
        if f.name != "positions"
    )
