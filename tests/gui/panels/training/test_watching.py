"""Trainings in processes of their own, watched in the window while they run."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import QPoint

from geometry.models.sources.opening import open_model
from tests.gui import training_loops
from tests.gui.training_loops import EVERY, ROWS, STEPS, WIDTH
from tests.gui.viewport_mouse import drag, pose

ROOT = Path(__file__).parents[4]
RANGE = (3, 40)
needs_lightning = pytest.mark.skipif(find_spec("lightning") is None, reason="without Lightning")


class Loop:
    """A training that goes on when the test lets it."""

    def __init__(self, name: str, folder: Path) -> None:
        # A loop that waits before its first step has logged nothing by then.
        self._lines = 0 if name in ("trainer", "lightning") else -1
        self._process = subprocess.Popen(
            [sys.executable, training_loops.__file__, name, folder],
            cwd=folder.parent,
            env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])},
            stdin=subprocess.PIPE,
            text=True,
        )

    def reach(self, step: int) -> None:
        """Let it train up to a step, which it logs."""
        assert self._process.stdin is not None
        self._process.stdin.write("\n" * (step - self._lines))
        self._process.stdin.flush()
        self._lines = step

    def end(self) -> int:
        """Return its exit status; what waits for a line ends without one."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        return self._process.wait()


@pytest.fixture
def begin(tmp_path: Path) -> Iterator[Callable[[str], Loop]]:
    """Begin a training that writes to ``run``: ``begin(name)``."""
    loops: list[Loop] = []

    def start(name: str) -> Loop:
        loops.append(Loop(name, tmp_path / "run"))
        return loops[-1]

    yield start
    for loop in loops:
        loop.end()


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["plain", "trainer", pytest.param("lightning", marks=needs_lightning), "rewritten"]
)
def test_a_training_is_watched(name, begin, tmp_path, application, qtbot, wait_until_idle):
    folder, session, window = tmp_path / "run", application.session, application.window
    folder.mkdir()
    application.controller.open(str(folder))
    qtbot.waitUntil(lambda: application.controller.opening.waiting is not None)
    loop = begin(name)
    loop.reach(0)
    qtbot.waitUntil(lambda: session.model.W_pos.shape == (ROWS, WIDTH))
    loop.reach(EVERY)
    qtbot.waitUntil(lambda: session.training_state == f"step {EVERY}, running")
    window.focus_on("training")
    session.change(positions=RANGE, selection=(7, 30))
    wait_until_idle(application)
    drag(qtbot, window.viewport, QPoint(200, 200), QPoint(260, 230))
    wait_until_idle(application)
    seen, tables = pose(window.viewport), [session.model.W_pos]
    for step in range(2 * EVERY, STEPS + 1, EVERY):
        loop.reach(step)
        qtbot.waitUntil(lambda at=step: session.training_state.startswith(f"step {at}, "))
        qtbot.waitUntil(lambda at=step: session.history.steps[-1] == at)
        wait_until_idle(application)
        tables.append(session.model.W_pos)
        assert session.training_state in window.status_bar.training.text()
        assert (session.positions, session.selection) == (RANGE, (7, 30))
    assert loop.end() == 0
    assert session.history.steps.tolist() == [*range(0, STEPS + 1, EVERY)]
    assert all(np.ptp(after - before) > 0 for before, after in pairwise(tables))
    np.testing.assert_allclose(pose(window.viewport), seen)
    np.testing.assert_array_equal(session.model.W_pos, open_model(folder).W_pos)
    if name != "rewritten":
        qtbot.waitUntil(lambda: session.training_state == f"step {STEPS}, ended")
        assert np.isfinite(session.history.losses[1:]).all()
