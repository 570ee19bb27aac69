"""Atomic writing of files, with errors of training."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from geometry.checkpoints.whole_files import whole_file, writing
from geometry.training.settings import TrainingError


@contextmanager
def atomically(file: Path) -> Iterator[Path]:
    """Yield a temporary path, which replaces ``file`` when the block succeeds.

    Raises
    ------
    TrainingError
        It cannot be written.
    """
    with writing(file, TrainingError), whole_file(file) as temporary:
        yield temporary


def write_json(file: Path, content: dict[str, Any]) -> None:
    """Write human-readable JSON.

    Raises
    ------
    TrainingError
        It cannot be written.
    """
    with atomically(file) as temporary:
        temporary.write_text(json.dumps(content, indent=2) + "\n", "utf-8")
