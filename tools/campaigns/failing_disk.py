"""Disks that fail: a layer in which any call fails or kills, a real small disk, a limit of size."""

from __future__ import annotations

import builtins
import errno
import io
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS, errno.EACCES, errno.EFBIG)
"""What a disk reports: full, the quota used up, broken, read-only, not permitted, too large."""
IN_MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
"""Where a campaign has its files: waiting for a real disk at each would take most of its time."""
_CHANGING = ("replace", "rename", "unlink", "remove", "mkdir", "rmdir", "chmod", "utime", "fsync")
_REAL = {name: getattr(os, name) for name in ("open", *_CHANGING)}
_REAL_OPEN = builtins.open


class FailingDisk:
    """A layer between Python and a folder, in which a call of choice fails, as in SQLite's tests.

    Parameters
    ----------
    folder
        Calls for what is in it count; all others pass.
    at
        Number of the call at which ``act`` is called, from 0; None only counts.
    act
        Called with the name of the call; raises, kills the process, or returns and lets it pass.
    lasting
        Whether all later calls fail too, as on a disk that is gone.

    Attributes
    ----------
    calls
        Names of the calls so far.
    on_replaced
        Called with each path that a file has come to by being renamed.
    """

    def __init__(
        self,
        folder: Path,
        at: int | None = None,
        act: Callable[[str], None] = lambda _: None,
        *,
        lasting: bool = False,
        on_replaced: Callable[[Path], None] = lambda _: None,
    ) -> None:
        self._folder = os.path.realpath(folder)
        self._at, self._act, self._lasting = at, act, lasting
        self.on_replaced = on_replaced
        self.calls: list[str] = []

    @property
    def was_hit(self) -> bool:
        """Whether the call of choice has come."""
        return self._at is not None and len(self.calls) > self._at

    def __enter__(self) -> FailingDisk:
        os.open = self._os_open
        for name in _CHANGING:
            setattr(os, name, self._guarded(name))
        builtins.open = io.open = self._open
        return self

    def __exit__(self, *_: object) -> None:
        for name, real in _REAL.items():
            setattr(os, name, real)
        builtins.open = io.open = _REAL_OPEN

    def count(self, name: str) -> None:
        """Count a call, which fails if it is the one of choice."""
        number = len(self.calls)
        self.calls.append(name)
        if self._at is not None and (number == self._at or (self._lasting and number > self._at)):
            self._act(name)

    def _is_inside(self, where: Any) -> bool:
        if isinstance(where, int):
            try:
                where = os.readlink(f"/proc/self/fd/{where}")
            except OSError:  # no such folder on this system
                return True
        path = os.path.abspath(os.fsdecode(where))
        return path == self._folder or path.startswith(self._folder + os.sep)

    def _guarded(self, name: str) -> Callable[..., Any]:
        def call(where: Any, *rest: Any, **options: Any) -> Any:
            relative = options.get("dir_fd") is not None
            if not relative and self._is_inside(where):
                self.count(name)
            done = _REAL[name](where, *rest, **options)
            if name in ("replace", "rename"):
                self.on_replaced(Path(rest[0]))
            return done

        return call

    def _os_open(self, path: Any, flags: int, *rest: Any, **options: Any) -> int:
        if options.get("dir_fd") is None and self._is_inside(path):
            self.count("open")
        return _REAL["open"](path, flags, *rest, **options)

    def _open(
        self,
        file: Any,
        mode: str = "r",
        buffering: int = -1,
        encoding: str | None = None,
        errors: str | None = None,
        newline: str | None = None,
        closefd: bool = True,
        opener: Any = None,
    ) -> Any:
        if not set(mode) & set("wax+") or not self._is_inside(file):
            return _REAL_OPEN(file, mode, buffering, encoding, errors, newline, closefd, opener)
        self.count("open")
        raw = _File(self, file, mode.replace("b", "").replace("t", ""), closefd, opener)
        if buffering == 0:
            return raw
        buffered = io.BufferedRandom(raw) if "+" in mode else io.BufferedWriter(raw)
        return buffered if "b" in mode else io.TextIOWrapper(buffered, encoding, errors, newline)


class _File(io.FileIO):
    """A file of which a write fails half-way, and closing it may fail as well."""

    def __init__(self, disk: FailingDisk, file: Any, mode: str, closefd: bool, opener: Any) -> None:
        super().__init__(file, mode, closefd, opener)
        self._disk = disk

    def write(self, data: Any) -> int:
        try:
            self._disk.count("write")
        except OSError:
            super().write(memoryview(data).cast("B")[: len(data) // 2])
            raise
        return super().write(data)

    def close(self) -> None:
        if not self.closed:
            try:
                self._disk.count("close")
            finally:
                super().close()


def failing(number: int) -> Callable[[str], None]:
    """Return what raises an error of the system by its number."""

    def fail(_: str) -> None:
        raise OSError(number, os.strerror(number))

    return fail


class SmallDisk:
    """A real disk of some megabytes, in memory: mounted, filled and unmounted.

    Attributes
    ----------
    folder
        Where it is mounted.
    """

    MEGABYTES = 24

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        size = f"size={self.MEGABYTES}m"
        done = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", size, "none", str(folder)],
            capture_output=True,
            check=False,
        )
        if done.returncode:
            raise PermissionError(done.stderr.decode().strip())
        self.folder = folder

    @classmethod
    def made(cls, folder: Path) -> SmallDisk | None:
        """Return a disk, or None where mounting is not permitted."""
        if sys.platform != "linux" or os.geteuid() != 0 or shutil.which("mount") is None:
            return None
        with suppress(PermissionError):
            return cls(folder)
        return None

    def fill(self, left: int) -> None:
        """Fill it up to some bytes."""
        free = shutil.disk_usage(self.folder).free - left
        if free > 0:
            with (self.folder / "ballast").open("wb") as file:
                os.posix_fallocate(file.fileno(), 0, free)

    def empty(self) -> None:
        """Take the filling away."""
        (self.folder / "ballast").unlink(missing_ok=True)

    def close(self) -> None:
        """Unmount it."""
        subprocess.run(["umount", str(self.folder)], check=True, capture_output=True)


@contextmanager
def largest_file(nbytes: int) -> Iterator[None]:
    """Let no file of this process and its children grow beyond a size while the block runs."""
    import resource

    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (nbytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
