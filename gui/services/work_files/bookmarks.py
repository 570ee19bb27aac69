"""Bookmarks: saved views, kept in one file."""

from __future__ import annotations

import logging
import os
import threading
import uuid
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING

from geometry.checkpoints.errors import HelixscopeError
from gui.services.jobs.jobs import Job, Jobs
from gui.services.notices import notice_of
from gui.state.values import Notice
from gui.state.work import MAX_BOOKMARKS, Bookmark

if TYPE_CHECKING:
    from gui.state.session import Session
    from gui.state.work import Work

log = logging.getLogger(__name__)

WAIT_S = 2.0
"""Maximum wait for another window that writes its bookmarks."""


Change = Callable[[tuple[Bookmark, ...]], tuple[Bookmark, ...]]


@dataclass(frozen=True, eq=False, slots=True)
class _Outcome:
    """The result of a change of the file."""

    done: bool
    then: Callable[[], None]
    notice: Notice | None = None


class Bookmarks:
    """Keeps ``session.bookmarks`` and a file in sync.

    Each change is applied to the file's current content, so that several open windows do not
    overwrite each other. The file is read and written on threads, one change after another.

    The file is created with the first bookmark.
    """

    def __init__(self, session: Session, file: Path, jobs: Jobs) -> None:
        self._session, self._file, self._jobs = session, file, jobs
        self._removed: list[tuple[int, Bookmark]] = []
        self._loaded, self._count = False, 0
        # Shared by threads; the last two only with ``_lock``.
        self._waiting: deque[tuple[Change | None, Callable[[], None]]] = deque()
        self._lock = threading.Lock()
        self._all: tuple[Bookmark, ...] = ()
        self._seen: tuple[int, ...] | None = None

    def load(self) -> None:
        """Read the file, unless it has been read; a damaged file is quarantined, with a notice."""
        if not self._loaded:
            self._loaded = True
            self._start(None)

    @property
    def current(self) -> tuple[Bookmark, ...]:
        """All bookmarks; reads the file if necessary, so it is for jobs."""
        with self._lock:
            if self._seen is None:
                with suppress(HelixscopeError, OSError):
                    return self._read()[0]
            return self._all

    # ---- on threads ----------------------------------------------------------------------

    def _run_next(self) -> _Outcome:
        """Make the first waiting change."""
        with self._lock:
            change, then = self._waiting.popleft()
            try:
                notice = self._load() if change is None else self._change(change)
            except HelixscopeError as error:
                # A file of a later version is not read again.
                return _Outcome(False, then, Notice(str(error), error.advice))
            except OSError as error:
                if change is None:
                    self._loaded = False
                return _Outcome(False, then, self._cannot("changed" if change else "read", error))
            return _Outcome(True, then, notice)

    def _load(self) -> Notice | None:
        seen = _seen(self._file)  # before reading: another window may be writing
        readable, why = self._read()
        self._show(readable)
        if why:
            return self._change(lambda all_: all_)  # quarantines it under the file's lock
        self._seen = seen
        return None

    def _read(self) -> tuple[tuple[Bookmark, ...], str]:
        """Return the readable bookmarks, and the reason why others are unreadable; "" if none are.

        Raises NewerVersion: it may not be overwritten.
        Raises OSError: it cannot be read at the moment.
        """
        from gui.services.work_files.work_file import NewerVersion, read_bookmarks

        try:
            readable, left_out = read_bookmarks(self._file)
        except NewerVersion:
            raise
        except HelixscopeError as error:
            return (), str(error)
        some = "One bookmark" if left_out == 1 else f"{left_out} bookmarks"
        return readable, f"{some} cannot be read." if left_out else ""

    def _take_in(self) -> Notice | None:
        """Read the file if it has changed; quarantine a damaged file, and return a notice of it.

        Raises HelixscopeError, OSError: as :meth:`_read`, or when it cannot be moved.
        """
        notice = None
        if self._seen is None or self._seen != _seen(self._file):
            readable, why = self._read()
            if why:
                notice = self._quarantine(readable, why)
            self._show(readable)
            self._seen = _seen(self._file)
        return notice

    def _show(self, bookmarks: tuple[Bookmark, ...]) -> None:
        if [_identity(bookmark) for bookmark in bookmarks] != [
            _identity(bookmark) for bookmark in self._all
        ]:
            self._all = bookmarks

    def _change(self, change: Change) -> Notice | None:
        """Change the file's content; return a notice if the file was damaged.

        Raises HelixscopeError, OSError: it cannot be changed.
        """
        from filelock import FileLock

        from gui.services.work_files.work_file import write_bookmarks

        self._file.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(self._file.with_suffix(".lock"), timeout=WAIT_S):
            notice = self._take_in()
            changed = change(self._all)
            if len(changed) > MAX_BOOKMARKS:
                raise HelixscopeError(
                    f"There are already {MAX_BOOKMARKS} bookmarks.", "Remove some of them first."
                )
            if changed != self._all:
                write_bookmarks(changed, self._file)
                self._all, self._seen = changed, _seen(self._file)
        return notice

    # ---- changes -------------------------------------------------------------------------

    def _start(self, change: Change | None, then: Callable[[], None] = lambda: None) -> None:
        """Make a change on a thread, after the waiting ones; then call ``then`` if it succeeded."""
        self._waiting.append((change, then))
        self._count += 1
        slot = f"bookmarks {self._count}"  # none replaces another
        self._jobs.start(slot, Job(self._run_next, self._on_outcome, self._on_error, finish=True))

    def _on_outcome(self, outcome: _Outcome) -> None:
        session = self._session
        if session.bookmarks != self._all:
            session.bookmarks = self._all
        if outcome.notice is not None:
            session.notice = outcome.notice
        if outcome.done:
            outcome.then()

    def _on_error(self, error: Exception) -> None:
        log.error("The bookmarks cannot be changed", exc_info=error)
        self._session.notice = notice_of(error, "The bookmarks cannot be changed")

    def add(
        self,
        name: str,
        model: str,
        work: Work,
        picture: bytes,
        note: str = "",
        then: Callable[[str], None] = lambda _: None,
    ) -> str:
        """Append a view, by default with an unused name; return its key.

        Once it has been saved, ``then`` is called with the key.
        """
        bookmark = Bookmark(uuid.uuid4().hex, name, note, model, work, picture)
        self._start(
            lambda all_: (*all_, replace(bookmark, name=name or free_name(all_))),
            lambda: then(bookmark.key),
        )
        return bookmark.key

    def change(self, key: str, *, name: str | None = None, note: str | None = None) -> None:
        """Change a bookmark's name or note; an empty name changes nothing."""

        def changed(bookmark: Bookmark) -> Bookmark:
            if bookmark.key != key:
                return bookmark
            kept = (name or "").strip() or bookmark.name
            return replace(bookmark, name=kept, note=bookmark.note if note is None else note)

        self._start(lambda all_: tuple(map(changed, all_)))

    def move(self, key: str, step: int) -> None:
        """Move a bookmark by some places, towards the end if positive."""

        def moved(all_: tuple[Bookmark, ...]) -> tuple[Bookmark, ...]:
            at = _find(all_, key)
            if at is None:
                return all_
            others = [*all_[:at], *all_[at + 1 :]]
            others.insert(max(0, at + step), all_[at])
            return tuple(others)

        self._start(moved)

    def remove(self, key: str) -> None:
        """Remove a bookmark; :meth:`bring_back` undoes this."""
        gone: list[tuple[int, Bookmark]] = []

        def without(all_: tuple[Bookmark, ...]) -> tuple[Bookmark, ...]:
            at = _find(all_, key)
            if at is None:
                return all_
            gone.append((at, all_[at]))
            return (*all_[:at], *all_[at + 1 :])

        self._start(without, lambda: self._removed.extend(gone))

    def bring_back(self) -> None:
        """Restore the bookmark removed last, unless it exists again."""
        left = list(self._removed)

        def whole(all_: tuple[Bookmark, ...]) -> tuple[Bookmark, ...]:
            while left:
                at, bookmark = left.pop()
                if _find(all_, bookmark.key) is None:
                    return (*all_[:at], bookmark, *all_[at:])
            return all_

        def note() -> None:
            self._removed = left

        if left:
            self._start(whole, note)

    def merge(self, others: Iterable[Bookmark]) -> None:
        """Add bookmarks that do not exist yet."""
        new = tuple(others)
        if new:
            self._start(
                lambda all_: (
                    *all_,
                    *(bookmark for bookmark in new if _find(all_, bookmark.key) is None),
                )
            )

    def _cannot(self, what: str, error: Exception) -> Notice:
        from filelock import Timeout

        from geometry.checkpoints.whole_files import reason

        why, advice = str(error), "Check the permissions of the folder."
        if isinstance(error, Timeout):
            why, advice = "another window is writing to it", "Try again."
        elif isinstance(error, OSError):
            why, advice = reason(error)
        return Notice(f"The bookmarks in {self._file} cannot be {what}: {why}.", advice)

    def _quarantine(self, readable: tuple[Bookmark, ...], why: str) -> Notice:
        """Move a damaged file aside, write the readable bookmarks; return a notice."""
        from geometry.checkpoints.whole_files import write_bytes
        from gui.services.work_files.work_file import write_bookmarks

        names = chain((".broken",), (f".{n}.broken" for n in count(2)))
        aside = next(free for name in names if not (free := self._file.with_suffix(name)).exists())
        if readable:
            write_bytes(self._file.read_bytes(), aside)
            try:
                write_bookmarks(readable, self._file)
            except HelixscopeError:
                aside.unlink(missing_ok=True)  # the file itself is still in place
                raise
        else:
            os.replace(self._file, aside)
        return Notice(why, f"The file is kept as {aside}.")


def free_name(bookmarks: Iterable[Bookmark]) -> str:
    """Return an unused name: "View 3"."""
    taken = {bookmark.name for bookmark in bookmarks}
    return next(name for n in range(1, len(taken) + 2) if (name := f"View {n}") not in taken)


def _identity(bookmark: Bookmark) -> tuple[str, ...]:
    return bookmark.key, bookmark.name, bookmark.note


def _seen(file: Path) -> tuple[int, ...] | None:
    """Return values that identify the file's content; None if there is no file."""
    try:
        about = file.stat()
    except FileNotFoundError:
        return None
    return about.st_ino, about.st_mtime_ns, about.st_size


def _find(bookmarks: tuple[Bookmark, ...], key: str) -> int | None:
    return next((at for at, bookmark in enumerate(bookmarks) if bookmark.key == key), None)
