"""The mark of a start under way, by which the next one knows that a start has failed."""

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

    It is locked while its process lives, so that of two windows that start at the same time neither
    takes the other for failed. Where files have no locks, a mark counts after a day. Where nothing
    can be written, there are no marks, and no start counts as failed.

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
        """Write the mark; return whether there were marks of processes that are gone.

        Those are removed: should this start fail too, its own mark remains.
        """
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            self._file = self._path.open("xb")
            claim(self._file.fileno())
            # A mark counts once it has content: not between its creation and its lock.
            self._file.write(f"{os.getpid()}\n".encode())
            self._file.flush()
            return self._remove_failed()
        except OSError as error:
            log.warning("a start cannot be marked: %s", error)
            return False

    def _remove_failed(self) -> bool:
        found = False
        for path in self._folder.iterdir():
            # Another start may take it at the same moment; on Windows it may be open.
            with suppress(OSError):
                if path != self._path and path.stat().st_size:
                    found |= remove_abandoned(path)
        return found

    def remove(self) -> None:
        """Remove the mark, because the start has come to its end; idempotent."""
        file, self._file = self._file, None
        if file is None:
            return
        if sys.platform == "win32":  # where open files cannot be removed
            file.close()
        try:
            # Still locked, or another start could take it for that of a failed one.
            self._path.unlink(missing_ok=True)
        except OSError as error:
            log.warning("the mark of a start cannot be removed: %s", error)
        file.close()
        with suppress(OSError):  # others may be starting
            self._folder.rmdir()
