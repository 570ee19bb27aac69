"""Models beside the open one, each in a session of its own: what tests of overlays share."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gui.compared import Compared
from gui.controller import Controller
from gui.jobs import InlineJobs
from gui.session import Session


class ComparedStage:
    """Opens models beside that of a session, as the window's comparing does, by hand."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self._controllers: list[Controller] = []

    def add(
        self, source: Path | str, positions: tuple[int, int] | None = None, key: int = 0
    ) -> Compared:
        """Show a model beside the others; its name is that of the model."""
        other = Session()
        controller = Controller(other, InlineJobs())
        self._controllers.append(controller)
        controller.open(str(source), positions=positions)
        assert other.model is not None, other.notice
        key = key or 1 + max((c.key for c in self.session.compared), default=0)
        made = Compared(key, str(source), other.model.name, other)
        self.session.compared = (*self.session.compared, made)
        return made

    def remove(self, key: int) -> None:
        """Show one no more."""
        self.session.compared = tuple(c for c in self.session.compared if c.key != key)

    def close(self) -> None:
        """Stop answering."""
        for controller in self._controllers:
            controller.close()


def wire(stage: Any) -> None:
    """Let a result stage's panel ask compared models, as the window lets it."""
    panel, slot = stage.panel, type(stage.panel).slot
    answers = stage.controller.compared_answers
    panel.overlayAsked.connect(
        lambda key, question, fetch: answers.ask(slot, key, question, fetch=fetch)
    )
    panel.unwatched.connect(lambda: answers.forget(slot))
