"""A tiny model with the history of its training beside it."""

from pathlib import Path

import numpy as np

from tests.geometry.history_stage import D, growing, write_checkpoint, write_record

STEPS = [0, 10, 30, 100, 300, 1000, 3000]
LAST = len(STEPS) - 1


def write_trained(
    folder: Path, steps: list[int] | None = None, d: int = D, **more: np.ndarray | None
) -> Path:
    """Write a GPT-2 of 48 positions whose helix grew over steps; ``more`` of its record."""
    steps = steps or STEPS
    tables = growing(steps, d=d)
    more = {"positions": np.array(tables, np.float16), **more}
    write_checkpoint(folder, tables[-1])
    write_record(folder / "history.safetensors", steps, **more)
    return folder
