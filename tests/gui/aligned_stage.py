"""Models beside the open one, to be laid over it."""

from collections.abc import Callable
from pathlib import Path

import numpy as np

from geometry.models.sources.source import Source
from gui.scene.scene_state import resolve_scene
from gui.services.controller import Controller
from gui.services.jobs.jobs import InlineJobs
from gui.state.session import OpenModel, Session

KEY = 7
"""Of the first model that is put beside the open one."""


class Beside:
    """Puts models beside the open one: ``beside(table, positions, name, key)``."""

    def __init__(self, session: Session, write_table: Callable[..., Path]) -> None:
        self._session, self._write = session, write_table
        self._made: list[Controller] = []

    def __call__(
        self,
        W_pos: np.ndarray | None = None,
        positions: tuple[int, int] | None = None,
        name: str = "other",
        key: int = KEY,
    ) -> Controller:
        controller = Controller(Session(), InlineJobs())
        self._made.append(controller)
        path = str(self._write(W_pos, name))
        controller.open(path, positions=positions)
        made = OpenModel(key, Source.parse(path), name, controller.session)
        self._session.open_models = (*self._session.open_models, made)
        return controller

    def close(self) -> None:
        for controller in self._made:
            controller.close()


def lines(session: Session) -> np.ndarray:
    """The only line that is drawn beside the curve."""
    state = resolve_scene(session)
    assert state is not None
    (guide,) = state.guides
    (line,) = guide.lines
    return line
