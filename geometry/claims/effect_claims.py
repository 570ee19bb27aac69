"""Claims that only a change of positions can settle: what the network loses by it.

The evidence is the interval over resampled texts, in place of random tables. All changes run in the
same windows of text, and are compared window by window. Every number is a share of what positions
are worth: of the loss without any, which the change "top 0" costs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from geometry.checkpoints.errors import HelixscopeError
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
from geometry.evidence.null import Outcome
from geometry.inside.intervene import Effects, interval_of, resampled_means
from geometry.pca.components import Array

NEEDS = "needs forward passes: measure it in the panel Effects"
WITHOUT = "top 0"
"""The change that leaves no positions: what it costs is what they are worth."""
FEWEST = 16
"""Windows of text below which intervals over resampled texts are clearly too narrow."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectClaim(Claim):
    """A claim about what a change of positions costs.

    Attributes
    ----------
    change
        Name of the change, see :func:`geometry.inside.interventions.find_change`.
    control
        The change whose cost is subtracted, which does the same but for what the claim is about;
        "" for none.
    """

    article: str = OURS
    fact: str = "what positions do"
    change: str
    control: str = ""


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
    return tuple(_check(claim, effects) for claim in EFFECT_CLAIMS)


def _check(claim: EffectClaim, effects: Effects | None) -> Verdict:
    try:
        if effects is None:
            raise CannotTell(NEEDS)
        value, interval = _share(claim, effects)
    except HelixscopeError as error:
        return without_number(claim, error)
    ends = {claim.expected.holds(end) for end in interval}
    if len(ends) > 1:
        why = "the interval over texts includes the bound: measure more windows of text"
        return Verdict(claim, value, "cannot tell", None, why, interval)
    outcome: Outcome = "holds" if ends.pop() else "does not hold"
    return Verdict(claim, value, outcome, interval=interval)


def _share(claim: EffectClaim, effects: Effects) -> tuple[float, tuple[float, float]]:
    """Return what a change costs beyond its control, over what positions are worth."""
    if effects.baseline is None:
        raise NotApplicable("an encoder has no loss of predicting the next token")
    cost, worth = _by_window(effects, claim.change), _by_window(effects, WITHOUT)
    if claim.control:
        cost = cost - _by_window(effects, claim.control)
    if len(worth) < FEWEST:
        raise CannotTell(f"{len(worth)} windows of text are too few: measure at least {FEWEST}")
    worths = resampled_means(worth)
    if interval_of(worths)[0] <= 0:
        raise CannotTell("without positions this network loses nothing that texts can show")
    shares = resampled_means(cost) / worths  # the same texts in both
    return float(cost.mean() / worth.mean()), interval_of(shares)


def _by_window(effects: Effects, change: str) -> Array:
    """Return what a change costs in each window of text, (windows,)."""
    found = effects.of(change)
    if found is not None and found.why:
        raise NotApplicable(found.why.rstrip("."))
    if found is None or not found.by_window:
        raise CannotTell(f"the change “{change}” is not measured")
    return np.array(found.by_window)


_OVER = "over that without positions"
_LITTLE = "little: a tenth of what positions are worth"

EFFECT_CLAIMS: tuple[EffectClaim, ...] = (
    EffectClaim(
        id="effects.three",
        statement="Three components are enough: the network loses little without the others.",
        quantity=f"loss by keeping only these, {_OVER}",
        expected=at_most(0.1),
        reason="little: a tenth, as much as may be missing of the variance",
        change="top 3",
    ),
    EffectClaim(
        id="effects.helix",
        statement=(
            "The helix is enough: the network loses little with the fitted helix, and nothing "
            "else, in place of its positions."
        ),
        quantity=f"loss by the fitted helix, {_OVER}",
        expected=at_most(0.1),
        reason=_LITTLE,
        change="fitted helix",
    ),
    EffectClaim(
        id="effects.norms",
        statement=(
            "Stable norms matter: norms that vary at random cost more than norms that are all "
            "equal."
        ),
        quantity=f"loss by norms that vary by a third, minus that by equal norms, {_OVER}",
        expected=at_least(0.1),
        reason=f"more than {_LITTLE}",
        change="scrambled norms",
        control="equal norms",
    ),
    EffectClaim(
        id="effects.orthogonal",
        statement=(
            "Orthogonality to tokens matters: positions turned onto the tokens' leading directions "
            "cost more than turned at random."
        ),
        quantity=f"loss by the turn onto E, minus that by a random turn, {_OVER}",
        expected=at_least(0.1),
        reason=(
            "a tenth: more than twice the standard deviation between random turns, of the bundled "
            "model, of which one is measured"
        ),
        change="into E",
        control="random turn",
    ),
    EffectClaim(
        id="effects.first",
        statement=(
            "Position 0 does not matter as such: the network loses next to nothing with the row of "
            "position 1 in its place."
        ),
        quantity=f"loss by that, {_OVER}",
        expected=at_most(0.05),
        reason="next to nothing: a twentieth of what positions are worth",
        change="without position 0",
    ),
)
"""All claims about what positions do."""

NEEDED = tuple(
    dict.fromkeys(
        (WITHOUT, *(name for one in EFFECT_CLAIMS for name in (one.change, one.control) if name))
    )
)
"""The changes that they need, by name."""
