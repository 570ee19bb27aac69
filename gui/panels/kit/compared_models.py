"""Compared models in a panel: views of their curves, and actions of the legend."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gui.panels.kit.asking import compared_question, scope_of
from gui.panels.kit.compared_legend import ComparedLegend
from gui.panels.kit.intents import HideCurves
from gui.panels.kit.spec import AnyPanel
from gui.panels.kit.views import AnyView, View
from gui.services.compared_curves import ComparedCurve, ComparedCurves, model_color
from gui.services.questions import Question
from gui.state.session import Session
from gui.style.theme import Theme


class ComparedModels:
    """The curves of compared models in a panel, with their legend.

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
        legend: ComparedLegend,
        choices: Callable[[], Any],
        *,
        ask: Callable[[int, Question[object], bool], None],
        intend: Callable[[object], None],
        changed: Callable[[], None],
    ) -> None:
        self._session, self._spec, self._legend = session, spec, legend
        self._choices, self._ask, self._intend = choices, ask, intend
        self._curves = ComparedCurves(
            session,
            spec.name,
            lambda other: compared_question(other, spec, choices()),
            lambda key, question: ask(key, question, False),
            changed,
        )
        legend.toggled.connect(self._on_toggled)
        legend.fetchRequested.connect(self._on_fetch)

    def ask(self, *, asking: bool) -> None:
        """Ask pending questions, now and from now on; or stop asking."""
        self._curves.ask(asking=asking)

    def close(self) -> None:
        """Stop listening."""
        self._curves.close()

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
        sessions = {other.key: other.session for other in self._session.others}
        return tuple(
            View(
                scope_of(sessions[curve.key]),
                choices,
                curve.answer.question if curve.answer is not None else None,
                curve.result,
                theme,
                curve.name,
                model_color(curve.color, theme),
                label_at=sessions[curve.key].label_at,
            )
            for curve in self._curves.curves
            if curve.drawn
        )

    def show_legend(self, *, has_result: bool, summary_of: Callable[[ComparedCurve], str]) -> None:
        """Show the legend beside a result, if there are curves.

        ``summary_of`` returns a summary of a curve, for its tooltip.
        """
        curves = self._curves.curves if has_result else ()
        words = self._spec.compares(self._choices()) if curves else ""
        self._legend.setVisible(bool(words))
        if words:
            self._legend.show_curves(words, curves, summary_of)
        else:
            self._legend.forget()

    def _on_toggled(self, key: int) -> None:
        self._intend(HideCurves(self._curves.toggled(key)))

    def _on_fetch(self, key: int) -> None:
        question = self._curves.question_about(key)
        if question is not None:
            self._ask(key, question, True)
