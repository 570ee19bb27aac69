"""Atomic writing of files."""

from __future__ import annotations

import os
from pathlib import Path

from geometry.checkpoints.whole_files import whole_file


def write_whole(path: Path, data: bytes, *, durable: bool = True) -> None:
    """Write a file atomically.

    Parameters
    ----------
    path, data
        Path and content.
    durable
        Whether to wait until it is on the disk, safe from a power cut.

    Raises
    ------
    OSError
        When it cannot be written.
    """
    with whole_file(path) as part, part.open("wb") as file:
        file.write(data)
        if durable:
            file.flush()
            os.fsync(file.fileno())
