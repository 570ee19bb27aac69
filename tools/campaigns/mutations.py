"""Mutated files for every reader of this machine: each opens or is refused in one sentence.

``python -m tools.campaigns.mutations --kind torch --seed 1 --cases 2000``. The cases run in other
processes, in batches, so that one that ends its process or never returns is a fault with a number
too; ``--inside`` runs them in this one.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import json
import logging
import os
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from geometry.checkpoints.errors import HelixscopeError
from tools.campaigns.campaign import Case, Counts, Fault, attack, parser, peak_mb, restart_peak
from tools.campaigns.kinds import KINDS, Files, Kind, check_sentence
from tools.campaigns.mutating import mutate_of

BUDGET_S, BUDGET_MB = 2.0, 300.0
#: Cases of one process, and seconds without an answer after which it is stopped.
BATCH, PATIENCE_S = 250, 60.0


@cache
def _sound(kind: str) -> Files:
    return KINDS[kind].make()


def case_of(kind: str) -> Case:
    """Return the case of a kind: one of its files is mutated, and opened."""

    def case(made: random.Random) -> str:
        files = dict(_sound(kind))
        name = made.choice(KINDS[kind].targets)
        files[name] = mutate_of(made, name, files[name])
        folder = Path(tempfile.mkdtemp(prefix="mutations"))
        threads, opened = threading.active_count(), _opened()
        try:
            _write(folder, files)
            del files
            return _within_budgets(KINDS[kind], folder)
        finally:
            shutil.rmtree(folder)
            if threading.active_count() > threads:
                raise Fault("thread", f"{threading.enumerate()}")
            if _opened() - opened:
                gc.collect()  # a traceback of transformers holds the file until then
            if still := _opened() - opened:
                raise Fault("file", f"still open: {', '.join(still)}")

    return case


#: The most that a case took so far, in seconds and MB.
_most = {"s": 0.0, "mb": 0.0}


def _within_budgets(kind: Kind, folder: Path) -> str:
    # Of the processor: others may be at work on this machine. What waits is stopped by its process.
    before, start = restart_peak(), time.process_time()
    outcome = _outcome(kind, folder)
    took, added = time.process_time() - start, peak_mb() - before
    _most["s"], _most["mb"] = max(_most["s"], took), max(_most["mb"], added)
    if took > BUDGET_S:
        raise Fault("hang", f"{took:.1f} s, {outcome}")
    if added > BUDGET_MB:
        raise Fault("memory", f"{added:.0f} MB more, {outcome}")
    return outcome


#: What Python reports of looking at folders and objects, which does nothing to either.
_HARMLESS = ("os.listdir", "os.scandir", "object.__getattr__", "sys._getframe", "builtins.id")
#: The folder of the case whose opening is watched, and what else happened meanwhile.
_watched: list[Path] = []
_happened: list[str] = []


def _audit(event: str, arguments: tuple[object, ...]) -> None:
    if not _watched or event.startswith(_HARMLESS):
        return
    if event == "open":
        where = arguments[0]
        if isinstance(where, int) or str(where).startswith(str(_watched[0])):
            return
    _happened.append(f"{event} {arguments!r}"[:200])


@contextmanager
def _watching(folder: Path) -> Iterator[None]:
    """Raise a Fault if anything is imported, run or opened in the block but files of the folder."""
    _happened.clear()
    _watched.append(folder)
    try:
        yield
    finally:
        _watched.clear()
        if _happened:
            raise Fault("ran", "; ".join(_happened[:5]))


@cache
def _hear() -> None:
    sys.addaudithook(_audit)


def _warm() -> None:
    """Open a sound file of every watched kind, which imports all that such files may need."""
    "".encode("cp437")  # for names in archives that are not ASCII
    for kind in KINDS:
        if KINDS[kind].watched:
            _open_sound(kind)
    _hear()


def _open_sound(kind: str) -> None:
    folder = Path(tempfile.mkdtemp(prefix="mutations"))
    try:
        _write(folder, _sound(kind))
        KINDS[kind].open(folder)
    finally:
        shutil.rmtree(folder)


def _outcome(kind: Kind, folder: Path) -> str:
    try:
        with _watching(folder) if kind.watched else contextlib.nullcontext():
            kind.open(folder)
    except HelixscopeError as error:
        check_sentence(error)
        return "refused"
    except (Fault, KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:
        if isinstance(error, Exception):
            raise
        raise Fault("panic", repr(error)) from error
    return "opened"


def _write(folder: Path, files: Files) -> None:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def _opened() -> Counter[str]:
    """What this process has open; nothing where the system does not say."""
    opened: Counter[str] = Counter()
    if os.path.isdir("/proc/self/fd"):
        for number in os.listdir("/proc/self/fd"):
            with contextlib.suppress(OSError):  # that of the listing itself
                opened[os.readlink(f"/proc/self/fd/{number}")] += 1
    return opened


def run(
    kind: str,
    *,
    seed: int,
    cases: int,
    first: int = 0,
    on_case: Callable[[int], None] | None = None,
) -> Counts:
    """Run cases of a kind in this process, after a sound file, which loads the libraries."""
    logging.disable(logging.CRITICAL)
    if KINDS[kind].watched:
        _warm()
    else:
        _open_sound(kind)
    numbers = iter(range(first, first + cases))
    case = case_of(kind)

    def counted(made: random.Random) -> str:
        if on_case is not None:
            on_case(next(numbers))
        return case(made)

    try:
        counts = attack(counted, seed=seed, cases=cases, first=first)
        counts.slowest_s, counts.most_mb = _most["s"], _most["mb"]
        return counts
    finally:
        logging.disable(logging.NOTSET)


def isolated(
    kind: str, *, seed: int, cases: int, first: int = 0, until: float | None = None
) -> Counts:
    """Run cases of a kind in other processes, batch by batch."""
    counts = Counts()
    number, last = first, first + cases
    while number < last and (until is None or time.monotonic() < until):
        with tempfile.TemporaryDirectory() as folder:
            log = Path(folder) / "log"
            numbers = {"seed": seed, "first": number, "cases": min(BATCH, last - number)}
            command = [sys.executable, "-X", "faulthandler", "-m", __spec__.name]
            command += ["--kind", kind, "--inside", str(log)]
            command += [word for name, n in numbers.items() for word in (f"--{name}", str(n))]
            number = _batch(command, log, counts, number)
    return counts


def _batch(command: list[str], log: Path, counts: Counts, number: int) -> int:
    """Run one process, add to the counts, and return the number of the next case."""
    errors = log.with_suffix(".errors")
    with errors.open("w") as taken:
        process = subprocess.Popen(command, stdout=taken, stderr=taken)
    at, since = number - 1, time.monotonic()
    while True:
        try:
            process.wait(1)
            break
        except subprocess.TimeoutExpired:
            now = _reached(log, at)
            at, since = now, since if now == at else time.monotonic()
            if time.monotonic() - since > PATIENCE_S:
                process.kill()
                process.wait()
                break
    result = log.with_suffix(".json")
    if process.returncode == 0 and result.exists():
        told = json.loads(result.read_text())
        counts.outcomes.update(told["outcomes"])
        counts.faults += [(n, what) for n, what in told["faults"]]
        counts.slowest_s = max(counts.slowest_s, told["slowest_s"])
        counts.most_mb = max(counts.most_mb, told["most_mb"])
        return number + sum(told["outcomes"].values())
    at = _reached(log, number - 1)
    if at < number:
        raise RuntimeError(errors.read_text())
    kind = "hang" if process.returncode == -9 else "crash"
    counts.outcomes["opened or refused"] += at - number
    counts.outcomes[kind] += 1
    counts.faults.append((at, f"{kind}: {process.returncode}\n{errors.read_text()[-3000:]}"))
    return at + 1


def _reached(log: Path, number: int) -> int:
    lines = log.read_text().split() if log.exists() else []
    return int(lines[-1]) if lines else number


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the campaign as a command, print its counts, and return its exit status."""
    options = parser("Mutated files for every reader.", cases=200)
    options.add_argument("--kind", choices=KINDS, help="of files (default: all, one by one)")
    options.add_argument("--inside", type=Path, help=argparse.SUPPRESS)
    given = options.parse_args(arguments)
    if given.inside is not None:
        with given.inside.open("a") as log:
            counts = run(given.kind, seed=given.seed, cases=given.cases, first=given.first,
                         on_case=lambda n: print(n, file=log, flush=True))  # fmt: skip
        told = {"outcomes": counts.outcomes, "faults": counts.faults,
                "slowest_s": counts.slowest_s, "most_mb": counts.most_mb}  # fmt: skip
        given.inside.with_suffix(".json").write_text(json.dumps(told))
        return 0
    until = None if given.minutes is None else time.monotonic() + 60 * given.minutes
    faults = 0
    for kind in KINDS if given.kind is None else (given.kind,):
        counts = isolated(kind, seed=given.seed, cases=given.cases, first=given.first, until=until)
        faults += len(counts.faults)
        sys.stdout.write(f"{kind}: seed {given.seed}, first case {given.first}\n{counts}\n")
        sys.stdout.flush()
    return 1 if faults else 0


if __name__ == "__main__":
    raise SystemExit(main())
