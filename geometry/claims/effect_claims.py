"""Claims that only a change of positions can settle: what the network loses by it.

The evidence is the interval over resampled texts, in place of random tables. All changes run in the
same windows of text, and are compared window by window. Every number is a share of what positions
are worth: of the loss without any, which the change "top 0" costs.

Whatever moves rows costs something, so each change is weighed against its controls, displacements
of the same size (:mod:`geometry.inside.controls`); the least favourable of them decides.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from geometry.checkpoints.errors import HelixscopeError
from geometry.checkpoints.result import ResultTuple, result
from geometry.claims.claim import (
    CannotTell,
    Claim,
    NotApplicable,
    Verdict,
    at_least,
    at_most,
    without_number,
)
from geometry.claims.claims import OURS
from geometry.evidence.null import RARE, Null, Outcome, null_of
from geometry.inside.effects import Effect, Effects
from geometry.inside.resampling import FEWEST_FILES
from geometry.pca.components import Array

NEEDS = "needs forward passes: measure it in the panel Effects"
WITHOUT = "top 0"
"""The change that leaves no positions: what it costs is what they are worth."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectClaim(Claim):
    """A claim about what a change of positions costs.

    Attributes
    ----------
    change
        Name of the change, see :func:`geometry.inside.interventions.find_change`.
    beyond
        Whether the number is what the change costs beyond that of its controls which costs most;
        beyond all others, the outcome has to be the same. Else the number is the cost itself, which
        is to be small, and the controls are what it is compared with: a claim holds "as any smooth
        curve" if one of them costs no more.
    """

    article: str = OURS
    fact: str = "what positions do"
    change: str
    beyond: bool = False


def check_effects(effects: Effects | None) -> tuple[Verdict, ...]:
    """Check every claim about what positions do.

    Parameters
    ----------
    effects
        Measured to the end; None if they are not.

    Returns
    -------
    tuple
        In the order of :data:`EFFECT_CLAIMS`. A claim holds if its whole interval over texts is as
        claimed, and does not hold if none of it is; else more texts are needed to tell.
    """
    return ResultTuple(_check(claim, effects) for claim in EFFECT_CLAIMS)


def _check(claim: EffectClaim, effects: Effects | None) -> Verdict:
    try:
        if effects is None:
            raise CannotTell(NEEDS)
        shares = _Shares(effects)
        cost, controls = shares.of(claim)
    except HelixscopeError as error:
        return without_number(claim, error)
    if claim.beyond:
        beyond = [_Share(cost.value - one.value, cost.drawn - one.drawn) for _, one in controls]
        costs, null = sorted(beyond, key=lambda one: one.value), None
    else:
        costs, null = [cost], _weighed(cost, controls)
    value, interval = costs[0].value, shares.texts.interval(costs[0].drawn)
    each = [
        {claim.expected.holds(end) for end in shares.texts.interval(one.drawn)} for one in costs
    ]
    ends = set.union(*each)
    why: str = shares.too_few
    outcome: Outcome = "cannot tell"
    if not why and max(map(len, each)) > 1:
        why = "the interval over texts includes the bound: measure more texts"
    elif not why and len(ends) > 1:
        why = "it depends on the displacement of the same size with which it is compared"
    elif not why:
        outcome = "holds" if ends.pop() else "does not hold"
        if outcome == "holds" and null is not None and null.p_value(value, "below") > RARE / 2:
            outcome = "as any smooth curve"
    nulls = () if null is None else (null,)
    return Verdict(claim, value, outcome, null, why or None, interval, nulls)


@result
class _Share:
    """A cost over what positions are worth; and that of resampled texts, (draws,)."""

    value: float
    drawn: Array


def _weighed(cost: _Share, controls: Sequence[tuple[str, _Share]]) -> Null | None:
    """Return what the least favourable control costs in resampled texts, beside the same cost."""
    if not controls:
        return None
    name, control = min(controls, key=lambda one: one[1].value)
    return null_of(
        "displaced",
        f"a displacement of the same size ({name})",
        cost.value + control.drawn - cost.drawn,
    )


class _Shares:
    """Costs as shares of what positions are worth."""

    def __init__(self, effects: Effects) -> None:
        if effects.baseline is None:
            raise NotApplicable("an encoder has no loss of predicting the next token")
        self._effects, self.texts = effects, effects.resampling
        self._worth = np.array(_measured(effects, WITHOUT).by_window)
        self._worths = self.texts.means(self._worth)
        if self.texts.interval(self._worths)[0] <= 0:
            raise CannotTell("without positions this network loses nothing that texts can show")

    @property
    def too_few(self) -> str:
        """Why intervals support no claim; "" if they do."""
        if not self._effects.files:
            return "it is unknown which windows are of one text: measure again"
        if self.texts.by_file:
            return ""
        n = self.texts.n_files
        return f"{n} file{'s' * (n != 1)} of texts are too few: measure at least {FEWEST_FILES}"

    def of(self, claim: EffectClaim) -> tuple[_Share, list[tuple[str, _Share]]]:
        """Return what a claim's change costs, and what its controls do."""
        effect = _measured(self._effects, claim.change)
        controls = [(one.name, self._share(one.by_window)) for one in effect.controls]
        if claim.beyond and not controls:
            raise CannotTell("no displacement of the same size is measured: measure again")
        return self._share(effect.by_window), controls

    def _share(self, by_window: Sequence[float]) -> _Share:
        costs = np.array(by_window)
        # The same texts in both.
        drawn = self.texts.means(costs) / self._worths
        return _Share(float(costs.mean() / self._worth.mean()), drawn)


def _measured(effects: Effects, change: str) -> Effect:
    """Return the effect of a change, measured in all windows."""
    found = effects.of(change)
    if found is not None and found.why:
        raise NotApplicable(found.why.rstrip("."))
    if found is None or not found.by_window:
        raise CannotTell(f"the change “{change}” is not measured")
    return found


_OVER = "over that without positions"
_LITTLE = "little: a tenth of what positions are worth"

EFFECT_CLAIMS: tuple[EffectClaim, ...] = (
    EffectClaim(
        id="effects.three",
        statement=(
            "Three components are enough: the network loses little without the others, and less "
            "than by a displacement of the same size in random directions."
        ),
        quantity=f"loss by keeping only these, {_OVER}",
        expected=at_most(0.1),
        reason="little: a tenth, as much as may be missing of the variance",
        change="top 3",
    ),
    EffectClaim(
        id="effects.helix",
        statement=(
            "The helix is enough: the network loses little with the fitted helix in place of its "
            "positions, and less than by other displacements of the same size, or with a "
            "polynomial or cosines that are as close."
        ),
        quantity=f"loss by the fitted helix, {_OVER}",
        expected=at_most(0.1),
        reason=_LITTLE,
        change="fitted helix",
    ),
    EffectClaim(
        id="effects.norms",
        statement=(
            "Stable norms matter: norms that vary at random cost more than displacements of the "
            "same size that keep all norms."
        ),
        quantity=f"loss by norms that vary by a third, minus that with norms kept, {_OVER}",
        expected=at_least(0.1),
        reason=f"more than {_LITTLE}",
        change="scrambled norms",
        beyond=True,
    ),
    EffectClaim(
        id="effects.orthogonal",
        statement=(
            "Orthogonality to tokens matters: positions turned onto the tokens' leading directions "
            "cost more than turned at random."
        ),
        quantity=f"loss by the turn onto E, minus that by random turns, {_OVER}",
        expected=at_least(0.1),
        reason=f"more than {_LITTLE}",
        change="into E",
        beyond=True,
    ),
    EffectClaim(
        id="effects.first",
        statement=(
            "Position 0 does not matter as such: the network loses next to nothing with the row of "
            "position 1 in its place, and less than by another displacement of that row."
        ),
        quantity=f"loss by that, {_OVER}",
        expected=at_most(0.05),
        reason="next to nothing: a twentieth of what positions are worth",
        change="without position 0",
    ),
)
"""All claims about what positions do."""

NEEDED = tuple(dict.fromkeys((WITHOUT, *(claim.change for claim in EFFECT_CLAIMS))))
"""The changes that they need, by name; controls are measured with them."""
