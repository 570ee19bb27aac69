"""Whether the shown work differs from its file, compared on request and for the title."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QObject, QTimer, Signal

from gui.services.work_files.reopening import take_alignment
from gui.state.session import SAVED, Session
from gui.style.listening import Listening

if TYPE_CHECKING:
    from gui.services.loading import OpenRequest
    from gui.state.camera import Outlook
    from gui.state.work import OtherView
    from gui.window.host import HostWindow

CHECK_MS = 300
"""Delay of the comparison after a change, so that it does not slow down a drag."""
SAME = 1e-6
"""Tolerance for cameras and rotations."""
_CHANGED_BY = ("positions", "turn", "open_models", "current_key", "alignment", "model", *SAVED)
"""Fields of the session that files of work contain."""


@dataclass(frozen=True, eq=False, slots=True)
class Content:
    """The content of a file of work, without the window's size and layout."""

    fields: tuple[object, ...]
    # Each other model by its key, in order; None if it was requested but is not read yet.
    others: dict[int, tuple[object, ...] | None]
    turn: np.ndarray | None  # Only if it is kept; otherwise the curve eases back

    def same(self, other: Content) -> bool:
        """Return whether both are equal."""
        if self.fields != other.fields or [*self.others.items()] != [*other.others.items()]:
            return False
        if self.turn is None or other.turn is None:
            return self.turn is other.turn
        return np.allclose(self.turn, other.turn, atol=SAME)

    def note_read(self, now: Content) -> None:
        """Add the models that have been read since, in their initial state."""
        for key, model in self.others.items():
            if model is None:
                self.others[key] = now.others.get(key)


@dataclass(eq=False, slots=True)
class Saved:
    """The content of a file; None if the shown work is known to differ from it."""

    content: Content | None
    # The initial state of each camera that the user has moved since. Other motion, such as easing
    # and keeping the curve in view, is not a change.
    cameras: dict[int, Outlook | None] = field(default_factory=dict)


class WorkChanges(QObject):
    """Compares the shown work with its file.

    ``awaited`` returns the other models of the file that are still loading, by key.
    """

    changed = Signal()
    """The shown file has changed, or whether the work differs from it."""

    def __init__(self, window: HostWindow, awaited: Callable[[], dict[int, OtherView]]) -> None:
        super().__init__(window)
        self._window, self._session, self._awaited = window, window.session, awaited
        self._saved: dict[str, Saved] = {}
        self._saving: Saved | None = None  # The content being written, or last written
        self._reported = ("", False)
        self._timer = QTimer(self, interval=CHECK_MS, singleShot=True)
        self._timer.timeout.connect(self._check)
        self._listening, self._others = Listening(), Listening()
        events = window.session.events
        for name in _CHANGED_BY:
            self._listening.to(events[name], self.look)
        self._listening.to(events.open_models, self._listen_to_others)
        self._listening.to(events.work_file, self._report)
        window.grid.cameraLeft.connect(self._on_camera_left)
        window.grid.cameraMoved.connect(self.look)

    def release(self) -> None:
        """Stop listening."""
        self._timer.stop()
        self._listening.stop()
        self._others.stop()

    @property
    def any(self) -> bool:
        """Whether the shown work has a file and differs from it."""
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
        return self._reported[1]

    def begin_saving(self) -> Saved:
        """Return the shown content, for :meth:`note_saved` after it is written."""
        self._saving = Saved(self._content())
        return self._saving

    def note_saved(self, saved: Saved | None) -> None:
        """Set the file's content; None if the shown work differs from it."""
        self._saved[self._session.work_file] = saved or Saved(None)
        self._report()

    def look(self) -> None:
        """Compare after a delay; called on each change."""
        if self._session.work_file and not self._timer.isActive():
            self._timer.start()

    def _check(self) -> None:
        if self._session.dragging:
            self._timer.start()
        else:
            self._report()

    def _report(self) -> None:
        state = self._session.work_file, self.any
        if state != self._reported:
            self._reported = state
            self.changed.emit()

    def _listen_to_others(self) -> None:
        self._others.stop()
        for other in self._session.others:
            for name in ("positions", "components", "model"):
                self._others.to(other.session.events[name], self.look)

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
        """Return the content to save."""
        window, session = self._window, self._session
        comparing = window.controller.comparing
        others: dict[int, tuple[object, ...] | None] = {}
        awaited = self._awaited()
        opened = {key: (theirs, request) for key, theirs, request in comparing.opened}
        for other in session.others:
            key, in_grid = other.key, other.in_grid
            if key in opened:
                theirs, request = opened[key]
                ranges = theirs.positions, theirs.components
                others[key] = (*_model(theirs, request), *ranges, in_grid)
            elif (view := awaited.get(key)) is not None and view.positions is not None:
                others[key] = (
                    view.source.at_commit(None),
                    view.table,
                    view.commit,
                    view.positions,
                    view.components,
                    in_grid,
                )
            else:
                others[key] = None
        shown = window.controller.opening.shown
        fields = (
            None if shown is None else _model(session, shown),
            session.positions,
            {name: getattr(session, name) for name in SAVED},
            comparing.keys.index(session.current_key),
            take_alignment(session, list(others)),
            window.results.chosen(),
        )
        return Content(fields, others, np.array(session.turn) if session.keep_turned else None)


def _model(session: Session, request: OpenRequest) -> tuple[object, ...]:
    model = session.model
    if model is None:
        return request.source.at_commit(None), request.table, None
    return model.source.at_commit(None), request.table, model.commit


def _look_alike(first: Outlook | None, second: Outlook | None) -> bool:
    if first is None or second is None:
        return first is second
    return all(
        np.allclose(getattr(first, name), getattr(second, name), atol=SAME)
        for name in ("direction", "up", "nearness", "magnification", "shift")
    )


def work_title(session: Session) -> str:
    """Return the window's title.

    For work with a file it is the file's name, with Qt's placeholder for the mark of changes;
    otherwise the model's name, without a mark: a view of a model is not a document. A comparison
    without a file causes a question on closing.
    """
    from geometry.checkpoints.plain_text import visible

    model, file = session.model, session.work_file
    parts = [] if model is None else [model.name]
    if file and model is not None:
        parts.insert(0, file.replace("\\", "/").rpartition("/")[2])
    # Qt replaces "[*]" by its mark of changes, and shows "[*][*]" as "[*]".
    parts = [visible(part).replace("[*]", "[*][*]") for part in (*parts, "Helixscope")]
    if len(parts) > 2:
        parts[0] += "[*]"
    return " – ".join(parts)
