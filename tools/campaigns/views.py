"""Projects with any numbers for a view: each shows its model, and no exception is raised.

``xvfb-run -a python -m tools.campaigns.views --seed 1 --cases 300``. The cases run in one window.
"""

from __future__ import annotations

import io
import logging
import os
import random
import sys
import tempfile
import time
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from geometry.models.sources.source import Source
from gui.commands.application import Application
from gui.commands.qt_start import prepare_qt
from gui.services.work_files.work_file import JSON, pack_work
from gui.state.camera import CameraPose, Place
from gui.state.session import SAVED, Session
from gui.state.work import OtherView, Work
from gui.window.settings.settings import Settings
from tools.campaigns.campaign import Fault, main
from tools.campaigns.mutating import mutate_json

EDGES = (0.0, -0.0, 1e-320, 1e-300, 1e-12, 1e-9, 1e-6, 0.5, 1.0, -1.0, 2.0, 1e6, 1e12, 1.1e12,
         1e38, 1e39, 1e300, -1e300, 1.7e308, np.inf, -np.inf, np.nan)  # fmt: skip
PATIENCE_S = 60.0
PANELS = {
    "norms": {"k": 3}, "shape": {"curve": "circle", "in_view": True, "plotted": "distance"},
    "kernels": {"head": 0, "layer": 1}, "similarity": {"measure": "cosine"},
}  # fmt: skip


def mutated_project(made: random.Random) -> bytes:
    """Return a project of the bundled model, with some numbers of its view changed."""
    places = [_mutated_place(made) if made.random() < 0.7 else _place() for _ in range(2)]
    work = Work(
        Source.parse("sample"), (1, 99), {name: getattr(Session(), name) for name in SAVED},
        place=places[0],
        turn=_mutated(made, np.eye(3)) if made.random() < 0.5 else np.eye(3),
        size=(1000, 700),
        others=(OtherView(Source.parse("sinusoidal:64x16"), (0, 50), (1, 2, 3), place=places[1]),),
        panels=PANELS,
    )  # fmt: skip
    work = replace(work, fields={**work.fields, "keep_turned": made.random() < 0.5})
    data = pack_work(work)
    return _with_mutated_json(made, data) if made.random() < 0.5 else data


def _place() -> Place:
    pose = CameraPose(np.array([3.0, 4.0, 5.0]), np.zeros(3), np.array([0.0, 0.0, 1.0]), 2.0)
    return Place(pose, follows=False)


def _mutated_place(made: random.Random) -> Place:
    place = _place()
    parts = {name: getattr(place.pose, name) for name in CameraPose.__slots__}
    for _ in range(made.choice((1, 1, 2, 4))):
        name, other = made.choice(tuple(parts)), made.choice(tuple(parts))
        if made.random() < 0.3 and np.shape(parts[name]) == np.shape(parts[other]):
            parts[name] = parts[other]  # at its own focus, up along the view
        else:
            parts[name] = _mutated(made, np.asarray(parts[name]))
    parts["parallel_scale"] = float(parts["parallel_scale"])
    return Place(CameraPose(**parts), follows=made.random() < 0.5)


def _mutated(made: random.Random, array: np.ndarray) -> np.ndarray:
    with np.errstate(all="ignore"):
        drawn = made.randrange(4)
        if drawn == 0:
            return array * made.choice(EDGES)
        if drawn == 1:
            return array + made.choice(EDGES)
        changed = array.copy()
        for _ in range(made.choice((1, 3))):
            at = made.randrange(array.size)
            changed.reshape(-1)[at] = made.choice((*EDGES, *changed.reshape(-1)))
        return changed


def _with_mutated_json(made: random.Random, data: bytes) -> bytes:
    archive = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(data)) as old,
        zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as new,
    ):
        for name in old.namelist():
            part = old.read(name)
            new.writestr(name, mutate_json(made, part) if name == JSON else part)
    return archive.getvalue()


class Window:
    """The window in which all cases are opened."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / "a.helix"
        self._raised: list[str] = []
        qt = prepare_qt()
        assert isinstance(qt, QApplication)
        self._qt = qt
        self.application = Application(qt, Settings(folder / "settings.json"), "sample")
        self._hook = sys.excepthook
        sys.excepthook = lambda kind, error, _: self._raised.append(f"{kind.__name__}: {error}")
        self._settle()

    def close(self) -> None:
        self.application.close()
        sys.excepthook = self._hook

    def case(self, made: random.Random) -> str:
        """Open a project, and look at the curve in some ways."""
        self._file.write_bytes(mutated_project(made))
        session, window = self.application.session, self.application.window
        session.notice, session.work = None, None
        self.application.controller.open(str(self._file))
        self._settle()
        work: Any = session.work
        outcome = "refused" if work is None else "left out" if work.left_out else "opened"
        if work is None and session.notice is None:
            raise Fault("silence", "neither opened nor refused")
        if work is not None and work.place is None:
            self._check_seen("left out")
        view = window.viewport.interactor
        for act in (
            lambda: session.change(keep_turned=False),
            lambda: QTest.mouseClick(view, Qt.MouseButton.LeftButton, pos=view.rect().center()),
            lambda: QTest.keyClick(view, Qt.Key.Key_Plus),
            lambda: session.change(projection=made.choice(("parallel", "perspective"))),
            lambda: window.resize(900 + made.randrange(200), 700),
            lambda: self.application.controller.request_positions(2, 20 + made.randrange(70)),
            window.viewport.camera.frame,
        ):
            act()
            self._settle()
        self._check_seen("framed")
        return outcome

    def _settle(self) -> None:
        until = time.monotonic() + PATIENCE_S
        self._qt.processEvents()
        while not self.application.idle:
            if time.monotonic() > until:
                raise Fault("hang", f"not idle after {PATIENCE_S:.0f} s")
            QTest.qWait(5)
        raised, self._raised[:] = [*self._raised], []
        if raised:
            raise Fault("exception", "\n".join(dict.fromkeys(raised)))

    def _check_seen(self, when: str) -> None:
        viewport = self.application.window.viewport
        first, last = self.application.session.positions
        points = [viewport.pixel_of(at) for at in range(first, last + 1, 5)]
        inside = sum(viewport.interactor.rect().contains(QPoint(at)) for at in points)
        if inside < len(points) / 2:
            raise Fault("empty", f"{inside} of {len(points)} points are in the view once {when}")


if __name__ == "__main__":
    os.environ["HF_HUB_OFFLINE"] = "1"
    logging.disable(logging.CRITICAL)
    with tempfile.TemporaryDirectory() as name:
        opened = Window(Path(name))
        try:
            status = main(opened.case, "Projects with any numbers for a view.", cases=100)
        finally:
            opened.close()
    raise SystemExit(status)
