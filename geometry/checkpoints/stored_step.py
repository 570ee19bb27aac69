"""The step of a training that scripts store in a checkpoint, such as nanoGPT's ``iter_num``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from geometry.checkpoints.formats.pickled_values import is_whole
from geometry.checkpoints.formats.torch_store import read_content
from geometry.checkpoints.stores import LocalFile, reading_file

KEYS = (
    "iter_num",
    "global_step",
    "step",
    "steps",
    "num_steps",
    "train_steps",
    "iteration",
    "iterations",
    "iter",
    "num_updates",
    "epoch",
)
"""Names of a step in training scripts: nanoGPT, PyTorch Lightning, others. A script that counts
steps and epochs means the former."""


def stored_step(path: Path) -> int | None:
    """Return the step of a training in a file of PyTorch's zip format, by its pickle alone.

    Parameters
    ----------
    path
        A local file.

    Returns
    -------
    int or None
        The value of the first of :data:`KEYS` at the top of the file; None if it has none.

    Raises
    ------
    SourceError
        The file is of another format, damaged, or being written.
    """
    with reading_file(path):
        content: Any = read_content(LocalFile(path))
    steps = (content.get(key) for key in KEYS) if isinstance(content, dict) else ()
    return next((step for step in steps if is_whole(step) and step >= 0), None)
