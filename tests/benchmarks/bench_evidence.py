"""Null distributions: their time for a table of GPT-2's size.

The time is that of all that a verdict needs together, as milliseconds on one core, against one
exact PCA of the table. Error rates are measured by ``python -m tools.evidence_rates``.
"""

import numpy as np
from ratios import Report, interleave

from geometry.evidence.drawn_tables import drawn_tables
from geometry.evidence.turning_nulls import rule_nulls, turning_nulls
from geometry.measures.lookback import look_back
from geometry.measures.similarity import mean_by_lag
from geometry.pca.pca import fit_pca

SIZE = (1022, 768)


def look_back_nulls(rows: np.ndarray) -> None:
    """Draw the R² of all lags to 200 of smooth curves and walks."""
    for kind in ("process", "walk"):
        for table in drawn_tables(rows, kind, 60):
            pca = fit_pca(table, (0, len(table) - 1), 3)
            look_back(pca.project(table), np.arange(1, 201), scoring="halves")


def similarity_nulls(rows: np.ndarray) -> None:
    """Draw the mean cosine by lag of smooth curves and walks."""
    for kind in ("process", "walk"):
        for table in drawn_tables(rows, kind, 100):
            mean_by_lag(table, (0, len(table) - 1))


def main() -> int:
    report = Report("Evidence")
    rng = np.random.default_rng(0)
    t = np.linspace(0, 12, SIZE[0])[:, None]
    rows = np.sin(t + rng.uniform(0, 6, SIZE[1])) + 0.05 * rng.standard_normal(SIZE)
    for name, draw in (
        ("the turning share, nine kinds", lambda: turning_nulls(rows)),
        ("the shape rule, nine kinds", lambda: rule_nulls(rows)),
        ("look back, both kinds of curves", lambda: look_back_nulls(rows)),
        ("similarity, both kinds of curves", lambda: similarity_nulls(rows)),
    ):
        ours, pca = interleave(draw, lambda: fit_pca(rows, (0, len(rows) - 1), 10), repeats=7)
        report.add(f"nulls of {name}, vs an exact PCA", ours, pca)
    return report.close()


if __name__ == "__main__":
    raise SystemExit(main())
