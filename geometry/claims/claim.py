"""A claim about a model, and what becomes of it."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np

from geometry.checkpoints.errors import FileChanged, HelixscopeError
from geometry.checkpoints.transfer import Cancelled
from geometry.claims.measurements import Measurements
from geometry.evidence.null import Null, Outcome, Side, weigh
from geometry.history.here import NotFetched
from geometry.hub.faults import HubError
from geometry.pca.curve import why_fewer

_TOO_FEW = "too few positions are shown"


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
    """

    id: str
    article: str
    statement: str
    quantity: str
    expected: Expected
    reason: str

    @property
    def topic(self) -> str:
        """The first part of its name."""
        return self.id.partition(".")[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelClaim(Claim):
    """A claim about the matrices of one model.

    Attributes
    ----------
    measure
        Computes the number; raises TensorUnavailable or CannotTell if it cannot.
    null
        Draws the same number where there is nothing to find; None where no such thing can be drawn.
        It may raise CannotTell.
    requires
        Raises CannotTell or NotApplicable if the claim cannot be asked of a model.
    """

    measure: Callable[[Measurements], float]
    null: Callable[[ModelClaim, Measurements], Null | None] | None = None
    requires: Callable[[Measurements], object] | None = None


@dataclass(frozen=True, eq=False, slots=True)
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
        The null distribution of the number, if there is one.
    why_null
        Why there is no number, or why it decides nothing.
    interval
        That of the number over resampled texts, 95 %; None if it is not about texts.
    """

    claim: Claim
    value: float | None = None
    outcome: Outcome | None = None
    null: Null | None = None
    why_null: str | None = None
    interval: tuple[float, float] | None = None

    @property
    def holds(self) -> bool | None:
        """Whether the number is as claimed; None if there is none."""
        if self.outcome in ("holds", "as any smooth curve"):
            return True
        return False if self.outcome == "does not hold" else None


def judge(claim: Claim, value: float, null: Null | None) -> Verdict:
    """Return the verdict on a claim's number, beside its null distribution if there is one."""
    expected = claim.expected
    return Verdict(claim, value, weigh(expected.holds(value), value, expected.side, null), null)


def without_number(claim: Claim, error: HelixscopeError) -> Verdict:
    """Return the verdict on a claim whose number cannot be measured."""
    outcome: Outcome = "not applicable" if isinstance(error, NotApplicable) else "cannot tell"
    return Verdict(claim, outcome=outcome, why_null=str(error))


def check(claim: ModelClaim, measured: Measurements) -> Verdict:
    """Check one claim on one model, or return its known verdict.

    Verdicts independent of the range are cached in ``measured``.
    """
    if (kept := known_verdict(claim, measured)) is not None:
        return kept
    measured.range_was_read = False
    try:
        # 0/0 is undefined, and reported so.
        with np.errstate(divide="ignore", invalid="ignore"):
            if why := measured.model.no_claims:
                raise NotApplicable(why)
            if claim.requires is not None:
                claim.requires(measured)
            value = float(claim.measure(measured))
            if not np.isfinite(value):
                raise CannotTell("the quantity is not defined for this model")
            asked = claim.null if measured.nulls else None
            null = None if asked is None else asked(claim, measured)
            if asked is not None and null is None:
                raise CannotTell("random curves have no comparable value")
    except (Cancelled, FileChanged):
        raise
    except HelixscopeError as error:
        verdict = without_number(claim, error)
        if isinstance(error, HubError | NotFetched):  # may be available the next time
            return verdict
    else:
        verdict = judge(claim, value, null)
    if not measured.range_was_read:
        measured.once((claim, measured.nulls), lambda: verdict)
    return verdict


def known_verdict(claim: ModelClaim, measured: Measurements) -> Verdict | None:
    """Return a claim's cached verdict if it is independent of the range; otherwise None."""
    found = measured.known((claim, measured.nulls))
    assert found is None or isinstance(found, Verdict)
    return found
