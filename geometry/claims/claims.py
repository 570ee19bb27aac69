"""The ledger: claims of four articles about positional embeddings, checked on a model.

Some claims are not from an article: they are ours, to explain what one of them reports.

A claim that does not hold for a model is a finding about the model, not an error, and one that
holds for any smooth curve is none. Where an article is verbal ("fairly low rank"), the numerical
criterion is our reading of its words, and stands beside the claim.
"""

from __future__ import annotations

from collections.abc import Callable

from geometry.claims import claim_lookback as lookback
from geometry.claims import claim_measures as measures
from geometry.claims import claim_spaces as spaces
from geometry.claims.claim import (
    Expected,
    ModelClaim,
    Verdict,
    at_least,
    at_most,
    check,
    known_verdict,
    more_than,
)
from geometry.claims.claim_nulls import (
    curves,
    draw_curves,
    random_turns,
    worst_turning,
)
from geometry.claims.measurements import Measurements
from geometry.evidence.null import FEW_DRAWS
from geometry.history.last_position import STAYS
from geometry.models.residual_stream import Name

HELIX = "GPT-2's positional embedding matrix is a helix"
NORMS = "Positional embeddings in GPT-2 lie near(ish) the surface of a hypersphere"
SUBSPACES = "Insights into GPT-2's positional encodings"
WHY = "Comments on GPT-2's positional embedding matrix is a helix"
OURS = "Helixscope: further hypotheses and checks"


def check_claims(
    measured: Measurements, tell: Callable[[float], None] | None = None
) -> tuple[Verdict, ...]:
    """Check every claim on one model, in the ledger's order.

    Parameters
    ----------
    measured
        The model's measurements. Claims about weights are of the first layer as it is, whatever
        their scope.
    tell
        Called with the share of the random curves that have been drawn; may raise to stop.
    """
    if not measured.model.no_claims:
        draw_curves(CLAIMS, measured, tell)
    return tuple(check(claim, measured) for claim in CLAIMS)


def _corner_claim(
    *, corner: tuple[Name, Name, spaces.Which], expected: Expected, **words: str
) -> ModelClaim:
    """Return a claim about a corner of the squared overlaps of two matrices, over chance."""
    rows, columns, which = corner
    reach = spaces.reach_of_corner(rows, columns, expected.bound)
    return ModelClaim(
        article=SUBSPACES,
        expected=expected,
        measure=spaces.corner(rows, columns, which),
        null=spaces.random_corner(rows, columns),
        requires=reach if expected.side == "above" else None,
        **words,
    )


_READERS: tuple[tuple[Name, str], ...] = (("W_Q", "query"), ("W_K", "key"), ("W_V", "value"))
_CLEARLY = "“far more … than one would expect from chance”: at least half more"
_HALF = "“most of its mass”: more than half"
_WITHIN = "our reading of “nearly”: within a twentieth"

CLAIMS: tuple[ModelClaim, ...] = (
    # ---- the helix ---
    ModelClaim(
        id="rows.unique",
        article=HELIX,
        statement="“We should expect that each row … is unique.”",
        quantity="positions whose row is that of an earlier one",
        expected=at_most(0),
        reason="follows from the wording",
        measure=measures.doubles,
        null=curves("process"),
    ),
    ModelClaim(
        id="pca.three",
        article=HELIX,
        statement="“A three-dimensional subspace is enough to explain 90 % of the variance.”",
        quantity="variance share of three components, positions 1 to the last",
        expected=at_least(0.89),
        reason="90 %, rounded",
        measure=lambda m: measures.top3(m, 1, -1),
        null=curves("process", "walk"),
    ),
    ModelClaim(
        id="pca.not_a_line",
        article=HELIX,
        statement="Training “does something weirder than” a line.",
        quantity="share of the residual of the best line that two components explain",
        expected=at_least(0.5),
        reason="more than half: the residual is not noise",
        measure=measures.beside_a_line,
        null=curves("process", "walk"),
    ),
    ModelClaim(
        id="shape.helix",
        article=HELIX,
        statement="“We get a helix.”",
        quantity="balanced turning share of a climbing curve, over the bound of the rule",
        expected=at_least(1),
        reason=(
            "B of 0.5, or B′ of 0.8, which at most 5 % of smooth random curves reach, whatever "
            "their length scale"
        ),
        measure=measures.turning,
        null=worst_turning,
    ),
    ModelClaim(
        id="shape.turns",
        article=HELIX,
        statement="The helix has “loops”.",
        quantity="turns from the first to the last position",
        expected=at_least(1),
        reason="at least one loop",
        measure=measures.turns,
        null=random_turns,
        requires=measures.needs_helix,
    ),
    ModelClaim(
        id="outlier.first",
        article=HELIX,
        statement="Position 0 is “always an outlier”.",
        quantity="deviation of its norm, over the bound of the rule",
        expected=more_than(1),
        reason="the rule for outliers",
        measure=measures.how_far_out(0),
        null=curves("process", "walk"),
    ),
    ModelClaim(
        id="outlier.last",
        article=HELIX,
        statement="“The very last position … is an outlier as well.”",
        quantity="deviation of its norm, over the bound of the rule",
        expected=more_than(1),
        reason="the rule for outliers",
        measure=measures.how_far_out(-1),
        null=curves("process", "walk"),
    ),
    ModelClaim(
        id="position.last_decays",
        article=OURS,
        statement=(
            "The last position's row never learns: it keeps its initial value and only decays."
        ),
        quantity="largest share of the row, over training, that is not its decayed initial value",
        expected=at_most(STAYS),
        reason="a twentieth",
        measure=measures.last_departure,
    ),
    ModelClaim(
        id="pca.fraying",
        article=HELIX,
        statement=(
            "“Fraying”: the earliest positions “are relying on a different subspace than all the "
            "others”."
        ),
        quantity="median residual of the positions to 20, over that from 100 on",
        expected=at_least(1.5),
        reason="at least half more, visible in a plot",
        measure=measures.fraying,
        null=curves("process", "walk", by_lag=True),
    ),
    ModelClaim(
        id="pca.truncated",
        article=HELIX,
        statement="Without the first 100 positions three dimensions explain “substantially” more.",
        quantity="gain in variance share",
        expected=at_least(0.02),
        reason="a fifth of the 10 % of the variance that is missing",
        measure=measures.truncation,
        null=curves("process", "walk", by_lag=True),
    ),
    ModelClaim(
        id="pca.first_hundred",
        article=HELIX,
        statement=(
            "The best three dimensions of the first 100 positions are not those of the others."
        ),
        quantity="shared part of the two subspaces, 0 to 1",
        expected=at_most(0.9),
        reason="“a different subspace”: at least a tenth of it",
        measure=measures.shared_subspace,
        null=curves("process", "walk", by_lag=True),
    ),
    ModelClaim(
        id="steps.early",
        article=HELIX,
        statement="The first few positions are set apart “by spacing them out”.",
        quantity="mean step of positions 1–20, over that from 100 on",
        expected=at_least(2),
        reason="twice as far",
        measure=measures.steps,
        null=curves("process", by_lag=True),
    ),
    ModelClaim(
        id="entries.waves",
        article=HELIX,
        statement="“Many of the entries … taken in isolation” look “kind of” like a sine wave.",
        quantity="share of the variance explained by one sinusoid for each entry",
        expected=at_least(0.6),
        reason="more than half, clearly",
        measure=measures.sinusoidal_share,
        null=curves("process", columns=True),
    ),
    ModelClaim(
        id="entries.explained",
        article=HELIX,
        statement=(
            "“Both of these observations are explained by the helical structure”: the sine waves."
        ),
        quantity="median R² of the three components for entries with a sinusoid of R² ≥ 0.8",
        expected=at_least(0.8),
        reason="as much as the sinusoid itself",
        measure=measures.entries_explained,
        null=curves("process", columns=True),
        requires=measures.needs_helix,
    ),
    ModelClaim(
        id="similarity.periodic",
        article=HELIX,
        statement="“A periodic pattern to the cosine similarity.”",
        quantity=(
            "largest rise of the mean cosine by lag after a fall, to three quarters of the range"
        ),
        expected=at_least(0.2),
        reason="it has to rise again, by a tenth of all possible cosines",
        measure=measures.rise,
        null=curves("process", "walk", by_lag=True),
    ),
    ModelClaim(
        id="similarity.explained",
        article=HELIX,
        statement=(
            "“Both of these observations are explained by the helical structure”: the period."
        ),
        quantity="correlation of the mean cosine by lag before and after projection",
        expected=at_least(0.95),
        reason="nearly the same curve",
        measure=measures.similarity_explained,
        null=curves("process", by_lag=True),
        requires=measures.needs_helix,
    ),
    # ---- norms ---
    ModelClaim(
        id="norms.stable",
        article=NORMS,
        statement="“Only a moderate variation in the magnitude … past the initial 100 tokens.”",
        quantity="standard deviation over mean",
        expected=at_most(0.1),
        reason="a tenth",
        measure=measures.later_variation,
        null=curves("process", by_lag=True),
    ),
    ModelClaim(
        id="norms.early",
        article=NORMS,
        statement="Before that they vary more.",
        quantity="coefficient of variation of the earlier norms, over that of the later",
        expected=at_least(1.5),
        reason="at least half more",
        measure=measures.early_variation,
        null=curves("process", "walk", by_lag=True),
    ),
    ModelClaim(
        id="layernorm.orthogonal",
        article=NORMS,
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
    ModelClaim(
        id="layernorm.sum_of_squares",
        article=NORMS,
        statement="“Approximating them as exactly orthogonal.”",
        quantity="median relative error of LayerNorm's denominator",
        expected=at_most(0.05),
        reason=_WITHIN,
        measure=spaces.error("orthogonal"),
        null=spaces.turned_error("orthogonal"),
    ),
    ModelClaim(
        id="layernorm.constant",
        article=NORMS,
        statement="“Where we approximate with a constant, removing the dependence.”",
        quantity="median relative error of LayerNorm's denominator",
        expected=at_most(0.05),
        reason=_WITHIN,
        measure=spaces.error("constant_norm"),
        null=spaces.turned_error("constant_norm"),
    ),
    # ---- subspaces ---
    ModelClaim(
        id="spectrum.P",
        article=SUBSPACES,
        statement=(
            "P “has fairly low rank: it's very well captured by its top, say, 30 singular "
            "directions”."
        ),
        quantity="energy of P's first 30 directions",
        expected=at_least(0.98),
        reason="“very well”: all but a fiftieth",
        measure=lambda m: measures.energy(m.spectrum("P")),
        null=curves("process", "walk"),
        requires=lambda m: measures.more_than_top(m.spectrum("P")),
    ),
    ModelClaim(
        id="spectrum.E",
        article=SUBSPACES,
        statement="“The embeddings, by contrast, have fairly high rank.”",
        quantity="energy of E's first 30 directions",
        expected=at_most(0.5),
        reason="less than half",
        measure=lambda m: measures.energy(m.spectrum("E")),
        requires=lambda m: measures.more_than_top(m.spectrum("E")),
    ),
    ModelClaim(
        id="capture.weak",
        article=SUBSPACES,
        statement="P's top directions “align well with the bottom directions” of E.",
        quantity="capture of E's last 5 %, over chance",
        expected=at_least(3),
        reason="“large mass”: three times",
        measure=spaces.captured(0.95, 1),
        null=spaces.random_capture(0.95, 1),
        requires=spaces.reach_of_capture(3),
    ),
    ModelClaim(
        id="capture.strong",
        article=SUBSPACES,
        statement="“Roughly orthogonal”: most of E's directions have little of P.",
        quantity="capture of E's directions from 2 % to 65 %, over chance",
        expected=at_most(1),
        reason="less than by chance",
        measure=spaces.captured(0.02, 0.65),
        null=spaces.random_capture(0.02, 0.65),
    ),
    ModelClaim(
        id="capture.first",
        article=SUBSPACES,
        statement="“A small mass at the low indices. This is strange to me.”",
        quantity="capture of E's first direction, over chance",
        expected=at_least(1.5),
        reason="visible in a plot",
        measure=spaces.captured(0, 0),
        null=spaces.random_capture(0, 0),
        requires=spaces.reach_of_capture(1.5),
    ),
    ModelClaim(
        id="capture.first_is_mean",
        article=OURS,
        statement=(
            "“Feel free to send me hypotheses!” It is P's mean row: about its mean P has little of "
            "E's first direction."
        ),
        quantity="capture of E's first direction by P about its mean row, over that by P",
        expected=at_most(0.5),
        reason="at most half",
        measure=spaces.first_without_mean,
    ),
    _corner_claim(
        id="overlap.P_E.strong_weak",
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
        statement="P's top directions avoid E's top directions.",
        quantity="top-left corner of P × E, over chance",
        expected=at_most(1),
        reason="less than by chance",
        corner=("P", "E", "TL"),
    ),
    *(
        ModelClaim(
            id=f"overlap.{name}_P",
            article=SUBSPACES,
            statement=f"The {word} matrix is “well-aligned to the very top subspace of P”.",
            quantity="overlap of the first three directions, 0 to 3",
            expected=at_least(1),
            reason="one direction of three",
            measure=spaces.top3_overlap(name, "P"),
            null=spaces.random_top3(name, "P"),
        )
        for name, word in _READERS[:2]
    ),
    _corner_claim(
        id="overlap.W_V_P",
        statement=(
            "The value weights are “far more aligned to the top subspaces of both P and E”: P."
        ),
        quantity="top-left corner, over chance",
        expected=at_least(1.5),
        reason=_CLEARLY,
        corner=("W_V", "P", "TL"),
    ),
    ModelClaim(
        id="overlap.W_Q_P.folded",
        article=OURS,
        statement=(
            "With LayerNorm's gain folded into the weights, queries read less of P's top "
            "directions."
        ),
        quantity="overlap of the first three directions, folded over raw",
        expected=at_most(0.5),
        reason="at most half",
        measure=spaces.folded_share,
    ),
    *(
        _corner_claim(
            id=f"overlap.{name}_E",
            statement=f"The {word} matrix is “well-aligned to the top subspaces of E”.",
            quantity="top-left corner, over chance",
            expected=at_least(1.5),
            reason=_CLEARLY,
            corner=(name, "E", "TL"),
        )
        for name, word in _READERS
    ),
    _corner_claim(
        id="overlap.W_O_P",
        statement="The proj matrix is “well-aligned with P”.",
        quantity="top-left corner, over chance",
        expected=at_least(1.5),
        reason=_CLEARLY,
        corner=("W_O", "P", "TL"),
    ),
    _corner_claim(
        id="overlap.W_O_E.aligned",
        statement=(
            "The proj weights are “far more aligned to the top subspaces of both P and E”: E."
        ),
        quantity="top-left corner, over chance",
        expected=at_least(1.5),
        reason=_CLEARLY,
        corner=("W_O", "E", "TL"),
    ),
    _corner_claim(
        id="overlap.W_O_E",
        statement=(
            "The proj matrix is “apparently anti-aligned to” E (the article says “to P!”, of which "
            "it has just said the opposite)."
        ),
        quantity="top-left corner, over chance",
        expected=at_most(1),
        reason="less than by chance",
        corner=("W_O", "E", "TL"),
    ),
    _corner_claim(
        id="overlap.W_in_E",
        statement="The MLP is “strongly attuned to the top token embedding directions”.",
        quantity="top-left corner, over chance",
        expected=at_least(1.5),
        reason=_CLEARLY,
        corner=("W_in", "E", "TL"),
    ),
    _corner_claim(
        id="overlap.W_in_P",
        statement="… and “strongly insensitive to the positional encoding directions”.",
        quantity="top-left corner, over chance",
        expected=at_most(1),
        reason="less than by chance",
        corner=("W_in", "P", "TL"),
    ),
    ModelClaim(
        id="overlap.W_in_E.diagonal",
        article=SUBSPACES,
        statement="Its overlaps with E have “most of its mass along the diagonal”.",
        quantity="share of squared overlaps within a tenth of the diagonal",
        expected=at_least(0.5),
        reason=_HALF,
        measure=spaces.along("W_in", "E", "diagonal"),
        null=spaces.random_along("W_in", "E"),
    ),
    ModelClaim(
        id="overlap.W_in_P.antidiagonal",
        article=SUBSPACES,
        statement="Its overlaps with P have “most of its mass along the antidiagonal”.",
        quantity="share of squared overlaps within a tenth of the antidiagonal",
        expected=at_least(0.5),
        reason=_HALF,
        measure=spaces.along("W_in", "P", "antidiagonal"),
        null=spaces.random_along("W_in", "P"),
    ),
    ModelClaim(
        id="directions.sparse",
        article=SUBSPACES,
        statement="P's top vectors are “sparse, concentrating strongly on maybe 40 indices”.",
        quantity="mass of the 40 largest entries, mean of the first three directions",
        expected=at_least(0.9),
        reason="“strongly”: all but a tenth",
        measure=spaces.heaviest,
        null=spaces.turned_heaviest,
    ),
    ModelClaim(
        id="directions.few_entries",
        article=SUBSPACES,
        statement="Positions use few indices of the embedding.",
        quantity="share of the entries that carry 90 % of the mass of the first five directions",
        expected=at_most(0.15),
        reason="some 40 of 768 for each of them, and the same for some",
        measure=spaces.entries_used,
        null=spaces.turned_entries,
    ),
    ModelClaim(
        id="directions.disjoint",
        article=SUBSPACES,
        statement="“They actually make use of (roughly) disjoint sets of embedding indices!”",
        quantity="E's energy in the entries above 0.1, over the average entry",
        expected=at_most(0.5),
        reason="at most half",
        measure=spaces.tokens_there,
        null=spaces.other_entries,
    ),
    ModelClaim(
        id="directions.appended",
        article=SUBSPACES,
        statement="“This is just a permutation away from the positional encodings being appended.”",
        quantity="mass that P's first five directions and E have in the same entries, 0 to 1",
        expected=at_most(0.25),
        reason="“roughly”: three quarters apart",
        measure=spaces.shared_entries,
        null=spaces.turned_shared,
    ),
    ModelClaim(
        id="directions.context_waves",
        article=SUBSPACES,
        statement="“The top singular vectors in the context space are basically sinusoids …”",
        quantity="mean R² of a sinusoid for the first five, positions 1 to the last but one",
        expected=at_least(0.5),
        reason="“basically”: more than half",
        measure=measures.context_waves,
        null=curves("process", "walk", draws=FEW_DRAWS),
    ),
    ModelClaim(
        id="directions.frequencies",
        article=SUBSPACES,
        statement="“… of different frequencies.”",
        quantity=(
            "number of different frequencies among the first five, at least a quarter of a cycle "
            "apart"
        ),
        expected=at_least(4),
        reason="four of five, as one may appear as sine and cosine",
        measure=measures.different_frequencies,
        null=curves("process", "walk", draws=FEW_DRAWS),
    ),
    ModelClaim(
        id="decoding.position",
        article=SUBSPACES,
        statement=(
            "“Easily resolve … the token embedding and its position”: the position, from their sum."
        ),
        quantity="share of sums nearest to that position's row",
        expected=at_least(0.95),
        reason="“easily”: 19 of 20",
        measure=spaces.position_read_back,
        null=spaces.turned_position,
    ),
    ModelClaim(
        id="decoding.token",
        article=SUBSPACES,
        statement=(
            "“Easily resolve both the token embedding and its position”: the token, from their sum."
        ),
        quantity="share of sums nearest to that token's row, of 4,096",
        expected=at_least(0.95),
        reason="“easily”: 19 of 20",
        measure=spaces.token_read_back,
        null=spaces.turned_token,
    ),
    # ---- why ---
    ModelClaim(
        id="lookback.everywhere",
        article=WHY,
        statement="“Look back N tokens” is “a position-independent rotation (and translation?)”.",
        quantity="R² for N = 50, fitted on the first half, scored on the second",
        expected=at_least(0.8),
        reason="“position-independent”: what is fitted on one half holds in the other",
        measure=lookback.everywhere,
        null=curves("process", "walk", by_lag=True),
    ),
    ModelClaim(
        id="lookback.far",
        article=WHY,
        statement="… and so for larger N.",
        quantity="the lower R² of N = 100 and N = 200, fitted and scored likewise",
        expected=at_least(0.8),
        reason="as for N = 50",
        measure=lookback.far,
        null=curves("process", "walk", by_lag=True),
    ),
    ModelClaim(
        id="lookback.rotation",
        article=WHY,
        statement=(
            "“Acting on it through … rotations”: a shift alone does not do it, as it would on a "
            "line."
        ),
        quantity="share of the error of a shift alone that a rotation removes, N = 50",
        expected=at_least(0.5),
        reason="half of it",
        measure=lookback.beyond_a_shift,
        null=curves("process", "walk", by_lag=True),
    ),
    ModelClaim(
        id="lookback.shift",
        article=WHY,
        statement="“(and translation?)”: the rotation alone does not do it either.",
        quantity="R² of rotation and shift minus that of the rotation alone, N = 50, by halves",
        expected=more_than(0),
        reason="better on positions not used in the fit",
        measure=lookback.beyond_a_rotation,
        null=curves("process", "walk", by_lag=True),
    ),
    ModelClaim(
        id="lookback.angle",
        article=WHY,
        statement="Each token back turns by the same angle.",
        quantity="R² of a straight line through the angles by lag, up to where rotations fit",
        expected=at_least(0.99),
        reason="visibly straight",
        measure=lookback.steady_turning,
        null=curves("process", "walk", by_lag=True),
    ),
    ModelClaim(
        id="lookback.heads",
        article=WHY,
        statement="“… of the positional subspace of query/key vectors.”",
        quantity="lower R² of queries and keys for N = 10, median over the first layer's heads",
        expected=at_least(0.9),
        reason="all but a tenth",
        measure=lookback.in_heads,
        null=lookback.curves_in_heads,
    ),
    ModelClaim(
        id="lookback.lags",
        article=WHY,
        statement="“Perhaps even for different Ns across different heads.”",
        quantity=(
            "number of different lags that a head attends to twice as much as to itself and to the "
            "farthest"
        ),
        expected=at_least(2),
        reason="two are different",
        measure=lookback.different_lags,
    ),
    ModelClaim(
        id="heads.position_independent",
        article=WHY,
        statement="“Position-independent”: scores depend on the lag.",
        quantity="share of the variance of a head's scores explained by the lag, median of layer 0",
        expected=at_least(0.5),
        reason="more than half",
        measure=lookback.by_lag_alone,
        null=lookback.turned_shares,
    ),
    ModelClaim(
        id="read.norm",
        article=WHY,
        statement="“The helix puts a bit of positional information in the variable magnitude …”",
        quantity="median error of the position with the nearest norm, over chance",
        expected=at_most(0.5),
        reason="“a bit”: half the error expected by chance",
        measure=measures.by_norm,
        null=curves("process", "walk", by_lag=True),
    ),
    ModelClaim(
        id="read.direction",
        article=WHY,
        statement="“… and a bit in the variable rotation.”",
        quantity="median error of the position in the nearest direction, over chance",
        expected=at_most(0.5),
        reason="“a bit”: half the error expected by chance",
        measure=measures.by_direction,
        null=curves("process", by_lag=True),
    ),
    ModelClaim(
        id="curve.curled",
        article=WHY,
        statement=(
            "“You are forced to ‘curl’ the line up”: “high length while staying close to the "
            "origin”."
        ),
        quantity="length of the curve in three components, over its extent",
        expected=at_least(1.5),
        reason="half again as long as a straight line of its extent",
        measure=measures.curled,
        null=curves("process", "walk"),
        requires=measures.needs_curve,
    ),
    ModelClaim(
        id="layernorm.ruins_line",
        article=WHY,
        statement="“Layernorms may directly ruin the linear case by projecting it away.”",
        quantity=(
            "shortest step after LayerNorm of a line of the curve's length, over its mean step"
        ),
        expected=at_most(0.25),
        reason="a quarter of the mean step",
        measure=lookback.line_after_layernorm,
        null=curves("process", "walk"),
    ),
    ModelClaim(
        id="kernels.local",
        article=OURS,
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
    ModelClaim(
        id="kernels.averaged",
        article=OURS,
        statement=(
            "Finding the previous token requires neighbours to differ: with positions averaged in "
            "blocks of 10, no head finds it as well."
        ),
        quantity="best previous-token score of the first layer, averaged over unaveraged",
        expected=at_most(0.8),
        reason="lower by at least a fifth",
        measure=lookback.blunted,
    ),
)
"""In the order of the articles."""

__all__ = [
    "CLAIMS",
    "HELIX",
    "NORMS",
    "OURS",
    "SUBSPACES",
    "WHY",
    "Verdict",
    "check",
    "check_claims",
    "draw_curves",
    "known_verdict",
]
