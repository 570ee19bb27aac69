"""Saving work to files, and opening them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QSize
from PySide6.QtWidgets import QFileDialog

from geometry.checkpoints.errors import HelixscopeError
from geometry.models.sources.derived import at_commit
from gui.export.save_result import ask_where
from gui.services.loading import remembered_name
from gui.services.save_folders import WORK, folder_for, remember_folder
from gui.services.timeline import SLOT as TRAINING
from gui.services.work_files.reopening import (
    ENDING,
    awaited_other,
    found,
    note_saved,
    take_alignment,
    take_other,
    take_work,
)
from gui.state.aligned_curve import OfStep
from gui.state.session import MAIN
from gui.state.values import Notice
from gui.style.listening import Listening
from gui.window.arrangement.docks import BOTTOM, DOCKS
from gui.window.work.work_changes import WorkChanges

if TYPE_CHECKING:
    from gui.state.work import Bookmark, OtherView, Work
    from gui.window.host import HostWindow

KIND = f"Helixscope project (*{ENDING})"


class WorkSaver:
    """Saves and opens a window's work.

    ``bookmarks_for`` returns the bookmarks for a file.
    """

    def __init__(
        self, window: HostWindow, bookmarks_for: Callable[[Path], tuple[Bookmark, ...]]
    ) -> None:
        self._window, self.session = window, window.session
        self._bookmarks_for = bookmarks_for
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

    def take(self, path: Path | None = None) -> Work | None:
        """Return the current work; None if no model is open.

        Of compared models that are still loading it has what was asked for.
        """
        window = self._window
        shown = window.controller.shown
        if window.session.model is None or shown is None:
            return None
        work = take_work(window.session, shown, window.viewport.camera.place, path)
        comparing, cells = window.controller.comparing, window.grid.cells
        others = {
            one.key: awaited_other(one, wanted, self._awaited.get(one.key), path)
            for one, wanted in comparing.awaited
        }
        for key, session, wanted in comparing.opened:
            place = cells[key].viewport.camera.place if key in cells else None
            others[key] = take_other(session, wanted, place, path, in_grid=key in cells)
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

    def save(self) -> bool:
        """Save to the file saved or opened last, or ask for one; return whether that was done."""
        return self.save_as() if self.file is None else self._write(self.file)

    def save_as(self) -> bool:
        """Ask for a file and save to it; return whether that was done."""
        session = self._window.session
        if session.model is None:
            return False
        name = session.model.name.replace("/", "-")
        path = ask_where(
            self._window, "Save project", name, {ENDING[1:]: KIND}, session=session, kind=WORK
        )
        return path is not None and self._write(path)

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

    def _write(self, path: Path) -> bool:
        from gui.services.work_files.work_file import write_work

        work, session = self.take(path), self._window.session
        if work is None:
            return False
        work = replace(work, bookmarks=self._bookmarks_for(path))
        try:
            write_work(work, path)
        except HelixscopeError as error:
            session.notice = Notice(str(error), error.advice)
            return False
        note_saved(session, path)
        self.changes.note_saved()
        return True

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
            source = found(other, self.file)
            if one.session.model is None and _repo(one.source) == _repo(source):
                self._awaited[one.key] = replace(other, source=source)
                if other.place is not None and one.in_grid:
                    window.grid.cells[one.key].viewport.camera.begin_at(other.place)
        if work.alone is not None:
            keys = [MAIN, *(one.key for one in window.session.compared)]
            window.grid.show_alone(keys[work.alone] if work.alone < len(keys) else None)
        if work.place is not None:
            window.viewport.camera.return_to(work.place)
        if work.file:
            self.changes.note_saved(differs=work.changed)
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
    return at_commit(remembered_name(source), None)
