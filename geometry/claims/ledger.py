"""Checks claims together: their numbers, as many random tables as each needs, the correction."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from geometry.checkpoints.errors import FileChanged, HelixscopeError
from geometry.checkpoints.result import result
from geometry.checkpoints.threads import threads_for
from geometry.checkpoints.transfer import Cancelled
from geometry.claims.claim import (
    CannotTell,
    Curves,
    ModelClaim,
    NotApplicable,
    Verdict,
    adjust_verdicts,
    judge,
    without_number,
)
from geometry.claims.claim_nulls import MAX_ROWS, MIN_DEFINED, CurveDraws, nulls_of_draws
from geometry.claims.measurements import Measurements
from geometry.evidence.drawn_tables import CurveKind
from geometry.evidence.null import RARE, Null, Side, null_of
from geometry.history.here import NotFetched
from geometry.hub.faults import HubError

FIRST, SURE, MOST = 19, 59, 599
"""Draws of each kind of random table beside every number; of those that may hold; at most."""
TIMES = 2
"""Over the p-value with which claims may hold: the number of draws in the last wave."""
USUAL_ROWS = 1024
"""Rows of tables up to which so many are drawn at most: of longer ones in proportion fewer."""
DRAWING = "Drawing random curves"
REACHED = 2
"""Of the first draws of a kind, those that reach a number that is not unusual."""


@result
class Checking:
    """How far the check of several claims is.

    Attributes
    ----------
    share
        Of the work, from 0 to 1, roughly.
    message
        What is being done.
    verdicts
        In the order of the claims, corrected for the number of those decided so far; one that is
        not decided has no outcome.
    """

    share: float
    message: str
    verdicts: tuple[Verdict, ...]


def check(claim: ModelClaim, measured: Measurements) -> Verdict:
    """Check one claim on one model, by itself: its p-value is not corrected for others."""
    return check_together((claim,), measured)[0]


def check_together(claims: Sequence[ModelClaim], measured: Measurements) -> tuple[Verdict, ...]:
    """Check claims on one model, corrected for their number; see :func:`check_in_steps`."""
    verdicts: tuple[Verdict, ...] = ()
    for checking in check_in_steps(claims, measured):
        verdicts = checking.verdicts
    return verdicts


def check_in_steps(claims: Sequence[ModelClaim], measured: Measurements) -> Iterator[Checking]:
    """Check claims on one model, and report after each step; the last verdicts are final.

    A few random tables are drawn beside every number, and beside those that are unusual as many of
    each kind as they need after the correction. A claim is only ever decided early by draws that
    reach its number (Besag and Clifford 1991), never because few do, so that its p-value is one of
    a fixed number of draws. Numbers and draws that are independent of the shown range are cached in
    ``measured``.
    """
    checks = [_Check(claim, measured) for claim in claims]
    # First what is known; claims about random curves, which take seconds, are the last.
    order = sorted(checks, key=lambda check: (not check.known, check.of_curves))

    def so_far(share: float, message: str, *, final: bool = False) -> Checking:
        verdicts = adjust_verdicts([check.verdict for check in checks], measured.model.notes)
        if not final:  # more draws may change the outcome of those that are unusual
            verdicts = tuple(
                replace(verdict, outcome=None) if check.unusual(verdict) else verdict
                for check, verdict in zip(checks, verdicts, strict=True)
            )
        return Checking(share, message, verdicts)

    for place, one in enumerate(order):
        yield so_far(place / (2 * len(order)), f"Claim {place + 1} of {len(order)}")
        with threads_for(measured.model.d_model):
            one.measure()
        if one.waits and not one.of_curves:
            one.draw(FIRST)
    random_curves, last = CurveDraws(measured), so_far(0.5, DRAWING)
    most, rare = _most(measured), 1.0
    for wave in range(2):
        draws = _enough(rare, most) if wave else FIRST
        waiting = [
            check
            for check, verdict in zip(checks, last.verdicts, strict=True)
            if check.needs(draws, verdict, rare, most)
        ]
        begun = last.share
        for one in waiting:
            if not one.of_curves:
                one.draw(draws)
                yield last
        by_claim = {one.claim: one for one in waiting if one.of_curves}
        values = {claim: one.values for claim, one in by_claim.items()}
        decided = {claim: partial(one.usual, draws) for claim, one in by_claim.items()}
        for share in random_curves.up_to(draws, values, decided):
            done = begun + share * (1.0 - begun) / 2
            yield replace(last, share=done, message=f"{DRAWING}: {draws} of each kind, {share:.0%}")
        for one in by_claim.values():
            one.decide(draws)
        last = so_far((1.0 + begun) / 2, DRAWING, final=wave == 1)
        rare = _rare(checks, last.verdicts)
    yield replace(last, share=1.0)


def _enough(rare: float, most: int) -> int:
    """Return the last number of draws, by the p-value with which claims may hold."""
    return min(max(math.ceil(TIMES / rare - 1e-9) - 1, SURE), most)


def _most(measured: Measurements) -> int:
    rows = int(min(max(measured.model.n_positions, USUAL_ROWS), MAX_ROWS))
    return max(SURE, MOST * USUAL_ROWS // rows)


def _rare(checks: Sequence[_Check], verdicts: Sequence[Verdict]) -> float:
    """Return the p-value with which claims hold, corrected, if all hold that still may."""
    tested = sum(verdict.p is not None for verdict in verdicts)
    unusual = sum(check.unusual(verdict) for check, verdict in zip(checks, verdicts, strict=True))
    return RARE * max(unusual, 1) / max(tested, 1)


def _reach(null: Null, value: float, side: Side) -> bool:
    """Return whether draws reach a number so often that it is not unusual."""
    return null.reached(value, side) >= REACHED and null.p_value(value, side) > RARE


class _Check:
    """A claim while it is checked: its number, and the draws beside it."""

    def __init__(self, claim: ModelClaim, measured: Measurements) -> None:
        self.claim, self._measured = claim, measured
        self.of_curves = isinstance(claim.null, Curves)
        found = measured.known(self._key("number"))
        assert found is None or isinstance(found, Verdict)
        self.known = found is not None
        self.verdict = Verdict(claim)
        self.drawn = 0
        self._passing = False
        self.waits = False
        """Whether its number is measured, and random tables can be drawn beside it."""

    def _key(self, what: str) -> tuple[str, str, bool]:
        return what, self.claim.id, self._measured.nulls

    def measure(self) -> None:
        """Measure the number, or look it up."""
        measured, claim = self._measured, self.claim
        found = measured.known(self._key("number"))
        if not isinstance(found, Verdict):
            measured.range_was_read = False
            found = self._possible(self._number)
            if not measured.range_was_read and not self._passing:
                measured.once(self._key("number"), lambda: found)
        self.verdict = found
        if found.value is None:
            return
        self.waits = measured.nulls and claim.null is not None
        if not self.waits:
            self.verdict = judge(claim, found.value, None)

    def _number(self) -> Verdict:
        measured, claim = self._measured, self.claim
        if why := measured.model.no_claims:
            raise NotApplicable(why)
        if claim.requires is not None:
            claim.requires(measured)
        value = float(claim.measure(measured))
        if not np.isfinite(value):
            raise CannotTell("the quantity is not defined for this model")
        return Verdict(claim, value)

    def _possible(self, find: Callable[[], Verdict]) -> Verdict:
        """Return a verdict, or that there is none for a reason."""
        self._passing = False
        try:
            # 0/0 is undefined, and reported so.
            with np.errstate(divide="ignore", invalid="ignore"):
                return find()
        except (Cancelled, FileChanged):
            raise
        except HelixscopeError as error:
            verdict = without_number(self.claim, error)
            if isinstance(error, HubError | NotFetched):  # may be available the next time
                self._passing = True
            return verdict

    @property
    def values(self) -> dict[CurveKind, list[float]]:
        """The draws of random curves, by their kind."""
        measured, empty = self._measured, dict[CurveKind, list[float]]
        if measured.known(self._key("number")) is None:
            return measured.drawn.setdefault(self.claim.id, empty())
        return measured.once(self._key("draws"), empty)

    def unusual(self, verdict: Verdict) -> bool:
        """Return whether the number is as claimed, and few of the draws so far reach it."""
        value, expected = self.verdict.value, self.claim.expected
        if value is None or not verdict.nulls or not expected.holds(value):
            return False
        return not any(_reach(null, value, expected.side) for null in verdict.nulls)

    def usual(self, draws: int) -> bool:
        """Return whether among so many random curves of one kind the number is not unusual."""
        value, expected = self.verdict.value, self.claim.expected
        assert value is not None
        nulls = [
            null_of(kind, "", some)
            for kind, values in self.values.items()
            if len(some := [one for one in values[:draws] if np.isfinite(one)]) >= MIN_DEFINED
        ]
        side = expected.side
        return any(one.surrounds(value) and one.reached(value, side) >= REACHED for one in nulls)

    def needs(self, draws: int, verdict: Verdict, rare: float, most: int) -> bool:
        """Return whether so many draws may change the verdict, as corrected so far.

        Parameters
        ----------
        draws
            Of each kind of random table.
        verdict
            As corrected.
        rare
            The p-value with which it may hold.
        most
            Draws that there are at most.
        """
        if not self.waits or self.drawn >= draws:
            return False
        if not self.drawn:
            return True
        value, side = self.verdict.value, self.claim.expected.side
        if value is None or not self.unusual(verdict):
            return False
        reached = max(null.reached(value, side) for null in verdict.nulls)
        return (reached + 1) / (most + 1) <= rare  # if no other draw reaches it

    def draw(self, draws: int) -> None:
        """Draw random tables of other kinds than curves, so many of each."""

        def judged() -> Verdict:
            null = self.claim.null
            assert null is not None
            assert not isinstance(null, Curves)
            nulls = null(self.claim, self._measured, draws)
            if not nulls:
                raise CannotTell("random curves have no comparable value")
            assert self.verdict.value is not None
            return judge(self.claim, self.verdict.value, nulls)

        key, measured = (self._key("verdict"), draws), self._measured
        found = measured.known(key)
        if not isinstance(found, Verdict):
            measured.range_was_read = False
            found = self._possible(judged)
            known = measured.known(self._key("number")) is not None
            if known and not self._passing and not measured.range_was_read:
                measured.once(key, lambda: found)
        self._decided(found, draws)

    def decide(self, draws: int) -> None:
        """Judge the number beside the random curves that have been drawn, so many of each kind."""

        def judged() -> Verdict:
            assert self.verdict.value is not None
            drawn = {kind: values[:draws] for kind, values in self.values.items()}
            return judge(self.claim, self.verdict.value, nulls_of_draws(drawn))

        self._decided(self._possible(judged), draws)

    def _decided(self, verdict: Verdict, draws: int) -> None:
        self.verdict, self.drawn = verdict, draws
        self.waits = verdict.value is not None
