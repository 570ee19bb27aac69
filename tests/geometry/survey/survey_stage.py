"""Tiny checkpoints to survey, and rows made by hand."""

import ctypes
import os
import signal
import time
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from geometry.survey.parts import SurveyFile
from geometry.survey.populations import Entry
from geometry.survey.rows import (
    Access,
    Fault,
    Measured,
    Row,
    RowSettings,
    columns,
    failed_row,
    measure_entry,
    version,
)
from tests.geometry.history_stage import growing, write_checkpoint

STEPS = [0, 100, 400, 1000]
ENTRIES = tuple(
    Entry(f"own/run-x{seed}@checkpoint-{step}", "own", seed, step, commit="c" * 40)
    for seed in (3, 20)
    for step in (0, 5, 40, 300)
)


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
    return row | failed_row(entry, "", temporary=False) | {"error": None} | given


def write_survey(
    out: Path,
    entries: Iterable[Entry] = ENTRIES,
    settings: RowSettings = RowSettings(),  # noqa: B008
    *,
    in_parts: bool = False,
) -> Path:
    """Write rows made by hand, each in a part of its own or all in one."""
    with SurveyFile(out, settings) as file:
        for entry in entries:
            file.add(made_row(entry, settings.kept))
            if in_parts:
                file.flush()
    return out


def made(entry: Entry, *_: object) -> Measured:
    """What a worker would return, at once."""
    return Measured(made_row(entry), None, 0, 0, version())


def failing(entry: Entry, fault: Fault | None) -> Measured:
    row = made_row(entry, error="It failed.", temporary=fault is not None)
    return Measured(row, fault, 1, 0, version())


def slow(entry: Entry, *_: object) -> Measured:
    """What takes a tenth of a second."""
    time.sleep(0.1)
    return made(entry)


def kills_once(entry: Entry, settings: RowSettings, access: Access) -> Measured:
    """Kill the worker at the first try of step 100, and measure then."""
    folder = Path(entry.source).parents[1]
    if entry.step == 100:
        try:
            (folder / f"killed-{entry.seed}").touch(exist_ok=False)
        except FileExistsError:
            pass
        else:
            os.kill(os.getpid(), signal.SIGKILL)
    return measure_entry(entry, settings, access)


def always_kills(entry: Entry, settings: RowSettings, access: Access) -> Measured:
    """Kill the worker at each try of step 100 of the first seed."""
    if (entry.seed, entry.step) == (0, 100):
        os.kill(os.getpid(), signal.SIGKILL)
    return measure_entry(entry, settings, access)


def never_ends(entry: Entry, settings: RowSettings, access: Access) -> Measured:
    """Compute for ever at step 100 of the first three seeds.

    In Python, in calls of a library, and in one call that leaves no other thread a turn.
    """
    while entry.step == 100 and entry.seed in (0, 1, 2):
        if entry.seed == 1:
            np.linalg.eigvalsh(np.eye(400))
        if entry.seed == 2:
            ctypes.PyDLL(None).sleep(10_000)
    return measure_entry(entry, settings, access)


def half_never_end(entry: Entry, settings: RowSettings, access: Access) -> Measured:
    """Compute for ever at steps 0 and 400."""
    while entry.step in (0, 400):
        pass
    return measure_entry(entry, settings, access)


def waits_for_a_file(entry: Entry, settings: RowSettings, access: Access) -> Measured:
    """Measure the first seed, and of the others nothing before there is a file "go"."""
    while entry.seed and not (Path(entry.source).parents[1] / "go").exists():
        time.sleep(0.01)
    return measure_entry(entry, settings, access)


def of_another_version(entry: Entry, *_: object) -> Measured:
    return replace(made(entry), version="0.0.1")
