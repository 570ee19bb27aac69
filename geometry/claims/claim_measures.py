"""The measures of the ledger's claims."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np

from geometry.checkpoints.errors import HelixscopeError
from geometry.claims.measurements import Measurements
from geometry.evidence.turning_share import FEWEST_TURNS
from geometry.history.here import history_here, of_one_version
from geometry.history.last_position import LastPosition, last_position
from geometry.measures.shape_fit import HELICES, ShapeFit
from geometry.measures.single_dimensions import best_sinusoids
from geometry.models.residual_stream import Name
from geometry.pca.components import PositionPCA, row_norms
from geometry.pca.pca import fit_pca

BLOCK_ROWS = 1024
"""Rows compared with all others at a time."""


class CannotTell(HelixscopeError):
    """The model lacks what a claim is about."""


def _span(measured: Measurements, first: int, last: int) -> tuple[int, int]:
    """Return a range of the table; negative positions count from the end."""
    n = measured.model.n_positions
    first, last = first + n * (first < 0), last + n * (last < 0)
    if not 0 <= first <= last < n or last - first < 3:
        raise CannotTell(f"this table has only {n} positions")
    return first, last


def top3(measured: Measurements, first: int, last: int) -> float:
    """Variance share of three components of a range."""
    return float(_three(measured, first, last).explained_variance_ratio.sum())


def _three(measured: Measurements, first: int, last: int) -> PositionPCA:
    """Fit three components to a range, computed once for all claims."""
    P, span = measured.model.W_pos, _span(measured, first, last)
    return measured.of_model.once(("three components", span), lambda: fit_pca(P, span, 3))


def smallest_distance(measured: Measurements) -> float:
    """Smallest distance between two rows."""
    P = measured.model.W_pos
    if len(P) < 2:
        raise CannotTell("this table has only one position")
    squares = np.einsum("ij,ij->i", P, P)
    least, pair = np.inf, (0, 0)
    for start in range(0, len(P), BLOCK_ROWS):
        block = P[start : start + BLOCK_ROWS]
        # Rows after the block's first one; earlier ones have been compared already.
        apart = (
            squares[start : start + len(block), None] + squares[start:] - 2 * block @ P[start:].T
        )
        np.fill_diagonal(apart, np.inf)
        i, j = np.unravel_index(int(apart.argmin()), apart.shape)
        if apart[i, j] < least:
            least, pair = apart[i, j], (start + int(i), start + int(j))
    # For nearly equal rows the difference of squares is all rounding, so compute their own.
    return float(np.linalg.norm(P[pair[0]] - P[pair[1]]))


def hand_made_line(measured: Measurements) -> float:
    """Variance share of the first component of a table with the position in one entry."""
    # One constant entry stands for all others, which have no variance.
    by_hand = np.zeros((measured.model.n_positions, 2))
    by_hand[:, 0] = np.arange(len(by_hand))
    pca = fit_pca(by_hand, _span(measured, 1, -1), 1)
    return float(pca.explained_variance_ratio[0])


def fit(measured: Measurements, name: Literal["line", "helix"]) -> float:
    """R² of one of the fitted curves."""
    if measured.shapes is None:
        raise CannotTell("too few positions are shown")
    return measured.shapes.fits[name].r2


def turns(measured: Measurements) -> float:
    """Count the turns of the helix; 0 if there is none."""
    helix = _helix(measured)
    return 0.0 if helix is None else helix.turns


def helix_r2(measured: Measurements) -> float:
    """R² of the helix; 0 if there is none."""
    helix = _helix(measured)
    return 0.0 if helix is None else helix.r2


def _helix(measured: Measurements) -> ShapeFit | None:
    """Return the helix that describes the points; None if another curve or none does."""
    shapes = measured.shapes
    if shapes is None or shapes.evidence is None:
        raise CannotTell("too few positions are shown")
    if shapes.evidence.remarkable is None:
        raise CannotTell(f"they make fewer than {FEWEST_TURNS} turns, as any smooth curve may")
    found = shapes.described
    return found if found is not None and found.name in HELICES else None


def is_outlier(position: int) -> Callable[[Measurements], float]:
    """Return a measure that is 1 if a position's norm is an outlier, else 0; −1 is the last one."""

    def measure(measured: Measurements) -> float:
        wanted = position if position >= 0 else measured.model.n_positions + position
        return float(wanted in measured.norms.outliers)

    return measure


def fraying(measured: Measurements) -> float:
    """Median residual of positions up to 20, relative to that from 100 on."""
    first, last = _span(measured, 100, -2)
    start = measured.positions[0]
    early = measured.residual[: max(0, 21 - start)]
    late = measured.residual[max(0, first - start) : last + 1 - start]
    if not len(early) or not len(late):
        raise CannotTell("the shown range lacks the first positions, or those from 100 on")
    return float(np.median(early) / np.median(late))


def truncation(measured: Measurements) -> float:
    """Gain in the variance share of three components without the first 100 positions."""
    return top3(measured, 100, -1) - top3(measured, 1, -1)


def shared_subspace(measured: Measurements) -> float:
    """Shared part of the first three components of 1–99 and of 100 to the last, 0 to 1."""
    early = _three(measured, 1, 99).components
    late = _three(measured, 100, -1).components
    return float(np.square(early @ late.T).sum() / 3)


def steps(measured: Measurements) -> float:
    """Mean step of positions 1–20, relative to that from 100 on."""
    lengths = row_norms(np.diff(measured.model.W_pos, axis=0))
    first, last = _span(measured, 100, -2)
    # The first positions, except 0, whose row is an outlier.
    return float(lengths[1:20].mean() / lengths[first:last].mean())


def sinusoidal_share(measured: Measurements) -> float:
    """Share of the variance explained by one sinusoid per column."""
    variance = measured.rows.var(axis=0)
    return float((measured.sinusoids.r2 * variance).sum() / variance.sum())


def lowest_cosine(measured: Measurements) -> float:
    """Lowest mean cosine by lag, up to three quarters of the range."""
    # The last lags are means of only a few pairs.
    by_lag = measured.by_lag
    return float(by_lag[: max(1, len(by_lag) * 3 // 4)].min())


def similarity_explained(measured: Measurements) -> float:
    """Correlation of the mean cosine by lag before and after projection."""
    raw, projected = (
        by_lag[: len(by_lag) * 3 // 4] for by_lag in (measured.by_lag, measured.by_lag_projected)
    )
    if len(raw) < 3:
        raise CannotTell("too few positions are shown")
    return float(np.corrcoef(raw, projected)[0, 1])


def entries_explained(measured: Measurements) -> float:
    """Median R² of three components for the columns that are like sine waves."""
    waves = measured.sinusoids.r2 >= 0.8
    if not waves.any():
        raise CannotTell("no entry is like a sine wave")
    return float(np.median(measured.projected_r2[waves]))


def early_variation(measured: Measurements) -> float:
    """Coefficient of variation of the earlier norms, relative to that of the later."""
    first, last = _span(measured, measured.norms.after, -2)
    values = measured.norms.values
    early, late = values[1:first], values[first : last + 1]
    if len(early) < 2:
        raise CannotTell("the stretch of stable norms begins with the table")
    return float((early.std() / early.mean()) / (late.std() / late.mean()))


def error(which: Literal["orthogonal", "constant_norm"]) -> Callable[[Measurements], float]:
    """Return a measure of the median relative error of an approximation of LayerNorm."""
    return lambda measured: float(np.median(getattr(measured.layernorm, which)))


def captured(first: float, last: float) -> Callable[[Measurements], float]:
    """Mean capture of a part of E's directions (shares of their number), over chance."""

    def measure(measured: Measurements) -> float:
        values = measured.capture
        part = values[int(first * len(values)) : max(int(last * len(values)), 1)]
        return float(part.mean() / measured.capture_chance)

    return measure


def corner(
    rows: Name, columns: Name, which: Literal["TL", "TR", "BL", "BR"]
) -> Callable[[Measurements], float]:
    """Return a measure of a corner of squared overlaps, relative to chance."""
    return lambda measured: float(getattr(measured.contrast(rows, columns), which))


def top3_overlap(rows: Name, columns: Name) -> Callable[[Measurements], float]:
    """Return a measure of the overlap of the first three directions, without folding the gain."""
    return lambda measured: measured.top3(rows, columns, fold_ln=False)


def folded_share(measured: Measurements) -> float:
    """Overlap of queries with P's top directions with the gain folded in, relative to without."""
    raw, folded = (measured.top3("W_Q", "P", fold_ln=fold) for fold in (False, True))
    # numpy gives NaN for 0/0, where Python's division would raise.
    return float(np.divide(folded, raw))


def heaviest(measured: Measurements) -> float:
    """Mass of the 40 largest entries, mean of P's first three directions."""
    return float(np.mean(measured.sparsity.mass_top40[:3]))


def union(measured: Measurements) -> float:
    """Share of entries above 0.1 in any of P's leading directions."""
    return float(len(measured.sparsity.above_0_1_union) / measured.model.d_model)


def tokens_there(measured: Measurements) -> float:
    """E's energy in those entries, over that in an average one."""
    columns = measured.sparsity.above_0_1_union
    if not len(columns):
        raise CannotTell("no entry of P's leading directions is above 0.1")
    E = measured.model.W_E
    if E.shape[1] != measured.model.d_model:
        raise CannotTell("tokens and positions are of different size")
    squares = np.einsum("ij,ij->j", E, E, dtype=np.float64)
    return float(squares[columns].mean() / squares.mean())


def last_departure(measured: Measurements) -> float:
    """Largest share of the last position's row, over training, that is not its decayed beginning.

    For a model on the Hub, from its cached checkpoints.
    """
    model = measured.model

    def follow() -> LastPosition:
        return of_one_version(lambda: history_here(model), last_position)

    riddle = measured.of_model.once("last position", follow)
    if riddle.supports is None:
        raise CannotTell(riddle.why)
    return riddle.departure


def context_waves(measured: Measurements) -> float:
    """Mean R² of a sinusoid for P's leading directions over position."""
    vectors = measured.contexts.vectors.T
    found = best_sinusoids(vectors, _span(measured, 1, -2))
    return float(found.r2.mean())
