"""Measure how often a continuation by a rigid motion makes a helix of a random curve.

Random smooth curves of 110 rows in three dimensions are continued to 254 rows as the trainer
continues a limited table, without any training. Run as ``python -m tools.study_continuation``; it
prints the table of the bundled model's page.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated

import numpy as np
import typer

from geometry.evidence.turning_share import turning_share
from geometry.pca.components import Array
from geometry.training.position_rows import continued

ROWS, ADDED, DIMENSIONS = 110, 144, 3
"""Of the bundled model: free rows without the first, continued ones without the last."""

Family = Callable[[np.random.Generator], Array]


def process(length: float, roughness: float = 2.0) -> Family:
    """Return a Gaussian process with the kernel exp(−|t/length|^roughness / 2)."""
    t = np.linspace(0.0, 1.0, ROWS)
    kernel = np.exp(-(np.abs((t[:, None] - t) / length) ** roughness) / 2)
    factor = np.linalg.cholesky(kernel + 1e-8 * np.eye(ROWS))
    return lambda random: np.asarray(factor @ random.standard_normal((ROWS, DIMENSIONS)))


def spline(knots: int) -> Family:
    """Return a cubic spline through independent points."""

    def draw(random: np.random.Generator) -> Array:
        from scipy.interpolate import CubicSpline

        points = random.standard_normal((knots, DIMENSIONS))
        curve = CubicSpline(np.linspace(0, 1, knots), points)(np.linspace(0, 1, ROWS))
        return np.asarray(curve)

    return draw


def cosines(count: int) -> Family:
    """Return a sum of cosine series of as many terms, all equally strong."""
    t = (np.arange(ROWS) + 0.5) / ROWS
    waves = np.cos(np.pi * np.outer(t, np.arange(1, count + 1)))
    return lambda random: np.asarray(waves @ random.standard_normal((count, DIMENSIONS)))


FAMILIES: Mapping[str, Family] = {
    "Gaussian process, length 0.15 of the range": process(0.15),
    "Gaussian process, length 0.25": process(0.25),
    "Gaussian process, length 0.4": process(0.4),
    "cubic spline of 5 knots": spline(5),
    "cubic spline of 7 knots": spline(7),
    "cosine series of 4 terms": cosines(4),
    "cosine series of 6 terms": cosines(6),
}


def counts(family: Family, curves: int, seed: int = 0) -> tuple[int, int, int]:
    """Return how many curves are remarkable before and after, and how many then are helices."""
    random = np.random.default_rng(seed)
    before = after = helices = 0
    for _ in range(curves):
        curve = family(random)
        grown = turning_share(np.concatenate([curve, continued(curve, ADDED)]))
        before += bool(turning_share(curve).remarkable)
        after += bool(grown.remarkable)
        helices += grown.kind == "helix"
    return before, after, helices


def main(curves: Annotated[int, typer.Option(min=1, help="Curves of each kind.")] = 200) -> None:
    """Print the shares of remarkable curves."""
    typer.echo(f"| random curve | remarkable, {ROWS} rows | {ROWS + ADDED} rows | a helix |")
    typer.echo("|---|---|---|---|")
    for name, family in FAMILIES.items():
        shares = " | ".join(f"{count / curves:.0%}" for count in counts(family, curves))
        typer.echo(f"| {name} | {shares} |")


if __name__ == "__main__":
    typer.run(main)
