"""What workers do in the benchmark of surveys; a module of its own, which they import."""

import os
import time
from functools import cache
from pathlib import Path

from memory import peak_megabytes, resident_megabytes
from ratios import ROOT  # noqa: F401, it puts the project on the path

from geometry.checkpoints.transfer import Transfer
from geometry.survey import rows
from geometry.survey.populations import Entry
from geometry.survey.rows import Access, Measured, RowSettings, failed_row, measure_entry, version

FOLDER = "HELIXSCOPE_BENCH_FOLDER"
"""Name of the variable with the folder in which workers note their memory."""


def nothing(entry: Entry, *_: object) -> Measured:
    """Return a row at once: what is left is what a survey itself costs."""
    return Measured(failed_row(entry, "", temporary=False), None, 0, 0, version())


def waiting(entry: Entry, *_: object) -> Measured:
    """Return a row after a tenth of a second."""
    time.sleep(0.1)
    return nothing(entry)


def fetched(entry: Entry, settings: RowSettings, access: Access) -> Measured:
    """Fetch a table, and do nothing with it: what is left is waiting for the Hub."""
    transfer = Transfer()
    rows._open(entry, access, transfer)
    row = failed_row(entry, "", temporary=False)
    return Measured(row, None, transfer.requests, transfer.bytes_received, version())


def weighed(entry: Entry, settings: RowSettings, access: Access) -> Measured:
    """Measure a checkpoint, and note the peak of this process's memory above its imports."""
    before = _imported(settings, access)
    measured = measure_entry(entry, settings, access)
    note = Path(os.environ[FOLDER]) / str(os.getpid())
    note.write_text(f"{peak_megabytes() - before}", "utf-8")
    return measured


@cache
def _imported(settings: RowSettings, access: Access) -> float:
    """Measure a tiny table, which imports all that is needed; return the memory then."""
    measure_entry(Entry("sinusoidal:64x32", "tiny"), settings, access)
    return resident_megabytes()
