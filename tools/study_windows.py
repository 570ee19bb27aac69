"""Train small GPT-2s with windows of several lengths, and compare the curves of their positions.

    python -m tools.study_windows --corpus TEXT --out STUDY [--tokens N] [--lengths 16 64 128 256]
        [--decays 0 0.3 1] [--seeds 5] [--workers N] [--scheduler ADDRESS]

Each network is trained by ``helixscope train`` as a task of Dask, on one core, and all steps of all
of them are then measured by ``helixscope survey``. Called again, it goes on where it stopped.
STUDY/study.parquet opens in the window; the tables that are printed are those of findings.md.
"""

from __future__ import annotations

import argparse
import itertools
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from geometry.claims.scalar_results import scalar_results
from geometry.history.record import read_history
from geometry.measures.shape import fit_shapes
from geometry.models.sources.computed import model_of_table
from geometry.models.sources.source import Source
from geometry.pca.pca import fit_pca

ROOT = Path(__file__).resolve().parent.parent
TOKENS_A_STEP = 4096
SHOWN = {
    "variance_3": "3 PCs, %", "turning_share": "turning share", "line": "line R²",
    "circle": "circle R²", "arc": "arc, turns", "helix": "helix R²", "spread": "spread",
    "norm_mean": "norm", "high_frequency_rows": "roughness of rows, %",
}  # fmt: skip
"""Columns of the tables: R² of the fitted curves, the turns of the circle, and the root mean square
distance of the rows from their mean."""
PERCENT = ("variance_3", "high_frequency_rows")
FORMED = 0.8
"""Share of the variance in three components from which on a curve counts as formed."""


@dataclass(frozen=True, order=True)
class Run:
    """A network of the study."""

    length: int
    decay: float
    seed: int

    @property
    def name(self) -> str:
        """Its folder; what a survey reads its seed from."""
        return f"length-{self.length}-decay-{self.decay:g}-x{self.seed}"


def main() -> None:
    """Train, measure, and print the tables."""
    asked = _arguments()
    runs = [
        Run(length, decay, seed)
        for seed, length, decay in itertools.product(
            range(asked.seeds), asked.lengths, asked.decays
        )
    ]
    asked.out.mkdir(parents=True, exist_ok=True)
    _train(runs, asked)
    survey = asked.out / "study.parquet"
    _helixscope("survey", str(asked.out), "--out", str(survey), "--components", "3")
    tables = [*_tables(runs, _measure(asked.out, runs)), "", *_beginnings(runs, survey), ""]
    sys.stdout.write("\n".join(tables))


def _arguments() -> argparse.Namespace:
    made = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    made.add_argument("--corpus", type=Path, required=True)
    made.add_argument("--out", type=Path, required=True)
    made.add_argument("--tokens", type=int, default=6_000_000)
    made.add_argument("--lengths", type=int, nargs="+", default=[16, 64, 128, 256])
    made.add_argument("--decays", type=float, nargs="+", default=[0.0, 0.3, 1.0])
    made.add_argument("--seeds", type=int, default=5)
    made.add_argument("--workers", type=int, default=os.cpu_count())
    made.add_argument("--scheduler", help="of a cluster; processes of this machine if left out")
    return made.parse_args()


# ---- training --------------------------------------------------------------------------------


def _train(runs: Sequence[Run], asked: argparse.Namespace) -> None:
    """Train what is not trained yet, one network on each core."""
    from distributed import Client, LocalCluster, as_completed

    wanted = [run for run in runs if not (asked.out / run.name / "training.json").is_file()]
    if not wanted:
        return
    address = asked.scheduler or LocalCluster(
        n_workers=asked.workers, threads_per_worker=1, dashboard_address=None
    )
    with Client(address) as client:
        tasks = client.map(
            train_one, wanted, corpus=asked.corpus.resolve(), out=asked.out.resolve(),
            tokens=asked.tokens, pure=False,
        )  # fmt: skip
        for done, (_, name) in enumerate(as_completed(tasks, with_results=True), start=1):
            sys.stderr.write(f"{done} of {len(wanted)}: {name}\n")


def train_one(run: Run, *, corpus: Path, out: Path, tokens: int) -> str:
    """Train one network, on one core."""
    if hasattr(os, "sched_setaffinity"):  # the trainer uses all cores that it may
        from distributed import get_worker

        cores = sorted(os.sched_getaffinity(os.getppid()))
        os.sched_setaffinity(0, {cores[int(get_worker().name) % len(cores)]})
    _helixscope(
        "train", "--corpus", str(corpus), "--out", str(out / run.name),
        "--positions", str(run.length), "--batch", str(TOKENS_A_STEP // run.length),
        "--tokens", str(tokens), "--weight-decay", str(run.decay), "--seed", str(run.seed),
        "--layers", "1", "--heads", "4", "--width", "64", "--vocabulary", "257",
    )  # fmt: skip
    return run.name


def _helixscope(*arguments: str) -> None:
    command = [sys.executable, str(ROOT / "main.py"), *arguments]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


# ---- tables ----------------------------------------------------------------------------------


def _measure(out: Path, runs: Sequence[Run]) -> dict[str, np.ndarray]:
    """Measure the trained tables from position 1 to the last but one, which no loss reaches."""
    found: dict[str, list[Any]] = {name: [] for name in (*SHOWN, "verdict")}
    for run in runs:
        history = read_history(out / run.name / "history.safetensors")
        table = history.table(history.n_snapshots - 1).astype(np.float64)
        positions = 1, len(table) - 2
        model = model_of_table("learned", table, source=Source.parse(run.name), name=run.name)
        rows = table[positions[0] : positions[1] + 1]
        numbers = {one.quantity.key: one.value for one in scalar_results(model, positions)}
        fits = fit_shapes(fit_pca(table, positions, 3).project(rows)[:, :3]).fits
        numbers |= {"line": fits["line"].r2, "circle": fits["circle"].r2, "helix": fits["helix"].r2}
        numbers |= {"arc": fits["circle"].turns}
        numbers["spread"] = float(np.sqrt(np.square(rows - rows.mean(axis=0)).sum(axis=1).mean()))
        for name, values in found.items():
            values.append(numbers[name])
    return {name: np.array(values) for name, values in found.items()}


def _tables(runs: Sequence[Run], finals: dict[str, np.ndarray]) -> Iterator[str]:
    """Yield Markdown: means with 95 % intervals, and how much of a number each factor explains."""
    lengths, decays, seeds = (np.array([getattr(r, n) for r in runs]) for n in
                              ("length", "decay", "seed"))  # fmt: skip
    yield f"| windows, decay | curves | {' | '.join(SHOWN.values())} |"
    yield "|---" * (len(SHOWN) + 2) + "|"
    for length, decay in itertools.product(np.unique(lengths), np.unique(decays)):
        here = (lengths == length) & (decays == decay)
        verdicts, counts = np.unique(finals["verdict"][here].astype(str), return_counts=True)
        curves = ", ".join(f"{n} {v}" for n, v in sorted(zip(counts, verdicts, strict=True))[::-1])
        cells = [_interval(finals[name][here], percent=name in PERCENT) for name in SHOWN]
        yield f"| {length}, {decay:g} | {curves} | {' | '.join(cells)} |"
    yield ""
    yield f"| share of the variance | {' | '.join(SHOWN.values())} |"
    yield "|---" * (len(SHOWN) + 1) + "|"
    factors = {"window length": lengths, "weight decay": decays, "seed": seeds}
    for title, factor in factors.items():
        cells = [_explained(finals[name], factor) for name in SHOWN]
        # Groups differ by chance as well.
        chance = (len(np.unique(factor)) - 1) / max(len(factor) - 1, 1)
        yield f"| {title} (chance: {chance:.2f}) | {' | '.join(cells)} |"


def _beginnings(runs: Sequence[Run], survey: Path) -> Iterator[str]:
    """Yield Markdown: the step at which the curves form, and how it grows with the window."""
    lengths, decays = (np.array([getattr(r, n) for r in runs]) for n in ("length", "decay"))
    steps = _formed(runs, survey)
    yield f"| windows | {' | '.join(f'decay {decay:g}' for decay in np.unique(decays))} |"
    yield "|---" * (len(np.unique(decays)) + 1) + "|"
    for length in np.unique(lengths):
        of = [steps[(lengths == length) & (decays == decay)] for decay in np.unique(decays)]
        yield f"| {length} | {' | '.join(_interval(one, percent=False) for one in of)} |"
    yield ""
    for decay in np.unique(decays):
        own = decays == decay
        yield f"decay {decay:g}: {line_of(lengths[own], steps[own])}"


def line_of(lengths: np.ndarray, steps: np.ndarray) -> str:
    """Return the line through the mean step of each length, and how far it is from them.

    Beside it, exponents of a power of the length between neighbouring lengths: they are equal if
    the step is such a power, and rise to 1 if it is a line with an offset.
    """
    unique = np.unique(lengths)
    means = np.array([steps[lengths == length].mean() for length in unique])
    slope, offset = np.polyfit(unique, means, 1)
    off = np.abs(means - offset - slope * unique).max()
    exponents = np.diff(np.log(means)) / np.diff(np.log(unique))
    listed = ", ".join(f"{exponent:.2f}" for exponent in exponents)
    return (
        f"{offset:.0f} + {slope:.2f} · length, within {off:.0f} steps of each mean; exponents "
        f"between neighbouring lengths: {listed}"
    )


def _formed(runs: Sequence[Run], survey: Path) -> np.ndarray:
    """Return the step after which three components always hold the share :data:`FORMED`."""
    from geometry.survey.read import read_survey

    columns = read_survey(survey).columns
    group, step, share = (columns[name].values for name in ("group", "step", "variance_3"))
    found = []
    for run in runs:
        here = np.flatnonzero((group == run.name) & ~np.isnan(step.astype(float)))
        here = here[np.argsort(step[here].astype(float))]
        at, held = step[here].astype(float), share[here].astype(float)
        last = np.flatnonzero(held < FORMED)[-1]
        logs = np.log(at[last : last + 2])
        found.append(np.exp(np.interp(FORMED, held[last : last + 2], logs)))
    return np.array(found)


def _interval(values: np.ndarray, *, percent: bool) -> str:
    """Return a mean and its 95 % interval by Student's t, over seeds."""
    from scipy import stats

    known = values[~np.isnan(values.astype(float))].astype(float) * (100 if percent else 1)
    if len(known) < 2:
        return "–" if not len(known) else f"{known[0]:.2f}"
    half = stats.t.ppf(0.975, len(known) - 1) * known.std(ddof=1) / np.sqrt(len(known))
    return f"{known.mean():.2f} ± {half:.2f}"


def _explained(values: np.ndarray, factor: np.ndarray, *, resamples: int = 2000) -> str:
    """Return η², the share of the variance between the groups of a factor, with its 95 % interval.

    The interval is of the bootstrap over networks.
    """
    known = ~np.isnan(values.astype(float))
    values, factor = values[known].astype(float), factor[known]
    if len(values) < 3:
        return "–"
    rng = np.random.default_rng(0)
    drawn = [rng.integers(0, len(values), len(values)) for _ in range(resamples)]
    low, high = np.nanpercentile([_share(values[at], factor[at]) for at in drawn], [2.5, 97.5])
    return f"{_share(values, factor):.2f} ({low:.2f}–{high:.2f})"


def _share(values: np.ndarray, factor: np.ndarray) -> float:
    whole = np.square(values - values.mean()).sum()
    between = sum(
        np.square(values[factor == one].mean() - values.mean()) * (factor == one).sum()
        for one in np.unique(factor)
    )
    return float(between / whole) if whole > 0 else float("nan")


if __name__ == "__main__":
    main()
