"""Measure how often claims hold for tables without structure.

    python -m tools.ledger_rates --out RATES.jsonl [--tables N] [--seed S] [--workers N]

Checks the ledger on N random tables (200 by default): white noise, autoregressive noise of the
first and the second order, walks, smooth and Matérn processes, and heavy-tailed noise, in turn,
their sizes and parameters drawn anew. Called again, it goes on where it stopped. It prints the
shares of claims that hold, raw and corrected, and of tables in which any does, with its interval,
and the claims that hold most often; its exit status is 1 if more than 5 % of all claims hold, or
one of them in more than 10 % of the tables.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from itertools import repeat
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from geometry.claims.claims import check_claims
from geometry.claims.measurements import Measurements
from geometry.evidence.null import RARE, null_of
from geometry.models.sources.computed import model_of_table
from geometry.pca.components import Array

ROWS, COLUMNS = (128, 256, 400), (32, 64, 128)
MOST_OF_ALL, MOST_OF_ONE = 0.05, 0.1
"""Largest share of all claims that may hold, and of tables in which one of them may."""


def _autoregressive(n: int, d: int, rng: np.random.Generator) -> Array:
    from scipy.signal import lfilter

    burn_in = 200
    noise = rng.standard_normal((n + burn_in, d))
    filtered: Array = lfilter([1.0], [1.0, -rng.uniform(0.5, 0.98)], noise, axis=0)
    return filtered[burn_in:]


def _second_order(n: int, d: int, rng: np.random.Generator) -> Array:
    """Draw noise that oscillates at one frequency, with phases and strengths that drift."""
    from scipy.signal import lfilter

    burn_in, radius, angle = 200, rng.uniform(0.8, 0.98), rng.uniform(0.02, 0.5)
    noise = rng.standard_normal((n + burn_in, d))
    poles = [1.0, -2.0 * radius * np.cos(angle), radius**2]
    filtered: Array = lfilter([1.0], poles, noise, axis=0)
    return filtered[burn_in:]


def _smooth(n: int, d: int, rng: np.random.Generator) -> Array:
    lags = _lags(n, rng)
    noise = rng.uniform(0.0, 0.1) * rng.standard_normal((n, d))
    return _process(np.exp(-0.5 * np.square(lags)), d, rng) + noise


def _matern(n: int, d: int, rng: np.random.Generator) -> Array:
    scaled = np.sqrt(3.0) * _lags(n, rng)
    return _process((1.0 + scaled) * np.exp(-scaled), d, rng)


def _lags(n: int, rng: np.random.Generator) -> Array:
    """Return distances of positions, in length scales of 5 to 30 % of the range."""
    lags: Array = np.abs(np.subtract.outer(np.arange(n), np.arange(n))) / rng.uniform(0.05, 0.3) / n
    return lags


def _process(kernel: Array, d: int, rng: np.random.Generator) -> Array:
    factor: Array = np.linalg.cholesky(kernel + 1e-8 * np.eye(len(kernel)))
    return factor @ rng.standard_normal((len(kernel), d))


def _walk(n: int, d: int, rng: np.random.Generator) -> Array:
    walk: Array = np.cumsum(rng.standard_normal((n, d)), axis=0)
    return walk


KINDS: Mapping[str, Callable[[int, int, np.random.Generator], Array]] = {
    "white noise": lambda n, d, rng: rng.standard_normal((n, d)),
    "autoregressive": _autoregressive,
    "autoregressive of order 2": _second_order,
    "walk": _walk,
    "smooth": _smooth,
    "matern": _matern,
    "heavy tails": lambda n, d, rng: rng.standard_t(4, (n, d)),
}


def noise_table(number: int, seed: int = 0) -> tuple[str, Array]:
    """Draw a table without structure, and a mean row; returns its kind as well."""
    rng = np.random.default_rng((seed, number))
    kind = tuple(KINDS)[number % len(KINDS)]
    n, d = int(rng.choice(ROWS)), int(rng.choice(COLUMNS))
    return kind, KINDS[kind](n, d, rng) + rng.uniform() * rng.standard_normal(d)


def outcomes_of(table: Array) -> dict[str, tuple[str, float, float]]:
    """Check the ledger on a table: outcome, p, corrected p of each claim with random tables."""
    verdicts = check_claims(Measurements(model_of_table("noise", table)))
    return {
        one.claim.id: (str(one.outcome), one.p, one.p_adjusted)
        for one in verdicts
        if one.p is not None and one.p_adjusted is not None
    }


@dataclass(frozen=True, slots=True)
class Rates:
    """How often claims hold for random tables.

    Attributes
    ----------
    tables
        Number of tables.
    of_all
        Share of all claims with random tables that hold.
    raw
        The same by their p-values without correction.
    worse
        Share with the outcome "worse than any such curve".
    any_holds
        Number of tables in which any claim holds.
    by_claim
        Share of tables in which each claim holds, decreasing.
    """

    tables: int
    of_all: float
    raw: float
    worse: float
    any_holds: int
    by_claim: Mapping[str, float]

    def lines(self) -> list[str]:
        """Return the rates as text."""
        counted = null_of("", "", np.arange(self.tables) < self.any_holds)
        low, high = counted.interval_from(1.0)
        return [
            f"{self.tables} tables: {self.of_all:.2%} of claims hold, {self.raw:.2%} by their raw "
            f"p-value; {self.worse:.2%} are worse than any such curve",
            f"in {self.any_holds} of the tables any claim holds: {self.any_holds / self.tables:.1%}"
            f" ({low:.1%} to {high:.1%})",
            *(
                f"{claim}: in {share:.1%} of the tables"
                for claim, share in list(self.by_claim.items())[:8]
            ),
        ]


def rates(results: Iterable[Mapping[str, Any]]) -> Rates:
    """Count the outcomes of some tables, at least one."""
    tables, tested, raw, worse, any_holds, held = 0, 0, 0, 0, 0, Counter[str]()
    for outcomes in results:
        holding = [claim for claim, (outcome, *_) in outcomes.items() if outcome == "holds"]
        tables, any_holds, tested = tables + 1, any_holds + bool(holding), tested + len(outcomes)
        held.update(holding)
        for outcome, p, _ in outcomes.values():
            raw += p <= RARE and outcome in ("holds", "as any smooth curve")
            worse += outcome == "worse than any such curve"
    by_claim = {claim: count / tables for claim, count in held.most_common()}
    of = max(tested, 1)
    return Rates(tables, held.total() / of, raw / of, worse / of, any_holds, by_claim)


def _one(number: int, seed: int) -> dict[str, Any]:
    kind, table = noise_table(number, seed)
    return {"number": number, "seed": seed, "kind": kind, "outcomes": outcomes_of(table)}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit status."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--tables", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=1)
    options = parser.parse_args(arguments)
    results: dict[int, Any] = {}
    for line in options.out.read_text("utf-8").splitlines() if options.out.exists() else ():
        with suppress(json.JSONDecodeError):  # cut off when it was stopped
            entry = json.loads(line)
            if entry["seed"] == options.seed and entry["number"] < options.tables:
                results[entry["number"]] = entry["outcomes"]
    left = [number for number in range(options.tables) if number not in results]
    with (
        ProcessPoolExecutor(options.workers, mp_context=get_context("spawn")) as pool,
        options.out.open("a", encoding="utf-8") as file,
    ):
        for entry in pool.map(_one, left, repeat(options.seed)):
            results[entry["number"]] = entry["outcomes"]
            file.write(json.dumps(entry) + "\n")
            file.flush()
            sys.stderr.write(f"{len(results)} of {options.tables}: {entry['kind']}\n")
    rated = rates(results.values())
    sys.stdout.write("\n".join(rated.lines()) + "\n")
    most = max(rated.by_claim.values(), default=0.0)
    return int(rated.of_all > MOST_OF_ALL or most > MOST_OF_ONE)


if __name__ == "__main__":
    raise SystemExit(main())
