"""Saving work to files, and opening them."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QSize
from PySide6.QtWidgets import QFileDialog

from geometry.models.sources.derived import at_commit
from gui.export.save_result import ask_where
from gui.services.loading import known_name, remember
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
from gui.state.session import MAIN
from gui.style.listening import Listening
from gui.window.arrangement.docks import BOTTOM, DOCKS
from gui.window.work.work_changes import Saved, WorkChanges

if TYPE_CHECKING:
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
        self._one = threading.Lock()
        self._asked: dict[Path, Work] = {}  # What was to be written last, by file
        self._saving: Saved | None = None
        self._after: list[Callable[[], object]] = []
        self._awaited: dict[int, OtherView] = {}
        self.changes = WorkChanges(window, lambda: self._awaited)
        self._listening = Listening()
        self._listening.to(window.session.events.work, self._on_opened)

    @property
    def file(self) -> Path | None:
        """The file saved or opened last; None if the shown work has none."""
        file = self.session.work_file
        return Path(file) if file else None

    def release(self) -> None:
        """Stop listening."""
        self._listening.stop()
        self.changes.release()

    def take(self) -> Work | None:
        """Return the current work; None if no model is open.

        Of compared models that are still loading it has what was asked for.
        """
        window = self._window
        shown = window.controller.shown
        if window.session.model is None or shown is None:
            return None
        work = take_work(window.session, shown, window.viewport.camera.place)
        comparing, cells = window.controller.comparing, window.grid.cells
        others = {
            one.key: awaited_other(one, wanted, self._awaited.get(one.key))
            for one, wanted in comparing.awaited
        }
        for key, session, wanted in comparing.opened:
            place = cells[key].viewport.camera.place if key in cells else None
            others[key] = take_other(session, wanted, place, in_grid=key in cells)
        there = [key for key in comparing.keys if key in others]
        before = comparing.keys[: window.session.main_at]
        return replace(
            work,
            panel=self._front(),
            size=window.size().toTuple(),
            layout=window.arrangement(),
            others=tuple(others[key] for key in there),
            main_at=len(set(there).intersection(before)),
            alignment=take_alignment(window.session, there),
            alone=_alone(window.grid.alone, there),
            panels=window.results.options(),
        )

    def save(self, then: Callable[[], object] = lambda: None) -> None:
        """Save to the file saved or opened last, or ask for one; then call a function."""
        if self.file is None:
            self.save_as(then)
        else:
            self._write(self.file, then)

    def call_after(self, then: Callable[[], object]) -> bool:
        """Call a function once the file is written that is being written; False if none is."""
        if self._after:
            self._after.append(then)
        return bool(self._after)

    def save_as(self, then: Callable[[], object] = lambda: None) -> None:
        """Ask for a file and save to it; then call a function."""
        session = self._window.session
        if session.model is None:
            return
        name = session.model.name.replace("/", "-")
        path = ask_where(
            self._window, "Save project", name, {ENDING[1:]: KIND}, session=session, kind=WORK
        )
        if path is not None:
            self._write(path, then)

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
        """Write what is shown now, on a thread."""
        work, session = self.take(), self.session
        if work is None:
            return
        model, self._saving = session.model, (saving := self.changes.begin_saving())
        self._asked[path] = work
        self._after.append(then)

        def write() -> Path:
            with self._one:
                if self._asked[path] is not work:
                    return path  # what was asked for later is written already
                return save_work(replace(work, bookmarks=self._bookmarks()), path)

        def done(file: Path) -> None:
            remember(session, str(file))
            session.status = f"Saved {path}"
            if session.model is model and self._saving is saving:
                note_file(session, file)
                self.changes.note_saved(saving)
            after, self._after = self._after, []
            for call in after:
                call()

        session.status = f"Saving {path}…"
        self._window.controller.in_background(
            f"{SLOT} {path}", write, done, "The project could not be saved",
            on_failed=self._after.clear,
        )  # fmt: skip

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
        for one, other in zip(window.session.compared, work.others, strict=False):
            if one.session.model is None and _repo(one.source) == _repo(other.source):
                self._awaited[one.key] = other
                if other.place is not None and one.in_grid:
                    window.grid.cells[one.key].viewport.camera.begin_at(other.place)
        if work.alone is not None:
            keys = [MAIN, *(one.key for one in window.session.compared)]
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


def _alone(key: int | None, others: list[int]) -> int | None:
    """Return which view fills the grid: 0 for the open model's, then the others'."""
    keys = [MAIN, *others]
    return keys.index(key) if key in keys else None


def _repo(source: str) -> str:
    """Return a source without its commit."""
    return at_commit(known_name(source), None)
