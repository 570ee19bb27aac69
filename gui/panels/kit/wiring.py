"""Connections of a panel's signals with the controller."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from gui.panels.kit.asking import nulls_slot
from gui.panels.kit.panel import ResultPanel
from gui.services.controller import Controller


def connect(panel: ResultPanel, controller: Controller, intend: Callable[[object], None]) -> None:
    """Connect a panel with the controller.

    Parameters
    ----------
    panel
        A panel of any spec.
    controller
        Answers questions, selects positions and draws guides.
    intend
        Called with intents such as :class:`gui.panels.kit.intents.ShowPanel`.
    """
    name, answers, others = panel.spec.name, controller.answers, controller.comparing
    panel.asked.connect(lambda question, fetch: answers.ask(name, question, fetch=fetch))
    beside = nulls_slot(panel.spec)
    panel.nullsAsked.connect(
        lambda question: (
            answers.forget(beside)
            if question is None
            else answers.ask(beside, question, quiet=True)
        )
    )
    panel.hidden.connect(lambda: answers.hold(beside))
    panel.shown.connect(lambda: answers.resume(beside))
    panel.otherAsked.connect(
        lambda key, question, fetch: others.ask(name, key, question, fetch=fetch)
    )
    for service in (answers, others):
        panel.hidden.connect(partial(service.hold, name))
        panel.shown.connect(partial(service.resume, name))
    panel.cancelRequested.connect(lambda: answers.cancel(name))
    panel.selectionRequested.connect(controller.select)
    panel.hoverRequested.connect(controller.hover)
    panel.guideRequested.connect(lambda guide: controller.show_guide(name, guide))
    panel.intended.connect(intend)
