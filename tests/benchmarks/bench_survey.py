"""Surveys: throughput of two workers against one, overhead, memory, and waiting for a Hub.

The checkpoints are stand-ins of GPT-2's size, from local files. Times are those from the first row
to the last, without the start of the processes. The variable ``HELIXSCOPE_BENCH_CHECKPOINTS`` gives
the number of those for the memory of the workers, 200 if it is not set.
"""

import os
import time
from pathlib import Path

import numpy as np
import survey_tasks
from bench_hub import served
from checkpoints import SMALL, write_gpt2
from ratios import Report, scratch

from geometry.survey.parts import SurveyFile
from geometry.survey.populations import Entry
from geometry.survey.rows import Access, RowSettings, measure_entry
from geometry.survey.run import Measure, Progress, run_survey
from tests.geometry.history_stage import growing, write_checkpoint

LATENCY_S = 0.05
RATE = 16.0
MANY = int(os.environ.get("HELIXSCOPE_BENCH_CHECKPOINTS", "200"))


class Timed:
    """A survey, and when its rows came."""

    def __init__(self, entries: list[Entry], folder: Path, measure: Measure, **options) -> None:
        self._rows: list[tuple[float, int]] = []
        out = folder / f"{len([*folder.iterdir()])}.parquet"
        with SurveyFile(out, RowSettings()) as file:
            self.end = run_survey(
                entries, file, Access(), tell=self._note, measure=measure, **options
            )

    def _note(self, now: Progress) -> None:
        if now.done and (not self._rows or self._rows[-1][1] < now.done):
            self._rows.append((time.perf_counter(), now.done))

    @property
    def ms_a_row(self) -> float:
        """Milliseconds between rows, without the first tenth, in which workers import."""
        rows = self._rows[len(self._rows) // 10 :]
        (begin, first), (end, last) = rows[0], rows[-1]
        return (end - begin) * 1e3 / (last - first)


def local(source: Path, count: int) -> list[Entry]:
    """Return many names for one checkpoint."""
    return [Entry(f"{source}{'/.' * number}", "local", step=number) for number in range(count)]


def of_hub(names: list[str]) -> list[Entry]:
    return [Entry(name, "hub", step=step) for step, name in enumerate(names)]


def main() -> int:
    report = Report("Surveys")
    with scratch() as folder:
        os.environ |= {
            "HF_HOME": str(folder), "XDG_CACHE_HOME": str(folder), "HF_TOKEN": "",
            survey_tasks.FOLDER: str(folder / "memory"),
        }  # fmt: skip
        surveys = folder / "surveys"
        surveys.mkdir()
        (folder / "memory").mkdir()

        gpt2 = write_gpt2(folder, SMALL, sparse=True)
        tasks = local(gpt2, 24)
        one, two = (
            min(Timed(tasks, surveys, measure_entry, workers=n).ms_a_row for _ in range(2))
            for n in (1, 2)
        )
        report.add("a GPT-2 from local files, two workers vs one", two, one, at_least=1.8)

        made = [Entry(f"own/run@checkpoint-{step}", "own", step=step) for step in range(200)]
        one, two = (
            Timed(made, surveys, survey_tasks.waiting, workers=n, requests_per_s=1e6).ms_a_row
            for n in (1, 2)
        )
        report.add("tasks that wait 100 ms, two workers vs one", two, one, at_least=1.8)
        made = [Entry(f"own/run@checkpoint-{step}", "own", step=step) for step in range(1000)]
        overhead = Timed(made, surveys, survey_tasks.nothing, workers=1, requests_per_s=1e6)
        report.add("of which the survey itself", overhead.ms_a_row, None, limit=10)

        Timed(local(gpt2, MANY), surveys, survey_tasks.weighed, workers=2)
        peaks = [float(path.read_text()) for path in (folder / "memory").iterdir()]
        report.note(f"memory of workers that measured {MANY:,} checkpoints together:")
        report.add("    peak above imports", max(peaks), None, unit="MB", limit=250)

        (table,) = growing([1000])
        small = write_checkpoint(folder / "small", np.ascontiguousarray(table))
        names = [f"own/run-{number}" for number in range(400)]
        with served(small, LATENCY_S, names):
            entries = of_hub(names[:200])
            free = Timed(entries, surveys, survey_tasks.fetched, workers=2, requests_per_s=1e6)
            bound = free.end.requests / free.end.total * LATENCY_S * 1e3 / 2
            report.add("a Hub 50 ms away, vs its latency alone", free.ms_a_row, bound,
                       at_most=1 / 0.9)  # fmt: skip
            entries = of_hub(names[200:260])
            held = Timed(entries, surveys, measure_entry, workers=2, requests_per_s=RATE)
            bound = held.end.requests / held.end.total / RATE * 1e3
            report.add(f"with {RATE:g} requests a second, vs these alone", held.ms_a_row, bound,
                       at_most=1 / 0.9)  # fmt: skip
    return report.close()


if __name__ == "__main__":
    raise SystemExit(main())
