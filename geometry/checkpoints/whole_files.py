"""Atomic writing of files: a file is written completely or left unchanged."""

from __future__ import annotations

import errno
import json
import os
import re
import secrets
import stat
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TextIO

from geometry.checkpoints.errors import HelixscopeError

if sys.platform != "win32":
    import fcntl

ABANDONED_S = 24 * 3600
"""Age in seconds at which an incomplete file counts as abandoned if files have no locks."""

WORK_FOLDER = "unfinished"
"""Subfolder of a training, or of a run over texts, with what it resumes from."""

_LONGEST = 200
"""Maximum bytes of a file's name that its temporary name repeats; file systems allow 255."""
_WAITS_S = (0.01, 0.02, 0.04, 0.08, 0.16, 0.32)
_PART = re.compile(r"\.(.+)\.[0-9a-f]{16}\.part", re.DOTALL)

_ELSEWHERE = "Choose another folder or file name."
_ROOM = "Free some space, or choose another folder."
_REASONS = {
    errno.ENOSPC: ("no space is left on the disk", _ROOM),
    errno.EDQUOT: ("the quota of this account is used up", _ROOM),
    errno.EFBIG: ("it exceeds the maximum file size there", "Choose another folder."),
    errno.EIO: ("the disk reports an error", "Check the disk, or choose another folder."),
    errno.EROFS: ("the disk is read-only", "Choose another folder."),
    errno.EACCES: ("access is not permitted", _ELSEWHERE),
    errno.EPERM: ("access is not permitted", _ELSEWHERE),
}
"""Reason and advice for errors of writing, by error number."""
# Errors of opening or syncing a folder that do not mean that a file in it is lost.
_UNSYNCED = frozenset({errno.EACCES, errno.EPERM, errno.EINVAL, errno.ENOTSUP, errno.EBADF})


def part_of(out: Path) -> Path:
    """Return a new, unpredictable temporary name for a file while it is written."""
    return out.with_name(f".{_shortened(out.name)}.{secrets.token_hex(8)}.part")


def parts_in(folder: Path) -> dict[Path, str]:
    """Return the incomplete files in a folder, each with the name of its final file."""
    matches = ((path, _PART.fullmatch(path.name)) for path in folder.iterdir())
    return {path: match[1] for path, match in matches if match is not None}


def remove_parts(out: Path) -> None:
    """Remove a file's incomplete files of killed processes; never raises."""
    with suppress(OSError):
        for path, name in parts_in(out.parent).items():
            if name == _shortened(out.name):
                remove_abandoned(path)


@contextmanager
def whole_file(out: Path, *, durable: bool = True) -> Iterator[Path]:
    """Yield a temporary path, which replaces ``out`` when the block succeeds.

    Otherwise it is removed and ``out`` is unchanged. The path exists already, gets the mode of
    ``out`` at the end, and must be opened and written, not replaced. Its suffix differs from that
    of ``out``, so the writer must be given the format explicitly. ``durable`` waits until the file
    and its folder are on the disk.

    Raises
    ------
    OSError
        It cannot be written; usually raised before the block begins.
    """
    out = Path(os.path.realpath(out))  # a link keeps its target
    mode = _mode_of(out)
    remove_parts(out)
    part, held = _begin(out, private=mode is not None)
    try:
        yield part
        if mode is not None:
            part.chmod(mode)
        if durable:
            os.fsync(held)
        if sys.platform == "win32":  # where open files cannot be renamed
            os.close(held)
            held = -1
        replace(part, out)
        if durable:
            _sync_folder(out.parent)
    finally:
        # In a folder without access this fails as the writing did.
        with suppress(OSError):
            part.unlink(missing_ok=True)
        if held != -1:
            with suppress(OSError):  # the data were closed before, or synced
                os.close(held)


def write_bytes(data: bytes, out: Path, *, durable: bool = True) -> None:
    """Write a file; see :func:`whole_file`.

    Raises
    ------
    OSError
        It cannot be written.
    """
    with whole_file(out, durable=durable) as part:
        part.write_bytes(data)


def write_text(text: str, out: Path) -> None:
    r"""Write a text as UTF-8, with "\n" line endings on every system.

    Raises
    ------
    OSError
        It cannot be written.
    """
    with whole_file(out) as part:
        part.write_text(text, encoding="utf-8", newline="\n")


def write_json(
    content: Mapping[str, Any], out: Path, kind: type[HelixscopeError], indent: int = 2
) -> None:
    """Write indented JSON, whole or not at all.

    Raises
    ------
    HelixscopeError
        Of type ``kind``: it cannot be written.
    """
    with writing(out, kind):
        write_text(json.dumps(content, indent=indent) + "\n", out)


@contextmanager
def whole_text(out: Path) -> Iterator[TextIO]:
    r"""Yield a file for writing a text in pieces; otherwise like :func:`write_text`."""
    with whole_file(out) as part, part.open("w", encoding="utf-8", newline="\n") as file:
        yield file


def reason(error: OSError) -> tuple[str, str]:
    """Return the reason of an error of writing, to follow a colon, and advice."""
    why = (error.strerror or str(error)).rstrip(".")
    return _REASONS.get(error.errno or 0, (why, _ELSEWHERE))


def not_written(
    out: Path, error: OSError, kind: type[HelixscopeError] = HelixscopeError
) -> HelixscopeError:
    """Return the error, of type ``kind``, for a file or folder that could not be written."""
    why, advice = reason(error)
    return kind(f"{out} cannot be written: {why}.", advice)


@contextmanager
def writing(out: Path, kind: type[HelixscopeError] = HelixscopeError) -> Iterator[None]:
    """Convert an OSError in the block into an error with a sentence about ``out``.

    Raises
    ------
    HelixscopeError
        Of type ``kind``: it cannot be written.
    """
    try:
        yield
    except OSError as error:
        raise not_written(out, error, kind) from error


def _shortened(name: str) -> str:
    return os.fsencode(name)[:_LONGEST].decode(errors="ignore")  # not within a character


def _mode_of(out: Path) -> int | None:
    """Return the mode of a file, or None. Raises OSError if it is not a regular file."""
    try:
        mode = out.stat().st_mode
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(out))
    if not stat.S_ISREG(mode):  # a device or a pipe, which a file would replace
        raise OSError(errno.ENODEV, "It is not a regular file", str(out))
    if not os.access(out, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(out))
    return stat.S_IMODE(mode)


def replace(part: Path, out: Path) -> None:
    """Replace a file by another; on Windows, wait for programs that have it open.

    Virus scanners and indexers open new files for a moment.
    """
    for wait_s in (*_WAITS_S, None):
        try:
            os.replace(part, out)
        except PermissionError:
            if sys.platform != "win32" or wait_s is None:
                raise
            time.sleep(wait_s)
        else:
            return


def _begin(out: Path, *, private: bool) -> tuple[Path, int]:
    """Create a temporary file and lock it; return its path and its descriptor.

    ``private`` restricts it to its owner until it gets its mode.
    """
    # An existing file or link is neither written nor followed.
    flags = os.O_CREAT | os.O_EXCL | os.O_RDWR | getattr(os, "O_NOFOLLOW", 0)
    while True:
        part = part_of(out)
        held = os.open(part, flags, 0o600 if private else 0o666)
        claim(held)
        if os.fstat(held).st_nlink:
            return part, held
        os.close(held)  # another process removed it as abandoned before it was locked


def claim(file: int) -> None:
    """Lock an open file while it is written; the lock ends with the process.

    Not needed on Windows, where an open file cannot be removed.
    """
    if sys.platform != "win32":
        with suppress(OSError):  # a network file system without locks
            fcntl.flock(file, fcntl.LOCK_EX)


def remove_abandoned(path: Path) -> bool:
    """Remove an incomplete file, unless another process is writing it; return whether it was.

    Raises OSError: it cannot be removed, or does not exist.
    """
    if not stat.S_ISREG(path.lstat().st_mode):
        return False
    if sys.platform == "win32":  # where open files cannot be removed
        path.unlink()
        return True
    with path.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError:  # no locks on this file system: decide by age
            if time.time() - path.stat().st_mtime < ABANDONED_S:
                return False
        # While it is locked: a process that has just created it and waits for the lock then finds
        # it removed, and creates another.
        path.unlink()
        return True


def _sync_folder(folder: Path) -> None:
    if sys.platform != "win32":
        try:
            opened = os.open(folder, os.O_RDONLY)
            try:
                os.fsync(opened)
            finally:
                os.close(opened)
        except OSError as error:
            if error.errno not in _UNSYNCED:
                raise
