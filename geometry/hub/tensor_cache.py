"""Disk cache of downloads from the Hub, so that a second opening needs no network.

Layout, under one root::

    incoming/                      files being written
    <repo>/revisions/<revision>    the last known commit of a branch or tag
    <repo>/<commit>/<name>.core    data needed to open the model
    <repo>/<commit>/<name>.part    single tensors requested later
    <repo>/<commit>/files/         files that a library needs on disk, under their own names

A repo of another endpoint than huggingface.co has the endpoint in its name.

There is no index that could be damaged or locked: every entry contains its own name and checksum
(see :mod:`geometry.hub.entries`), its modification time is the time of last use, and every change
is a single rename or removal. So threads and processes need no coordination.
"""

from __future__ import annotations

import copy
import logging
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from platformdirs import user_cache_path

from geometry.hub.address import endpoint, server_name
from geometry.hub.cached_commits import (
    CORE,
    FILES,
    INCOMING,
    LABEL,
    PART,
    REVISIONS,
    CachedCommit,
    Held,
    HeldFile,
    eviction_order,
    files_in,
    needed_bytes,
    remove_empty,
    remove_file,
    remove_folder,
    revisions_in,
    survey,
)
from geometry.hub.entries import (
    DamagedEntry,
    Key,
    entry_size,
    file_name,
    make_folder,
    read_entry,
    sweep,
    touch,
    write_entry,
)
from geometry.hub.keeping import wait_until_kept
from geometry.hub.pieces import Bytes

__all__ = ["MAX_BYTES", "CachedCommit", "TensorCache", "default_cache"]

log = logging.getLogger(__name__)

MAX_BYTES = 2_000_000_000
"""Default size limit of the cache, in bytes."""

_COMMIT = re.compile(r"[0-9a-f]{7,64}")

_AT = " at "
"""Separator between a model's id, which has no blanks, and its endpoint."""


@dataclass(slots=True)
class _Room:
    """State of a cache that its users in this process share: its limit, and uncounted bytes."""

    max_bytes: int
    unseen: int


class TensorCache:
    """Tensors and small files downloaded from the Hub, keyed by repo, commit and name.

    Threads and processes may share a folder. Failures (a full disk, a read-only folder) are logged
    and never raised: a failing cache only costs time.

    Parameters
    ----------
    root
        The folder; created on the first write.
    max_bytes
        Limit on the size of all files; may be changed later, see :meth:`trim`.
    looks_after
        Bytes written between two computations of the size, which take time in proportion to the
        number of files. The limit may be exceeded by this number meanwhile. If 0, the size is
        computed after each entry.
    server
        The endpoint whose models are read and written, as from
        :func:`geometry.hub.address.server_name`; that of the environment if None.
    """

    def __init__(
        self,
        root: Path,
        max_bytes: int = MAX_BYTES,
        *,
        looks_after: int = 0,
        server: str | None = None,
    ) -> None:
        self.root = root
        self._server = server
        self._room = _Room(max_bytes, looks_after)
        self._looks_after = looks_after
        self._incoming = root / INCOMING

    @property
    def max_bytes(self) -> int:
        """Limit on the size of all files."""
        return self._room.max_bytes

    @max_bytes.setter
    def max_bytes(self, max_bytes: int) -> None:
        self._room.max_bytes = max_bytes

    @property
    def server(self) -> str:
        """The endpoint whose models are read and written; "" for huggingface.co."""
        return server_name(endpoint()) if self._server is None else self._server

    def of_server(self, server: str) -> TensorCache:
        """Return the same cache, with the same limit, for the models of an endpoint."""
        cache = copy.copy(self)
        cache._server = server
        return cache

    # ---- entries -------------------------------------------------------------------------

    def get(self, repo: str, commit: str, name: str) -> Bytes | None:
        """Return the data of a name as a new uint8 array, and update its time of last use.

        None if there is no entry, or a damaged one, which is removed.
        """
        for path, data in self._entries(repo, commit, name):
            try:
                touch(path)
            except OSError as error:  # removed meanwhile, or not writable
                log.debug("%s cannot be marked as used: %s", path, error)
            return data
        return None

    def peek(self, repo: str, commit: str, name: str) -> Bytes | None:
        """Like :meth:`get`, without updating the time of last use."""
        return next((data for _, data in self._entries(repo, commit, name)), None)

    def _entries(self, repo: str, commit: str, name: str) -> Iterator[tuple[Path, Bytes]]:
        key = self._key(repo, commit, name)
        for path in self._places(key):
            data = self._read(path, key)
            if data is not None:
                yield path, data

    def put(
        self, repo: str, commit: str, name: str, data: bytes | Bytes, *, core: bool = False
    ) -> None:
        """Store data under a name, replacing the previous entry atomically.

        To stay within the limit, single tensors not needed to open a model are removed first, then
        whole commits, each least recently used first; never the new entry. Data larger than the
        limit is not stored.

        Parameters
        ----------
        repo, commit, name
            The key: a full commit, never a branch; a tensor's or a file's name, any text.
        data
            The bytes, shape (nbytes,).
        core
            Whether the entry is needed to open the model (index, configuration, position table).
            Such entries are removed together.
        """
        key = self._key(repo, commit, name)
        needed = 0 if core else needed_bytes(files_in(self._folder(key.repo, commit)))
        if needed + entry_size(key, len(data)) > self.max_bytes:
            log.info("%s of %s is not cached: %d bytes are too many", name, repo, len(data))
            return
        places = self._places(key)
        path, replaced = places if core else places[::-1]
        self._write(path, key, data)
        with _logged("remove", replaced):
            replaced.unlink(missing_ok=True)
        self._room.unseen += entry_size(key, len(data))
        if self._room.unseen > self._looks_after:
            self._room.unseen = 0
            self._make_room(path)

    def has(self, repo: str, commit: str, name: str) -> bool:
        """Return whether there is an entry, without reading it; it may be damaged."""
        return any(path.is_file() for path in self._places(self._key(repo, commit, name)))

    def discard(self, repo: str, commit: str, name: str) -> None:
        """Remove an entry."""
        key = self._key(repo, commit, name)
        for path in self._places(key):
            with _logged("remove", path):
                path.unlink(missing_ok=True)
        folder = self._folder(key.repo, commit)
        remove_empty(folder, folder.parent)

    def room(self) -> int:
        """Return the bytes available for single tensors without removing core entries."""
        cached = survey(self.root)
        needed = needed_bytes(file for held in cached.commits for file in held.files)
        return max(0, self.max_bytes - cached.other_bytes - needed)

    def folder(self, repo: str, commit: str) -> Path:
        """Return a folder for files that a library needs on disk; created if possible.

        They count towards the limit and are removed with their commit, even while being written:
        callers must expect FileNotFoundError.
        """
        key = self._key(repo, commit, "")
        folder = self._folder(key.repo, commit)
        label = folder / f"commit{LABEL}"
        if not label.is_file():
            self._write(label, key, b"")
        if os.path.lexists(folder / FILES) and not (folder / FILES).is_dir():
            self._remove(folder / FILES)
        with _logged("make", folder / FILES):
            make_folder(folder / FILES)
        return folder / FILES

    # ---- revisions -----------------------------------------------------------------------

    def commit_of(self, repo: str, revision: str) -> str | None:
        """Return the last known commit of a branch or tag, or None."""
        return self._commit_of(self._key(repo, "", revision))

    def _commit_of(self, key: Key) -> str | None:
        data = self._read(self._revision(key), key)
        try:
            return None if data is None else data.tobytes().decode("utf-8", "surrogatepass")
        except UnicodeDecodeError:
            return None

    def resolved(self, repo: str, revision: str) -> tuple[str, float] | None:
        """Like :meth:`commit_of`, with the time of the Hub's answer, in seconds since 1970."""
        commit = self.commit_of(repo, revision)
        try:
            when = self._revision(self._key(repo, "", revision)).stat().st_mtime
        except OSError:
            return None
        return None if commit is None else (commit, when)

    def remember(self, repo: str, revision: str, commit: str, *, confirmed: bool = False) -> None:
        """Record the commit of a revision; removed together with that commit.

        Parameters
        ----------
        repo, revision, commit
            The revision and its commit.
        confirmed
            Whether the Hub has just confirmed the commit.
        """
        if confirmed or self.commit_of(repo, revision) != commit:
            key = self._key(repo, "", revision)
            self._write(self._revision(key), key, commit.encode("utf-8", "surrogatepass"))

    # ---- whole cache ---------------------------------------------------------------------

    def commits(self) -> tuple[CachedCommit, ...]:
        """List the cached commits of this endpoint's models, most recently used first."""
        wait_until_kept(self.root)
        held = sorted(survey(self.root).commits, key=lambda commit: commit.used, reverse=True)
        return tuple(filter(None, map(self._described, held)))

    def usage(self) -> int:
        """Return the size of all files, in bytes."""
        wait_until_kept(self.root)
        return survey(self.root).nbytes

    def trim(self) -> None:
        """Remove entries until the cache is within its limit."""
        wait_until_kept(self.root)
        self._make_room(None)

    def remove(self, repo: str, commit: str) -> int:
        """Remove a commit of a model; return the bytes freed."""
        wait_until_kept(self.root, repo)
        return self._drop(self._folder(self._key(repo, commit, "").repo, commit), commit)

    def clear(self, repo: str | None = None) -> int:
        """Remove a model, or all of them, of all endpoints; return the bytes freed."""
        wait_until_kept(self.root, repo)
        if repo is not None:
            key = self._key(repo, "", "")
            return remove_folder(self.root / file_name(key.repo), self._incoming)
        try:
            folders = [path for path in self.root.iterdir() if path.is_dir()]
        except OSError:
            return 0
        old = (folder for folder in folders if folder.name != INCOMING)
        return sum(remove_folder(folder, self._incoming) for folder in old)

    # ---- paths ---------------------------------------------------------------------------

    def _key(self, repo: str, commit: str, name: str) -> Key:
        server = self.server
        return Key(f"{repo}{_AT}{server}" if server else repo, commit, name)

    def _folder(self, repo: str, commit: str) -> Path:
        plain = _COMMIT.fullmatch(commit) is not None
        return self.root / file_name(repo) / (commit if plain else file_name(commit))

    def _places(self, key: Key) -> tuple[Path, Path]:
        stem = self._folder(key.repo, key.commit) / file_name(key.name)
        return stem.with_name(stem.name + CORE), stem.with_name(stem.name + PART)

    def _revision(self, key: Key) -> Path:
        return self.root / file_name(key.repo) / REVISIONS / file_name(key.name)

    # ---- writing and removing --------------------------------------------------------------

    def _read(self, path: Path, key: Key) -> Bytes | None:
        try:
            # Entries stored under a higher limit are still read.
            return read_entry(path, key, max(self.max_bytes, MAX_BYTES))
        except DamagedEntry as error:
            log.warning("%s is removed from the cache: %s", path, error)
            self._remove(path)
        except (OSError, MemoryError) as error:
            log.warning("%s cannot be read: %s", path, error)
        return None

    def _remove(self, path: Path) -> None:
        with _logged("remove", path):
            if path.is_dir() and not path.is_symlink():
                remove_folder(path, self._incoming)
            else:
                path.unlink(missing_ok=True)

    def _write(self, path: Path, key: Key, data: bytes | Bytes) -> None:
        sweep(self._incoming)
        with _logged("write", path):
            write_entry(path, key, data, self._incoming)

    def _make_room(self, newest: Path | None) -> None:
        """Remove the least recently used entries until the cache is within its limit."""
        cached = survey(self.root)
        excess = cached.nbytes - self.max_bytes
        for victim in eviction_order(cached, newest):
            if excess <= 0:
                return
            excess -= remove_file(victim) if isinstance(victim, HeldFile) else self._evict(victim)

    def _evict(self, held: Held) -> int:
        """Remove a commit, unless it has been used since it was listed."""
        if any(file.used > held.used for file in files_in(held.folder)):
            return 0
        key = held.key()
        log.info("%s is evicted from the cache", held.folder if key is None else key.repo)
        freed = self._drop(held.folder, held.folder.name if key is None else key.commit)
        if held.folder.exists():
            return freed
        # Also counts removals by other processes; single tensors were already counted.
        return needed_bytes(held.files)

    def _drop(self, folder: Path, commit: str) -> int:
        """Remove a commit's folder and the revisions that point to it."""
        # Revisions first: a remembered revision of a missing commit would prevent a new request.
        freed = 0
        for file, key in list(revisions_in(folder.parent)):
            if self._commit_of(key) == commit:
                freed += remove_file(file)
        freed += remove_folder(folder, self._incoming)
        remove_empty(folder.parent / REVISIONS, folder.parent)
        return freed

    def _described(self, held: Held) -> CachedCommit | None:
        key = held.key()
        repo, _, server = ("", "", "") if key is None else key.repo.partition(_AT)
        if key is None or server != self.server:
            return None
        known = (of for _, of in revisions_in(held.folder.parent) if of.repo == key.repo)
        revisions = sorted(of.name for of in known if self._commit_of(of) == key.commit)
        return CachedCommit(repo, key.commit, tuple(revisions), held.nbytes, held.used / 1e9)


@contextmanager
def _logged(action: str, path: Path) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError as error:  # removed by another process
        log.debug("Could not %s %s: %s", action, path, error)
    except OSError as error:
        log.warning("Could not %s %s: %s", action, path, error)


def default_cache(max_bytes: int = MAX_BYTES) -> TensorCache:
    """Return the user's cache, in the system's cache folder."""
    return TensorCache(user_cache_path("helixscope", appauthor=False) / "hub", max_bytes)
