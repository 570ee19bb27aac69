"""What lies in the cache's folders: which commits, how large, when last used; and removing them.

Nothing here holds a lock. A file that another process removes meanwhile is simply not there, and a
folder that it fills again meanwhile simply stays.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from geometry.hub.entries import Key, read_key

log = logging.getLogger(__name__)

REVISIONS = "revisions"
INCOMING = "incoming"
FILES = "files"
CORE, PART, LABEL = ".core", ".part", ".label"


@dataclass(frozen=True, slots=True)
class CachedCommit:
    """One commit of a model, as far as it was fetched.

    ``revisions`` are the branches and tags that were this commit when last asked. ``last_used`` is
    in seconds since 1970.
    """

    repo: str
    commit: str
    revisions: tuple[str, ...]
    nbytes: int
    last_used: float


@dataclass(frozen=True, slots=True)
class HeldFile:
    """One file: its size in bytes, and when it was last used, in nanoseconds since 1970."""

    path: Path
    nbytes: int
    used: int


@dataclass(frozen=True, slots=True)
class Held:
    """The files of one commit; never empty."""

    folder: Path
    files: tuple[HeldFile, ...]

    @property
    def nbytes(self) -> int:
        """Size of all files."""
        return sum(file.nbytes for file in self.files)

    @property
    def used(self) -> int:
        """When any of it was last used, in nanoseconds since 1970."""
        return max(file.used for file in self.files)

    def key(self) -> Key | None:
        """Tell whose commit it is; None if no entry in it says so."""
        own = (file.path for file in self.files if file.path.parent == self.folder)
        return next(filter(None, map(read_key, own)), None)


def survey(root: Path) -> list[Held]:
    """List what is held, commit by commit."""
    held = []
    for repo in _folders(root):
        for folder in _folders(repo):
            if repo.name != INCOMING and folder.name != REVISIONS:
                files = tuple(files_in(folder))
                if files:
                    held.append(Held(folder, files))
    return held


def revisions_in(repo: Path) -> Iterator[tuple[HeldFile, Key]]:
    """List a repo's remembered revisions: each file and what it is."""
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


def _folders(folder: Path) -> list[Path]:
    try:
        return [path for path in folder.iterdir() if path.is_dir()]
    except FileNotFoundError:
        return []
    except OSError as error:
        log.warning("%s cannot be listed: %s", folder, error)
        return []


def remove_file(file: HeldFile) -> int:
    """Remove a file; return the bytes freed, by whomever, or 0 if it stays.

    Two processes that make room at once want to remove the same files: what the other one removed
    is not to be made up for with something else.
    """
    try:
        file.path.unlink(missing_ok=True)
    except OSError as error:
        log.warning("%s cannot be removed: %s", file.path, error)
        return 0
    return file.nbytes


def remove_folder(folder: Path) -> int:
    """Remove a folder with all that is in it; return the bytes freed."""
    freed = sum(remove_file(file) for file in list(files_in(folder)))
    for below, _, _ in os.walk(folder, topdown=False):
        try:
            os.rmdir(below)
        except OSError as error:  # something new is in it, or it has gone
            log.debug("%s stays: %s", below, error)
    return freed
