"""Identity of files on disk, to detect changes since they were opened."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from geometry.checkpoints.errors import FileChanged


class Identity(NamedTuple):
    """Distinguishes versions of a file without reading it.

    A copy with the same content is another version. Two writes within one tick of the file system's
    clock, milliseconds on older systems, cannot be distinguished if size and inode are equal.
    """

    device: int
    inode: int
    nbytes: int
    mtime_ns: int


def identity_of(file: str | Path | int) -> Identity:
    """Return the identity of a path (of its target, if it is a link) or of a descriptor.

    Raises
    ------
    OSError
        There is no such file.
    """
    status = os.stat(file)
    return Identity(status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)


class FolderFiles:
    """The identities of some files of a folder when it was opened, without absent ones.

    Parameters
    ----------
    folder
        The folder.
    names
        Names of files in it.
    """

    def __init__(self, folder: Path, names: Iterable[str]) -> None:
        self._folder = os.fspath(folder)
        self._identities: dict[str, Identity] = {}
        # Most are absent: listing the folder is faster than checking each.
        with suppress(OSError):
            for name in sorted(set(names).intersection(os.listdir(folder))):
                identity = self._now(name)
                if identity is not None:
                    self._identities[name] = identity

    def check(self) -> None:
        """Compare the files with those that were opened.

        Raises
        ------
        FileChanged
            A file has changed or was removed.
        """
        for name, identity in self._identities.items():
            if self._now(name) != identity:
                raise FileChanged(name)

    def _now(self, name: str) -> Identity | None:
        try:
            return identity_of(os.path.join(self._folder, name))
        except OSError:
            return None
