"""A claim about a model, and what becomes of it."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

from geometry.checkpoints.errors import HelixscopeError
from geometry.checkpoints.result import ResultTuple, result
from geometry.claims.measurements import Measurements
from geometry.evidence.drawn_tables import CURVES, CurveKind
from geometry.evidence.null import RARE, Null, Outcome, Side, least_favourable, weigh
from geometry.models.notes import Note
from geometry.pca.curve import why_fewer

_TOO_FEW = "too few positions are shown"

DrawNulls = Callable[["ModelClaim", Measurements, int], Null | Sequence[Null] | None]


class CannotTell(HelixscopeError):
    """Something is missing that would decide a claim."""


def too_few(measured: Measurements) -> CannotTell:
    """Return the error that a range is too short, or that its table has no three components."""
    if measured.pca.rank < min(3, len(measured.rows) - 1):
        return CannotTell(why_fewer(measured.pca))
    return CannotTell(_TOO_FEW)


def check_positions(count: int, fewest: int) -> None:
    """Raise CannotTell if fewer positions are shown than a number needs."""
    if count < fewest:
        raise CannotTell(_TOO_FEW)


class NotApplicable(HelixscopeError):
    """A claim has no meaning for such a table, or its bound cannot be reached."""


@dataclass(frozen=True, slots=True)
class Expected:
    """A claim's condition on a number: a relation to a bound."""

    relation: Literal["at least", "at most", "more than"]
    bound: float

    def holds(self, value: float) -> bool:
        """Return whether a value meets the condition."""
        return _RELATIONS[self.relation](value, self.bound)

    @property
    def side(self) -> Side:
        """The side of the bound on which the number has to lie."""
        return "below" if self.relation == "at most" else "above"

    def __str__(self) -> str:
        return f"{self.relation} {self.bound:g}"


_RELATIONS: Mapping[str, Callable[[float, float], bool]] = {
    "at least": operator.ge,
    "at most": operator.le,
    "more than": operator.gt,
}


at_least = partial(Expected, "at least")
at_most = partial(Expected, "at most")
more_than = partial(Expected, "more than")


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """What an article claims: the base of claims about a model, several, or what positions do.

    Attributes
    ----------
    id
        Stable name, "topic.what".
    article
        The source of the claim.
    statement
        The claim, in the article's words as far as they can be quoted.
    quantity
        What is measured, with its unit or scale.
    expected
        The claim's condition on the number.
    reason
        Why the bound is what it is.
    fact
        What it is about: claims with the same fact say one thing in several ways.
    plugin
        Name of the plugin that adds it; "" if it is built in.
    """

    id: str
    article: str
    statement: str
    quantity: str
    expected: Expected
    reason: str
    fact: str = ""
    plugin: str = ""

    @property
    def topic(self) -> str:
        """The first part of its name."""
        return self.id.partition(".")[0]


@dataclass(frozen=True, slots=True)
class Curves:
    """Random curves of several kinds in which a claim's quantity is measured too.

    Attributes
    ----------
    columns
        Whether the quantity is of single entries.
    by_lag
        Whether it is about distances in positions, so that a long table is cut, not thinned.
    kinds
        Of the curves.
    """

    columns: bool = False
    by_lag: bool = False
    kinds: Sequence[CurveKind] = CURVES


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelClaim(Claim):
    """A claim about the matrices of one model.

    Attributes
    ----------
    measure
        Computes the number; raises TensorUnavailable or CannotTell if it cannot.
    null
        Random curves, or a function that draws the same number where there is nothing to find, at
        least so many times, in tables of one kind or of several. It returns None, or raises
        CannotTell, where no such thing can be drawn.
    requires
        Raises CannotTell or NotApplicable if the claim cannot be asked of a model.
    """

    measure: Callable[[Measurements], float]
    null: Curves | DrawNulls | None = None
    requires: Callable[[Measurements], object] | None = None


@result
class Verdict:
    """A claim checked on a model.

    Attributes
    ----------
    claim
        The claim.
    value
        The number; None if it cannot be measured.
    outcome
        None before the claim is checked.
    null
        The null distribution of the number that decides, if there is one: the least favourable.
    why_null
        Why there is no number, or why it decides nothing.
    interval
        That of the number over resampled texts, 95 %; None if it is not about texts.
    nulls
        All null distributions of the number.
    p_adjusted
        :attr:`p`, corrected for the claims checked together, see :func:`adjust_verdicts`.
    by_construction
        What was imposed in the model's making, so that the claim says nothing about what was
        learned; None if there is no such note.
    """

    claim: Claim
    value: float | None = None
    outcome: Outcome | None = None
    null: Null | None = None
    why_null: str | None = None
    interval: tuple[float, float] | None = None
    nulls: tuple[Null, ...] = ()
    p_adjusted: float | None = None
    by_construction: str | None = None

    @property
    def holds(self) -> bool | None:
        """Whether the number is as claimed; None if there is none."""
        if self.outcome in ("holds", "as any smooth curve"):
            return True
        failed = ("does not hold", "worse than any such curve")
        return False if self.outcome in failed else None

    @property
    def p(self) -> float | None:
        """Monte Carlo p-value beside :attr:`null`; None without one."""
        if self.value is None or self.null is None:
            return None
        return self.null.p_value(self.value, self.claim.expected.side)


def judge(
    claim: Claim,
    value: float,
    null: Null | Iterable[Null] | None,
    p_adjusted: float | None = None,
) -> Verdict:
    """Return the verdict on a claim's number, beside its null distributions if there are any."""
    expected = claim.expected
    nulls = () if null is None else (null,) if isinstance(null, Null) else tuple(null)
    outcome = weigh(expected.holds(value), value, expected.side, nulls, p_adjusted)
    deciding = least_favourable(nulls, value, expected.side) if nulls else None
    return Verdict(claim, value, outcome, deciding, nulls=nulls, p_adjusted=p_adjusted)


def adjust_verdicts(verdicts: Sequence[Verdict], notes: Iterable[Note] = ()) -> tuple[Verdict, ...]:
    """Correct verdicts for the number of claims, and add notes on the model's making.

    The p-values of all claims that have one are adjusted by Benjamini and Hochberg's procedure
    (1995): on average over ledgers, at most 5 % of the claims that hold are false, if claims are
    independent or depend on each other positively (Benjamini and Yekutieli 2001), as most of these
    do. Claims with an interval over texts are adjusted by themselves: their p-values are shares of
    resampled texts. So are those of each plugin, so that the others do not depend on what is
    installed.

    Parameters
    ----------
    verdicts
        On claims that are checked together, adjusted before or not.
    notes
        On the making of the model.
    """
    from scipy.stats import false_discovery_control  # slow to import

    families: dict[tuple[bool, str], dict[int, float]] = {}
    for at, verdict in enumerate(verdicts):
        if (p := verdict.p) is not None:
            of_texts = verdict.interval is not None
            families.setdefault((of_texts, verdict.claim.plugin), {})[at] = p
    corrected: dict[int, float] = {}
    outcome: Outcome | None
    for p_values in families.values():
        adjusted_values = false_discovery_control([*p_values.values()])
        corrected |= zip(p_values, map(float, adjusted_values), strict=True)
    sentences: dict[str, list[str]] = {}
    for note in notes:
        for claim in note.claims:
            sentences.setdefault(claim, []).append(note.sentence)
    adjusted = []
    for at, verdict in enumerate(verdicts):
        if at in corrected:
            p = corrected[at]
            if verdict.interval is not None:  # judged by it already
                usual = verdict.outcome == "holds" and p > RARE
                outcome = "as any smooth curve" if usual else verdict.outcome
                verdict = replace(verdict, outcome=outcome, p_adjusted=p)
            elif (value := verdict.value) is not None and p != verdict.p_adjusted:
                expected = verdict.claim.expected
                outcome = weigh(expected.holds(value), value, expected.side, verdict.nulls, p)
                verdict = replace(verdict, outcome=outcome, p_adjusted=p)
        by_construction = " ".join(sentences.get(verdict.claim.id, ())) or None
        if by_construction != verdict.by_construction:
            verdict = replace(verdict, by_construction=by_construction)
        adjusted.append(verdict)
    return ResultTuple(adjusted)


def without_number(claim: Claim, error: HelixscopeError) -> Verdict:
    """Return the verdict on a claim whose number cannot be measured."""
    outcome: Outcome = "not applicable" if isinstance(error, NotApplicable) else "cannot tell"
    return Verdict(claim, outcome=outcome, why_null=str(error))
