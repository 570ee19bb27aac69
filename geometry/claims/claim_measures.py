"""The measures of the ledger's claims about rows and norms."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from geometry.claims.claim import CannotTell, ModelClaim, NotApplicable, check_positions, too_few
from geometry.claims.measurements import LEADING, Measurements
from geometry.evidence.drawn_tables import noise_and_half_lag
from geometry.evidence.null import Null, null_of
from geometry.evidence.turning_pairs import MIN_TURNS
from geometry.history.here import history_here, of_one_version
from geometry.history.history import History
from geometry.history.last_position import LastPosition, follow, last_position
from geometry.measures.norms import NormProfile
from geometry.measures.shape_fit import HELICES, ShapeFit
from geometry.measures.similarity import largest_rise
from geometry.measures.single_dimensions import SINUSOID, Sinusoids, best_sinusoids
from geometry.measures.spectra import TOP, Spectrum
from geometry.pca.components import Array, PositionPCA, about_mean, row_norms, unit_rows
from geometry.pca.curve import why_fewer
from geometry.pca.norm_rule import outlyingness_at_ends
from geometry.pca.pca import fit_pca
from geometry.pca.unit import in_unit

ROUNDING = 1e-6
"""A share of variance below this is rounding."""
MIN_CYCLES = 0.55
"""A sinusoid of fewer cycles is at the edge of the search, which starts at half a cycle."""
APART = 0.25
"""Frequencies that differ by less, in cycles over the table, are the same."""
CHORDS = 64
LEADING_COLUMNS = 12
"""Directions in which the nearest row is looked for."""
MAX_ASKED = 4096
"""Rows whose nearest row is looked for, evenly spread: in noise it takes a millisecond each."""
OTHER_ROWS = 199
"""Rows that are followed beside the last position's, at most."""
AFTER = 100
"""The position from which the articles call norms stable."""


def _span(measured: Measurements, first: int, last: int) -> tuple[int, int]:
    """Return a range of the table; negative positions count from the end of the trained rows."""
    n, usual = measured.model.n_positions, measured.model.usual_positions[1]
    first, last = first + n * (first < 0), min(last + n, usual) if last < 0 else last
    if not 0 <= first <= last < n or last - first < 3:
        raise CannotTell(f"this table has only {n} positions")
    return first, last


def top3(measured: Measurements, first: int, last: int) -> float:
    """Variance share of three components of a range."""
    found = _three(measured, first, last)
    if found.rank < 3:
        raise CannotTell(why_fewer(found))
    return float(found.explained_variance_ratio.sum())


def _three(measured: Measurements, first: int, last: int) -> PositionPCA:
    """Fit three components to a range, computed once for all claims."""
    P, span = measured.model.W_pos, _span(measured, first, last)
    if measured.n_components == 3 and span == measured.shown:
        return measured.pca
    return measured.once(("three components", span), lambda: fit_pca(P, span, 3, alone=True))


def beside_a_line(measured: Measurements) -> float:
    """Share of what the best straight line leaves of the rows that two components hold."""
    from scipy.linalg import eigvalsh  # slow to import

    rows, _ = in_unit(measured.rows)
    if len(rows) < 4 or measured.pca.rank < 3:
        raise too_few(measured)
    left = about_mean(rows)
    whole = float(np.vdot(left, left))
    s = np.arange(len(rows)) - (len(rows) - 1) / 2
    left -= s[:, None] * (s @ left / (s @ s))
    total = float(np.vdot(left, left))
    if total < 1e-12 * whole:
        return 0.0  # a line leaves nothing
    gram = left.T @ left if left.shape[1] < len(left) else left @ left.T
    two = [len(gram) - 2, len(gram) - 1]
    leading = eigvalsh(gram, subset_by_index=two, check_finite=False, driver="evx")
    return float(leading.sum()) / total


def turning(measured: Measurements) -> float:
    """Share of the variance in one even turning, scaled, over what the rule asks."""
    evidence = measured.evidence
    if evidence is None:
        raise too_few(measured)
    if evidence.remarkable is None:
        raise CannotTell(f"they make fewer than {MIN_TURNS} turns, as any smooth curve may")
    if evidence.kind == "circle":
        raise NotApplicable("they turn in a plane, as on a circle, and do not climb")
    return evidence.strength


def needs_helix(measured: Measurements) -> ShapeFit:
    """Return the helix that describes the points.

    Raises
    ------
    CannotTell
        There are too few positions, columns or turns.
    NotApplicable
        Another curve describes the points, or none does.
    """
    shapes = measured.shapes
    if shapes is None or shapes.evidence is None:
        raise too_few(measured)
    found = shapes.described
    if found is not None and found.name in HELICES:
        return found
    if shapes.evidence.remarkable is None and shapes.best == "none":
        raise CannotTell(f"they make fewer than {MIN_TURNS} turns, as any smooth curve may")
    raise NotApplicable("no helix describes these positions")


def how_far_out(measured: Measurements, position: int) -> float:
    """How far a norm is out, over the bound of the rule; −1 is the last one."""
    if measured.model.n_positions < 9:
        raise CannotTell(f"this table has only {measured.model.n_positions} positions")
    model = measured.model
    return measured.once("outlyingness", lambda: outlyingness_at_ends(model.W_pos))[position]


def fraying(measured: Measurements) -> float:
    """Median residual of positions up to 20, relative to that from 100 on."""
    first, last = _span(measured, 100, -2)
    start = measured.positions[0]
    early = measured.residual[: max(0, 21 - start)]
    late = measured.residual[max(0, first - start) : last + 1 - start]
    if not len(early) or not len(late):
        raise CannotTell("the shown range lacks the first positions or those from 100 on")
    return float(np.median(early) / np.median(late))


def truncation(measured: Measurements) -> float:
    """Gain in the variance share of three components without the first 100 positions."""
    return top3(measured, 100, -1) - top3(measured, 1, -1)


def shared_subspace(measured: Measurements) -> float:
    """Shared part of the first three components of 1–99 and of 100 to the last, 0 to 1."""
    early, late = _three(measured, 1, 99), _three(measured, 100, -1)
    for found in (early, late):
        if found.rank < 3 or found.explained_variance_ratio[2] < ROUNDING:
            raise NotApplicable("these positions do not have three components")
    return float(np.square(early.components @ late.components.T).sum() / 3)


def steps(measured: Measurements) -> float:
    """Mean step of positions 1–20, relative to that from 100 on."""
    lengths = row_norms(np.diff(in_unit(measured.model.W_pos)[0], axis=0))
    first, last = _span(measured, 100, -2)
    # The first positions, except 0, whose row is an outlier.
    return float(lengths[1:20].mean() / lengths[first:last].mean())


def sinusoidal_share(measured: Measurements) -> float:
    """Share of the variance explained by one sinusoid per column."""
    check_positions(len(measured.rows), SINUSOID + 1)
    variance = np.square(about_mean(in_unit(measured.rows)[0])).sum(axis=0)
    return float((measured.sinusoids.r2 * variance).sum() / variance.sum())


def lowest_cosine(measured: Measurements) -> float:
    """Lowest mean cosine by lag, up to three quarters of the range."""
    # The last lags are means of only a few pairs.
    if not measured.rows.any():
        raise CannotTell("all numbers of the range are zero")
    by_lag = measured.by_lag
    return float(by_lag[: max(1, len(by_lag) * 3 // 4)].min())


def rise(measured: Measurements) -> float:
    """Largest rise of the mean cosine by lag after a fall, up to three quarters of the range."""
    return largest_rise(measured.by_lag).size


def similarity_explained(measured: Measurements) -> float:
    """Correlation of the mean cosine by lag before and after projection."""
    raw, projected = (
        by_lag[: len(by_lag) * 3 // 4] for by_lag in (measured.by_lag, measured.by_lag_projected)
    )
    check_positions(len(raw), 3)
    return float(np.corrcoef(raw, projected)[0, 1])


def entries_explained(measured: Measurements) -> float:
    """Median R² of three components for the columns that are like sine waves."""
    waves = measured.sinusoids.r2 >= 0.8
    if not waves.any():
        raise CannotTell("no entry resembles a sine wave")
    return float(np.median(measured.projected_r2[waves]))


def later_variation(measured: Measurements) -> float:
    """Coefficient of variation of the norms from position 100 to the last but one."""
    first, last = _span(measured, AFTER, -2)
    return _variation(_row_norms(measured)[first : last + 1])


def early_variation(measured: Measurements) -> float:
    """Coefficient of variation of the norms before position 100, relative to that of the later."""
    later = later_variation(measured)
    if later < ROUNDING:
        raise NotApplicable("the later norms do not vary at all")
    return _variation(_row_norms(measured)[1:AFTER]) / later


def _row_norms(measured: Measurements) -> Array:
    """Return the norms of all rows, in any unit, without their outliers, which take longer."""
    return measured.once("row norms", lambda: row_norms(in_unit(measured.model.W_pos)[0]))


def energy(found: Spectrum) -> float:
    """Share of the first 30 singular directions in the energy."""
    if not found.stable_rank > 0.0:
        raise CannotTell("all numbers are zero")
    return found.energy_top30


def more_than_top(found: Spectrum) -> None:
    """Raise NotApplicable if there are no more directions than those whose energy is asked for."""
    if len(found.singular_values) <= TOP:
        raise NotApplicable(f"there are no more than {TOP} directions")


def variation(norms: NormProfile) -> float:
    """Coefficient of variation of norms in their stretch."""
    if not norms.mean > 0.0:
        raise CannotTell("all numbers of these rows are zero")
    return norms.cv


def _variation(values: Array) -> float:
    values, _ = in_unit(values)
    return float(values.std() / values.mean())


def by_norm(measured: Measurements) -> float:
    """Median error, in positions, of the position that has the most similar norm, over chance."""
    return _misread(measured, row_norms(measured.rows)[:, None])


def by_direction(measured: Measurements) -> float:
    """Median error, in positions, of the position in the most similar direction, over chance."""
    return _misread(measured, unit_rows(measured.rows))


def _misread(measured: Measurements, rows: Array) -> float:
    """Median distance to the nearest other row, over that of two random positions."""
    n, (rows, _) = len(rows), in_unit(rows)
    check_positions(n, 9)
    if not np.ptp(rows, axis=0).any():
        raise CannotTell("they are the same for all rows of the range")
    if rows.shape[1] > LEADING_COLUMNS:  # the nearest in the leading directions
        rows = fit_pca(rows, (0, n - 1), LEADING_COLUMNS).project(rows)
    asked = np.arange(0, n, -(-n // MAX_ASKED))
    if rows.shape[1] == 1 and len(np.unique(rows)) == n:
        nearest = _nearest_number(rows[:, 0])[asked]
    else:
        nearest = _nearest_row(rows, asked)
    chance = n * (1.0 - np.sqrt(0.5))  # the median of |i − j|
    return float(np.median(np.abs(nearest - asked)) / chance)


def _nearest_row(rows: Array, asked: npt.NDArray[np.intp]) -> npt.NDArray[np.intp]:
    from scipy.spatial import cKDTree  # slow to import

    two = np.asarray(cKDTree(rows).query(rows[asked], k=2)[1])
    return np.where(two[:, 1] == asked, two[:, 0], two[:, 1])  # equal rows come in any order


def _nearest_number(values: Array) -> npt.NDArray[np.intp]:
    # Of different numbers only: sorted, equal ones would stay in the order of their positions.
    order = np.argsort(values)
    gaps = np.diff(values[order], prepend=-np.inf, append=np.inf)
    nearest = np.empty_like(order)
    nearest[order] = np.where(gaps[:-1] < gaps[1:], np.roll(order, 1), np.roll(order, -1))
    return nearest


def curled(measured: Measurements) -> float:
    """Length of the curve in three components, over twice the farthest row from its middle."""
    scores, _ = in_unit(curve(measured))
    reach = float(row_norms(scores - scores.mean(axis=0)).max())
    return length(scores) / (2 * reach) if reach > 0.0 else np.nan


def needs_curve(measured: Measurements) -> None:
    """Raise NotApplicable where rows have too little in common with their neighbours."""
    rows = measured.rows
    check_positions(len(rows), 9)
    _, half_lag = noise_and_half_lag(about_mean(in_unit(rows)[0]))
    if half_lag < 2 * len(rows) / CHORDS:
        raise NotApplicable(
            f"rows {max(half_lag, 1):.0f} apart have only half in common, so they form no curve"
        )


def length(scores: Array) -> float:
    """Length of a curve (m, 3), by 64 chords, so that noise adds little."""
    ends = np.linspace(0, len(scores) - 1, min(CHORDS + 1, len(scores))).round().astype(np.intp)
    return float(row_norms(np.diff(scores[ends], axis=0)).sum())


def curve(measured: Measurements) -> Array:
    """Return the rows in three components, (m, 3)."""
    if len(measured.rows) < 4 or measured.pca.rank < 3:
        raise too_few(measured)
    return measured.pca.project(measured.rows)[:, :3]


def last_departure(measured: Measurements) -> float:
    """Largest share of the last position's row, over training, that is not its decayed beginning.

    For a model on the Hub, from its cached checkpoints.
    """
    model = measured.model

    def follow() -> LastPosition:
        return of_one_version(lambda: history_here(model), last_position)

    riddle = measured.once("last position", follow)
    if riddle.supports is None:
        raise CannotTell(riddle.why)
    return riddle.departure


def other_departures(claim: ModelClaim, measured: Measurements, draws: int) -> Null:
    """Measure :func:`last_departure` of other positions' rows, evenly spaced."""
    model = measured.model

    def departures(history: History) -> Array:
        others = np.unique(np.linspace(0, history.n_positions - 2, OTHER_ROWS).astype(np.intp))
        rows = np.stack([history.table(i)[others] for i in range(history.n_snapshots)])
        decays = None if history.decays is None else history.decays / history.decays[0]
        return np.array([follow(rows[:, k], decays)[1].max() for k in range(len(others))])

    values = measured.once(
        "other positions", lambda: of_one_version(lambda: history_here(model), departures)
    )
    return null_of("rows", "the rows of other positions of the same model", values)


def context_waves(measured: Measurements) -> float:
    """Mean R² of a sinusoid for P's leading directions over position."""
    return float(_context_sinusoids(measured).r2.mean())


def different_frequencies(measured: Measurements) -> float:
    """Count the different frequencies of P's leading directions over position.

    Of those of which a sinusoid explains half, and has more than half a cycle.
    """
    found = _context_sinusoids(measured)
    cycles = np.sort(found.cycles[(found.r2 >= 0.5) & (found.cycles > MIN_CYCLES)])
    return float(len(cycles) and 1 + (np.diff(cycles) >= APART).sum())


def _context_sinusoids(measured: Measurements) -> Sinusoids:
    span = _span(measured, 1, -2)
    vectors, clear = measured.contexts.vectors.T, measured.directions("P").clear
    if clear < LEADING:
        raise CannotTell(f"P has only {clear} directions")
    return measured.once("context sinusoids", lambda: best_sinusoids(vectors, span))
