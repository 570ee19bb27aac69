"""The mark of a start in progress, by which the next start detects that it failed."""

from __future__ import annotations

import logging
import os
import sys
import uuid
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from geometry.checkpoints.whole_files import claim, remove_abandoned

log = logging.getLogger(__name__)

FOLDER = "starting"
"""Subfolder for the marks, beside the settings."""


class StartMark:
    """A file that exists from before the window is built until the window can be used.

    It is locked while its process lives, so that two windows that start at the same time do not
    count as failed. Where files have no locks, a mark counts after a day. Where nothing can be
    written, there are no marks, and no start counts as failed.

    Parameters
    ----------
    folder
        The folder of the settings.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder / FOLDER
        self._path = self._folder / uuid.uuid4().hex
        self._file: BinaryIO | None = None

    def set(self) -> bool:
        """Write the mark; return whether there were marks of ended processes.

        Those are removed: if this start fails too, its own mark remains.
        """
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            self._file = self._path.open("xb")
            claim(self._file.fileno())
            # A mark counts once it has content, so not between its creation and its lock.
            self._file.write(f"{os.getpid()}\n".encode())
            self._file.flush()
            return self._remove_failed()
        except OSError as error:
            log.warning("a start cannot be marked: %s", error)
            return False

    def _remove_failed(self) -> bool:
        failed = False
        for path in self._folder.iterdir():
            # Another start may remove it at the same moment; on Windows it may be open.
            with suppress(OSError):
                if path != self._path and path.stat().st_size:
                    failed |= remove_abandoned(path)
        return failed

    def remove(self) -> None:
        """Remove the mark at the end of the start; idempotent."""
        file, self._file = self._file, None
        if file is None:
            return
        if sys.platform == "win32":  # where open files cannot be removed
            file.close()
        try:
            # While locked: otherwise another start could count it as failed.
            self._path.unlink(missing_ok=True)
        except OSError as error:
            log.warning("the mark of a start cannot be removed: %s", error)
        file.close()
        with suppress(OSError):  # others may be starting
            self._folder.rmdir()
