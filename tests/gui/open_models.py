"""The list of open models, changed by hand."""

from __future__ import annotations

from gui.state.session import OpenModel, Session


def show_others(session: Session, *others: OpenModel) -> None:
    """List these models after the current one, in place of all others."""
    current = [model for model in session.open_models if model.key == session.current_key]
    session.open_models = (*current, *others)
