"""Files that are there at once and whole, or not at all."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from geometry.training.settings import TrainingError


def unfinished(file: Path) -> Path:
    """Return the name of a file while it is written."""
    return file.with_name(f".{file.name}.part")


@contextmanager
def atomically(file: Path) -> Iterator[Path]:
    """Give a name to write to; what is there takes its place when the block ends well.

    Raises
    ------
    TrainingError
        It cannot be written.
    """
    temporary = unfinished(file)
    try:
        yield temporary
        os.replace(temporary, file)
    except OSError as error:
        raise TrainingError(f"{file} cannot be written: {error.strerror or error}.") from error
    finally:
        temporary.unlink(missing_ok=True)


def write_json(file: Path, content: dict[str, Any]) -> None:
    """Write JSON that people read too.

    Raises
    ------
    TrainingError
        It cannot be written.
    """
    with atomically(file) as temporary:
        temporary.write_text(json.dumps(content, indent=2) + "\n", "utf-8")
