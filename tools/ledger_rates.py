"""Measure how often claims hold for tables without structure.

    python -m tools.ledger_rates --out RATES.jsonl [--tables N] [--seed S]

Checks the ledger on N random tables (200 by default): white noise, autoregressive noise, walks,
smooth and Matérn processes, and heavy-tailed noise, in turn, their sizes and parameters drawn anew.
Called again, it goes on where it stopped. It prints the shares of claims that hold, raw and
corrected, and of those that hold most often; its exit status is 1 if more than 5 % of all
hold, or one of them in more than 10 % of the tables.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from geometry.claims.claims import check_claims
from geometry.claims.measurements import Measurements
from geometry.evidence.null import RARE
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


KINDS: Mapping[str, Callable[[int, int, np.random.Generator], Array]] = {
    "white noise": lambda n, d, rng: rng.standard_normal((n, d)),
    "autoregressive": _autoregressive,
    "walk": lambda n, d, rng: np.cumsum(rng.standard_normal((n, d)), axis=0),
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


def rates(found: Iterable[Mapping[str, Any]]) -> tuple[float, float, dict[str, float]]:
    """Return the share of claims that hold, that would by their raw p, and the tables' by claim."""
    tables, tested, raw, held = 0, 0, 0, Counter[str]()
    for outcomes in found:
        tables += 1
        for claim, (outcome, p, _) in outcomes.items():
            tested += 1
            raw += p <= RARE and outcome in ("holds", "as any smooth curve")
            held[claim] += outcome == "holds"
    by_claim = {claim: count / max(tables, 1) for claim, count in held.most_common()}
    return held.total() / max(tested, 1), raw / max(tested, 1), by_claim


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit status."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--tables", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    lines = options.out.read_text("utf-8").splitlines() if options.out.exists() else []
    found = [json.loads(line) for line in lines]
    for number in range(len(found), options.tables):
        kind, table = noise_table(number, options.seed)
        found.append(outcomes_of(table))
        with options.out.open("a", encoding="utf-8") as file:
            file.write(json.dumps(found[-1]) + "\n")
        sys.stderr.write(f"{number + 1} of {options.tables}: {kind}\n")
    of_all, raw, by_claim = rates(found[: options.tables])
    lines = [f"{len(found)} tables: {of_all:.2%} of claims hold, {raw:.2%} by their raw p-value"]
    lines += [
        f"{claim}: in {share:.1%} of the tables" for claim, share in list(by_claim.items())[:8]
    ]
    sys.stdout.write("\n".join(lines) + "\n")
    return int(of_all > MOST_OF_ALL or max(by_claim.values()) > MOST_OF_ONE)


if __name__ == "__main__":
    raise SystemExit(main())
