"""Tiny checkpoints to survey, and rows made by hand."""

from pathlib import Path
from typing import Any

import numpy as np

from geometry.survey.populations import Entry
from geometry.survey.rows import Fault, Measured, Row, columns
from tests.geometry.history_stage import growing, write_checkpoint

STEPS = [0, 100, 400, 1000]


def write_runs(top: Path, seeds: int = 2, steps: list[int] = STEPS) -> Path:
    """Write trainings of tiny GPT-2s, which differ in their seed."""
    for seed in range(seeds):
        for step, table in zip(steps, growing(steps, seed=seed), strict=True):
            write_checkpoint(top / f"run-seed{seed}" / f"checkpoint-{step}", table)
    return top


def made_row(entry: Entry, kept: int = 0, **given: Any) -> Row:
    """A row without a measurement: a number for each column, by the step."""
    values: dict[str, Any] = {"text": "none", "bytes": b"\0\1", "yes or no": False}
    number = float(np.sqrt(1 + (entry.step or 0)))
    row = {
        name: values.get(kind, int(number) if kind == "count" else number)
        for name, kind in columns(kept)
    }
    named = ("source", "group", "seed", "step", "layer", "tokens", "commit")
    return row | {name: getattr(entry, name) for name in named} | {"error": None} | given


def made(entry: Entry, *_: object) -> Measured:
    """What a worker would return, at once."""
    return Measured(made_row(entry), None, 0, 0, "")


def failing(entry: Entry, fault: Fault | None) -> Measured:
    row = made_row(entry, error="It failed.", temporary=fault is not None)
    return Measured(row, fault, 1, 0, "")
