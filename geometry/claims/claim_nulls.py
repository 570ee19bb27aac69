"""Null distributions of the claims about rows: the same measure, of tables that are drawn."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from geometry.checkpoints.errors import HelixscopeError
from geometry.claims.claim import ModelClaim, known_verdict
from geometry.claims.measurements import Measurements, Scope
from geometry.evidence.drawn_tables import MAX_ROWS, MEANINGS, Kind, drawn_tables, thinned
from geometry.evidence.null import FEW_DRAWS, USUAL_DRAWS, Null, null_of, strictest
from geometry.evidence.turning_nulls import rule_null
from geometry.evidence.turning_share import balanced_turning, turn_counts
from geometry.models.sources.computed import model_of_table
from geometry.pca.components import about_mean
from geometry.pca.unit import in_unit

COLUMNS = 32
"""Columns of the tables for claims about single entries."""
NODES = 192
"""Rows of a curve whose turns are counted."""


@dataclass(frozen=True, slots=True)
class Curves:
    """Draws a claim's quantity from random curves.

    Attributes
    ----------
    kinds
        Of the curves. Of several the one counts that comes closest to the claim.
    columns
        Whether the quantity is of single entries.
    by_lag
        Whether it speaks of distances in positions, so that a long table is cut, not thinned.
    draws
        How many curves.
    """

    kinds: tuple[Kind, ...]
    columns: bool = False
    by_lag: bool = False
    draws: int = USUAL_DRAWS

    def __call__(self, claim: ModelClaim, measured: Measurements) -> Null | None:
        """Return the null distribution; None if the quantity is not defined for such curves."""
        if claim.id not in measured.drawn:
            draw_curves((claim,), measured)
        return measured.drawn[claim.id]


def curves(
    *kinds: Kind, columns: bool = False, by_lag: bool = False, draws: int = USUAL_DRAWS
) -> Curves:
    """Return the draws of a quantity from random curves; see :class:`Curves`."""
    return Curves(kinds, columns, by_lag, draws)


def draw_curves(
    claims: Iterable[ModelClaim],
    measured: Measurements,
    tell: Callable[[float], None] | None = None,
) -> None:
    """Draw the quantities of several claims from the same random curves, which is faster.

    Parameters
    ----------
    claims
        Those with other nulls are left out, and those with a known verdict.
    measured
        The model's measurements, whose ``drawn`` is filled.
    tell
        Called with the share done; may raise to stop.
    """
    found: dict[str, list[Null]] = {}
    wanted = [
        (claim, claim.null)
        for claim in claims
        if measured.nulls
        and isinstance(claim.null, Curves)
        and known_verdict(claim, measured) is None
    ]
    groups: dict[tuple[Kind, bool, bool], list[tuple[ModelClaim, int]]] = {}
    long = measured.model.n_positions > MAX_ROWS
    for claim, null in wanted:
        for kind in null.kinds:
            key = (kind, null.columns, long and null.by_lag)
            groups.setdefault(key, []).append((claim, null.draws))
    for done, (key, together) in enumerate(groups.items()):
        values: dict[str, list[float]] = {claim.id: [] for claim, _ in together}
        most = _most_draws(measured.model.n_positions)
        draws = min(most, max(asked for _, asked in together))
        for at, drawn in enumerate(_drawn(measured, *key, draws)):
            if tell is not None:
                tell((done + at / draws) / len(groups))
            for claim, asked in together:
                if at < asked:
                    values[claim.id].append(_measure(claim, drawn))
        for name, measures in values.items():
            defined = [value for value in measures if np.isfinite(value)]
            if len(defined) >= FEW_DRAWS:
                found.setdefault(name, []).append(null_of(key[0], MEANINGS[key[0]], defined))
    for claim, _ in wanted:
        nulls = found.get(claim.id)
        closest = None if nulls is None else strictest(nulls, claim.expected.side)
        measured.drawn[claim.id] = closest


def _most_draws(n: int) -> int:
    """Return the most draws of tables of n positions: fewer of longer ones, which take longer."""
    return max(FEW_DRAWS, USUAL_DRAWS * 1024 // max(n, 1024))


def _measure(claim: ModelClaim, drawn: Measurements) -> float:
    with np.errstate(divide="ignore", invalid="ignore"):
        try:
            return claim.measure(drawn)
        except HelixscopeError:
            return np.nan


def _drawn(
    measured: Measurements, kind: Kind, columns: bool, cut: bool, draws: int
) -> Iterator[Measurements]:
    """Draw models; measurements of each in the same scope."""
    rows, (first, last) = measured.model.W_pos, measured.shown
    if cut:
        beyond = max(0, last - (MAX_ROWS - 1))  # the range keeps its length as far as it can
        rows, first, last = rows[:MAX_ROWS], max(0, first - beyond), last - beyond
    # A curve is as smooth and as large as the rows without those at the ends, which stand out.
    like, few = rows[1:-1] if len(rows) > 8 else rows, COLUMNS if columns else None
    if kind == "walk":
        like = like + (rows[0] - like[0])  # but begins where they do
    for table in drawn_tables(like, kind, draws, columns=few, length=len(rows)):
        step = (len(table) - 1) / max(len(rows) - 1, 1)  # below 1 if it is thinned
        ends = (int(first * step), int(last * step))
        yield Measurements(model_of_table("drawn", table), Scope(ends))


def worst_turning(claim: ModelClaim, measured: Measurements) -> Null:
    """Draw the balanced turning share over its bound, of the curves that turn most evenly."""
    return rule_null(measured.model.d_model)


def random_turns(claim: ModelClaim, measured: Measurements) -> Null:
    """Draw the turns at which the balanced turning share of random curves is largest."""
    scores = []
    for table in drawn_tables(measured.rows, "process", USUAL_DRAWS):
        centred = about_mean(in_unit(thinned(table, NODES))[0])
        vectors = np.linalg.eigh(centred.T @ centred)[1]
        scores.append(centred @ vectors[:, -3:])
    _, turns = balanced_turning(np.stack(scores), turn_counts(len(scores[0])))
    return null_of("process", MEANINGS["process"], turns)
