"""Writing files that are whole or as they were, whatever happens meanwhile."""

from __future__ import annotations

import os
from pathlib import Path

from geometry.checkpoints.whole_files import whole_file


def write_whole(path: Path, data: bytes, *, durable: bool = True) -> None:
    """Write a file; what was there stays whole until the new one is.

    Parameters
    ----------
    path, data
        Where, and what.
    durable
        Wait until it is on the disk, where a power cut leaves it.

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
