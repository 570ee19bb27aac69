"""Claims about several models: what is alike in all of them, and what tells two families apart."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations, islice, permutations
from typing import Literal

import numpy as np

from geometry.checkpoints.errors import HelixscopeError
from geometry.checkpoints.result import ResultTuple
from geometry.claims.claim import (
    CannotTell,
    Claim,
    Verdict,
    at_least,
    at_most,
    judge,
    more_than,
    too_few,
)
from geometry.claims.claim_measures import truncation
from geometry.claims.claims import HELIX, WHY
from geometry.claims.measurements import Measurements
from geometry.evidence.null import FEW_DRAWS, Null, null_of
from geometry.evidence.turning_nulls import rule_null
from geometry.measures.roughness import roughness
from geometry.measures.shape_fit import HELICES
from geometry.models.model import PositionalModel

Family = Literal["openai", "stanford"]

_OPENAI = ("gpt2", "gpt2-medium", "gpt2-large", "gpt2-xl")
CURVES = 399
"""Groups of random curves that are drawn."""
MAX_WAYS = 5040
"""Orders of models that are tried at most: all of seven."""


@dataclass(frozen=True, slots=True)
class Member:
    """What claims about groups need of a model, of positions 1 to the last.

    Attributes
    ----------
    name
        Its short name.
    family
        "openai" or "stanford" for their GPT-2s; else None.
    n_positions, d_model
        Rows and columns of its table.
    top3
        Variance share of three components.
    gain
        What that gains without the first 100 positions; None if there are too few.
    turns, share
        Turns from the first to the last position, None where nothing turns, and the balanced
        turning share.
    helix
        Whether a helix describes the positions.
    climb
        Its climb in a turn, over its radius: 0 of a circle; None where nothing turns.
    shaking
        Share of the curve's energy in waves shorter than eight positions.
    """

    name: str
    family: Family | None
    n_positions: int
    d_model: int
    top3: float
    gain: float | None
    turns: float | None
    share: float
    helix: bool
    climb: float | None
    shaking: float

    @property
    def xl(self) -> bool:
        """Whether it is gpt2-xl."""
        return self.family == "openai" and self.name.endswith("xl")


def family_of(model: PositionalModel) -> Family | None:
    """Return the family of a GPT-2, by its name: OpenAI's four, or Stanford's."""
    if model.source.of is not None:
        return None
    name = model.name.partition("@")[0].lower().rsplit("/", 1)[-1]
    if name in _OPENAI:
        return "openai"
    stanford = "stanford-crfm" in model.source.text.lower() or "gpt2-small-x" in name
    stanford = stanford or "gpt2-medium-x" in name
    return "stanford" if stanford else None


def member(measured: Measurements) -> Member:
    """Measure a model for claims about groups.

    Parameters
    ----------
    measured
        Of positions 1 to the last.

    Raises
    ------
    CannotTell
        Its table is too small.
    """
    shapes, evidence = measured.shapes, measured.evidence
    if shapes is None or evidence is None:
        raise CannotTell(f"{measured.model.name}: {too_few(measured)}")
    scores = measured.pca.project(measured.rows)[:, :3]
    turning = shapes.described if evidence.remarkable else None
    return Member(
        name=measured.model.name,
        family=family_of(measured.model),
        n_positions=measured.model.n_positions,
        d_model=measured.model.d_model,
        top3=float(measured.pca.explained_variance_ratio[:3].sum()),
        gain=_if_it_can(truncation, measured),
        turns=evidence.turns if evidence.remarkable else None,
        share=evidence.b,
        helix=shapes.best in HELICES,
        climb=None if turning is None else turning.climb_per_turn / turning.radius,
        shaking=roughness(scores).high_frequency_energy,
    )


def _if_it_can(measure: Callable[[Measurements], float], measured: Measurements) -> float | None:
    try:
        return measure(measured)
    except HelixscopeError:
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupClaim(Claim):
    """A claim about several models.

    Attributes
    ----------
    needs
        The models that it needs, as part of a sentence.
    measure
        Computes the number; raises CannotTell where models are missing.
    null
        Draws the same number where nothing tells the models apart; raises CannotTell where they are
        too few for that.
    """

    needs: str
    measure: Callable[[Sequence[Member]], float]
    null: Callable[[Sequence[Member]], Null] | None = None


def check_groups(members: Sequence[Member]) -> tuple[Verdict, ...]:
    """Check every claim about groups on the models that are there.

    Parameters
    ----------
    members
        Models side by side, each once.

    Returns
    -------
    tuple
        In the order of :data:`GROUP_CLAIMS`. Where models are missing the reason names those that
        a claim needs.
    """
    return ResultTuple(_check(claim, members) for claim in GROUP_CLAIMS)


def _check(claim: GroupClaim, members: Sequence[Member]) -> Verdict:
    try:
        value = float(claim.measure(members))
        null = None if claim.null is None else claim.null(members)
    except CannotTell:
        return Verdict(claim, outcome="cannot tell", why_null=f"it needs {claim.needs}")
    return judge(claim, value, null)


# ---- measures ---


def _of(members: Sequence[Member], family: Family) -> list[Member]:
    return [one for one in members if one.family == family]


def _gpt2s(members: Sequence[Member]) -> list[Member]:
    found = [one for one in members if one.family is not None]
    if len(found) < 2:
        raise CannotTell("too few GPT-2s")
    return found


def _no_helix(members: Sequence[Member]) -> float:
    """Count the GPT-2s, but for gpt2-xl, that are no helix."""
    return float(sum(not one.helix for one in _gpt2s(members) if not one.xl))


def _of_random_curves(members: Sequence[Member]) -> Null:
    """Count those of as many random curves that are no helix by the rule, of the same widths."""
    rng = np.random.default_rng(0)
    others = [one for one in _gpt2s(members) if not one.xl]
    drawn = [rng.choice(rule_null(one.d_model).values, CURVES) < 1.0 for one in others]
    counts = np.sum(drawn, axis=0, dtype=np.float64)
    meaning = "as many random curves, of the length scale that turns most evenly"
    return null_of("process", meaning, counts)


Quantity = Callable[[Member], float | None]


def _more(members: Sequence[Member], first: Family, quantity: Quantity) -> float:
    """Mean of a family, less that of the other."""
    one, other = _two(members, first, quantity)
    return float(np.mean(one) - np.mean(other))


def _relabelled(members: Sequence[Member], first: Family, quantity: Quantity) -> Null:
    """Return all differences of means when the models are divided in any other way."""
    one, other = _two(members, first, quantity)
    values = np.array([*one, *other])
    chosen = list(combinations(range(len(values)), len(one)))[1:]  # the first is their own
    if len(chosen) < FEW_DRAWS:
        raise CannotTell("too few models")
    total = values.sum()
    drawn = []
    for ways in chosen:
        of_first = values[list(ways)].sum()
        drawn.append(of_first / len(one) - (total - of_first) / len(other))
    return null_of("relabelled", "divisions of these models into two such groups", drawn)


def _two(
    members: Sequence[Member], first: Family, quantity: Quantity
) -> tuple[list[float], list[float]]:
    second: Family = "stanford" if first == "openai" else "openai"
    found = [
        [value for one in _of(members, family) if (value := quantity(one)) is not None]
        for family in (first, second)
    ]
    if not all(found):
        raise CannotTell("a family is missing")
    return found[0], found[1]


def _climbs_with_length(members: Sequence[Member]) -> float:
    """Rank correlation of the climb and the number of positions, of models that turn."""
    from scipy.stats import spearmanr  # slow to import

    found = [(one.n_positions, one.climb) for one in members if one.climb is not None]
    if len(found) < 3 or len({n for n, _ in found}) < 2 or len({c for _, c in found}) < 2:
        raise CannotTell("too few models that turn")
    lengths, climbs = (np.array(values) for values in zip(*found, strict=True))
    return float(spearmanr(lengths, climbs).statistic)


def _climbs_in_any_order(members: Sequence[Member]) -> Null:
    """Return the rank correlations when the climbs are given to the models in any other order."""
    from scipy.stats import rankdata  # slow to import

    found = [(one.n_positions, one.climb) for one in members if one.climb is not None]
    # The first is their own order.
    orders = np.array(list(islice(permutations(range(len(found))), 1, MAX_WAYS)))
    if len(orders) < FEW_DRAWS:
        raise CannotTell("too few models that turn")
    lengths, climbs = (rankdata(values) for values in zip(*found, strict=True))
    drawn = np.corrcoef(lengths, climbs[orders])[0, 1:]
    return null_of("relabelled", "these climbs, of the models in another order", drawn)


_helix = partial(GroupClaim, article=HELIX, fact="models")
_BOTH = "six or more GPT-2s of both OpenAI and Stanford side by side"

GROUP_CLAIMS: tuple[GroupClaim, ...] = (
    _helix(
        id="group.all_but_xl",
        statement=(
            "“We get a clear helix in all but gpt2-xl”: it is “pretty consistent across the "
            "various different GPT-2 models”."
        ),
        quantity="number of GPT-2 models other than gpt2-xl that no helix describes",
        expected=at_most(0),
        reason="“all”",
        needs="two of the nine GPT-2s side by side",
        measure=_no_helix,
        null=_of_random_curves,
    ),
    _helix(
        id="group.variance",
        statement=(
            "“More of the variance … can be attributed to a three-dimensional subspace in OpenAI's "
            "models than Stanford's.”"
        ),
        quantity="mean variance share of three components, OpenAI's minus Stanford's",
        expected=more_than(0),
        reason="follows from the wording",
        needs=_BOTH,
        measure=partial(_more, first="openai", quantity=lambda one: one.top3),
        null=partial(_relabelled, first="openai", quantity=lambda one: one.top3),
    ),
    _helix(
        id="group.shaky",
        statement="“Stanford's helices are ‘shakier’.”",
        quantity="mean energy in waves shorter than eight positions, Stanford's minus OpenAI's",
        expected=more_than(0),
        reason="follows from the wording",
        needs=_BOTH,
        measure=partial(_more, first="stanford", quantity=lambda one: one.shaking),
        null=partial(_relabelled, first="stanford", quantity=lambda one: one.shaking),
    ),
    _helix(
        id="group.loops",
        statement="“Stanford's helices have more loops in them.”",
        quantity="mean turns, Stanford's minus OpenAI's",
        expected=more_than(0),
        reason="follows from the wording",
        needs=_BOTH,
        measure=partial(_more, first="stanford", quantity=lambda one: one.turns),
        null=partial(_relabelled, first="stanford", quantity=lambda one: one.turns),
    ),
    _helix(
        id="group.truncated",
        statement=(
            "Truncating the first 100 “makes a big difference to the OpenAI models” and “very "
            "little difference to the Stanford models”."
        ),
        quantity="mean gain in variance share, OpenAI's minus Stanford's",
        expected=at_least(0.02),
        reason="as for one model",
        needs=_BOTH,
        measure=partial(_more, first="openai", quantity=lambda one: one.gain),
        null=partial(_relabelled, first="openai", quantity=lambda one: one.gain),
    ),
    GroupClaim(
        id="group.shorter",
        article=WHY,
        fact="models",
        statement=(
            "“The natural shape for shorter lengths is a circle, and for longer lengths we are "
            "forced to stretch it.”"
        ),
        quantity="rank correlation of climb over radius and number of positions",
        expected=more_than(0),
        reason="follows from the wording",
        needs="four helices or circles of different lengths side by side",
        measure=_climbs_with_length,
        null=_climbs_in_any_order,
    ),
)
"""In the order of the articles."""
