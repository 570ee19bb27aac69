"""What was fetched from the Hub, kept between starts, so that a second opening needs no network.

Layout, under one root::

    incoming/                      what is being written
    <repo>/revisions/<revision>    which commit a branch or tag was when last asked
    <repo>/<commit>/<name>.core    what the model cannot be opened without
    <repo>/<commit>/<name>.part    single tensors that were asked for later
    <repo>/<commit>/files/         files that a library wants on disk, under their own names

There is no index that could be damaged or locked: the folders are it, every entry carries its own
name and checksum (see :mod:`geometry.hub.entries`), its modification time is when it was last used,
and every change is one rename or one removal. So threads and processes need to agree on nothing.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from platformdirs import user_cache_path

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
    files_in,
    remove_file,
    remove_folder,
    revisions_in,
    survey,
    to_go,
)
from geometry.hub.entries import (
    Bytes,
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

__all__ = ["MAX_BYTES", "CachedCommit", "TensorCache", "default_cache"]

log = logging.getLogger(__name__)

#: Bound of the cache unless the user sets another one.
MAX_BYTES = 2_000_000_000

_COMMIT = re.compile(r"[0-9a-f]{7,64}")


class TensorCache:
    """Tensors and small files fetched from the Hub, keyed by repo, commit and name.

    Threads and processes may use one folder at once. What does not work (a full disk, a folder that
    may not be written) is logged and never raised: a cache that fails costs time and nothing else.

    Parameters
    ----------
    root
        The folder; made when first written to.
    max_bytes
        Bound on all files together; may be changed later, see :meth:`trim`.
    """

    def __init__(self, root: Path, max_bytes: int = MAX_BYTES) -> None:
        self.root = root
        self.max_bytes = max_bytes
        self._incoming = root / INCOMING

    # ---- entries -------------------------------------------------------------------------

    def get(self, repo: str, commit: str, name: str) -> Bytes | None:
        """Return what was put under a name, as a new uint8 array, and note that it was used.

        None if there is nothing, or nothing that is still what was put: a damaged entry is removed.
        """
        key = Key(repo, commit, name)
        for path in self._places(key):
            data = _read(path, key)
            if data is not None:
                try:
                    touch(path)
                except OSError as error:  # gone meanwhile, or not ours to change
                    log.debug("%s cannot be marked as used: %s", path, error)
                return data
        return None

    def peek(self, repo: str, commit: str, name: str) -> Bytes | None:
        """Like :meth:`get` for those who list what there is: that is no use of it."""
        key = Key(repo, commit, name)
        found = (_read(path, key) for path in self._places(key))
        return next((data for data in found if data is not None), None)

    def put(
        self, repo: str, commit: str, name: str, data: bytes | Bytes, *, core: bool = False
    ) -> None:
        """Keep bytes under a name; what was there is replaced as a whole.

        To stay within the bound, single tensors that a model opens without go first, the longest
        unused before the others, then whole commits likewise; never what was just put. What is
        larger than the bound is not kept.

        Parameters
        ----------
        repo, commit, name
            The key: a full commit, never a branch; a tensor's or a file's name, any text.
        data
            The bytes, shape (nbytes,).
        core
            Whether the model cannot be opened without it (its index, its configuration, P). Such
            entries go together: one without the others is of no use.
        """
        key = Key(repo, commit, name)
        own = () if core else files_in(self._folder(repo, commit))
        needed = sum(file.nbytes for file in own if file.path.suffix != PART)
        if needed + entry_size(key, len(data)) > self.max_bytes:
            log.info("%s of %s is not kept: %d bytes are too many", name, repo, len(data))
            return
        places = self._places(key)
        path, other = places if core else places[::-1]
        self._write(path, key, data)
        with _logged("remove", other):
            other.unlink(missing_ok=True)
        self._make_room(path)

    def has(self, repo: str, commit: str, name: str) -> bool:
        """Tell whether there is an entry, without reading it: it may still prove damaged."""
        return any(path.is_file() for path in self._places(Key(repo, commit, name)))

    def discard(self, repo: str, commit: str, name: str) -> None:
        """Remove what was put under a name."""
        for path in self._places(Key(repo, commit, name)):
            with _logged("remove", path):
                path.unlink(missing_ok=True)
        for empty in (self._folder(repo, commit), self._folder(repo, commit).parent):
            with suppress(OSError):  # something else is in it
                empty.rmdir()

    def room(self) -> int:
        """Bytes that single tensors may take, without a model that opens offline having to go."""
        found = survey(self.root)
        files = (file for held in found.commits for file in held.files)
        needed = sum(file.nbytes for file in files if file.path.suffix != PART)
        return max(0, self.max_bytes - found.other - needed)

    def folder(self, repo: str, commit: str) -> Path:
        """Return a folder for files that a library wants on disk; it exists if that is possible.

        They are counted, and go with their commit, which may be while they are being written: be
        ready for FileNotFoundError.
        """
        folder = self._folder(repo, commit)
        label = folder / f"commit{LABEL}"
        if not label.is_file():
            self._write(label, Key(repo, commit, ""), b"")
        with _logged("make", folder / FILES):
            make_folder(folder / FILES)
        return folder / FILES

    # ---- revisions -----------------------------------------------------------------------

    def commit_of(self, repo: str, revision: str) -> str | None:
        """Return the commit that a branch or tag was when last remembered, or None."""
        key = Key(repo, "", revision)
        data = _read(self._revision(key), key)
        return None if data is None else data.tobytes().decode("utf-8", "surrogatepass")

    def resolved(self, repo: str, revision: str) -> tuple[str, float] | None:
        """Return what :meth:`commit_of` does, and when that was told, in seconds since 1970."""
        commit = self.commit_of(repo, revision)
        try:
            when = self._revision(Key(repo, "", revision)).stat().st_mtime
        except OSError:
            return None
        return None if commit is None else (commit, when)

    def remember(self, repo: str, revision: str, commit: str, *, told: bool = False) -> None:
        """Note which commit a revision is; forgotten when that commit is removed.

        Parameters
        ----------
        repo, revision, commit
            What is which.
        told
            Whether the Hub has told so just now, even if it is what was known before.
        """
        if told or self.commit_of(repo, revision) != commit:
            key = Key(repo, "", revision)
            self._write(self._revision(key), key, commit.encode("utf-8", "surrogatepass"))

    # ---- the whole -----------------------------------------------------------------------

    def commits(self) -> tuple[CachedCommit, ...]:
        """List what is kept, the commit used last first."""
        wait_until_kept(self.root)
        held = sorted(survey(self.root).commits, key=lambda one: one.used, reverse=True)
        return tuple(filter(None, map(self._described, held)))

    def usage(self) -> int:
        """Size of all files, in bytes."""
        wait_until_kept(self.root)
        return survey(self.root).nbytes

    def trim(self) -> None:
        """Bring the cache within its bound, after that was changed."""
        wait_until_kept(self.root)
        self._make_room(None)

    def remove(self, repo: str, commit: str) -> int:
        """Remove one commit of a model; return the bytes freed."""
        wait_until_kept(self.root, repo)
        return self._drop(self._folder(repo, commit), commit)

    def clear(self, repo: str | None = None) -> int:
        """Remove a model, or all of them; return the bytes freed."""
        wait_until_kept(self.root, repo)
        if repo is not None:
            return remove_folder(self.root / file_name(repo), self._incoming)
        try:
            folders = [path for path in self.root.iterdir() if path.is_dir()]
        except OSError:
            return 0
        old = (folder for folder in folders if folder.name != INCOMING)
        return sum(remove_folder(folder, self._incoming) for folder in old)

    # ---- places --------------------------------------------------------------------------

    def _folder(self, repo: str, commit: str) -> Path:
        plain = _COMMIT.fullmatch(commit) is not None
        return self.root / file_name(repo) / (commit if plain else file_name(commit))

    def _places(self, key: Key) -> tuple[Path, Path]:
        stem = self._folder(key.repo, key.commit) / file_name(key.name)
        return stem.with_name(stem.name + CORE), stem.with_name(stem.name + PART)

    def _revision(self, key: Key) -> Path:
        return self.root / file_name(key.repo) / REVISIONS / file_name(key.name)

    # ---- writing and removing --------------------------------------------------------------

    def _write(self, path: Path, key: Key, data: bytes | Bytes) -> None:
        sweep(self._incoming)
        with _logged("write", path):
            write_entry(path, key, data, self._incoming)

    def _make_room(self, newest: Path | None) -> None:
        """Remove what was not used for longest until the rest is within the bound."""
        found = survey(self.root)
        excess = found.nbytes - self.max_bytes
        for victim in to_go(found, newest):
            if excess <= 0:
                return
            excess -= remove_file(victim) if isinstance(victim, HeldFile) else self._evict(victim)

    def _evict(self, held: Held) -> int:
        """Remove a commit, unless someone has used it since it was looked at."""
        if any(file.used > held.used for file in files_in(held.folder)):
            return 0
        key = held.key()
        log.info("%s leaves the cache", held.folder if key is None else key.repo)
        freed = self._drop(held.folder, held.folder.name if key is None else key.commit)
        if held.folder.exists():
            return freed
        # By whomever; the single tensors have gone and been counted before.
        return sum(file.nbytes for file in held.files if file.path.suffix != PART)

    def _drop(self, folder: Path, commit: str) -> int:
        """Remove a commit's folder, and what says that a revision is that commit."""
        # In this order: a revision of a commit that is not there would keep it from being asked.
        freed = 0
        for file, key in list(revisions_in(folder.parent)):
            if self.commit_of(key.repo, key.name) == commit:
                freed += remove_file(file)
        freed += remove_folder(folder, self._incoming)
        for empty in (folder.parent / REVISIONS, folder.parent):
            try:
                empty.rmdir()
            except OSError as error:
                log.debug("%s stays: %s", empty, error)
        return freed

    def _described(self, held: Held) -> CachedCommit | None:
        key = held.key()
        if key is None:
            return None
        known = (of.name for _, of in revisions_in(held.folder.parent) if of.repo == key.repo)
        revisions = sorted(name for name in known if self.commit_of(key.repo, name) == key.commit)
        return CachedCommit(key.repo, key.commit, tuple(revisions), held.nbytes, held.used / 1e9)


def _read(path: Path, key: Key) -> Bytes | None:
    try:
        return read_entry(path, key)
    except DamagedEntry as error:
        log.warning("%s is removed from the cache: %s", path, error)
        with _logged("remove", path):
            path.unlink(missing_ok=True)
    except OSError as error:
        log.warning("%s cannot be read: %s", path, error)
    return None


@contextmanager
def _logged(what: str, path: Path) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError as error:  # another process was quicker
        log.debug("Could not %s %s: %s", what, path, error)
    except OSError as error:
        log.warning("Could not %s %s: %s", what, path, error)


def default_cache(max_bytes: int = MAX_BYTES) -> TensorCache:
    """Return the user's own cache, in the system's place for such things."""
    return TensorCache(user_cache_path("helixscope", appauthor=False) / "hub", max_bytes)
