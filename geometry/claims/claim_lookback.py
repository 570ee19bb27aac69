"""Measures of the claims about looking back, and about where heads attend, in the first layer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import islice

import numpy as np

from geometry.claims.claim import CannotTell, ModelClaim, NotApplicable, check_positions, too_few
from geometry.claims.measured_range import FAR_LAGS
from geometry.claims.measurements import Measurements
from geometry.evidence.drawn_tables import CURVES, MAX_ROWS, MEANINGS, drawn_tables
from geometry.evidence.null import Null, null_of
from geometry.measures.head_lookback import HeadLookBack, look_back_heads
from geometry.measures.heads import HeadProjections
from geometry.measures.kernels import NEAR, head_kernels
from geometry.measures.lookback import Kind, LookBack, Scoring, look_back_each
from geometry.models.head_projections import project_each, project_heads
from geometry.pca.components import Array, about_mean
from geometry.pca.unit import unit_of

LAG, *FAR = FAR_LAGS
HEAD_LAG = 10
"""A lag that many heads may attend to."""
LOCAL = 0.9
"""A head with a larger share of its attention on the nearest positions is local."""
LAYER = 0
LAST = 32
"""Queries of the draws, counted from the last."""
KEYS = 128
"""Keys of the draws, counted from the last."""
TOGETHER = 1024
"""Rows of drawn tables that are projected together: few, or they do not stay in the cache."""
THIN = 128
"""Positions whose scores with each other are compared, evenly spaced."""


def _found(measured: Measurements, scoring: Scoring) -> LookBack:
    if measured.pca.rank < 2 or not measured.far_back:
        raise too_few(measured)
    return measured.far_back[scoring]


def _r2(measured: Measurements, kind: Kind, scoring: Scoring, lag: int = LAG) -> float:
    found = _found(measured, scoring)
    return float(found.r2[kind][found.index(lag)])


def everywhere(measured: Measurements) -> float:
    """R² of looking 50 back, fitted on the first half, scored on the second."""
    return _r2(measured, "screw", "halves")


def far(measured: Measurements) -> float:
    """Return the lower R² of looking 100 and 200 back, fitted on one half, scored on the other."""
    check_positions(int(_found(measured, "halves").lags[-1]), FAR[-1])
    return min(_r2(measured, "screw", "halves", lag) for lag in FAR)


def beyond_a_shift(measured: Measurements) -> float:
    """Share of the error of a shift alone that a rotation takes away, for 50 back."""
    left = 1.0 - _r2(measured, "translation", "even_odd")
    if left < 1e-9:
        return 0.0  # a shift alone does it
    return 1.0 - (1.0 - _r2(measured, "screw", "even_odd")) / left


def beyond_a_rotation(measured: Measurements) -> float:
    """R² of rotation and shift less that of the rotation alone, scored on the second half."""
    return _r2(measured, "screw", "halves") - _r2(measured, "rotation", "halves")


def steady_turning(measured: Measurements) -> float:
    """R² of a straight line fitted to the angles by lag."""
    turning = measured.turning
    if measured.pca.rank < 2 or not measured.longest_lag:
        raise too_few(measured)
    if turning is None or len(turning.angles) * measured.lag_step < LAG:
        raise NotApplicable(f"rotations do not fit up to a lag of {LAG}")
    return turning.r2


# ---- in heads ---


def in_heads(measured: Measurements) -> float:
    """Median over the first layer's heads of the lower R² of queries and keys."""
    return float(np.median(_worse(_heads(measured))))


def _worse(found: HeadLookBack) -> Array:
    pairs = zip(found.queries, found.keys, strict=True)
    return np.array([min(float(one.r2["screw"][0]) for one in pair) for pair in pairs])


def curves_in_heads(claim: ModelClaim, measured: Measurements, draws: int) -> tuple[Null, ...]:
    """Draw the R² for random curves as smooth as the queries of the median head."""
    worse = _worse(_heads(measured))
    first, last = measured.positions
    head = int(np.argsort(worse)[len(worse) // 2])
    queries = measured.heads(LAYER).queries[head, first : last + 1][:MAX_ROWS]  # never thinned
    if queries.shape[1] < 3:
        raise CannotTell("heads have fewer than three dimensions")
    nulls: list[Null] = []
    for kind in CURVES:
        if nulls and nulls[-1].surrounds(float(np.median(worse))):
            break  # it is not unusual, whatever the other kinds
        leading = []
        for table in drawn_tables(queries, kind, draws):
            centred = about_mean(table)
            vectors = np.linalg.eigh(centred.T @ centred)[1][:, -3:]
            leading.append(centred @ vectors)
        if leading[0].shape[1] < 3:
            continue
        found = look_back_each(np.stack(leading), (HEAD_LAG,), scoring="halves")
        values = [float(one.r2["screw"][0]) for one in found]
        meaning = f"curves drawn beside the queries of the median head: {MEANINGS[kind]}"
        nulls.append(null_of(kind, meaning, values))
    return tuple(nulls)


def _heads(measured: Measurements) -> HeadLookBack:
    """Look back in the heads, computed once for all claims."""
    positions = measured.positions
    if measured.pca.rank < 2:
        raise too_few(measured)
    check_positions(len(measured.rows), HEAD_LAG + 9)

    def find() -> HeadLookBack:
        return look_back_heads(measured.heads(LAYER), positions, (HEAD_LAG,), scoring="halves")

    return measured.once(("heads look back", positions), find)


def local_heads(measured: Measurements) -> float:
    """Count the heads that attend to the nearest positions only."""
    first, last = measured.positions
    if last - first < 10 * NEAR:
        raise CannotTell("too few positions are shown: nearly all are close")
    return _local(_projected(measured, _up_to_the_last(measured)))


def _up_to_the_last(measured: Measurements) -> Array:
    """Return the rows up to the range's last one; of a long table the last 4,096 of them."""
    end = measured.positions[1] + 1
    return measured.model.W_pos[max(0, end - MAX_ROWS) : end]


def _local(heads: HeadProjections) -> float:
    """Count the heads for which the last queries, with the most to look at, look near by."""
    n = heads.queries.shape[1]
    found = head_kernels(heads, (n - LAST, n - 1))
    return float((found.mass_lag_0_10 > LOCAL).sum())


def by_lag_alone(measured: Measurements) -> float:
    """Share of the variance of a head's scores that the lag alone explains, median of the heads."""
    thin = _thin(measured)
    return _explained_by_lag(_projected(measured, measured.model.W_pos[thin]), thin.step)


def _projected(measured: Measurements, rows: Array) -> HeadProjections:
    return project_heads(measured.model, LAYER, rows=rows, dtype=np.float32)


def _thin(measured: Measurements) -> slice:
    first, last = measured.positions
    if last - first < 2 * NEAR or not measured.pca.rank:
        raise too_few(measured)
    return slice(first, last + 1, -(-(last - first + 1) // THIN))


def _explained_by_lag(heads: HeadProjections, step: int) -> float:
    if heads.window is not None:  # in rows, of which every step-th is there
        back, ahead = heads.window
        heads = replace(heads, window=(max(1, back // step), ahead // step))
    return float(np.median(head_kernels(heads, (0, heads.queries.shape[1] - 1)).by_lag_alone))


def turned_kernels(claim: ModelClaim, measured: Measurements, draws: int) -> Null:
    """Draw the count of local heads for positions that are turned at random.

    There are fewer keys than the model has, which makes attention to the nearest likelier.
    """
    rows = _up_to_the_last(measured)[-KEYS:]
    return _through_weights(claim, measured, rows, _local, draws, LAST)


def turned_shares(claim: ModelClaim, measured: Measurements, draws: int) -> Null:
    """Draw :func:`by_lag_alone` for positions that are turned at random."""
    thin = _thin(measured)
    explained = partial(_explained_by_lag, step=thin.step)
    rows = measured.model.W_pos[thin]
    return _through_weights(claim, measured, rows, explained, draws, len(rows))


def _through_weights(
    claim: ModelClaim,
    measured: Measurements,
    rows: Array,
    measure: Callable[[HeadProjections], float],
    draws: int,
    last: int,
) -> Null:
    """Draw a quantity of the heads' last queries, and their keys, of turned rows.

    More draws continue what fewer began.
    """
    n, model = len(rows), measured.model
    if unit_of(rows) == 1.0:
        rows = rows.astype(np.float32)  # as they are projected
    known = measured.once(("turned", claim.id, measured.positions), dict[int, list[float]])
    values = max(known.values(), key=len, default=[])[:draws]
    tables, together = drawn_tables(rows, "turned", draws), max(1, TOGETHER // n)
    rest = islice(tables, len(values), None)
    joined = map(np.concatenate, iter(lambda: list(islice(rest, together)), []))
    asked = np.tile(np.arange(n) >= n - last, together)
    for heads in project_each(model, joined, LAYER, dtype=np.float32, asked=asked):
        for start in range(0, heads.queries.shape[1], n):
            part = slice(start, start + n)
            queries, keys = heads.queries[:, part], heads.keys[:, part]
            values.append(measure(replace(heads, queries=queries, keys=keys)))
    known[draws] = values
    return null_of("turned", MEANINGS["turned"], values)
