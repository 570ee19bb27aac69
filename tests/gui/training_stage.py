"""A tiny model with the history of its training beside it."""

import json
from pathlib import Path

import numpy as np
from safetensors.numpy import save_file

from tests.geometry.history_stage import D, N, growing, write_record

STEPS = [0, 10, 30, 100, 300, 1000, 3000]
LAST = len(STEPS) - 1


def write_trained(
    folder: Path, steps: list[int] | None = None, d: int = D, **more: np.ndarray | None
) -> Path:
    """Write a GPT-2 of 48 positions whose helix grew over steps; ``more`` of its record."""
    steps = steps or STEPS
    tables = growing(steps, d=d)
    more = {"positions": np.array(tables, np.float16), **more}
    folder.mkdir(exist_ok=True)
    config = {"model_type": "gpt2", "n_positions": N, "n_embd": tables[-1].shape[1]}
    (folder / "config.json").write_text(json.dumps(config), "utf-8")
    save_file({"wpe.weight": tables[-1]}, folder / "model.safetensors")
    write_record(folder / "history.safetensors", steps, **more)
    return folder
