"""One file of the cache: some bytes, what they are, and a checksum over both.

A file that was cut, flipped, emptied or swapped for another is told from a whole one by itself, so
nothing has to be kept elsewhere that could disagree with it. The bytes come first and the rest
after them, so that they lie aligned in memory when the file is read in one go.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import re
import shutil
import struct
import sys
import time
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np
import numpy.typing as npt

if sys.platform != "win32":
    import fcntl

log = logging.getLogger(__name__)

Bytes = npt.NDArray[np.uint8]

_MAGIC = b"helixsc1"
#: After the bytes and the key: SHA-256 of both, length of the key, length of the bytes, the magic.
_TRAILER = struct.Struct("<32sIQ8s")
_MAX_KEY = 1_000_000
_READABLE = 48
#: How often a folder that another process removes is made again before an entry is given up.
_ATTEMPTS = 20
_ABANDONED_S = 24 * 3600


@dataclass(frozen=True, slots=True)
class Key:
    """What an entry is: a tensor, a small file or (with ``commit`` empty) a revision's commit."""

    repo: str
    commit: str
    name: str

    def encode(self) -> bytes:
        """Write it as ASCII; a name may hold any characters, lone surrogates too."""
        return json.dumps([self.repo, self.commit, self.name]).encode("ascii")


class DamagedEntry(Exception):
    """A file of the cache that is not what was written there."""


def file_name(name: str) -> str:
    """Return a file name for any text: readable, at most 65 characters, for every system.

    Only letters, digits, "_" and "-" occur, and it ends in "-" and 16 hex digits of the text's
    hash: no two names share a file where upper and lower case are one, and none is reserved (CON).
    """
    readable = re.sub(r"[^0-9A-Za-z_-]", "_", name)[:_READABLE]
    digest = hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8)
    return f"{readable}-{digest.hexdigest()}"


def read_entry(path: Path, key: Key) -> Bytes | None:
    """Read an entry's bytes as a new array, or None if there is none.

    Raises
    ------
    DamagedEntry
        The file is not whole, or belongs to another key.
    OSError
        It cannot be read.
    """
    try:
        data = np.fromfile(path, dtype=np.uint8)
    except FileNotFoundError:
        return None
    start = len(data) - _TRAILER.size
    if start < 0:
        raise DamagedEntry("it is too short")
    digest, key_length, length, magic = _TRAILER.unpack(data[start:].tobytes())
    if magic != _MAGIC or length + key_length != start:
        raise DamagedEntry("it is cut or no entry at all")
    if hashlib.sha256(data[:start].data).digest() != digest:
        raise DamagedEntry("its checksum is another")
    if data[length:start].tobytes() != key.encode():
        raise DamagedEntry("it belongs to something else")
    return data[:length]


def read_key(path: Path) -> Key | None:
    """Tell what an entry is without reading all of it; None if it cannot be told (unverified)."""
    try:
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(size - _TRAILER.size, 0))
            _, key_length, length, magic = _TRAILER.unpack(file.read())
            if magic != _MAGIC or length + key_length + _TRAILER.size != size:
                return None
            if key_length > _MAX_KEY:
                return None
            file.seek(length)
            repo, commit, name = json.loads(file.read(key_length))
    except (OSError, struct.error, ValueError):
        return None
    return Key(repo, commit, name)


def entry_size(key: Key, nbytes: int) -> int:
    """Size of an entry's file with ``nbytes`` bytes in it."""
    return nbytes + len(key.encode()) + _TRAILER.size


def write_entry(path: Path, key: Key, data: bytes | Bytes, incoming: Path) -> None:
    """Write an entry, so that at every moment it is either there as a whole or not at all.

    Parameters
    ----------
    path
        Where it goes; the folder is made, over again if another process removes it meanwhile.
    key
        What it is.
    data
        Its bytes.
    incoming
        The folder for what is not complete yet, on the same file system.

    Raises
    ------
    OSError
        It cannot be written. Nothing is left behind.
    """
    encoded = key.encode()
    payload = memoryview(data) if isinstance(data, bytes) else np.ascontiguousarray(data).data
    checksum = hashlib.sha256(payload)
    checksum.update(encoded)
    trailer = _TRAILER.pack(checksum.digest(), len(encoded), len(payload), _MAGIC)
    for attempt in range(_ATTEMPTS):
        try:
            make_folder(incoming)
            make_folder(path.parent)
            _write(incoming / uuid.uuid4().hex, (payload, encoded, trailer), path)
        except FileNotFoundError:
            # Another process clears the cache at this moment and took a folder away.
            if attempt == _ATTEMPTS - 1:
                raise
        else:
            return


def _write(temporary: Path, parts: tuple[bytes | memoryview, ...], path: Path) -> None:
    try:
        with temporary.open("xb") as file:
            _claim(file)
            for part in parts:
                file.write(part)
            file.flush()
            os.fsync(file.fileno())
            if sys.platform != "win32":
                _move(temporary, path)
        if sys.platform == "win32":  # where no open file can be renamed
            _move(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def _move(temporary: Path, path: Path) -> None:
    make_folder(path.parent)
    touch(temporary)
    os.replace(temporary, path)


def make_folder(folder: Path) -> None:
    """Make a folder and those above it, also while another process removes them; else OSError."""
    for attempt in range(_ATTEMPTS):
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except (FileNotFoundError, FileExistsError):  # the latter: gone when looked at again
            if attempt == _ATTEMPTS - 1:
                raise
        else:
            return


def touch(path: Path) -> None:
    """Note that an entry is used now, as finely as the clock tells; OSError if that fails.

    Left to itself the file system uses a coarse clock, by which several entries are equally old.
    """
    now = time.time_ns()
    os.utime(path, ns=(now, now))


def _claim(file: BinaryIO) -> None:
    """Mark a file as being written by a living process; the mark goes when the process ends.

    Windows needs none: there a file that is open cannot be removed.
    """
    if sys.platform != "win32":
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:  # a network file system without locks, or a sweep at this moment
            log.debug("No lock on %s: %s", file.name, error)


def sweep(incoming: Path) -> None:
    """Remove what processes that were killed left half-written or half-removed; never raises."""
    try:
        leftovers = list(incoming.iterdir())
    except OSError:
        return
    for path in leftovers:
        try:
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            elif not _in_use(path):
                path.unlink()
        except OSError as error:
            log.debug("%s stays: %s", path, error)


def _in_use(path: Path) -> bool:
    if sys.platform != "win32":
        with path.open("rb") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return True
            except OSError:  # no locks on this file system: by its age
                return time.time() - path.stat().st_mtime < _ABANDONED_S
    return False
