"""A lock that keeps two runs from writing into the same folder."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from geometry.checkpoints.errors import HelixscopeError
from geometry.checkpoints.whole_files import not_written


@contextmanager
def lock_folder(
    work: Path, kind: type[HelixscopeError], *, named: Path | None = None
) -> Iterator[None]:
    """Lock a folder while the block runs; the lock ends with the process.

    Parameters
    ----------
    work
        The folder, in which the lock is a file.
    kind
        The type of the error.
    named
        The folder that the error names; ``work`` if None.

    Raises
    ------
    HelixscopeError
        Of type ``kind``: another run is using the folder, or it is not writable.
    """
    from filelock import FileLock, Timeout

    lock = FileLock(work / "lock", timeout=0)
    try:
        lock.acquire()
    except Timeout as error:
        raise kind(
            f"Another run is working in {named or work}.", "Wait for it, or stop it."
        ) from error
    except OSError as error:
        raise not_written(work, error, kind) from error
    try:
        yield
    finally:
        lock.release()
