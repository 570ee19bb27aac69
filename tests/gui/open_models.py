"""The list of open models: models are added to it, or it is changed by hand."""

from __future__ import annotations

from pathlib import Path

from gui.services.controller import Controller
from gui.state.session import OpenModel, Session

LOADING = 100
"""Key of a model that is listed by hand, and never opened."""


def add_beside(
    controller: Controller, source: Path | str, positions: tuple[int, int] | None = None
) -> OpenModel:
    """Open a model beside the current one, by jobs that are done at once."""
    key = controller.comparing.add(str(source), positions)
    assert key is not None
    made = controller.comparing.get(key)
    assert made is not None
    assert made.session.model is not None, controller.session.notice
    return made


def show_others(session: Session, *others: OpenModel) -> None:
    """List these models after the current one, in place of all others."""
    current = [model for model in session.open_models if model.key == session.current_key]
    session.open_models = (*current, *others)


def begin_anew(controller: Controller) -> None:
    """Close all models but the current one; the next one to be added has the key 1."""
    comparing, session = controller.comparing, controller.session
    show_others(session, *(other for other in session.others if other.key != LOADING))
    comparing.clear()
    comparing._newest = session.current_key
