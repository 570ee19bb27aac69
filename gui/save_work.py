"""Saving what is shown as a file, opening such files, and keeping what nobody saved."""

from __future__ import annotations

import logging
import uuid
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QByteArray, QObject, QSize, QTimer
from PySide6.QtWidgets import QFileDialog

from geometry.errors import HelixscopeError
from gui.docks import BOTTOM, DOCKS
from gui.laid import OfStep
from gui.lapsing import SLOT as TRAINING
from gui.listening import Listening
from gui.reopening import ENDING, is_work, take_laying, take_other, take_work
from gui.save_result import ask_where
from gui.session import Notice

if TYPE_CHECKING:
    from filelock import FileLock

    from gui.main_window import MainWindow
    from gui.work import Work

log = logging.getLogger(__name__)

KIND = f"Helixscope work (*{ENDING})"
KEEP_MS = 5_000
"""How much of the work a crash may cost."""


class WorkSaver:
    """Saves what a window shows, and opens what was saved.

    Parameters
    ----------
    window
        Whose model, range, selection, camera and panel in front are saved.
    """

    def __init__(self, window: MainWindow) -> None:
        self._window = window
        self.file: Path | None = None
        self._listening = Listening()
        self._listening.to(window.session.events.work, self._on_opened)
        self._listening.to(window.session.events.model, self._on_model_changed)

    def release(self) -> None:
        """Stop listening."""
        self._listening.stop()

    def take(self, path: Path | None = None) -> Work | None:
        """Take down what is shown; None if nothing is."""
        window = self._window
        shown = window.controller.shown
        if window.session.model is None or shown is None:
            return None
        work = take_work(window.session, shown, window.viewport.camera.place, path)
        comparing, cells = window.controller.comparing, window.grid.cells
        others = [
            take_other(session, wanted, cells[key].viewport.camera.place, path)
            for key, session, wanted in comparing.opened
        ]
        there = [key for key, _, _ in comparing.opened]
        before = comparing.keys[: window.session.main_at]
        return replace(
            work,
            panel=self._front(),
            size=window.size().toTuple(),
            layout=bytes(window.saveState().data()),
            others=tuple(others),
            main_at=len(set(there).intersection(before)),
            laying=take_laying(window.session, there),
            panels=window.results.options(),
        )

    def save(self) -> None:
        """Save into the file that was saved or opened last, or else ask for one."""
        if self.file is None:
            self.save_as()
        else:
            self._write(self.file)

    def save_as(self) -> None:
        """Ask for a file and save into it."""
        session = self._window.session
        if session.model is None:
            return
        name = session.model.name.replace("/", "-")
        path = ask_where(self._window, "Save work", name, {ENDING[1:]: KIND})
        if path is not None:
            self._write(path)

    def open(self) -> None:
        """Ask for a file of saved work and open it."""
        dialog = QFileDialog(self._window, "Open work", "", KIND)
        dialog.setFileMode(QFileDialog.FileMode.ExistingFile)
        accepted = dialog.exec() == QFileDialog.DialogCode.Accepted
        dialog.deleteLater()
        if accepted:
            self._window.controller.open(dialog.selectedFiles()[0])

    def _write(self, path: Path) -> None:
        from gui.work_file import write_work

        work, session = self.take(path), self._window.session
        if work is None:
            return
        work = replace(work, bookmarks=self._window.bookmarks.for_file(path))
        try:
            write_work(work, path)
        except HelixscopeError as error:
            session.notice = Notice(str(error), error.advice)
            return
        self.file = path
        file = str(path.resolve())
        session.recent = (file, *(r for r in session.recent if r != file))
        session.status = f"Saved {path}"

    def _front(self) -> str:
        """Return the name of the dock in front of those under the viewport; "" for none."""
        for dock in DOCKS:
            widget = self._window.docks[dock.name]
            if dock.area == BOTTOM and not widget.visibleRegion().isEmpty():
                return dock.name
        return ""

    def _on_model_changed(self) -> None:
        self.file = None  # what is shown now is other work

    def _on_opened(self, work: Work | None) -> None:
        if work is None:
            return
        window, recent = self._window, self._window.session.recent
        self.file = Path(recent[0]) if recent and is_work(recent[0]) else None
        if work.size is not None and not (window.isMaximized() or window.isFullScreen()):
            room = window.screen().availableSize()
            window.resize(QSize(*work.size).boundedTo(room))
        window.results.restore(work.panels)
        if work.layout:
            window.restoreState(QByteArray(work.layout))
        if work.panel in window.docks:
            window.bring(work.panel)
        for one, other in zip(window.session.compared, work.others, strict=False):
            if other.place is not None and one.session.model is None:
                window.grid.cells[one.key].viewport.camera.begin_at(other.place)
        if work.place is not None:
            window.viewport.camera.return_to(work.place)
        self._read_history()

    def _read_history(self) -> None:
        """Read the training of the open model, if a step of it is laid over the curve."""
        session, answers = self._window.session, self._window.controller.answers
        of_step = isinstance(getattr(session.laying, "what", None), OfStep)
        if of_step and session.history is None and TRAINING not in session.answers:
            from gui.panels.training_question import TrainingOf

            answers.ask(TRAINING, TrainingOf(session.positions))


class UnsavedWork(QObject):
    """Keeps what is shown in a file of its own, which a window that is closed takes away.

    Parameters
    ----------
    folder
        Where such files are. One that no living process holds is of one that ended otherwise.
    saver
        Tells what is shown.
    """

    def __init__(self, folder: Path, saver: WorkSaver, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._saver = saver
        self._file = folder / f"{uuid.uuid4().hex}{ENDING}"
        self._lock: FileLock | None = None
        self._kept = b""
        self._timer = QTimer(self, interval=KEEP_MS)
        self._timer.timeout.connect(self.keep)
        self._timer.start()

    def keep(self) -> None:
        """Write what is shown, if it is not what was written last."""
        from gui.work_file import WorkError, pack_work, write_work

        work = self._saver.take()
        if work is None or (packed := pack_work(work)) == self._kept:
            return
        try:
            if self._lock is None:
                self._file.parent.mkdir(parents=True, exist_ok=True)
                self._lock = _lock(self._file)
                self._lock.acquire(timeout=0)
            write_work(work, self._file, durable=False)  # disks may take their time
        except (WorkError, OSError):
            log.exception("what is shown cannot be kept")
            self._timer.stop()  # a full or read-only disk: it would be the same every time
            return
        self._kept = packed

    def close(self) -> None:
        """Take the file away: the window is closed as it should be."""
        self._timer.stop()
        if self._lock is not None:
            _remove(self._file, self._lock)
            self._lock = None


def left_over(folder: Path) -> Work | None:
    """Return the newest work that a process left when it ended, and take all such files away."""
    from gui.work_file import read_work

    found = None
    for file in sorted(folder.glob(f"*{ENDING}"), key=_age):
        lock = _lock(file)
        try:
            lock.acquire(timeout=0)
        except TimeoutError:
            continue  # of a window that is open
        try:
            found = read_work(file)
        except HelixscopeError:
            log.exception("what was kept cannot be read")
        # Before it is shown: should that be what ended the process, the next one starts without.
        _remove(file, lock)
    return found


def _age(file: Path) -> float:
    try:
        return file.stat().st_mtime
    except OSError:  # taken away by another window at this moment
        return 0.0


def _lock(file: Path) -> FileLock:
    """Return a lock that its process holds for as long as it lives, however it ends."""
    from filelock import FileLock

    return FileLock(file.with_suffix(".lock"))


def _remove(file: Path, lock: FileLock) -> None:
    file.unlink(missing_ok=True)
    lock.release()
    Path(lock.lock_file).unlink(missing_ok=True)
