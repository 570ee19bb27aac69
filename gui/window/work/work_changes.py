"""Whether the shown work differs from its file: compared when it is asked, and for the title."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QObject, QTimer, Signal

from geometry.models.sources.derived import at_commit
from gui.services.loading import known_name
from gui.services.work_files.reopening import take_alignment
from gui.state.session import SAVED, Session
from gui.style.listening import Listening

if TYPE_CHECKING:
    from gui.services.loading import OpenRequest
    from gui.state.camera import Outlook
    from gui.state.work import OtherView
    from gui.window.host import HostWindow

CHECK_MS = 300
"""Interval between a change and the comparison, and so between two comparisons: they take no time
from the frames of a drag."""
SAME = 1e-6
"""Differences of cameras and rotations from rounding."""
_CHANGED_BY = ("positions", "turn", "compared", "main_at", "alignment", "model", *SAVED)
"""Fields of the session from which files of work are made."""


@dataclass(frozen=True, eq=False, slots=True)
class Content:
    """What a file of work has of the shown work, without the window's size and layout."""

    said: tuple[object, ...]
    # Each compared model by its key, in order; None if it was asked for and has not been read.
    others: dict[int, tuple[object, ...] | None]
    turn: np.ndarray | None  # Only if it is kept: otherwise the curve eases back by itself

    def same(self, other: Content) -> bool:
        """Return whether both are equal."""
        if self.said != other.said or [*self.others.items()] != [*other.others.items()]:
            return False
        if self.turn is None or other.turn is None:
            return self.turn is other.turn
        return np.allclose(self.turn, other.turn, atol=SAME)

    def note_read(self, now: Content) -> None:
        """Take over the models that have been read since, as they first are."""
        for key, other in self.others.items():
            if other is None:
                self.others[key] = now.others.get(key)


@dataclass(eq=False, slots=True)
class Saved:
    """The content of a file; None if the shown work is known to differ from it."""

    content: Content | None
    # Each camera that the user has moved since, as it was before. All other motion, such as easing
    # and keeping the curve in view, is no change.
    cameras: dict[int, Outlook | None] = field(default_factory=dict)


class WorkChanges(QObject):
    """Compares the shown work with its file.

    ``awaited`` returns the compared models of the file that are still loading, by key.
    """

    changed = (
        Signal()
    )  # The shown file is another one, or differs from its file now, or not any more

    def __init__(self, window: HostWindow, awaited: Callable[[], dict[int, OtherView]]) -> None:
        super().__init__(window)
        self._window, self._session, self._awaited = window, window.session, awaited
        self._saved: dict[str, Saved] = {}
        self._saving: Saved | None = None  # Since a file is being written, or was written last
        self._told = ("", False)
        self._timer = QTimer(self, interval=CHECK_MS, singleShot=True)
        self._timer.timeout.connect(self._check)
        self._listening, self._others = Listening(), Listening()
        events = window.session.events
        for name in _CHANGED_BY:
            self._listening.to(events[name], self.look)
        self._listening.to(events.compared, self._follow)
        self._listening.to(events.work_file, self._tell)
        window.grid.cameraLeft.connect(self._on_camera_left)
        window.grid.cameraMoved.connect(self.look)

    def release(self) -> None:
        """Stop listening."""
        self._timer.stop()
        self._listening.stop()
        self._others.stop()

    @property
    def any(self) -> bool:
        """Whether the shown work has a file, and differs from it."""
        if not self._session.work_file or self._session.model is None:
            return False
        saved = self._saved.get(self._session.work_file)
        if saved is None or saved.content is None:
            return True
        content = self._content()
        saved.content.note_read(content)
        return not content.same(saved.content) or self._cameras_differ(saved)

    @property
    def marked(self) -> bool:
        """Whether there were changes at the last comparison."""
        return self._told[1]

    def begin_saving(self) -> Saved:
        """Return what is shown now, for :meth:`note_saved` once a file has it."""
        self._saving = Saved(self._content())
        return self._saving

    def note_saved(self, saved: Saved | None) -> None:
        """Note what the file has; None if what is shown differs from it."""
        self._saved[self._session.work_file] = saved or Saved(None)
        self._tell()

    def look(self) -> None:
        """Compare in a moment; called with each change."""
        if self._session.work_file and not self._timer.isActive():
            self._timer.start()

    def _check(self) -> None:
        if self._session.dragging:
            self._timer.start()
        else:
            self._tell()

    def _tell(self) -> None:
        told = self._session.work_file, self.any
        if told != self._told:
            self._told = told
            self.changed.emit()

    def _follow(self) -> None:
        self._others.stop()
        for one in self._session.compared:
            for name in ("positions", "components", "model"):
                self._others.to(one.session.events[name], self.look)

    # ---- cameras -------------------------------------------------------------------------

    def _on_camera_left(self, key: int) -> None:
        for saved in (self._saved.get(self._session.work_file), self._saving):
            if saved is not None:
                saved.cameras.setdefault(key, self._outlook(key))

    def _outlook(self, key: int) -> Outlook | None:
        cell = self._window.grid.cells.get(key)
        return None if cell is None else cell.viewport.camera.outlook

    def _cameras_differ(self, saved: Saved) -> bool:
        return any(
            not _look_alike(before, self._outlook(key))
            for key, before in saved.cameras.items()
            if key in self._window.grid.cells
        )

    # ---- content -------------------------------------------------------------------------

    def _content(self) -> Content:
        """Return what would be saved."""
        window, session = self._window, self._session
        comparing = window.controller.comparing
        others: dict[int, tuple[object, ...] | None] = {}
        awaited = self._awaited()
        opened = {key: (theirs, wanted) for key, theirs, wanted in comparing.opened}
        for one in session.compared:
            if one.key in opened:
                theirs, wanted = opened[one.key]
                others[one.key] = (
                    *_model(theirs, wanted), theirs.positions, theirs.components, one.in_grid,
                )  # fmt: skip
            elif (view := awaited.get(one.key)) is not None and view.positions is not None:
                others[one.key] = (
                    _repo(view.source), view.table, view.commit, view.positions, view.components,
                    one.in_grid,
                )  # fmt: skip
            else:
                others[one.key] = None
        there = [key for key in comparing.keys if key in others]
        shown = window.controller.shown
        said = (
            None if shown is None else _model(session, shown),
            session.positions,
            {name: getattr(session, name) for name in SAVED},
            len(set(there).intersection(comparing.keys[: session.main_at])),
            take_alignment(session, there),
            window.results.chosen(),
        )
        return Content(
            said,
            {key: others[key] for key in there},
            np.array(session.turn) if session.keep_turned else None,
        )


def _model(session: Session, wanted: OpenRequest) -> tuple[object, ...]:
    commit = None if session.model is None else session.model.commit
    return _repo(wanted.source), wanted.table, commit


def _repo(source: str) -> str:
    """Return a source without its commit."""
    return at_commit(known_name(source), None)


def _look_alike(one: Outlook | None, other: Outlook | None) -> bool:
    if one is None or other is None:
        return one is other
    return all(
        np.allclose(getattr(one, name), getattr(other, name), atol=SAME)
        for name in ("direction", "up", "nearness", "magnification", "shift")
    )


def work_title(session: Session) -> str:
    """Return the window's title.

    Work of a file has its name, with Qt's placeholder for the mark of changes. Without a file it is
    the model's name, without a mark: a look at a model is no document, and one that is lost is made
    again by opening the model; a comparison without a file is asked about on closing.
    """
    from geometry.checkpoints.plain_text import visible

    model, file = session.model, session.work_file
    parts = [] if model is None else [model.name]
    if file and model is not None:
        parts.insert(0, file.replace("\\", "/").rpartition("/")[2])
    # Qt takes "[*]" for the place of its mark of changes, and shows "[*][*]" as "[*]".
    parts = [visible(part).replace("[*]", "[*][*]") for part in (*parts, "Helixscope")]
    if len(parts) > 2:
        parts[0] += "[*]"
    return " – ".join(parts)
