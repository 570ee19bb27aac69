"""Measure how often the shape rule is wrong, on random curves and on helices of many kinds.

    python -m tools.evidence_rates --out RATES [--tables 200] [--workers 2] [--minutes 60]
        [--page docs/evidence.md]

Each cell is a family of tables at a number of columns. RATES/tables.jsonl has one line a table, so
that a run that was stopped goes on where it was; `--page` rewrites the tables between the marks of
a page, and draws the figure beside it. The exit status is 1 if a cell fails: random curves called
remarkable in more than 5 % of the tables, or in the higher tier in more than 2 %, or helices
recognised in fewer than 90 %, with their kind and turns. It is 2 if cells are not complete.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import zlib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path

import numpy as np

from geometry.evidence.null import null_of
from geometry.evidence.turning_share import turning_share
from tools.random_tables import HELICES, RANDOM, draw

WIDTHS = (64, 512)
"""Columns of the tables."""
CHUNK = 5
"""Tables of a cell that are measured together."""
AIM, HIGH_AIM, FAILS, HIGH_FAILS, POWER = 0.02, 0.003, 0.05, 0.02, 0.9
"""Rates that the two tiers aim at, those above which a cell fails, and the power of a helix."""
RIGHT = 0.1
"""Largest deviation of the turns, as a share."""
BOUNDS = np.linspace(0.5, 1.6, 45)
"""Factors of the rule's bounds in the figure."""
CIRCLE = "circle"


@dataclass(frozen=True, slots=True)
class Measured:
    """The rule's result for one table.

    Attributes
    ----------
    name, d, number
        The family, the number of columns, and the number of the table, which is also its seed.
    strength, beyond
        As of :class:`geometry.evidence.turning_share.TurningShare`.
    kind
        The kind that the rule gives; None if the table is not remarkable.
    right
        Whether kind and turns are those of the helix; whether there is none for a random curve.
    """

    name: str
    d: int
    number: int
    strength: float
    beyond: float
    kind: str | None
    right: bool


def measure(name: str, d: int, number: int) -> Measured:
    """Draw a table and apply the rule."""
    table = draw(name, d, np.random.default_rng((zlib.crc32(name.encode()), d, number)))
    found = turning_share(table.rows)
    kind = None if name in RANDOM else "circle" if name == CIRCLE else "helix"
    near = not table.turns or min(abs(found.turns / one - 1.0) for one in table.turns) <= RIGHT
    right = found.kind == kind and near
    return Measured(name, d, number, found.strength, found.beyond, found.kind, right)


def _measure_chunk(name: str, d: int, numbers: Sequence[int]) -> list[Measured]:
    return [measure(name, d, number) for number in numbers]


class Cells:
    """The measured tables of a folder, by family and number of columns."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "tables.jsonl"
        folder.mkdir(parents=True, exist_ok=True)
        self.tables: dict[tuple[str, int], dict[int, Measured]] = defaultdict(dict)
        if self._path.exists():
            for line in self._path.read_text("utf-8").splitlines():
                try:
                    self._keep(Measured(**json.loads(line)))
                except ValueError:  # a run that was stopped while it wrote
                    continue

    def _keep(self, one: Measured) -> None:
        self.tables[one.name, one.d][one.number] = one

    def add(self, measured: Sequence[Measured]) -> None:
        """Append tables to the file."""
        lines = "".join(json.dumps(asdict(one)) + "\n" for one in measured)
        with self._path.open("a", encoding="utf-8") as file:
            file.write(lines)
        for one in measured:
            self._keep(one)

    def missing(self, tables: int, names: Sequence[str]) -> Iterator[tuple[str, int, list[int]]]:
        """Yield what is not measured yet, a few tables of each cell in turn."""
        for start in range(0, tables, CHUNK):
            for name in names:
                for d in WIDTHS:
                    numbers = range(start, min(start + CHUNK, tables))
                    left = [n for n in numbers if n not in self.tables[name, d]]
                    if left:
                        yield name, d, left


def fill(cells: Cells, tables: int, names: Sequence[str], workers: int, minutes: float) -> bool:
    """Measure what is missing; return whether everything is there.

    Parameters
    ----------
    cells
        Are filled.
    tables
        Number of tables of each cell.
    names
        Families.
    workers
        Processes.
    minutes
        No more is begun after this time.
    """
    todo, end = cells.missing(tables, names), time.monotonic() + 60 * minutes
    if workers < 2:
        for name, d, numbers in todo:
            if time.monotonic() > end:
                return False
            cells.add(_measure_chunk(name, d, numbers))
        return True
    with ProcessPoolExecutor(workers) as pool:
        running: set[Future[list[Measured]]] = set()
        while time.monotonic() < end:
            for job in islice(todo, 2 * workers - len(running)):
                running.add(pool.submit(_measure_chunk, *job))
            if not running:
                return True
            done, running = wait(running, return_when=FIRST_COMPLETED)
            for one in done:
                cells.add(one.result())
        for one in running:
            cells.add(one.result())
    return next(todo, None) is None


def fails(name: str, measured: Sequence[Measured]) -> bool:
    """Return whether a cell breaks a promise of the rule; False for an empty one."""
    if not measured:
        return False
    if name in RANDOM:
        first = np.mean([one.kind is not None for one in measured])
        return bool(first > FAILS or np.mean([one.beyond >= 1.0 for one in measured]) > HIGH_FAILS)
    return bool(np.mean([one.right for one in measured]) < POWER)


def _rate(successes: Sequence[bool]) -> str:
    """Return a rate in percent with its 95 % interval by Clopper and Pearson."""
    if not successes:
        return "–"
    null = null_of("", "", [float(one) for one in successes])
    low, high = null.interval_from(1.0)
    return f"{100 * np.mean(successes):.1f} ({100 * low:.1f}–{100 * high:.1f})"


def tables_of(cells: Cells, names: Sequence[str]) -> Mapping[str, str]:
    """Return the page's tables, in Markdown, by the name of their mark."""
    counts = [len(cells.tables[name, d]) for name in names for d in WIDTHS]
    heads = "| " + " | ".join(f"d = {d}" for d in WIDTHS)
    sizes = f"{min(counts)} to {max(counts)}" if min(counts) < max(counts) else f"{max(counts)}"
    rows = [
        f"Percent of {sizes} tables of each cell, with 95 % intervals.\n",
        f"| random curves {heads} {heads.replace('d =', 'higher tier, d =')} |",
        "|---|" + "---|" * (2 * len(WIDTHS)),
    ]
    for name in names:
        if name in RANDOM:
            both = [list(cells.tables[name, d].values()) for d in WIDTHS]
            first = [_rate([one.kind is not None for one in cell]) for cell in both]
            second = [_rate([one.beyond >= 1.0 for one in cell]) for cell in both]
            rows.append(f"| {name} | " + " | ".join([*first, *second]) + " |")
    alarms = "\n".join(rows)
    rows = [
        f"Percent of {sizes} tables of each cell with the right kind and turns.\n",
        f"| helices {heads} |",
        "|---|" + "---|" * len(WIDTHS),
    ]
    for name in names:
        if name not in RANDOM:
            both = [list(cells.tables[name, d].values()) for d in WIDTHS]
            right = [_rate([one.right for one in cell]) for cell in both]
            rows.append(f"| {name} | " + " | ".join(right) + " |")
    return {"alarms": alarms, "power": "\n".join(rows)}


def draw_figure(cells: Cells, path: Path) -> None:
    """Draw power against false alarms as the bound moves, by family."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    def shares(name: str) -> np.ndarray:
        both = [one.strength for d in WIDTHS for one in cells.tables[name, d].values()]
        reached: np.ndarray = np.array(both)[:, None] >= BOUNDS
        return 100.0 * reached.sum(axis=0) / max(len(both), 1)

    worst = np.max([shares(name) for name in RANDOM], axis=0)
    with mpl.rc_context({"font.size": 8, "axes.spines.top": False, "axes.spines.right": False}):
        figure = Figure(figsize=(9, 4), layout="constrained")
        left, right = figure.subplots(1, 2)
        rates = {name: shares(name) for name in RANDOM}
        for name in sorted(rates, key=lambda name: -rates[name].sum())[:8]:
            left.plot(BOUNDS, rates[name], label=name)
        left.axvline(1.0, color="0.6", lw=0.8)
        left.axhline(100 * FAILS, color="0.6", lw=0.8, ls=":")
        left.set(xlabel="factor of the bounds", ylabel="called remarkable, %", ylim=(0, 30))
        left.legend(fontsize=6)
        power = {name: shares(name) for name in (*HELICES, CIRCLE)}
        for name in sorted(power, key=lambda name: power[name].sum())[:6]:
            right.plot(worst, power[name], label=name)
        at = int(np.abs(BOUNDS - 1.0).argmin())
        right.axvline(worst[at], color="0.6", lw=0.8)
        right.set(
            xlabel="called remarkable in the worst family of random curves, %",
            ylabel="called remarkable, %",
            xlim=(0, 30),
        )
        right.legend(fontsize=6)
        figure.savefig(path, dpi=150, metadata={"Software": None})


def write_page(page: Path, tables: Mapping[str, str]) -> None:
    """Replace what is between the marks of a page, such as `<!-- alarms -->`."""
    text = page.read_text("utf-8")
    for name, table in tables.items():
        begin, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
        before, rest = text.split(begin)
        text = f"{before}{begin}\n{table}\n{end}{rest.split(end)[1]}"
    page.write_text(text, "utf-8")


def run(arguments: Sequence[str] | None = None) -> int:
    """Measure, print the tables, and write the page; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--tables", type=int, default=200)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--page", type=Path)
    parser.add_argument("--only", nargs="*", help="names of families")
    given = parser.parse_args(arguments)
    names = given.only or [*RANDOM, *HELICES, CIRCLE]
    cells = Cells(given.out)
    complete = fill(cells, given.tables, names, given.workers, given.minutes)
    tables = tables_of(cells, names)
    sys.stdout.write("\n\n".join(tables.values()) + "\n")
    failed = [
        f"{name}, d = {d}"
        for name in names
        for d in WIDTHS
        if fails(name, list(cells.tables[name, d].values()))
    ]
    if failed:
        sys.stdout.write("\nFailed: " + "; ".join(failed) + "\n")
    if given.page is not None:
        write_page(given.page, tables)
        draw_figure(cells, given.page.with_name("evidence-trade-off.png"))
    return 1 if failed else 0 if complete else 2


if __name__ == "__main__":
    sys.exit(run())
