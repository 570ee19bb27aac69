"""How often the shape rule is wrong: curves that hold nothing, and helices.

    python -m tests.geometry.evidence.rates --draws 40

prints the table of `resources/guide/evidence.md`. Lengths are in rows, of 1,022.
"""

import argparse
import sys
from collections.abc import Callable, Iterator
from functools import lru_cache

import numpy as np

from geometry.evidence.turning_share import turning_share
from geometry.pca.components import Array

ROWS = 1022
LENGTHS = (60, 100, 150, 200, 250)
WIDTHS = (100, 768)
TURNS = (1.5, 2, 3, 5, 10, 20, 30)

Draw = Callable[[np.random.Generator, int], Array]


@lru_cache(maxsize=2)
def _factor(name: str, length: float) -> Array:
    apart = np.abs(np.subtract.outer(np.arange(ROWS), np.arange(ROWS))) / length
    if name == "squared-exponential":
        kernel = np.exp(-0.5 * apart**2)
    elif name == "Matérn-1/2":
        kernel = np.exp(-apart)
    elif name == "Matérn-3/2":
        kernel = (1 + np.sqrt(3) * apart) * np.exp(-np.sqrt(3) * apart)
    else:
        kernel = (1 + np.sqrt(5) * apart + 5 / 3 * apart**2) * np.exp(-np.sqrt(5) * apart)
    values, vectors = np.linalg.eigh(kernel)
    used = values > 1e-10 * values[-1]
    found: Array = vectors[:, used] * np.sqrt(values[used])
    return found


def process(name: str, length: float) -> Draw:
    """Return a draw of independent columns of a Gaussian process."""

    def draw(rng: np.random.Generator, d: int) -> Array:
        factor = _factor(name, length)
        return factor @ rng.standard_normal((factor.shape[1], d))

    return draw


def walk(rng: np.random.Generator, d: int) -> Array:
    """Draw a random walk."""
    return np.cumsum(rng.standard_normal((ROWS, d)), axis=0)


def helix(turns: float, noise: float) -> Draw:
    """Return a draw of a helix of radius 1 in a random frame, with noise of a norm in each row.

    It climbs by 0.3 to 2 radii, in all.
    """

    def draw(rng: np.random.Generator, d: int) -> Array:
        frame = np.linalg.qr(rng.standard_normal((d, 3)))[0]
        angle = np.linspace(0, 2 * np.pi * turns, ROWS) + rng.uniform(0, 2 * np.pi)
        climb = np.linspace(0, rng.uniform(0.3, 2.0), ROWS)
        curve = np.stack([np.cos(angle), np.sin(angle), climb], axis=1)
        return curve @ frame.T + noise / np.sqrt(d) * rng.standard_normal((ROWS, d))

    return draw


def families() -> Iterator[tuple[str, Draw, bool]]:
    """Yield what is drawn, and whether it is a helix."""
    for name in ("squared-exponential", "Matérn-5/2", "Matérn-3/2", "Matérn-1/2"):
        for length in LENGTHS:
            yield f"{name}, length {length}", process(name, length), False
    yield "random walk", walk, False
    for turns in TURNS:
        for noise in (0.0, 0.2):
            yield f"helix of {turns:g} turns, noise {noise:g}", helix(turns, noise), True


def rate(draw: Draw, d: int, draws: int, seed: int = 0) -> float:
    """Return the share of tables that the rule calls remarkable, and helices if that."""
    found = 0
    for number in range(draws):
        one = turning_share(draw(np.random.default_rng((seed, number)), d))
        found += bool(one.remarkable)
    return found / draws


def run(arguments: list[str] | None = None) -> int:
    """Print the rates as a table; return 1 if one is not what is promised."""
    made = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    made.add_argument("--draws", type=int, default=40)
    made.add_argument("--seed", type=int, default=0)
    given = made.parse_args(arguments)
    failed = False
    sys.stdout.write("| tables | called remarkable, of 100 columns | of 768 |\n|---|---|---|\n")
    for name, draw, is_helix in families():
        rates = [rate(draw, d, given.draws, given.seed) for d in WIDTHS]
        shown = " | ".join(f"{one:.1%}" for one in rates)
        sys.stdout.write(f"| {name} | {shown} |\n")
        sys.stdout.flush()
        failed |= min(rates) < 0.95 if is_helix else max(rates) > 0.05
    return int(failed)


if __name__ == "__main__":
    sys.exit(run())
