"""``trainer_state.json``: the log that transformers' Trainer writes to each checkpoint."""

from __future__ import annotations

import bisect
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from geometry.checkpoints.config import read_json
from geometry.checkpoints.errors import SourceError

FILE_NAME = "trainer_state.json"

MAX_LOGGED = 2**53
"""Numbers in the log are below this limit, up to which integers are exact as floats."""


def read_log(
    folders: Sequence[Path], steps: Sequence[int]
) -> tuple[npt.NDArray[np.int64] | None, npt.NDArray[np.float32] | None]:
    """Read tokens and losses of steps from the training log.

    Parameters
    ----------
    folders
        The checkpoints, by increasing step; the last one with a log has the longest.
    steps
        Increasing.

    Returns
    -------
    tokens, losses
        (n,) int64, tokens seen by each step, None unless all are known; (n,) float32, the last loss
        logged by each step, NaN before the first one, None if there are none.
    """
    entries = next(filter(None, map(_entries, reversed(folders))), [])
    seen = _noted(entries, "num_input_tokens_seen", steps)
    losses = _noted(entries, "loss", steps)
    return (
        None if np.isnan(seen).any() else seen.astype(np.int64),
        None if np.isnan(losses).all() else losses.astype(np.float32),
    )


def _entries(folder: Path) -> list[dict[str, Any]]:
    """Return the log's entries by increasing step; empty if there is no readable log."""
    path = folder / FILE_NAME
    try:
        history = read_json(path).get("log_history") if path.is_file() else None
    except (SourceError, OSError):  # the tables can be used without a log
        return []
    if not isinstance(history, list):
        return []
    entries = [entry for entry in history if isinstance(entry, dict) and _is_number(entry, "step")]
    return sorted(entries, key=lambda entry: float(entry["step"]))


def _is_number(entry: dict[str, Any], key: str) -> bool:
    value = entry.get(key)
    # Compared without conversion: an integer of hundreds of digits does not fit into a float.
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return -MAX_LOGGED < value < MAX_LOGGED


def _noted(
    entries: list[dict[str, Any]], key: str, steps: Sequence[int]
) -> npt.NDArray[np.float64]:
    """Return the value last logged under a key by each step; NaN before the first one."""
    noted = [
        (float(entry["step"]), float(entry[key])) for entry in entries if _is_number(entry, key)
    ]
    at = [step for step, _ in noted]
    latest = [bisect.bisect_right(at, step) - 1 for step in steps]
    return np.array([noted[i][1] if i >= 0 else np.nan for i in latest], np.float64)
