"""Null distributions of the claims about rows: the same measure, of random curves."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from itertools import islice

import numpy as np

from geometry.checkpoints.errors import HelixscopeError
from geometry.checkpoints.threads import one_thread
from geometry.claims.claim import CannotTell, Curves, ModelClaim
from geometry.claims.measured_range import LAGS
from geometry.claims.measurements import Measurements, Scope
from geometry.evidence.drawn_tables import (
    CURVES,
    MEANINGS,
    CurveKind,
    course_of,
    drawn_tables,
    thinned,
)
from geometry.evidence.null import Null, null_of
from geometry.evidence.turning_nulls import RULE_DRAWS, rule_nulls
from geometry.measures.single_dimensions import best_sinusoids
from geometry.models.sources.computed import model_of_table
from geometry.models.sources.source import Source
from geometry.pca.components import read_only

COLUMNS = 16
"""Columns of the tables for claims about single entries."""
MAX_ROWS = 2048
"""Random curves beside longer tables have this many rows, so that a draw takes milliseconds."""
THIN_ROWS, ENTRY_ROWS = 384, 256
"""The same for quantities that do not depend on distances in positions, and of single entries. With
fewer rows noise alone reaches larger shares of variance, so that such nulls are stricter."""
LAG_STEP = 5
MIN_DEFINED = 19
"""Draws of a kind for which a quantity has to be defined, or that kind is left out."""


PROCESSES: tuple[CurveKind, ...] = ("process", "matern", "walk", "band")
"""Kinds of curves with as many independent dimensions as columns, for claims that there are few:
the others have few by their making, or as many as the table."""


def nulls_of_draws(values: Mapping[CurveKind, Sequence[float]]) -> tuple[Null, ...]:
    """Return the null distributions of the kinds of curves for which a quantity is defined.

    Raises
    ------
    CannotTell
        There is no such kind.
    """
    nulls = []
    for kind, drawn in values.items():
        defined = [value for value in drawn if np.isfinite(value)]
        if len(defined) >= MIN_DEFINED:
            nulls.append(null_of(kind, MEANINGS[kind], defined))
    if not nulls:
        raise CannotTell("random curves have no comparable value")
    return tuple(nulls)


class CurveDraws:
    """Random curves beside a model, in which the quantities of several claims are measured.

    The same curves serve all claims, and are drawn in the same order for any of them, so that more
    draws continue what fewer began.
    """

    def __init__(self, measured: Measurements) -> None:
        self.measured = measured
        self._drawn: dict[tuple[CurveKind, bool, bool], Iterator[Measurements]] = {}
        self._done: dict[tuple[CurveKind, bool, bool], int] = {}

    def up_to(
        self,
        draws: int,
        claims: Mapping[ModelClaim, dict[CurveKind, list[float]]],
        decided: Mapping[ModelClaim, Callable[[], bool]],
    ) -> Iterator[float]:
        """Extend the values of claims, by kind of curve, to so many draws; yields the share done.

        Parameters
        ----------
        draws
            Curves of each kind, those of earlier calls included.
        claims
            Claims whose null is :class:`Curves`, and their values of earlier draws.
        decided
            Of each claim, called before each kind, whether it needs no more of them.
        """
        groups: dict[tuple[CurveKind, bool, bool], dict[ModelClaim, list[float]]] = {}
        for claim, values in claims.items():
            null = claim.null
            assert isinstance(null, Curves)
            for kind in null.kinds:
                key = (kind, null.columns, null.by_lag)
                groups.setdefault(key, {})[claim] = values.setdefault(kind, [])
        for number, key in enumerate(sorted(groups, key=lambda key: CURVES.index(key[0]))):
            together = {claim: some for claim, some in groups[key].items() if not decided[claim]()}
            for at in range(min(map(len, together.values()), default=draws), draws):
                with one_thread():
                    drawn = self._draw(key, at)
                    for claim, numbers in together.items():
                        if len(numbers) == at:
                            numbers.append(_measure(claim, drawn))
                yield (number + (at + 1) / draws) / len(groups)

    def _draw(self, key: tuple[CurveKind, bool, bool], at: int) -> Measurements:
        """Return the curve of an index that has not been drawn yet."""
        if self._done.get(key, at + 1) > at:
            self._drawn[key], self._done[key] = _drawn(self.measured, *key), 0
        while True:
            drawn = next(self._drawn[key])
            self._done[key] += 1
            if self._done[key] == at + 1:
                return drawn


def _measure(claim: ModelClaim, drawn: Measurements) -> float:
    with np.errstate(divide="ignore", invalid="ignore"):
        try:
            return claim.measure(drawn)
        except HelixscopeError:
            return np.nan


def _drawn(
    measured: Measurements, kind: CurveKind, columns: bool, by_lag: bool
) -> Iterator[Measurements]:
    """Draw models without end; measurements of each in the same scope."""
    rows, (first, last) = measured.model.W_pos, measured.shown
    most = MAX_ROWS if by_lag else ENTRY_ROWS if columns else THIN_ROWS
    if by_lag:
        beyond = max(0, last - (MAX_ROWS - 1))  # the range keeps its length as far as it can
        rows, first, last = rows[:MAX_ROWS], max(0, first - beyond), last - beyond
    # A curve is as smooth and as large as the rows without those at the ends, which stand out.
    like, few = rows[1:-1] if len(rows) > 8 else rows, COLUMNS if columns else None
    length, like, source = len(thinned(rows, most)), thinned(like, most), Source.parse("drawn")
    course = measured.once(("course", most), lambda: course_of(like))
    if kind == "walk":
        like = like + (rows[0] - like[0])  # but begins where they do
    # Below 1 if it is thinned; a range without the first row stays without it.
    step, whole = length - 1, max(len(rows) - 1, 1)
    end = last * step // whole
    scope = Scope((min(-(-first * step // whole), end), end))
    tables = drawn_tables(like, kind, 10**9, columns=few, length=length, course=course)
    while True:
        some = []
        for table in islice(tables, MIN_DEFINED if columns else 1):
            read_only(table)
            drawn = Measurements(model_of_table("drawn", table, source=source), scope)
            drawn.lag_step = LAG_STEP if length > LAG_STEP * LAGS[-1] else 1
            drawn.n_components = 3
            some.append(drawn)
        if columns:
            _fit_together(some)
        yield from some


def _fit_together(some: Sequence[Measurements]) -> None:
    """Let the sinusoids of several curves be found in one pass, once those of one are needed."""
    tables = [one.model.W_pos for one in some]
    found = cache(lambda: best_sinusoids(np.hstack(tables), some[0].shown))
    for at, one in enumerate(some):
        width = one.model.d_model
        columns = slice(at * width, (at + 1) * width)
        one.find_sinusoids = lambda columns=columns: found().of_columns(columns)


def random_turning(claim: ModelClaim, measured: Measurements, draws: int) -> Sequence[Null]:
    """Draw the strength of the shape rule for random curves of all its kinds."""
    first = measured.rule_nulls
    more = [rule_nulls(measured.rows, seed=part) for part in range(1, -(-draws // RULE_DRAWS))]
    return tuple(
        null_of(name, null.meaning, np.concatenate([part[name].values for part in (first, *more)]))
        for name, null in first.items()
    )
