"""Listing and removal of the commits in the cache's folders.

No locks are used. A file that another process removes meanwhile counts as absent, and a folder that
it fills again meanwhile is kept.
"""

from __future__ import annotations

import logging
import os
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from geometry.hub.entries import Key, make_folder, read_key, sweep

log = logging.getLogger(__name__)

REVISIONS = "revisions"
INCOMING = "incoming"
FILES = "files"
CORE, PART, LABEL = ".core", ".part", ".label"


@dataclass(frozen=True, slots=True)
class CachedCommit:
    """The downloaded files of a commit of a model.

    Attributes
    ----------
    repo, commit
        The model and its commit.
    revisions
        The branches and tags that pointed to this commit when last checked.
    nbytes
        Size of all files.
    last_used
        Time of the last use, in seconds since 1970.
    """

    repo: str
    commit: str
    revisions: tuple[str, ...]
    nbytes: int
    last_used: float


@dataclass(frozen=True, slots=True)
class HeldFile:
    """A file: its size in bytes, and the time of its last use in nanoseconds since 1970."""

    path: Path
    nbytes: int
    used: int


@dataclass(frozen=True, slots=True)
class Held:
    """The files of a commit; at least one."""

    folder: Path
    files: tuple[HeldFile, ...]

    @property
    def nbytes(self) -> int:
        """Size of all files."""
        return sum(file.nbytes for file in self.files)

    @property
    def used(self) -> int:
        """Time of the last use of any file, in nanoseconds since 1970."""
        return max(file.used for file in self.files)

    def key(self) -> Key | None:
        """Repository and commit, read from an entry; None if no entry can be read."""
        own = (file.path for file in self.files if file.path.parent == self.folder)
        return next(filter(None, map(read_key, own)), None)


@dataclass(frozen=True, slots=True)
class Survey:
    """All cached commits, and the size in bytes of other files, such as remembered revisions."""

    commits: tuple[Held, ...]
    other_bytes: int

    @property
    def nbytes(self) -> int:
        """Size of all files."""
        return self.other_bytes + sum(held.nbytes for held in self.commits)


def survey(root: Path) -> Survey:
    """List the cached commits in one walk, without incomplete files."""
    commits, other_bytes = [], 0
    for repo in _inside(root):
        for inside in _inside(repo) if repo.name != INCOMING else ():
            files = tuple(files_in(inside))
            if files and inside.name != REVISIONS:
                commits.append(Held(inside, files))
            else:
                other_bytes += sum(file.nbytes for file in files)
    return Survey(tuple(commits), other_bytes)


def eviction_order(cached: Survey, newest: Path | None) -> Iterator[HeldFile | Held]:
    """Yield the files and commits to remove to free space, in this order.

    First single tensors, which are not needed to open a model; then whole commits, whose files are
    useless without each other; finally the other files of the commit of ``newest``, the file just
    written, which is never removed. Each group is ordered by last use, oldest first.
    """
    files = [file for held in cached.commits for file in held.files if file.path != newest]
    yield from sorted((f for f in files if f.path.suffix == PART), key=lambda file: file.used)
    own = None if newest is None else newest.parent
    for held in sorted(cached.commits, key=lambda held: held.used):
        if held.folder != own:
            yield held
    last = (f for f in files if own is not None and own in f.path.parents)
    yield from sorted((f for f in last if f.path.suffix != PART), key=lambda file: file.used)


def revisions_in(repo: Path) -> Iterator[tuple[HeldFile, Key]]:
    """Yield a repository's remembered revisions, each as its file and its key."""
    for file in files_in(repo / REVISIONS):
        key = read_key(file.path)
        if key is not None:
            yield file, key


def files_in(folder: Path) -> Iterator[HeldFile]:
    """List all files below a folder; links count as themselves."""
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    yield from files_in(Path(entry.path))
                    continue
                try:
                    stat = entry.stat(follow_symlinks=False)
                except FileNotFoundError:
                    continue
                yield HeldFile(Path(entry.path), stat.st_size, stat.st_mtime_ns)
    except OSError as error:
        if not isinstance(error, FileNotFoundError):
            log.warning("%s cannot be listed: %s", folder, error)


def needed_bytes(files: Iterable[HeldFile]) -> int:
    """Return the size of the files that are needed to open models, without single tensors."""
    return sum(file.nbytes for file in files if file.path.suffix != PART)


def _inside(folder: Path) -> list[Path]:
    try:
        return [path for path in folder.iterdir() if path.is_dir()]
    except FileNotFoundError:
        return []
    except OSError as error:
        log.warning("%s cannot be listed: %s", folder, error)
        return []


def remove_file(file: HeldFile) -> int:
    """Remove a file; return the bytes freed, or 0 if it could not be removed.

    Also counts a file that another process removed meanwhile: two processes that free space at once
    choose the same files, and neither should remove more to compensate.
    """
    try:
        file.path.unlink(missing_ok=True)
    except OSError as error:
        log.warning("%s cannot be removed: %s", file.path, error)
        return 0
    return file.nbytes


def remove_folder(folder: Path, incoming: Path) -> int:
    """Remove a folder with its content atomically; return the bytes freed.

    It is first moved into the folder for incomplete entries, so that readers see all of it or
    nothing, even if this process is killed meanwhile.
    """
    if not folder.is_dir():
        return 0
    sweep(incoming)
    away = incoming / uuid.uuid4().hex
    try:
        make_folder(incoming)
        os.rename(folder, away)
    except FileNotFoundError:
        return 0
    except OSError as error:  # on Windows, if a file in it is open
        log.debug("%s cannot be moved: %s", folder, error)
        away = folder
    freed = sum(remove_file(file) for file in list(files_in(away)))
    for below, _, _ in os.walk(away, topdown=False):
        remove_empty(Path(below))
    return freed


def remove_empty(*folders: Path) -> None:
    """Remove folders, but those that hold something, or are already removed."""
    for folder in folders:
        try:
            folder.rmdir()
        except OSError as error:
            log.debug("%s cannot be removed: %s", folder, error)
