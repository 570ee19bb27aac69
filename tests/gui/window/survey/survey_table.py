"""Surveys without checkpoints, for the window: five seeds, and some rows that failed."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from geometry.survey.parts import SurveyFile
from geometry.survey.populations import Entry
from geometry.survey.rows import RowSettings, failed_row
from tests.geometry.survey.survey_stage import made_row

SEEDS, STEPS = (21, 49, 81), (0, 10, 100, 1000, 10_000)
FAILED = 7
"""The place of the checkpoint that could not be measured."""


def entries(top: str = "own") -> list[Entry]:
    """Steps of three trainings."""
    return [
        Entry(f"{top}/x{seed}@checkpoint-{step}", "own", seed, step)
        for seed in SEEDS
        for step in STEPS
    ]


def row(entry: Entry, at: int) -> dict:
    """A row in which a curve grows with the step, and the seeds differ."""
    if at == FAILED:
        return failed_row(entry, "The Hub has no such file.", temporary=False)
    grown = np.log10(1 + entry.step) / 4
    return made_row(entry) | {
        "turning_share": float(grown + entry.seed / 1000),
        "helix_r2": float(grown**2),
        "variance_3": float(0.5 + grown / 4),
        "verdict": "helix" if grown > 0.5 else "line",
        "scheme": "learned",
    }


def write_survey(
    path: Path, found: list[Entry] | None = None, *, tables: Sequence[str | None] = ()
) -> Path:
    """Write the file of a survey; with the tables of its first rows if one was chosen."""
    with SurveyFile(path, RowSettings(table="chosen" if tables else None)) as file:
        for at, entry in enumerate(entries() if found is None else found):
            chosen = {"table": tables[at]} if tables else {}
            file.add(row(entry, at) | chosen)
    return path
