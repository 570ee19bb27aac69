"""What all campaigns share: the arguments, the loop over cases, budgets, counts.

A case is a function of a random generator and returns what became of it in a word or two ("opened",
"refused"). It raises :class:`Fault` for what must not happen. Each case has a generator of its own,
so any one can be run again alone: ``--seed 7 --first 4711 --cases 1``.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

Case = Callable[[random.Random], str]


class Fault(Exception):
    """What must not happen, in a word ("crash", "hang", "memory", "lost"), and what it was."""

    def __init__(self, kind: str, what: str) -> None:
        super().__init__(f"{kind}: {what}")
        self.kind = kind


@dataclass(slots=True)
class Counts:
    """The outcomes of a campaign's cases, and its faults with the numbers of their cases."""

    outcomes: Counter[str] = field(default_factory=Counter)
    faults: list[tuple[int, str]] = field(default_factory=list)
    slowest_s: float = 0.0
    most_mb: float = 0.0

    def __str__(self) -> str:
        rows = [f"{n:8d}  {outcome}" for outcome, n in self.outcomes.most_common()]
        rows += [f"{self.outcomes.total():8d}  cases", f"{len(self.faults):8d}  faults"]
        rows += [f"{self.slowest_s:8.2f}  s, the slowest case"]
        if self.most_mb:
            rows += [f"{self.most_mb:8.0f}  MB, the most memory that a case added"]
        rows += [f"case {number}: {what}" for number, what in self.faults]
        return "\n".join(rows)


def attack(
    case: Case,
    *,
    seed: int,
    cases: int,
    first: int = 0,
    minutes: float | None = None,
    budget_s: float | None = None,
    budget_mb: float | None = None,
) -> Counts:
    """Run cases, and return their counts.

    Parameters
    ----------
    seed, first, cases
        Case number ``n`` from ``first`` on is run with the generator of ``f"{seed}:{n}"``.
    minutes
        Stop after this time, however many cases are left.
    budget_s, budget_mb
        Seconds that a case may take, and memory that it may add at its peak (measured on Linux
        alone); more is a fault.
    """
    counts = Counts()
    until = None if minutes is None else time.monotonic() + 60 * minutes
    for number in range(first, first + cases):
        if until is not None and time.monotonic() > until:
            break
        before = restart_peak()
        start = time.monotonic()
        try:
            outcome = case(random.Random(f"{seed}:{number}"))
        except Fault as fault:
            outcome = fault.kind
            counts.faults.append((number, str(fault)))
        except Exception:
            outcome = "traceback"
            counts.faults.append((number, traceback.format_exc()))
        counts.outcomes[outcome] += 1
        took, added = time.monotonic() - start, peak_mb() - before
        counts.slowest_s, counts.most_mb = max(counts.slowest_s, took), max(counts.most_mb, added)
        if budget_s is not None and took > budget_s:
            counts.faults.append((number, f"hang: {took:.1f} s, {outcome}"))
        if budget_mb is not None and added > budget_mb:
            counts.faults.append((number, f"memory: {added:.0f} MB more, {outcome}"))
    return counts


def parser(description: str, *, cases: int) -> argparse.ArgumentParser:
    """Return the arguments that all campaigns have; ``cases`` is their default number."""
    made = argparse.ArgumentParser(description=description)
    made.add_argument("--seed", type=int, default=0, help="of the random generators")
    made.add_argument("--cases", type=int, default=cases, help="how many (default %(default)s)")
    made.add_argument("--first", type=int, default=0, help="number of the first case")
    made.add_argument("--minutes", type=float, help="stop after this time")
    return made


def main(
    case: Case,
    description: str,
    *,
    cases: int,
    budget_s: float | None = None,
    budget_mb: float | None = None,
    arguments: Sequence[str] | None = None,
) -> int:
    """Run a campaign as a command, print its counts, and return its exit status."""
    given = parser(description, cases=cases).parse_args(arguments)
    counts = attack(
        case,
        seed=given.seed,
        cases=given.cases,
        first=given.first,
        minutes=given.minutes,
        budget_s=budget_s,
        budget_mb=budget_mb,
    )
    sys.stdout.write(f"seed {given.seed}, first case {given.first}\n{counts}\n")
    return 1 if counts.faults else 0


def restart_peak() -> float:
    """Start measuring the peak of the memory anew, and return the memory in use, in MB."""
    clear = Path("/proc/self/clear_refs")
    if not clear.exists():
        return 0.0
    clear.write_text("5")
    return _status_mb("VmRSS")


def peak_mb() -> float:
    """Return the most memory in use since :func:`restart_peak`, in MB."""
    return _status_mb("VmHWM")


def _status_mb(name: str) -> float:
    status = Path("/proc/self/status")
    if not status.exists():
        return 0.0
    line = next(line for line in status.read_text().splitlines() if line.startswith(name))
    return int(line.split()[1]) / 1024
