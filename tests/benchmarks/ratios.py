"""Ratios of our times to a baseline's, measured so that they mean something on any machine.

Both sides run in one process (or both as child processes), turn by turn, with the same number of
threads, and the minimum of at least seven runs counts. A benchmark is a script::

    from ratios import Report, interleave      # first: it puts the project on the path

    from geometry.pca.range_pca import RangePCA

    report = Report("PCA of one slider tick")
    ours, baseline = interleave(lambda: fast.fit((1, 1023)), lambda: svd(rows))
    report.add("positions 1–1023", ours, baseline, at_least=50)    # baseline / ours
    report.add("frame while dragging", a, b, at_most=2)            # ours / baseline
    report.add("peak memory", 96.0, None, unit="MB", limit=120)    # no ratio: ours ≤ limit
    raise SystemExit(report.close())

``python tests/benchmarks/bench_x.py --json rows.jsonl`` also appends the rows to a file, one JSON
object on each line. The exit status is 1 when a target was missed.
"""

import argparse
import gc
import json
import math
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

COLUMNS = "{:<52} | {:>11} | {:>11} | {:>7} | {}"


@contextmanager
def scratch() -> Iterator[Path]:
    """Make a folder that goes with the block."""
    with tempfile.TemporaryDirectory(prefix="helixscope-") as name:
        yield Path(name)


def interleave(
    ours: Callable[[], object], baseline: Callable[[], object], *, repeats: int = 9
) -> tuple[float, float]:
    """Run both turn by turn and return the minimum time of each, in milliseconds.

    One run of each goes before, uncounted. Fewer than seven repeats are refused.
    """
    if repeats < 7:
        raise ValueError(f"expected at least 7 repeats, got {repeats}")
    ours()
    baseline()
    best = [math.inf, math.inf]
    gc.collect()
    gc.disable()
    try:
        for _ in range(repeats):
            for side, run in enumerate((ours, baseline)):
                start = time.perf_counter()
                run()
                best[side] = min(best[side], (time.perf_counter() - start) * 1e3)
    finally:
        gc.enable()
    return best[0], best[1]


class Report:
    """A table of ratios, printed row by row, and its rows as JSON when ``--json FILE`` is given."""

    def __init__(self, title: str) -> None:
        parser = argparse.ArgumentParser(description=title)
        parser.add_argument("--json", type=Path, metavar="FILE", help="append the rows to FILE")
        self._file: Path | None = parser.parse_args().json
        self._title = title
        self._missed = 0
        self.note(f"\n{title}")
        self.note(COLUMNS.format("quantity", "ours", "baseline", "ratio", "target"))
        self.note("-" * 110)

    def note(self, text: str) -> None:
        """Print a line that tells what the rows were measured on."""
        sys.stdout.write(text + "\n")
        sys.stdout.flush()

    def add(
        self,
        quantity: str,
        ours: float,
        baseline: float | None,
        *,
        unit: str = "ms",
        at_least: float | None = None,
        at_most: float | None = None,
        limit: float | None = None,
    ) -> None:
        """Add a row, both sides in `unit`, and check it against its one target, if it has one.

        ``at_least`` is for baseline / ours ("times faster"), ``at_most`` for ours / baseline
        ("times the cost"), ``limit`` for ours itself.
        """
        ratio, target, met = None, "", True
        if baseline is not None:
            ratio = baseline / ours if at_most is None else ours / baseline
        if at_least is not None and ratio is not None:
            target, met = f"≥ {at_least:g}×", ratio >= at_least
        elif at_most is not None and ratio is not None:
            target, met = f"≤ {at_most:g}×", ratio <= at_most
        elif limit is not None:
            target, met = f"≤ {limit:g} {unit}", ours <= limit
        self._missed += not met
        self.note(
            COLUMNS.format(
                quantity,
                f"{ours:.4g} {unit}",
                "" if baseline is None else f"{baseline:.4g} {unit}",
                "" if ratio is None else f"{ratio:.3g}×",
                target if met else f"{target}  MISSED",
            )
        )
        self._write(quantity, ours, baseline, unit, ratio, target, met)

    def add_times(
        self,
        quantity: str,
        ours: Sequence[float],
        baseline: Sequence[float],
        at_most: float,
        *,
        median_at_most: float = math.inf,
    ) -> None:
        """Add a row of the least times of each side, and one of their medians."""
        self.add(quantity, min(ours), min(baseline), at_most=at_most)
        medians = statistics.median(ours), statistics.median(baseline)
        self.add("    medians", *medians, at_most=median_at_most)

    def close(self) -> int:
        """Return the exit status: 1 when a target was missed, else 0."""
        return int(self._missed > 0)

    def _write(self, quantity: str, ours: float, baseline: float | None, *rest: object) -> None:
        if self._file is None:
            return
        keys = ("title", "quantity", "ours", "baseline", "unit", "ratio", "target", "met")
        row = dict(zip(keys, (self._title, quantity, ours, baseline, *rest), strict=True))
        with self._file.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
