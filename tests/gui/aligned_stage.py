"""Models beside the open one, to be laid over it."""

from collections.abc import Callable
from pathlib import Path

import numpy as np

from gui.scene.scene_state import resolve_scene
from gui.services.controller import Controller
from gui.state.session import OpenModel, Session
from tests.gui.open_models import add_beside

KEY = 1
"""Of the first model that is put beside the open one."""


class Beside:
    """Puts models beside the open one: ``beside(table, positions, name)``."""

    def __init__(self, controller: Controller, write_table: Callable[..., Path]) -> None:
        self._controller, self._write = controller, write_table

    def __call__(
        self,
        W_pos: np.ndarray | None = None,
        positions: tuple[int, int] | None = None,
        name: str = "other",
    ) -> OpenModel:
        return add_beside(self._controller, self._write(W_pos, name), positions)


def lines(session: Session) -> np.ndarray:
    """The only line that is drawn beside the curve."""
    state = resolve_scene(session)
    assert state is not None
    (guide,) = state.guides
    (line,) = guide.lines
    return line
