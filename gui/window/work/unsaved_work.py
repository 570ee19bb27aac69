"""Autosave: keeps unsaved work, and restores it after a crash."""

from __future__ import annotations

import logging
import os
import threading
import uuid
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer

from geometry.checkpoints.errors import HelixscopeError
from geometry.checkpoints.whole_files import parts_in, reason, remove_parts, write_bytes
from gui.services.jobs.jobs import Job, Jobs
from gui.services.work_files.projects import ENDING
from gui.state.values import Notice
from gui.style.listening import Listening

if TYPE_CHECKING:
    from filelock import FileLock

    from gui.state.work import Work
    from gui.window.work.save_work import WorkSaver

log = logging.getLogger(__name__)

KEEP_MS = 5_000
"""Interval of autosave, and so the maximum loss by a crash."""
SLOT = "unsaved work"
TRIED = "tried"
"""Subfolder for work that is being restored."""
BROKEN = ".broken"
"""Suffix of damaged work, which is kept."""


@dataclass(frozen=True, eq=False, slots=True)
class LeftOver:
    """Work left by a crashed process."""

    work: Work
    # Its file until it is shown, in a folder that is not searched at start: if showing it causes a
    # crash, the next start omits it.
    file: Path

    def delete(self) -> None:
        """Delete the file, because the work has been restored and saved again."""
        self.file.unlink(missing_ok=True)
        with suppress(OSError):  # other windows may have files there
            self.file.parent.rmdir()

    def keep_for_next_start(self) -> None:
        """Move the file back for the next start."""
        os.replace(self.file, self.file.parent.parent / self.file.name)
        with suppress(OSError):
            self.file.parent.rmdir()


class _KeptFile:
    """The file of a window's unsaved work, used by one thread at a time."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / f"{uuid.uuid4().hex}{ENDING}"
        self._lock: FileLock | None = None
        self._content = b""
        self._mutex = threading.Lock()

    def write(self, work: Work, left: LeftOver | None) -> None:
        """Write work if it has changed, and delete the file it was restored from."""
        from gui.services.work_files.work_file import pack_work

        with self._mutex:
            packed = pack_work(work)
            if packed == self._content:
                return
            if self._lock is None:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                lock = _lock(self.path)
                lock.acquire(timeout=0)
                self._lock = lock
            write_bytes(packed, self.path, durable=False)  # faster; not safe against power failures
            self._content = packed
            if left is not None:
                left.delete()

    def release(self, *, remove: bool) -> None:
        """Leave the file to other processes, or remove it."""
        with self._mutex:
            lock, self._lock = self._lock, None
            if lock is not None:
                if remove:
                    _remove(self.path)
                _release(lock)


class UnsavedWork(QObject):
    """Saves the window's work regularly to a file, which is deleted when the window closes.

    Parameters
    ----------
    folder
        The folder of such files. A file that no process has locked is from a crash.
    jobs
        Run the writing.
    left
        The work being restored. Its file is deleted once it has been restored and saved again; if
        no model was opened, the next start tries again. Otherwise the file is kept.

    Attributes
    ----------
    timer
        Timer of the saving.
    """

    def __init__(
        self,
        folder: Path,
        saver: WorkSaver,
        jobs: Jobs,
        left: LeftOver | None = None,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._saver, self._jobs = saver, jobs
        self._file = _KeptFile(folder)
        self._writing = self._failing = False
        self._left, self._left_shown = left, False
        self._listening = Listening()
        self._listening.to(saver.session.events.work, self._on_opened)
        self._on_opened(saver.session.work)
        self.timer = QTimer(self, interval=KEEP_MS)
        self.timer.timeout.connect(self._keep_regularly)
        self.timer.start()

    def keep(self) -> None:
        """Save the work on a thread, if it has changed."""
        work = self._work()
        if work is None:
            return
        left = self._left if self._left_shown else None

        def done(_: None) -> None:
            self._writing = self._failing = False
            if left is not None:
                self._left = None

        self._writing = True
        write = partial(self._file.write, work, left)
        # With ``stop`` the job has its own thread: a network disk may not answer.
        self._jobs.start(SLOT, Job(write, done, self._on_failed, stop=lambda: None))

    def _keep_regularly(self) -> None:
        if not self._writing:
            self.keep()

    def _work(self) -> Work | None:
        work = self._saver.take()
        if work is None or self._saver.session.in_memory:
            return None
        return replace(work, file=self._saver.session.work_file, changed=self._saver.changes.any)

    def keep_restored(self) -> None:
        """Save restored work again once it has been shown without a crash.

        Until then, a start does not search for it.
        """
        if self._left is not None and self._left_shown:
            self.keep()

    def close(self, *, leave: bool = False) -> None:
        """Delete the file, because the window is closing, or ``leave`` it for the next start.

        The job is finished before the application ends.
        """
        self.timer.stop()
        self._listening.stop()
        left, self._left = self._left, None
        shown, file = self._left_shown, self._file
        opened = self._saver.session.model is not None
        work = self._work() if leave else None

        def end() -> None:
            if work is not None:
                file.write(work, left if shown else None)
            elif left is not None and shown:
                left.delete()
            elif left is not None and not opened:
                left.keep_for_next_start()
            file.release(remove=work is None)

        def failed(error: Exception) -> None:
            log.error("unsaved work cannot be deleted", exc_info=error)

        self._jobs.start(SLOT, Job(end, lambda _: None, failed, finish=True))

    def _on_failed(self, error: Exception) -> None:
        """Report the first of a series of failures; the timer tries again."""
        session = self._saver.session
        self._writing = False
        if self._failing or session.notice is not None:
            return
        self._failing = True
        log.error("unsaved work cannot be saved", exc_info=error)
        why = reason(error)[0] if isinstance(error, OSError) else str(error)
        session.notice = Notice(
            f"Unsaved work cannot be backed up: {why}.",
            (
                "A crash would lose it. Helixscope tries again every few seconds; you can also "
                "save the project."
            ),
        )

    def _on_opened(self, work: Work | None) -> None:
        if self._left is not None and work is self._left.work:
            self._left_shown = True


def left_over(folder: Path, damaged: list[Path] | None = None) -> LeftOver | None:
    """Return the newest work of a crashed process; None if there is none.

    Older work stays for the next starts, as do files that are unreadable at the moment or of a
    later version; damaged files are renamed, and their new names appended to ``damaged``.
    """
    return _first(folder, lambda file: _take(file, [] if damaged is None else damaged))


def quarantine(folder: Path) -> list[Path]:
    """Move all work of crashed processes to a folder that no start searches; return its files."""
    _first(folder, _quarantine)
    return sorted((folder / TRIED).glob(f"*{ENDING}"))


def _first(folder: Path, take: Callable[[Path], LeftOver | None]) -> LeftOver | None:
    """Call a function with files of crashed processes, newest first, until it returns work."""
    for file in sorted(_all_kept(folder), key=_age, reverse=True):
        lock = _lock(file)
        try:
            lock.acquire(timeout=0)
        except TimeoutError:
            continue  # of an open window
        except OSError:
            log.exception("unsaved work cannot be accessed")
            continue
        try:
            work = take(file)
        except OSError:
            log.exception("unsaved work cannot be accessed")
        else:
            if work is not None:
                return work
        finally:
            _release(lock)
    return None


def _quarantine(file: Path) -> None:
    if file.exists():  # otherwise it is partially written
        _move_to_tried(file)
    _remove(file)


def _move_to_tried(file: Path) -> Path:
    tried = file.parent / TRIED / file.name
    tried.parent.mkdir(exist_ok=True)
    os.replace(file, tried)
    return tried


def _take(file: Path, damaged: list[Path]) -> LeftOver | None:
    from gui.services.work_files.work_file import NewerVersion, read_content, unpack_work

    try:
        work = unpack_work(read_content(file), file.name)
    except NewerVersion:
        log.exception("unsaved work is of a later version")
        return None
    except (HelixscopeError, FileNotFoundError):
        log.exception("unsaved work cannot be read")
        with suppress(FileNotFoundError):
            os.replace(file, file.with_suffix(BROKEN))  # kept, and not tried again
            damaged.append(file.with_suffix(BROKEN))
        _remove(file)
        return None
    tried = _move_to_tried(file)
    _remove(file)  # partially written
    return LeftOver(work, tried)


def _all_kept(folder: Path) -> set[Path]:
    """Return the saved files, including partially written ones."""
    written = parts_in(folder).values() if folder.is_dir() else ()
    return {*folder.glob(f"*{ENDING}"), *(folder / n for n in written if n.endswith(ENDING))}


def _age(file: Path) -> float:
    try:
        return file.stat().st_mtime
    except OSError:  # just deleted by another window
        return 0.0


def _lock(file: Path) -> FileLock:
    """Return a lock that the end of its process releases."""
    from filelock import FileLock

    # Another thread may release it.
    return FileLock(file.with_suffix(".lock"), thread_local=False)


def _remove(file: Path) -> None:
    file.unlink(missing_ok=True)
    remove_parts(file)


def _release(lock: FileLock) -> None:
    lock.release()
    with suppress(OSError):
        Path(lock.lock_file).unlink(missing_ok=True)
