"""Files that are there at once and whole, or not at all."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from geometry.checkpoints.whole_files import whole_file
from geometry.training.settings import TrainingError


@contextmanager
def atomically(file: Path) -> Iterator[Path]:
    """Give a name to write to; what is there takes its place when the block ends well.

    Raises
    ------
    TrainingError
        It cannot be written.
    """
    try:
        with whole_file(file) as temporary:
            yield temporary
    except OSError as error:
        raise TrainingError(f"{file} cannot be written: {error.strerror or error}.") from error


def write_json(file: Path, content: dict[str, Any]) -> None:
    """Write JSON that people read too.

    Raises
    ------
    TrainingError
        It cannot be written.
    """
    with atomically(file) as temporary:
        temporary.write_text(json.dumps(content, indent=2) + "\n", "utf-8")
