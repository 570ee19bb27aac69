"""Writes a report of a table, and prints its peak of memory and when it was done."""

import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from memory import peak_megabytes  # noqa: E402

from geometry.models.sources.opening import open_model  # noqa: E402
from gui.commands.report_files import ReportFiles, ReportRequest  # noqa: E402

source = Path(sys.argv[1])
files = ReportFiles(open_model(source), ReportRequest(source.parent / "report"))
for _, work in files.steps():
    work()
sys.stdout.write(f"peak {peak_megabytes()}\nfirst {time.monotonic()}\n")
