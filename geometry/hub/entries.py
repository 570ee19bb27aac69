"""Files of the cache: data, their key, and a checksum over both.

Truncated, corrupted or swapped files are detected from the file alone, so there is no index that
could contradict it. The data come first, so that they are aligned in memory when the file is read
completely.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import re
import shutil
import stat
import struct
import sys
import time
import uuid
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np

from geometry.checkpoints.config import load_json
from geometry.checkpoints.errors import SourceError
from geometry.checkpoints.whole_files import claim, remove_abandoned, replace
from geometry.hub.pieces import Bytes

log = logging.getLogger(__name__)

_MAGIC = b"helixsc1"
_TRAILER = struct.Struct("<32sIQ8s")
"""Trailer after the data and the key: SHA-256 of both, lengths of key and data, and magic."""
_MAX_KEY = 1_000_000
_READABLE = 48
_READ = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
_ATTEMPTS = 20
"""Attempts to write into a folder that another process removes."""


@dataclass(frozen=True, slots=True)
class Key:
    """Key of an entry: a tensor, a small file or, with an empty ``commit``, a revision's commit."""

    repo: str
    commit: str
    name: str

    def encode(self) -> bytes:
        """Encode as ASCII; names may contain any characters, even lone surrogates."""
        return json.dumps([self.repo, self.commit, self.name]).encode("ascii")


class DamagedEntry(Exception):
    """A cache file whose content differs from what was written."""


def file_name(name: str) -> str:
    """Return a readable file name for any text, at most 65 characters, valid on every system.

    It has only letters, digits, "_" and "-", and ends in "-" and 16 hex digits of the text's
    hash: names do not collide on case-insensitive file systems, and none is reserved (CON).
    """
    readable = re.sub(r"[^0-9A-Za-z_-]", "_", name)[:_READABLE]
    digest = hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8)
    return f"{readable}-{digest.hexdigest()}"


def read_entry(path: Path, key: Key, max_bytes: int) -> Bytes | None:
    """Read an entry's bytes as a new array, or None if there is none.

    Parameters
    ----------
    path, key
        Its file and its key.
    max_bytes
        Maximum bytes of data; a longer entry is not read.

    Raises
    ------
    DamagedEntry
        The file is damaged, belongs to another key, or is not a regular file.
    OSError
        It cannot be read.
    """
    try:
        with _open(path) as file:
            length, key_length, digest = _read_trailer(file)
            if length > max_bytes:
                raise DamagedEntry("it is larger than the cache's limit")
            file.seek(0)
            data = np.fromfile(file, dtype=np.uint8, count=length + key_length)
    except FileNotFoundError:
        return None
    start = length + key_length
    if len(data) != start:
        raise DamagedEntry("it is truncated")
    if hashlib.sha256(data[:start].data).digest() != digest:
        raise DamagedEntry("its checksum differs")
    if data[length:start].tobytes() != key.encode():
        raise DamagedEntry("it belongs to another key")
    return data[:length]


def read_key(path: Path) -> Key | None:
    """Read an entry's key without verifying its content; None if that fails."""
    try:
        with _open(path) as file:
            length, key_length, _ = _read_trailer(file)
            file.seek(length)
            parts = load_json(path.name, file.read(key_length))
    except (OSError, DamagedEntry, SourceError):
        return None
    if type(parts) is not list or list(map(type, parts)) != [str, str, str]:
        return None
    return Key(*parts)


def _open(path: Path) -> BinaryIO:
    """Open a file for reading. Raises DamagedEntry if it is not a file, but for example a pipe."""
    # Opening a pipe would wait for its writer.
    try:
        descriptor = os.open(path, _READ)
    except OSError as error:
        if not isinstance(error, FileNotFoundError) and not path.is_file():
            raise DamagedEntry("it is not a file") from error  # a folder on Windows, or a socket
        raise
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise DamagedEntry("it is not a file")
    return os.fdopen(descriptor, "rb")


def _read_trailer(file: BinaryIO) -> tuple[int, int, bytes]:
    """Return the lengths of data and key, and their checksum."""
    size = file.seek(0, os.SEEK_END)
    if size < _TRAILER.size:
        raise DamagedEntry("it is too short")
    file.seek(size - _TRAILER.size)
    digest, key_length, length, magic = _TRAILER.unpack(file.read(_TRAILER.size))
    if magic != _MAGIC or length + key_length + _TRAILER.size != size or key_length > _MAX_KEY:
        raise DamagedEntry("it is truncated or not an entry")
    return length, key_length, digest


def entry_size(key: Key, nbytes: int) -> int:
    """Return the size of the file of an entry with ``nbytes`` bytes of data."""
    return nbytes + len(key.encode()) + _TRAILER.size


def write_entry(path: Path, key: Key, data: bytes | Bytes, incoming: Path) -> None:
    """Write an entry atomically.

    Parameters
    ----------
    path
        Target; its folder is created, again if another process removes it meanwhile.
    key
        Key of the entry.
    data
        Data of the entry.
    incoming
        Folder for incomplete entries, on the same file system.

    Raises
    ------
    OSError
        It cannot be written. No partial file is left.
    """
    encoded = key.encode()
    payload = memoryview(data) if isinstance(data, bytes) else np.ascontiguousarray(data).data
    checksum = hashlib.sha256(payload)
    checksum.update(encoded)
    trailer = _TRAILER.pack(checksum.digest(), len(encoded), len(payload), _MAGIC)

    def write() -> None:
        make_folder(incoming)
        make_folder(path.parent)
        _write(incoming / uuid.uuid4().hex, (payload, encoded, trailer), path)

    _although_removed(write)


def _although_removed(make: Callable[[], None]) -> None:
    """Call a function, again if another process clearing the cache has just removed a folder."""
    for _ in range(_ATTEMPTS - 1):
        # FileExistsError if a folder was removed again before the check.
        with suppress(FileNotFoundError, FileExistsError):
            make()
            return
    make()


def _write(temporary: Path, parts: tuple[bytes | memoryview, ...], path: Path) -> None:
    try:
        with temporary.open("xb") as file:
            claim(file.fileno())
            for part in parts:
                file.write(part)
            file.flush()
            os.fsync(file.fileno())
            if sys.platform != "win32":
                _move(temporary, path)
        if sys.platform == "win32":  # where open files cannot be renamed
            _move(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def _move(temporary: Path, path: Path) -> None:
    make_folder(path.parent)
    touch(temporary)
    replace(temporary, path)


def make_folder(folder: Path) -> None:
    """Create a folder and its parents, even while another process removes them.

    Raises OSError: it cannot be created.
    """
    _although_removed(lambda: folder.mkdir(parents=True, exist_ok=True))


def touch(path: Path) -> None:
    """Set an entry's time of last use, at full clock resolution.

    The file system's own clock is coarse and would give several entries the same time. Raises
    OSError: the time cannot be set.
    """
    now = time.time_ns()
    os.utime(path, ns=(now, now))


def sweep(incoming: Path) -> None:
    """Remove incomplete files and folders of killed processes; never raises."""
    try:
        leftovers = list(incoming.iterdir())
    except OSError:
        return
    for path in leftovers:
        try:
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                remove_abandoned(path)
        except OSError as error:
            log.debug("%s cannot be removed: %s", path, error)
