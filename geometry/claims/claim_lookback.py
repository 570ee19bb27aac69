"""Measures of the claims about looking back."""

from __future__ import annotations

import numpy as np

from geometry.claims.claim_measures import CannotTell
from geometry.claims.measurements import Measurements
from geometry.measures.head_lookback import HeadLookBack, look_back_heads
from geometry.measures.lookback import Kind, Scoring

LAG = 50
"""A lag over which a curve of one or two turns rotates visibly."""
HEAD_LAG = 10
"""A lag that many heads may attend to."""


def _r2(measured: Measurements, kind: Kind, scoring: Scoring) -> float:
    found = measured.look_back
    if found is None or found[scoring].lags[-1] < LAG:
        raise CannotTell("too few positions are shown")
    return float(found[scoring].r2[kind][found[scoring].index(LAG)])


def everywhere(measured: Measurements) -> float:
    """R² of looking 50 back, fitted on the first half, scored on the second."""
    return _r2(measured, "screw", "halves")


def beyond_a_shift(measured: Measurements) -> float:
    """R² of rotation and shift, minus that of the shift alone (or 0 if that is negative)."""
    shift = _r2(measured, "translation", "even_odd")
    return _r2(measured, "screw", "even_odd") - max(shift, 0.0)


def steady_turning(measured: Measurements) -> float:
    """R² of a straight line fitted to the angles by lag."""
    if measured.look_back is None:
        raise CannotTell("too few positions are shown")
    if measured.turning is None:
        raise CannotTell("no rotation fits, not even for lags 1 and 2")
    return measured.turning.r2


def in_heads(measured: Measurements) -> float:
    """Median over the first layer's heads of the lower R² of queries and keys."""
    found = _heads(measured)
    worse = [
        min(float(one.r2["screw"][0]) for one in pair)
        for pair in zip(found.queries, found.keys, strict=True)
    ]
    return float(np.median(worse))


def different_lags(measured: Measurements) -> float:
    """Count the different lags that the first layer's heads prefer."""
    return float(len(np.unique(_heads(measured).preferred)))


def _heads(measured: Measurements) -> HeadLookBack:
    """Look back in the heads, computed once for all claims."""
    positions = measured.positions
    if positions[1] - positions[0] < HEAD_LAG + 8:
        raise CannotTell("too few positions are shown")

    def find() -> HeadLookBack:
        return look_back_heads(measured.heads(0), positions, (HEAD_LAG,), scoring="halves")

    return measured.of_model.once(("heads look back", positions), find)
