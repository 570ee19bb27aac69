"""The ledger: claims of four articles about positional embeddings, checked on a model.

Some claims are not from an article: they are ours, to explain what one of them reports.

A claim that does not hold for a model is a finding about the model, not an error, and one that
holds for any smooth curve is none. Where an article is verbal ("fairly low rank"), the numerical
criterion is our reading of its words, and stands beside the claim.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

from geometry.checkpoints.errors import HelixscopeError
from geometry.checkpoints.plugins import Plugin, PluginError, plugins
from geometry.claims import claim_lookback as lookback
from geometry.claims import claim_measures as measures
from geometry.claims import claim_spaces as spaces
from geometry.claims.claim import (
    CannotTell,
    Curves,
    Expected,
    ModelClaim,
    Verdict,
    at_least,
    at_most,
    more_than,
)
from geometry.claims.claim_nulls import PROCESSES, random_turning
from geometry.claims.ledger import check, check_in_steps
from geometry.claims.measurements import Measurements
from geometry.history.last_position import STAYS
from geometry.models.residual_stream import Name

HELIX = "GPT-2's positional embedding matrix is a helix"
NORMS = "Positional embeddings in GPT-2 lie near(ish) the surface of a hypersphere"
SUBSPACES = "Insights into GPT-2's positional encodings"
WHY = "Comments on GPT-2's positional embedding matrix is a helix"
OURS = "Helixscope: further hypotheses and checks"
R = TypeVar("R")


def check_claims(
    measured: Measurements, tell: Callable[[float], None] | None = None
) -> tuple[Verdict, ...]:
    """Check every claim on one model, in the ledger's order; those of plugins are the last.

    Parameters
    ----------
    measured
        The model's measurements. Claims about weights are of the first layer as it is, whatever
        their scope.
    tell
        Called with the share that is done; may raise to stop.
    """
    verdicts: tuple[Verdict, ...] = ()
    for checking in check_in_steps(all_claims(), measured):
        verdicts = checking.verdicts
        if tell is not None:
            tell(checking.share)
    return verdicts


_helix = partial(ModelClaim, article=HELIX)
_norms = partial(ModelClaim, article=NORMS)
_subspaces = partial(ModelClaim, article=SUBSPACES)
_why = partial(ModelClaim, article=WHY)
_ours = partial(ModelClaim, article=OURS)


_READERS: tuple[tuple[Name, str], ...] = (("W_Q", "query"), ("W_K", "key"), ("W_V", "value"))
_HALF_MORE = at_least(1.5)
_CLEARLY = "“far more … than one would expect from chance”: at least half more"
_HALF = "“most of its mass”: more than half"
_WITHIN = "our reading of “nearly”: within a twentieth"


def _corner_claim(
    *,
    corner: tuple[Name, Name, spaces.Which],
    expected: Expected = _HALF_MORE,
    reason: str = _CLEARLY,
    quantity: str = "top-left corner, over chance",
    **words: str,
) -> ModelClaim:
    """Return a claim about a corner of the squared overlaps of two matrices, over chance."""
    rows, columns, which = corner
    reach = partial(spaces.reach_of_corner, rows=rows, columns=columns, bound=expected.bound)
    return _subspaces(
        expected=expected,
        reason=reason,
        quantity=quantity,
        measure=partial(spaces.corner, rows=rows, columns=columns, which=which),
        null=partial(spaces.random_corner, rows=rows, columns=columns, which=which),
        requires=reach if expected.side == "above" else None,
        **words,
    )


CLAIMS: tuple[ModelClaim, ...] = (
    # ---- the helix ---
    _helix(
        id="pca.three",
        fact="the curve turns",
        statement="“A three-dimensional subspace is enough to explain 90 % of the variance.”",
        quantity="variance share of three components, positions 1 to the last",
        expected=at_least(0.89),
        reason="90 %, rounded",
        measure=lambda m: measures.top3(m, 1, -1),
        null=Curves(kinds=PROCESSES),
    ),
    _helix(
        id="pca.not_a_line",
        fact="the curve turns",
        statement="Training “does something weirder than” a line.",
        quantity="share of the residual of the best line that two components explain",
        expected=at_least(0.5),
        reason="more than half: the residual is not noise",
        measure=measures.beside_a_line,
        null=Curves(kinds=PROCESSES),
    ),
    _helix(
        id="shape.helix",
        fact="the curve turns",
        statement="“We get a helix.”",
        quantity="how evenly the curve turns while it climbs, over what the rule requires",
        expected=at_least(1),
        reason=(
            "the bound that about 2 % of the random curves reach that turn most evenly, whatever "
            "their kind, over at least 1.5 turns"
        ),
        measure=measures.turning,
        null=random_turning,
    ),
    _helix(
        id="outlier.first",
        fact="the rows at the ends",
        statement="Position 0 is “always an outlier”.",
        quantity="deviation of its norm, over the bound of the rule",
        expected=more_than(1),
        reason="the rule for outliers",
        measure=partial(measures.how_far_out, position=0),
        null=Curves(by_lag=True),
    ),
    _helix(
        id="outlier.last",
        fact="the rows at the ends",
        statement="“The very last position … is an outlier as well.”",
        quantity="deviation of its norm, over the bound of the rule",
        expected=more_than(1),
        reason="the rule for outliers",
        measure=partial(measures.how_far_out, position=-1),
        null=Curves(by_lag=True),
    ),
    _ours(
        id="position.last_decays",
        fact="the rows at the ends",
        statement=(
            "The last position's row never learns: it keeps its initial value and only decays."
        ),
        quantity="largest share of the row, over training, that is not its decayed initial value",
        expected=at_most(STAYS),
        reason="a twentieth",
        measure=measures.last_departure,
        null=measures.other_departures,
    ),
    _helix(
        id="pca.fraying",
        fact="the first hundred",
        statement=(
            "“Fraying”: the earliest positions “are relying on a different subspace than all the "
            "others”."
        ),
        quantity="median residual of the positions to 20, over that from 100 on",
        expected=at_least(1.5),
        reason="at least half more, visible in a plot",
        measure=measures.fraying,
        null=Curves(by_lag=True),
    ),
    _helix(
        id="pca.truncated",
        fact="the first hundred",
        statement="Without the first 100 positions three dimensions explain “substantially” more.",
        quantity="gain in variance share",
        expected=at_least(0.02),
        reason="a fifth of the 10 % of the variance that is missing",
        measure=measures.truncation,
        null=Curves(by_lag=True, kinds=PROCESSES),
    ),
    _helix(
        id="pca.first_hundred",
        fact="the first hundred",
        statement=(
            "The best three dimensions of the first 100 positions are not those of the others."
        ),
        quantity="shared part of the two subspaces, 0 to 1",
        expected=at_most(0.9),
        reason="“a different subspace”: at least a tenth of it",
        measure=measures.shared_subspace,
        null=Curves(by_lag=True, kinds=PROCESSES),
    ),
    _helix(
        id="steps.early",
        fact="the first hundred",
        statement="The first few positions are set apart “by spacing them out”.",
        quantity="mean step of positions 1–20, over that from 100 on",
        expected=at_least(2),
        reason="twice as far",
        measure=measures.steps,
        null=Curves(by_lag=True),
    ),
    _helix(
        id="entries.waves",
        fact="waves",
        statement="“Many of the entries … taken in isolation” look “kind of” like a sine wave.",
        quantity="share of the variance explained by one sinusoid for each entry",
        expected=at_least(0.6),
        reason="more than half, clearly",
        measure=measures.sinusoidal_share,
        null=Curves(columns=True),
    ),
    _helix(
        id="entries.explained",
        fact="the curve turns",
        statement=(
            "“Both of these observations are explained by the helical structure”: the sine waves."
        ),
        quantity="median R² of the three components for entries with a sinusoid of R² ≥ 0.8",
        expected=at_least(0.8),
        reason="as much as the sinusoid itself",
        measure=measures.entries_explained,
        null=Curves(columns=True, kinds=PROCESSES),
        requires=measures.needs_helix,
    ),
    _helix(
        id="similarity.periodic",
        fact="the curve turns",
        statement="“A periodic pattern to the cosine similarity.”",
        quantity=(
            "largest rise of the mean cosine by lag after a fall, to three quarters of the range"
        ),
        expected=at_least(0.2),
        reason="it has to rise again, by a tenth of all possible cosines",
        measure=measures.rise,
        null=Curves(),
    ),
    _helix(
        id="similarity.explained",
        fact="the curve turns",
        statement=(
            "“Both of these observations are explained by the helical structure”: the period."
        ),
        quantity="correlation of the mean cosine by lag before and after projection",
        expected=at_least(0.95),
        reason="nearly the same curve",
        measure=measures.similarity_explained,
        null=Curves(kinds=PROCESSES),
        requires=measures.needs_helix,
    ),
    # ---- norms ---
    _norms(
        id="norms.stable",
        fact="steady norms",
        statement="“Only a moderate variation in the magnitude … past the initial 100 tokens.”",
        quantity="standard deviation over mean",
        expected=at_most(0.1),
        reason="a tenth",
        measure=measures.later_variation,
        null=Curves(),
    ),
    _norms(
        id="norms.early",
        fact="the first hundred",
        statement="Before that they vary more.",
        quantity="coefficient of variation of the earlier norms, over that of the later",
        expected=at_least(1.5),
        reason="at least half more",
        measure=measures.early_variation,
        null=Curves(by_lag=True),
    ),
    _norms(
        id="layernorm.orthogonal",
        fact="tokens and positions at right angles",
        statement=(
            "“Token embeddings are almost orthogonal to positional embeddings (maximum cosine sim "
            "of 0.15 …).”"
        ),
        quantity="largest |cosine| of a token and a position",
        expected=at_most(0.2),
        reason="0.15, and a third more for other models",
        measure=spaces.largest_cosine,
        null=spaces.turned_cosine,
    ),
    _norms(
        id="layernorm.sum_of_squares",
        fact="tokens and positions at right angles",
        statement="“Approximating them as exactly orthogonal.”",
        quantity="median relative error of LayerNorm's denominator",
        expected=at_most(0.05),
        reason=_WITHIN,
        measure=partial(spaces.error, which="orthogonal"),
        null=partial(spaces.turned_error, which="orthogonal"),
    ),
    # ---- subspaces ---
    _subspaces(
        id="capture.weak",
        fact="tokens and positions at right angles",
        statement="P's top directions “align well with the bottom directions” of E.",
        quantity="capture of E's last 5 %, over chance",
        expected=at_least(3),
        reason="“large mass”: three times",
        measure=partial(spaces.captured, first=0.95, last=1),
        null=partial(spaces.random_capture, first=0.95, last=1),
        requires=partial(spaces.reach_of_capture, bound=3),
    ),
    _subspaces(
        id="capture.strong",
        fact="tokens and positions at right angles",
        statement="“Roughly orthogonal”: most of E's directions have little of P.",
        quantity="capture of E's directions from 2 % to 65 %, over chance",
        expected=at_most(1),
        reason="less than by chance",
        measure=partial(spaces.captured, first=0.02, last=0.65),
        null=partial(spaces.random_capture, first=0.02, last=0.65),
    ),
    _subspaces(
        id="capture.first",
        fact="tokens and positions at right angles",
        statement="“A small mass at the low indices. This is strange to me.”",
        quantity="capture of E's first direction, over chance",
        expected=at_least(1.5),
        reason="visible in a plot",
        measure=partial(spaces.captured, first=0, last=0),
        null=partial(spaces.random_capture, first=0, last=0),
        requires=partial(spaces.reach_of_capture, bound=1.5),
    ),
    _ours(
        id="capture.first_is_mean",
        fact="tokens and positions at right angles",
        statement=(
            "“Feel free to send me hypotheses!” It is P's mean row: about its mean P has little of "
            "E's first direction."
        ),
        quantity="capture of E's first direction by P about its mean row, over that by P",
        expected=at_most(0.5),
        reason="at most half",
        measure=spaces.first_without_mean,
        null=spaces.without_another,
    ),
    _corner_claim(
        id="overlap.P_E.strong_weak",
        fact="tokens and positions at right angles",
        statement=(
            "“The top positional encoding subspace is aligned to the bottom token embedding "
            "subspace” (the article's upper right corner)."
        ),
        quantity="top-right corner of P × E, over chance",
        expected=at_least(2),
        reason="“large masses”: twice chance",
        corner=("P", "E", "TR"),
    ),
    _corner_claim(
        id="overlap.P_E.weak_strong",
        fact="tokens and positions at right angles",
        statement=(
            "“… and vice versa” (the article says “bottom-right”; what it describes is the bottom "
            "left corner)."
        ),
        quantity="bottom-left corner of P × E, over chance",
        expected=at_least(1.5),
        reason="half more than chance",
        corner=("P", "E", "BL"),
    ),
    _corner_claim(
        id="overlap.P_E.strong",
        fact="tokens and positions at right angles",
        statement="P's top directions avoid E's top directions.",
        quantity="top-left corner of P × E, over chance",
        expected=at_most(1),
        reason="less than by chance",
        corner=("P", "E", "TL"),
    ),
    *(
        _subspaces(
            id=f"overlap.{name}_P",
            fact="weights and positions",
            statement=f"The {word} matrix is “well-aligned to the very top subspace of P”.",
            quantity="overlap of the first three directions, 0 to 3",
            expected=at_least(1),
            reason="one direction of three",
            measure=partial(spaces.top3_overlap, rows=name, columns="P"),
            null=partial(spaces.random_top3, rows=name, columns="P"),
        )
        for name, word in _READERS[:2]
    ),
    _corner_claim(
        id="overlap.W_V_P",
        fact="weights and positions",
        statement=(
            "The value weights are “far more aligned to the top subspaces of both P and E”: P."
        ),
        corner=("W_V", "P", "TL"),
    ),
    *(
        _corner_claim(
            id=f"overlap.{name}_E",
            fact="weights and tokens",
            statement=f"The {word} matrix is “well-aligned to the top subspaces of E”.",
            corner=(name, "E", "TL"),
        )
        for name, word in _READERS
    ),
    _corner_claim(
        id="overlap.W_O_P",
        fact="weights and positions",
        statement="The proj matrix is “well-aligned with P”.",
        corner=("W_O", "P", "TL"),
    ),
    _corner_claim(
        id="overlap.W_O_E.aligned",
        fact="weights and tokens",
        statement=(
            "The proj weights are “far more aligned to the top subspaces of both P and E”: E."
        ),
        corner=("W_O", "E", "TL"),
    ),
    _corner_claim(
        id="overlap.W_O_E",
        fact="weights and tokens",
        statement=(
            "The proj matrix is “apparently anti-aligned to” E (the article says “to P!”, of which "
            "it has just said the opposite)."
        ),
        expected=at_most(1),
        reason="less than by chance",
        corner=("W_O", "E", "TL"),
    ),
    _corner_claim(
        id="overlap.W_in_E",
        fact="weights and tokens",
        statement="The MLP is “strongly attuned to the top token embedding directions”.",
        corner=("W_in", "E", "TL"),
    ),
    _corner_claim(
        id="overlap.W_in_P",
        fact="weights and positions",
        statement="… and “strongly insensitive to the positional encoding directions”.",
        expected=at_most(1),
        reason="less than by chance",
        corner=("W_in", "P", "TL"),
    ),
    _subspaces(
        id="overlap.W_in_E.diagonal",
        fact="weights and tokens",
        statement="Its overlaps with E have “most of its mass along the diagonal”.",
        quantity="share of squared overlaps within a tenth of the diagonal",
        expected=at_least(0.5),
        reason=_HALF,
        measure=partial(spaces.along, rows="W_in", columns="E", which="diagonal"),
        null=partial(spaces.random_along, rows="W_in", columns="E", which="diagonal"),
    ),
    _subspaces(
        id="overlap.W_in_P.antidiagonal",
        fact="weights and positions",
        statement="Its overlaps with P have “most of its mass along the antidiagonal”.",
        quantity="share of squared overlaps within a tenth of the antidiagonal",
        expected=at_least(0.5),
        reason=_HALF,
        measure=partial(spaces.along, rows="W_in", columns="P", which="antidiagonal"),
        null=partial(spaces.random_along, rows="W_in", columns="P", which="antidiagonal"),
    ),
    _subspaces(
        id="directions.sparse",
        fact="few entries",
        statement="P's top vectors are “sparse, concentrating strongly on maybe 40 indices”.",
        quantity="mass of the 40 largest entries, mean of the first three directions",
        expected=at_least(0.9),
        reason="“strongly”: all but a tenth",
        measure=spaces.heaviest,
        null=spaces.turned_heaviest,
    ),
    _subspaces(
        id="directions.few_entries",
        fact="few entries",
        statement="Positions use few indices of the embedding.",
        quantity="share of the entries that carry 90 % of the mass of the first five directions",
        expected=at_most(0.15),
        reason="some 40 of 768 for each of them, and the same for some",
        measure=spaces.entries_used,
        null=spaces.turned_entries,
    ),
    _subspaces(
        id="directions.disjoint",
        fact="tokens and positions at right angles",
        statement="“They actually make use of (roughly) disjoint sets of embedding indices!”",
        quantity="E's energy in the entries above 0.1, over the average entry",
        expected=at_most(0.5),
        reason="at most half",
        measure=spaces.tokens_there,
        null=spaces.other_entries,
    ),
    _subspaces(
        id="directions.appended",
        fact="tokens and positions at right angles",
        statement="“This is just a permutation away from the positional encodings being appended.”",
        quantity="mass that P's first five directions and E have in the same entries, 0 to 1",
        expected=at_most(0.25),
        reason="“roughly”: three quarters apart",
        measure=spaces.shared_entries,
        null=spaces.turned_shared,
    ),
    _subspaces(
        id="directions.context_waves",
        fact="waves",
        statement="“The top singular vectors in the context space are basically sinusoids …”",
        quantity="mean R² of a sinusoid for the first five, positions 1 to the last but one",
        expected=at_least(0.5),
        reason="“basically”: more than half",
        measure=measures.context_waves,
        null=Curves(),
    ),
    _subspaces(
        id="directions.frequencies",
        fact="waves",
        statement="“… of different frequencies.”",
        quantity=(
            "number of different frequencies among the first five, at least a quarter of a cycle "
            "apart"
        ),
        expected=at_least(4),
        reason="four of five, as one may appear as sine and cosine",
        measure=measures.different_frequencies,
        null=Curves(),
    ),
    _subspaces(
        id="decoding.position",
        fact="tokens and positions at right angles",
        statement=(
            "“Easily resolve … the token embedding and its position”: the position, from their sum."
        ),
        quantity="share of sums nearest to that position's row",
        expected=at_least(0.95),
        reason="“easily”: 19 of 20",
        measure=spaces.position_read_back,
        null=spaces.turned_position,
    ),
    # ---- why ---
    _why(
        id="lookback.everywhere",
        fact="looking back is a motion",
        statement="“Look back N tokens” is “a position-independent rotation (and translation?)”.",
        quantity="R² for N = 50, fitted on the first half, scored on the second",
        expected=at_least(0.8),
        reason="“position-independent”: what is fitted on one half holds in the other",
        measure=lookback.everywhere,
        null=Curves(by_lag=True),
    ),
    _why(
        id="lookback.far",
        fact="looking back is a motion",
        statement="… and so for larger N.",
        quantity="the lower R² of N = 100 and N = 200, fitted and scored likewise",
        expected=at_least(0.8),
        reason="as for N = 50",
        measure=lookback.far,
        null=Curves(by_lag=True),
    ),
    _why(
        id="lookback.rotation",
        fact="the curve turns",
        statement=(
            "“Acting on it through … rotations”: a shift alone does not do it, as it would on a "
            "line."
        ),
        quantity="share of the error of a shift alone that a rotation removes, N = 50",
        expected=at_least(0.5),
        reason="half of it",
        measure=lookback.beyond_a_shift,
        null=Curves(by_lag=True),
    ),
    _why(
        id="lookback.shift",
        fact="looking back is a motion",
        statement="“(and translation?)”: the rotation alone does not do it either.",
        quantity="R² of rotation and shift minus that of the rotation alone, N = 50, by halves",
        expected=more_than(0),
        reason="better on positions not used in the fit",
        measure=lookback.beyond_a_rotation,
        null=Curves(by_lag=True),
    ),
    _why(
        id="lookback.angle",
        fact="the curve turns",
        statement="Each token back turns by the same angle.",
        quantity="R² of a straight line through the angles by lag, up to where rotations fit",
        expected=at_least(0.99),
        reason="visibly straight",
        measure=lookback.steady_turning,
        null=Curves(by_lag=True),
    ),
    _why(
        id="lookback.heads",
        fact="looking back is a motion",
        statement="“… of the positional subspace of query/key vectors.”",
        quantity="lower R² of queries and keys for N = 10, median over the first layer's heads",
        expected=at_least(0.9),
        reason="all but a tenth",
        measure=lookback.in_heads,
        null=lookback.curves_in_heads,
    ),
    _why(
        id="heads.position_independent",
        fact="attention by distance",
        statement="“Position-independent”: scores depend on the lag.",
        quantity="share of the variance of a head's scores explained by the lag, median of layer 0",
        expected=at_least(0.5),
        reason="more than half",
        measure=lookback.by_lag_alone,
        null=lookback.turned_shares,
    ),
    _why(
        id="read.norm",
        fact="a row has its position",
        statement="“The helix puts a bit of positional information in the variable magnitude …”",
        quantity="median error of the position with the nearest norm, over chance",
        expected=at_most(0.5),
        reason="“a bit”: half the error expected by chance",
        measure=measures.by_norm,
        null=Curves(by_lag=True),
    ),
    _why(
        id="read.direction",
        fact="a row has its position",
        statement="“… and a bit in the variable rotation.”",
        quantity="median error of the position in the nearest direction, over chance",
        expected=at_most(0.5),
        reason="“a bit”: half the error expected by chance",
        measure=measures.by_direction,
        null=Curves(by_lag=True),
    ),
    _why(
        id="curve.curled",
        fact="the curve turns",
        statement=(
            "“You are forced to ‘curl’ the line up”: “high length while staying close to the "
            "origin”."
        ),
        quantity="length of the curve in three components, over its extent",
        expected=at_least(1.5),
        reason="half again as long as a straight line of its extent",
        measure=measures.curled,
        null=Curves(),
        requires=measures.needs_curve,
    ),
    _ours(
        id="kernels.local",
        fact="attention by distance",
        statement="Some heads find the last few tokens by position alone.",
        quantity=(
            "number of heads of the first layer whose last 32 queries have over 90 % of their "
            "attention at lags 0–10"
        ),
        expected=at_least(1),
        reason="at least one",
        measure=lookback.local_heads,
        null=lookback.turned_kernels,
    ),
)
"""In the order of the articles."""


def all_claims() -> tuple[ModelClaim, ...]:
    """Return :data:`CLAIMS`, and those of plugins, which are imported at the first call."""
    claims, ids = list(CLAIMS), {claim.id for claim in CLAIMS}
    for plugin in plugins("claims"):
        try:
            own = plugin.load(partial(_of_plugin, plugin))
            if taken := sorted(ids & {claim.id for claim in own}):
                raise plugin.fail(f"has a claim whose name is taken, {taken[0]}, and is left out")
        except PluginError:
            continue
        claims += own
        ids |= {claim.id for claim in own}
    return tuple(claims)


def _of_plugin(plugin: Plugin, loaded: Any) -> tuple[ModelClaim, ...]:
    """Return a plugin's claims, an error in which decides nothing.

    Raises TypeError: It is neither a claim nor several.
    """
    claims = (loaded,) if isinstance(loaded, ModelClaim) else tuple(loaded)
    if not all(isinstance(claim, ModelClaim) for claim in claims):
        raise TypeError(f"{loaded!r} is neither a ModelClaim nor several")

    def contained(function: Callable[..., R]) -> Callable[..., R]:
        def call(*arguments: Any) -> R:
            try:
                return function(*arguments)
            except HelixscopeError:
                raise
            except Exception as error:
                raise CannotTell(str(plugin.fail("failed", error))) from error

        return call

    return tuple(
        replace(
            claim,
            plugin=plugin.name,
            measure=contained(claim.measure),
            null=contained(claim.null) if callable(claim.null) else claim.null,
            requires=claim.requires and contained(claim.requires),
        )
        for claim in claims
    )


__all__ = [
    "CLAIMS",
    "HELIX",
    "NORMS",
    "OURS",
    "SUBSPACES",
    "WHY",
    "Verdict",
    "all_claims",
    "check",
    "check_claims",
]
