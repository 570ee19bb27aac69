"""Saving work to files, and opening them."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QSize
from PySide6.QtWidgets import QFileDialog

from geometry.checkpoints.plain_text import some_of
from geometry.models.sources.source import Source
from gui.export.save_result import ask_where
from gui.services.loading import remember
from gui.services.save_folders import WORK, folder_for, remember_folder
from gui.services.timeline import SLOT as TRAINING
from gui.services.work_files.projects import ENDING, save_work
from gui.services.work_files.reopening import (
    awaited_other,
    note_file,
    take_alignment,
    take_other,
    take_work,
)
from gui.state.aligned_curve import OfStep
from gui.state.values import Notice
from gui.style.listening import Listening
from gui.window.arrangement.docks import BOTTOM, DOCKS
from gui.window.work.work_changes import Saved, WorkChanges

if TYPE_CHECKING:
    from gui.state.session import Session
    from gui.state.work import Bookmark, OtherView, Work
    from gui.window.host import HostWindow

SLOT = "save work"
KIND = f"Helixscope project (*{ENDING})"


class WorkSaver:
    """Saves and opens a window's work.

    ``bookmarks`` returns all bookmarks; called on a thread.
    """

    def __init__(self, window: HostWindow, bookmarks: Callable[[], tuple[Bookmark, ...]]) -> None:
        self._window, self.session = window, window.session
        self._bookmarks = bookmarks
        self._lock = threading.Lock()
        self._requested: dict[Path, Work] = {}  # The last work to write, by file
        self._saving: Saved | None = None
        self._after: list[Callable[[], object]] = []
        self._awaited: dict[int, OtherView] = {}
        self.changes = WorkChanges(window, lambda: self._awaited)
        self._listening = Listening()
        self._listening.to(window.session.events.work, self._on_opened)

    @property
    def file(self) -> Path | None:
        """The last saved or opened file; None if the shown work has none."""
        file = self.session.work_file
        return Path(file) if file else None

    def release(self) -> None:
        """Stop listening."""
        self._listening.stop()
        self.changes.release()

    def take(self) -> Work | None:
        """Return the current work; None if no model is open.

        Other models that are still loading are included as requested.
        """
        window = self._window
        shown = window.controller.opening.shown
        if window.session.model is None or shown is None:
            return None
        work = take_work(window.session, shown, window.viewport.camera.place)
        comparing, cells = window.controller.comparing, window.grid.cells
        others = {
            model.key: awaited_other(model, request, self._awaited.get(model.key))
            for model, request in comparing.awaited
        }
        for key, session, request in comparing.opened:
            place = cells[key].viewport.camera.place if key in cells else None
            others[key] = take_other(session, request, place, in_grid=key in cells)
        keys = _keys(window.session)
        return replace(
            work,
            panel=self._front(),
            size=window.size().toTuple(),
            layout=window.arrangement(),
            others=tuple(others[key] for key in keys[1:]),
            main_at=comparing.keys.index(keys[0]),
            alignment=take_alignment(window.session, keys[1:]),
            alone=keys.index(alone) if (alone := window.grid.alone) in keys else None,
            panels=window.results.options(),
        )

    def save(self, then: Callable[[], object] = lambda: None) -> None:
        """Save to the last saved or opened file, or ask for a file; then call a function."""
        if self.file is None:
            self.save_as(then)
        else:
            self._write(self.file, then)

    def call_after(self, then: Callable[[], object]) -> bool:
        """Call a function after the current write; return False if nothing is being written."""
        if self._after:
            self._after.append(then)
        return bool(self._after)

    def save_as(self, then: Callable[[], object] = lambda: None) -> None:
        """Ask for a file and save to it; then call a function."""
        session = self._window.session
        if session.model is None or self._refused():
            return
        name = session.model.name.replace("/", "-")
        path = ask_where(
            self._window, "Save project", name, {ENDING[1:]: KIND}, session=session, kind=WORK
        )
        if path is not None:
            self._write(path, then)

    def _refused(self) -> bool:
        """Refuse to save models that no project could open, and say so."""
        names = self.session.in_memory
        if names:
            self.session.notice = Notice(
                f"{some_of(names, 3)} cannot be saved in a project: what is in memory alone "
                "cannot be opened later.",
                "Save the model to a file, and open that.",
            )
        return bool(names)

    def open(self) -> None:
        """Ask for a file of saved work and open it."""
        session = self._window.session
        dialog = QFileDialog(self._window, "Open project", folder_for(session, WORK), KIND)
        dialog.setFileMode(QFileDialog.FileMode.ExistingFile)
        accepted = dialog.exec() == QFileDialog.DialogCode.Accepted
        dialog.deleteLater()
        if accepted:
            file = dialog.selectedFiles()[0]
            remember_folder(session, WORK, Path(file))
            self._window.controller.open(file)

    def _write(self, path: Path, then: Callable[[], object] = lambda: None) -> None:
        """Write the shown work on a thread."""
        work, session = self.take(), self.session
        if work is None or self._refused():
            return
        model, self._saving = session.model, (saving := self.changes.begin_saving())
        self._requested[path] = work
        self._after.append(then)

        def write() -> Path:
            with self._lock:
                if self._requested[path] is not work:
                    return path  # a later request was written already
                return save_work(replace(work, bookmarks=self._bookmarks()), path)

        def done(file: Path) -> None:
            remember(session, Source.parse(str(file)))
            session.status = f"Saved {path}"
            if session.model is model and self._saving is saving:
                note_file(session, file)
                self.changes.note_saved(saving)
            after, self._after = self._after, []
            for call in after:
                call()

        session.status = f"Saving {path}…"
        self._window.controller.in_background(
            f"{SLOT} {path}",
            write,
            done,
            "The project could not be saved",
            on_failed=self._after.clear,
        )

    def _front(self) -> str:
        """Return the name of the front dock under the viewport; "" for none."""
        for dock in DOCKS:
            widget = self._window.docks[dock.name]
            if dock.area == BOTTOM and not widget.visibleRegion().isEmpty():
                return dock.name
        return ""

    def _on_opened(self, work: Work | None) -> None:
        if work is None:
            return
        window = self._window
        if work.size is not None and not (window.isMaximized() or window.isFullScreen()):
            room = window.screen().availableSize()
            window.resize(QSize(*work.size).boundedTo(room))
        window.results.restore(work.panels)
        if work.layout is not None:
            window.arrange_as(work.layout)
        if work.panel in window.docks:
            window.bring(work.panel)
        for other, view in zip(window.session.others, work.others, strict=False):
            same = other.source.at_commit(None) == view.source.at_commit(None)
            if other.session.model is None and same:
                self._awaited[other.key] = view
                if view.place is not None and other.in_grid:
                    window.grid.cells[other.key].viewport.camera.begin_at(view.place)
        if work.alone is not None:
            keys = _keys(window.session)
            window.grid.show_alone(keys[work.alone] if work.alone < len(keys) else None)
        if work.place is not None:
            window.viewport.camera.return_to(work.place)
        if work.file:
            self.changes.note_saved(None if work.changed else self.changes.begin_saving())
        self._read_history()

    def _read_history(self) -> None:
        """Load the open model's history, if a step of it is aligned with the curve."""
        session, answers = self._window.session, self._window.controller.answers
        of_step = isinstance(getattr(session.alignment, "what", None), OfStep)
        if of_step and session.history is None and TRAINING not in session.answers:
            from gui.panels.training.question import TrainingOf

            answers.ask(TRAINING, TrainingOf(session.positions))


def _keys(session: Session) -> list[int]:
    """Return the keys of the models, of the current one first."""
    return [session.current_key, *(other.key for other in session.others)]
