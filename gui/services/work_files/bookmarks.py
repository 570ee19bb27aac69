"""Bookmarks: saved views, kept in one file."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING

from geometry.checkpoints.errors import HelixscopeError
from gui.state.values import Notice
from gui.state.work import MOST_BOOKMARKS, Bookmark

if TYPE_CHECKING:
    from gui.state.session import Session
    from gui.state.work import Work

WAIT_S = 2.0
"""Longest wait for another window that writes its bookmarks."""


Change = Callable[[tuple[Bookmark, ...]], tuple[Bookmark, ...]]


class Bookmarks:
    """Keeps ``session.bookmarks`` and a file in sync.

    Each change is applied to the file's current content, so that several open windows do not
    overwrite each other.

    The file is created with the first bookmark.
    """

    def __init__(self, session: Session, file: Path) -> None:
        self._session, self._file = session, file
        self._removed: list[tuple[int, Bookmark]] = []
        self._seen: tuple[int, ...] | None = None

    def load(self) -> bool:
        """Read the file; a damaged one is moved aside, with a notice.

        Returns False if it cannot be read now, but perhaps later.
        """
        session = self._session
        try:
            seen = _seen(self._file)  # before reading: another window may be writing
            found, why = self._read()
        except HelixscopeError as error:
            session.notice = Notice(str(error), error.advice)
        except OSError as error:
            self._cannot("read", error)
            return False
        else:
            self._show(found)
            if why:
                self._change(lambda all_: all_)  # moves it aside under the lock
            else:
                self._seen = seen
        return True

    def _read(self) -> tuple[tuple[Bookmark, ...], str]:
        """Return the readable bookmarks, and the reason if there are others; "" if not.

        Raises NewerVersion: it may not be overwritten.
        Raises OSError: it cannot be read at the moment.
        """
        from gui.services.work_files.work_file import NewerVersion, read_bookmarks

        try:
            found, left_out = read_bookmarks(self._file)
        except NewerVersion:
            raise
        except HelixscopeError as error:
            return (), str(error)
        some = "One bookmark" if left_out == 1 else f"{left_out} bookmarks"
        return found, f"{some} cannot be read." if left_out else ""

    def _take_in(self) -> None:
        """Read the file if it has changed; move a damaged one aside.

        Raises HelixscopeError, OSError: as :meth:`_read`, or when it cannot be moved aside.
        """
        if self._seen is None or self._seen != _seen(self._file):
            found, why = self._read()
            if why:
                self._put_aside(found, why)
            self._show(found)
            self._seen = _seen(self._file)

    def _show(self, found: tuple[Bookmark, ...]) -> None:
        if [_said(one) for one in found] != [_said(one) for one in self._session.bookmarks]:
            self._session.bookmarks = found

    def add(self, name: str, model: str, work: Work, picture: bytes, note: str = "") -> str | None:
        """Append a view; return its key, or None if it cannot be saved."""
        one = Bookmark(uuid.uuid4().hex, name, note, model, work, picture)
        return one.key if self._change(lambda all_: (*all_, one)) else None

    def change(self, key: str, *, name: str | None = None, note: str | None = None) -> None:
        """Change a bookmark's name or note; an empty name changes nothing."""

        def changed(one: Bookmark) -> Bookmark:
            if one.key != key:
                return one
            kept = (name or "").strip() or one.name
            return replace(one, name=kept, note=one.note if note is None else note)

        self._change(lambda all_: tuple(map(changed, all_)))

    def move(self, key: str, step: int) -> None:
        """Move a bookmark by some places, towards the end if positive."""

        def moved(all_: tuple[Bookmark, ...]) -> tuple[Bookmark, ...]:
            at = _find(all_, key)
            if at is None:
                return all_
            others = [*all_[:at], *all_[at + 1 :]]
            others.insert(max(0, at + step), all_[at])
            return tuple(others)

        self._change(moved)

    def remove(self, key: str) -> None:
        """Remove a bookmark; :meth:`bring_back` undoes this."""
        gone: list[tuple[int, Bookmark]] = []

        def without(all_: tuple[Bookmark, ...]) -> tuple[Bookmark, ...]:
            at = _find(all_, key)
            if at is None:
                return all_
            gone.append((at, all_[at]))
            return (*all_[:at], *all_[at + 1 :])

        if self._change(without):
            self._removed += gone

    def bring_back(self) -> None:
        """Restore the bookmark removed last, unless it exists again."""
        left = list(self._removed)

        def whole(all_: tuple[Bookmark, ...]) -> tuple[Bookmark, ...]:
            while left:
                at, one = left.pop()
                if _find(all_, one.key) is None:
                    return (*all_[:at], one, *all_[at:])
            return all_

        if left and self._change(whole):
            self._removed = left

    def merge(self, others: Iterable[Bookmark]) -> None:
        """Add bookmarks that do not exist yet."""
        new = tuple(others)
        if new:
            known = {one.key for one in self._session.bookmarks}
            if any(one.key not in known for one in new):
                self._change(
                    lambda all_: (*all_, *(one for one in new if _find(all_, one.key) is None))
                )

    def free_name(self) -> str:
        """Return an unused name: "View 3"."""
        taken = {one.name for one in self._session.bookmarks}
        return next(name for n in range(1, len(taken) + 2) if (name := f"View {n}") not in taken)

    def _change(self, change: Change) -> bool:
        """Change the file's content; False, with a notice, if that is impossible."""
        from filelock import FileLock, Timeout

        from gui.services.work_files.work_file import write_bookmarks

        session = self._session
        try:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            with FileLock(self._file.with_suffix(".lock"), timeout=WAIT_S):
                self._take_in()
                changed = change(session.bookmarks)
                if len(changed) > MOST_BOOKMARKS:
                    session.notice = Notice(
                        f"There are already {MOST_BOOKMARKS} bookmarks.",
                        "Remove some of them first.",
                    )
                    return False
                if changed != session.bookmarks:
                    write_bookmarks(changed, self._file)
                    session.bookmarks, self._seen = changed, _seen(self._file)
        except HelixscopeError as error:
            session.notice = Notice(str(error), error.advice)
            return False
        except (OSError, Timeout) as error:
            self._cannot("changed", error)
            return False
        return True

    def _cannot(self, what: str, error: Exception) -> None:
        from filelock import Timeout

        from geometry.checkpoints.whole_files import reason

        why, advice = str(error), "Check the permissions of the folder."
        if isinstance(error, Timeout):
            why, advice = "another window is writing to it", "Try again."
        elif isinstance(error, OSError):
            why, advice = reason(error)
        self._session.notice = Notice(
            f"The bookmarks in {self._file} cannot be {what}: {why}.", advice
        )

    def _put_aside(self, found: tuple[Bookmark, ...], why: str) -> None:
        """Move a damaged file aside, write the readable bookmarks, and show a notice."""
        from geometry.checkpoints.whole_files import write_bytes
        from gui.services.work_files.work_file import write_bookmarks

        names = chain((".broken",), (f".{n}.broken" for n in count(2)))
        aside = next(free for name in names if not (free := self._file.with_suffix(name)).exists())
        if found:
            write_bytes(self._file.read_bytes(), aside)
            try:
                write_bookmarks(found, self._file)
            except HelixscopeError:
                aside.unlink(missing_ok=True)  # the file itself is still in place
                raise
        else:
            os.replace(self._file, aside)
        self._session.notice = Notice(why, f"The file is kept as {aside}.")


def _said(one: Bookmark) -> tuple[str, ...]:
    return one.key, one.name, one.note


def _seen(file: Path) -> tuple[int, ...] | None:
    """Return what identifies the file's content; None if there is no file."""
    try:
        about = file.stat()
    except FileNotFoundError:
        return None
    return about.st_ino, about.st_mtime_ns, about.st_size


def _find(bookmarks: tuple[Bookmark, ...], key: str) -> int | None:
    return next((at for at, one in enumerate(bookmarks) if one.key == key), None)
