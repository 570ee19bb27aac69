"""Measure how often the intervals of one table contain the true values: helices with known noise.

Run as ``python -m tools.study_intervals --tables 100``; it prints the table of the guide's page on
evidence. The true turns and radius are those of the helix; the true B and R² are the means over all
tables of a row, as they are expected with that noise.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import typer

from geometry.evidence.bootstrap import Intervals, intervals
from geometry.evidence.turning_share import turning_share
from geometry.measures.shape import fit_shapes
from geometry.pca.components import Array
from geometry.pca.pca import fit_pca

NAMES = ("turns", "radius", "b", "r2")


@dataclass(frozen=True)
class Case:
    """A helix of radius 1 that climbs as far as it is wide, and the noise of its rows.

    Attributes
    ----------
    rows, columns
        Of the table.
    turns
        Of the helix.
    correlation
        Of the noise of neighbouring rows.
    noise
        Root mean square norm of a row's noise, in radii.
    kind
        "AR(1)"; "AR(1) + white", half of the variance each; "smooth", an autoregression of second
        order; "unequal", AR(1) whose variance falls as the inverse of the column's number.
    """

    rows: int
    columns: int
    turns: float
    correlation: float
    noise: float
    kind: str = "AR(1)"

    def draw(self, random: np.random.Generator) -> Array:
        """Draw a table."""
        t = np.linspace(-0.5, 0.5, self.rows)
        around = 2 * np.pi * self.turns * t
        climb = t * np.sqrt(12) / np.sqrt(2)  # its variance is that of the cosine
        frame = np.linalg.qr(random.standard_normal((self.columns, 3)))[0]
        helix = np.stack([np.cos(around), np.sin(around), climb], axis=1) @ frame.T
        return helix + self.noise / np.sqrt(self.columns) * self._noise(random)

    def _noise(self, random: np.random.Generator) -> Array:
        from scipy.signal import lfilter

        rho, size = self.correlation, (self.rows, self.columns)
        before = 20 * round(1 / (1 - rho))
        white = random.standard_normal((self.rows + before, self.columns))
        if self.kind == "smooth":
            strength = (1 - rho**2) ** 1.5 / np.sqrt(1 + rho**2)
            noise: Array = lfilter([strength], [1, -2 * rho, rho**2], white, axis=0)[before:]
            return noise
        noise = lfilter([np.sqrt(1 - rho**2)], [1, -rho], white, axis=0)[before:]
        if self.kind == "AR(1) + white":
            return (noise + random.standard_normal(size)) / np.sqrt(2)
        if self.kind == "unequal":
            weights = 1 / np.sqrt(np.arange(1, self.columns + 1))
            return noise * weights * np.sqrt(self.columns / np.square(weights).sum())
        return noise


CASES = (
    Case(128, 64, 2, 0.0, 0.4),
    Case(128, 64, 2, 0.9, 0.3),
    Case(256, 128, 2, 0.5, 0.5),
    Case(256, 128, 2, 0.9, 0.3),
    Case(256, 128, 4, 0.9, 0.3),
    Case(256, 128, 2, 0.9, 0.5, "AR(1) + white"),
    Case(256, 128, 2, 0.9, 0.3, "smooth"),
    Case(256, 128, 2, 0.9, 0.3, "unequal"),
    Case(256, 128, 2, 0.98, 0.3),
    Case(512, 64, 2, 0.98, 0.3),
    Case(1023, 768, 1.8, 0.9, 0.3),
    Case(1023, 768, 1.8, 0.99, 0.3),
)


def measured(table: Array, seed: int) -> tuple[tuple[float, ...], Intervals]:
    """Return the turns, radius, B and R² of a table's best helix, and their intervals."""
    points = fit_pca(table, (0, len(table) - 1), 3).project(table)
    evidence = turning_share(table)
    helix = fit_shapes(points, evidence).fits["helix"]
    found = intervals(table, evidence, helix, seed=seed)
    assert found is not None
    return (helix.turns, helix.radius, evidence.b, helix.r2), found


def coverage(case: Case, tables: int, seed: int = 0) -> tuple[Array, Array]:
    """Return the coverage of each interval, and its median width.

    The width is relative to that of the values' own distribution, 3.92 standard deviations.
    """
    random = np.random.default_rng(seed)
    found = [measured(case.draw(random), number) for number in range(tables)]
    values = np.array([one[0] for one in found])
    ends = np.array([[getattr(one[1], name) for name in NAMES] for one in found])
    true = np.array([case.turns, 1.0, *values[:, 2:].mean(axis=0)])
    covered = ((ends[..., 0] <= true) & (true <= ends[..., 1])).mean(axis=0)
    width = np.median(np.ptp(ends, axis=-1), axis=0) / (3.92 * values.std(axis=0))
    return covered, width


def lines(tables: int, cases: Sequence[Case] = CASES) -> Iterator[str]:
    """Yield the lines of the guide's table."""
    yield "| rows × columns | turns | noise | turns | radius | B | R² |"
    yield "|---|---|---|---|---|---|---|"
    for case in cases:
        covered, width = coverage(case, tables)
        noise = f"{case.kind}, {case.correlation:g}, {case.noise:g}"
        cells = (f"{share:.0%} ({wide:.1f})" for share, wide in zip(covered, width, strict=True))
        start = f"| {case.rows} × {case.columns} | {case.turns:g} | {noise} |"
        yield f"{start} {' | '.join(cells)} |"


def main(tables: Annotated[int, typer.Option(min=2, help="Tables of each row.")] = 100) -> None:
    """Print the coverage of intervals of 95 %."""
    for line in lines(tables):
        typer.echo(line)


if __name__ == "__main__":
    typer.run(main)
