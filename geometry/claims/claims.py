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
from geometry.claims.claim import Claim, Verdict, at_least, at_most, check, known_verdict, more_than
from geometry.claims.claim_nulls import (
    FEWEST,
    curves,
    draw_curves,
    random_turns,
    worst_turning,
)
from geometry.claims.measurements import Measurements
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


_READERS: tuple[tuple[Name, str], ...] = (("W_Q", "query"), ("W_K", "key"), ("W_V", "value"))
_CLEARLY = "“far more … than one would expect from chance”: at least half more"
_HALF = "“most of its mass”: more than half"
_WITHIN = "our reading of “nearly”: within a twentieth"

CLAIMS: tuple[Claim, ...] = (
    # ---- the helix ---
    Claim("rows.unique", HELIX, "“We should expect that each row … is unique.”",
          "positions whose row is that of an earlier one", at_most(0), "follows from the wording",
          measures.doubles, "positions", curves("process")),
    Claim("pca.three", HELIX, "“A three-dimensional subspace is enough to explain 90 % of the "
          "variance.”", "variance share of three components, positions 1 to the last",
          at_least(0.89), "90 %, rounded", lambda m: measures.top3(m, 1, -1), "positions",
          curves("process", "walk")),
    Claim("pca.not_a_line", HELIX, "Training “does something weirder than” a line.",
          "share of the residual of the best line that two components explain",
          at_least(0.5), "more than half: the residual is not noise", measures.beside_a_line,
          "shape", curves("process", "walk")),
    Claim("shape.helix", HELIX, "“We get a helix.”",
          "balanced turning share of a climbing curve, over the bound of the rule", at_least(1),
          "B of 0.5, or B′ of 0.8, which at most 5 % of smooth random curves reach, whatever "
          "their length scale", measures.turning, "shape", worst_turning),
    Claim("shape.turns", HELIX, "The helix has “loops”.",
          "turns from the first to the last position", at_least(1), "at least one loop",
          measures.turns, "shape", random_turns, measures.needs_helix),
    Claim("outlier.first", HELIX, "Position 0 is “always an outlier”.",
          "deviation of its norm, over the bound of the rule", more_than(1),
          "the rule for outliers", measures.how_far_out(0), "norms", curves("process", "walk")),
    Claim("outlier.last", HELIX, "“The very last position … is an outlier as well.”",
          "deviation of its norm, over the bound of the rule", more_than(1),
          "the rule for outliers", measures.how_far_out(-1), "norms", curves("process", "walk")),
    Claim("position.last_decays", OURS, "The last position's row never learns: it keeps its "
          "initial value and only decays.",
          "largest share of the row, over training, that is not its decayed initial value",
          at_most(STAYS), "a twentieth", measures.last_departure, "training"),
    Claim("pca.fraying", HELIX, "“Fraying”: the earliest positions “are relying on a different "
          "subspace than all the others”.",
          "median residual of the positions to 20, over that from 100 on", at_least(1.5),
          "at least half more, visible in a plot", measures.fraying, "norms",
          curves("process", "walk", by_lag=True)),
    Claim("pca.truncated", HELIX, "Without the first 100 positions three dimensions explain "
          "“substantially” more.", "gain in variance share", at_least(0.02),
          "a fifth of the 10 % of the variance that is missing", measures.truncation, "positions",
          curves("process", "walk", by_lag=True)),
    Claim("pca.first_hundred", HELIX, "The best three dimensions of the first 100 positions are "
          "not those of the others.", "shared part of the two subspaces, 0 to 1", at_most(0.9),
          "“a different subspace”: at least a tenth of it", measures.shared_subspace,
          "positions", curves("process", "walk", by_lag=True)),
    Claim("steps.early", HELIX, "The first few positions are set apart “by spacing them out”.",
          "mean step of positions 1–20, over that from 100 on", at_least(2), "twice as far",
          measures.steps, "norms", curves("process", by_lag=True)),
    Claim("entries.waves", HELIX, "“Many of the entries … taken in isolation” look “kind of” like "
          "a sine wave.", "share of the variance explained by one sinusoid for each entry",
          at_least(0.6), "more than half, clearly", measures.sinusoidal_share, "dimensions",
          curves("process", columns=True)),
    Claim("entries.explained", HELIX, "“Both of these observations are explained by the helical "
          "structure”: the sine waves.",
          "median R² of the three components for entries with a sinusoid of R² ≥ 0.8",
          at_least(0.8), "as much as the sinusoid itself", measures.entries_explained,
          "dimensions", curves("process", columns=True), measures.needs_helix),
    Claim("similarity.periodic", HELIX, "“A periodic pattern to the cosine similarity.”",
          "largest rise of the mean cosine by lag after a fall, to three quarters of the range",
          at_least(0.2), "it has to rise again, by a tenth of all possible cosines",
          measures.rise, "similarity", curves("process", "walk", by_lag=True)),
    Claim("similarity.explained", HELIX, "“Both of these observations are explained by the "
          "helical structure”: the period.",
          "correlation of the mean cosine by lag before and after projection", at_least(0.95),
          "nearly the same curve", measures.similarity_explained, "similarity",
          curves("process", by_lag=True), measures.needs_helix),
    # ---- norms ---
    Claim("norms.stable", NORMS, "“Only a moderate variation in the magnitude … past the initial "
          "100 tokens.”", "standard deviation over mean", at_most(0.1), "a tenth",
          measures.later_variation, "norms", curves("process", by_lag=True)),
    Claim("norms.early", NORMS, "Before that they vary more.",
          "coefficient of variation of the earlier norms, over that of the later",
          at_least(1.5), "at least half more", measures.early_variation, "norms",
          curves("process", "walk", by_lag=True)),
    Claim("layernorm.orthogonal", NORMS, "“Token embeddings are almost orthogonal to positional "
          "embeddings (maximum cosine sim of 0.15 …).”", "largest |cosine| of a token and a "
          "position", at_most(0.2), "0.15, and a third more for other models",
          spaces.largest_cosine, "layernorm", spaces.turned_cosine),
    Claim("layernorm.sum_of_squares", NORMS, "“Approximating them as exactly orthogonal.”",
          "median relative error of LayerNorm's denominator", at_most(0.05), _WITHIN,
          spaces.error("orthogonal"), "layernorm", spaces.turned_error("orthogonal")),
    Claim("layernorm.constant", NORMS, "“Where we approximate with a constant, removing the "
          "dependence.”", "median relative error of LayerNorm's denominator", at_most(0.05),
          _WITHIN, spaces.error("constant_norm"), "layernorm",
          spaces.turned_error("constant_norm")),
    # ---- subspaces ---
    Claim("spectrum.P", SUBSPACES, "P “has fairly low rank: it's very well captured by its top, "
          "say, 30 singular directions”.", "energy of P's first 30 directions", at_least(0.98),
          "“very well”: all but a fiftieth", lambda m: measures.energy(m.spectrum("P")), "spectra",
          curves("process", "walk"), requires=lambda m: measures.more_than_top(m.spectrum("P"))),
    Claim("spectrum.E", SUBSPACES, "“The embeddings, by contrast, have fairly high rank.”",
          "energy of E's first 30 directions", at_most(0.5), "less than half",
          lambda m: measures.energy(m.spectrum("E")), "spectra",
          requires=lambda m: measures.more_than_top(m.spectrum("E"))),
    Claim("capture.weak", SUBSPACES, "P's top directions “align well with the bottom directions” "
          "of E.", "capture of E's last 5 %, over chance", at_least(3), "“large mass”: three times",
          spaces.captured(0.95, 1), "capture", spaces.random_capture(0.95, 1),
          spaces.reach_of_capture(3)),
    Claim("capture.strong", SUBSPACES, "“Roughly orthogonal”: most of E's directions have little "
          "of P.", "capture of E's directions from 2 % to 65 %, over chance", at_most(1),
          "less than by chance", spaces.captured(0.02, 0.65), "capture",
          spaces.random_capture(0.02, 0.65)),
    Claim("capture.first", SUBSPACES, "“A small mass at the low indices. This is strange to me.”",
          "capture of E's first direction, over chance", at_least(1.5), "visible in a plot",
          spaces.captured(0, 0), "capture", spaces.random_capture(0, 0),
          spaces.reach_of_capture(1.5)),
    Claim("capture.first_is_mean", OURS, "“Feel free to send me hypotheses!” It is P's mean row: "
          "about its mean P has little of E's first direction.",
          "capture of E's first direction by P about its mean row, over that by P", at_most(0.5),
          "at most half", spaces.first_without_mean, "capture"),
    Claim("overlap.P_E.strong_weak", SUBSPACES, "“The top positional encoding subspace is aligned "
          "to the bottom token embedding subspace” (the article's upper right corner).",
          "top-right corner of P × E, over chance", at_least(2), "“large masses”: twice chance",
          spaces.corner("P", "E", "TR"), "overlaps", spaces.random_corner("P", "E"),
          spaces.reach_of_corner("P", "E", 2)),
    Claim("overlap.P_E.weak_strong", SUBSPACES, "“… and vice versa” (the article says “bottom-"
          "right”; what it describes is the bottom left corner).",
          "bottom-left corner of P × E, over chance", at_least(1.5), "half more than chance",
          spaces.corner("P", "E", "BL"), "overlaps", spaces.random_corner("P", "E"),
          spaces.reach_of_corner("P", "E", 1.5)),
    Claim("overlap.P_E.strong", SUBSPACES, "P's top directions avoid E's top directions.",
          "top-left corner of P × E, over chance", at_most(1), "less than by chance",
          spaces.corner("P", "E", "TL"), "overlaps", spaces.random_corner("P", "E")),
    *(Claim(f"overlap.{name}_P", SUBSPACES, f"The {word} matrix is “well-aligned to the very top "
            "subspace of P”.", "overlap of the first three directions, 0 to 3", at_least(1),
            "one direction of three", spaces.top3_overlap(name, "P"), "overlaps",
            spaces.random_top3(name, "P"))
      for name, word in _READERS[:2]),
    Claim("overlap.W_V_P", SUBSPACES, "The value weights are “far more aligned to the top "
          "subspaces of both P and E”: P.", "top-left corner, over chance", at_least(1.5),
          _CLEARLY, spaces.corner("W_V", "P", "TL"), "overlaps",
          spaces.random_corner("W_V", "P"), spaces.reach_of_corner("W_V", "P", 1.5)),
    Claim("overlap.W_Q_P.folded", OURS, "With LayerNorm's gain folded into the weights, queries "
          "read less of P's top directions.",
          "overlap of the first three directions, folded over raw", at_most(0.5), "at most half",
          spaces.folded_share, "overlaps"),
    *(Claim(f"overlap.{name}_E", SUBSPACES, f"The {word} matrix is “well-aligned to the top "
            "subspaces of E”.", "top-left corner, over chance", at_least(1.5), _CLEARLY,
            spaces.corner(name, "E", "TL"), "overlaps", spaces.random_corner(name, "E"),
            spaces.reach_of_corner(name, "E", 1.5))
      for name, word in _READERS),
    Claim("overlap.W_O_P", SUBSPACES, "The proj matrix is “well-aligned with P”.",
          "top-left corner, over chance", at_least(1.5), _CLEARLY,
          spaces.corner("W_O", "P", "TL"), "overlaps", spaces.random_corner("W_O", "P"),
          spaces.reach_of_corner("W_O", "P", 1.5)),
    Claim("overlap.W_O_E.aligned", SUBSPACES, "The proj weights are “far more aligned to the top "
          "subspaces of both P and E”: E.", "top-left corner, over chance", at_least(1.5),
          _CLEARLY, spaces.corner("W_O", "E", "TL"), "overlaps",
          spaces.random_corner("W_O", "E"), spaces.reach_of_corner("W_O", "E", 1.5)),
    Claim("overlap.W_O_E", SUBSPACES, "The proj matrix is “apparently anti-aligned to” E (the "
          "article says “to P!”, of which it has just said the opposite).",
          "top-left corner, over chance", at_most(1), "less than by chance",
          spaces.corner("W_O", "E", "TL"), "overlaps", spaces.random_corner("W_O", "E")),
    Claim("overlap.W_in_E", SUBSPACES, "The MLP is “strongly attuned to the top token embedding "
          "directions”.", "top-left corner, over chance", at_least(1.5), _CLEARLY,
          spaces.corner("W_in", "E", "TL"), "overlaps", spaces.random_corner("W_in", "E"),
          spaces.reach_of_corner("W_in", "E", 1.5)),
    Claim("overlap.W_in_P", SUBSPACES, "… and “strongly insensitive to the positional encoding "
          "directions”.", "top-left corner, over chance", at_most(1), "less than by chance",
          spaces.corner("W_in", "P", "TL"), "overlaps", spaces.random_corner("W_in", "P")),
    Claim("overlap.W_in_E.diagonal", SUBSPACES, "Its overlaps with E have “most of its mass along "
          "the diagonal”.", "share of squared overlaps within a tenth of the diagonal",
          at_least(0.5), _HALF, spaces.along("W_in", "E", "diagonal"), "overlaps",
          spaces.random_along("W_in", "E")),
    Claim("overlap.W_in_P.antidiagonal", SUBSPACES, "Its overlaps with P have “most of its mass "
          "along the antidiagonal”.",
          "share of squared overlaps within a tenth of the antidiagonal", at_least(0.5), _HALF,
          spaces.along("W_in", "P", "antidiagonal"), "overlaps",
          spaces.random_along("W_in", "P")),
    Claim("directions.sparse", SUBSPACES, "P's top vectors are “sparse, concentrating strongly on "
          "maybe 40 indices”.", "mass of the 40 largest entries, mean of the first three "
          "directions", at_least(0.9), "“strongly”: all but a tenth", spaces.heaviest,
          "directions", spaces.turned_heaviest),
    Claim("directions.few_entries", SUBSPACES, "Positions use few indices of the embedding.",
          "share of the entries that carry 90 % of the mass of the first five directions",
          at_most(0.15), "some 40 of 768 for each of them, and the same for some",
          spaces.entries_used, "directions", spaces.turned_entries),
    Claim("directions.disjoint", SUBSPACES, "“They actually make use of (roughly) disjoint sets of "
          "embedding indices!”", "E's energy in the entries above 0.1, over the average entry",
          at_most(0.5), "at most half", spaces.tokens_there, "directions",
          spaces.other_entries),
    Claim("directions.appended", SUBSPACES, "“This is just a permutation away from the positional "
          "encodings being appended.”",
          "mass that P's first five directions and E have in the same entries, 0 to 1",
          at_most(0.25), "“roughly”: three quarters apart", spaces.shared_entries, "directions",
          spaces.turned_shared),
    Claim("directions.context_waves", SUBSPACES, "“The top singular vectors in the context space "
          "are basically sinusoids …”",
          "mean R² of a sinusoid for the first five, positions 1 to the last but one",
          at_least(0.5), "“basically”: more than half", measures.context_waves, "directions",
          curves("process", "walk", draws=FEWEST)),
    Claim("directions.frequencies", SUBSPACES, "“… of different frequencies.”",
          (
              "number of different frequencies among the first five, at least a quarter of a "
              "cycle apart"
          ), at_least(4),
          "four of five, as one may appear as sine and cosine",
          measures.different_frequencies, "directions", curves("process", "walk", draws=FEWEST)),
    Claim("decoding.position", SUBSPACES, "“Easily resolve … the token embedding and its "
          "position”: the position, from their sum.",
          "share of sums nearest to that position's row", at_least(0.95),
          "“easily”: 19 of 20", spaces.position_read_back, "layernorm", spaces.turned_position),
    Claim("decoding.token", SUBSPACES, "“Easily resolve both the token embedding and its "
          "position”: the token, from their sum.",
          "share of sums nearest to that token's row, of 4,096", at_least(0.95),
          "“easily”: 19 of 20", spaces.token_read_back, "layernorm", spaces.turned_token),
    # ---- why ---
    Claim("lookback.everywhere", WHY, "“Look back N tokens” is “a position-independent rotation "
          "(and translation?)”.", "R² for N = 50, fitted on the first half, scored on the second",
          at_least(0.8), "“position-independent”: what is fitted on one half holds in the other",
          lookback.everywhere, "lookback", curves("process", "walk", by_lag=True)),
    Claim("lookback.far", WHY, "… and so for larger N.",
          "the lower R² of N = 100 and N = 200, fitted and scored likewise", at_least(0.8),
          "as for N = 50", lookback.far, "lookback", curves("process", "walk", by_lag=True)),
    Claim("lookback.rotation", WHY, "“Acting on it through … rotations”: a shift alone does not do "
          "it, as it would on a line.",
          "share of the error of a shift alone that a rotation removes, N = 50", at_least(0.5),
          "half of it", lookback.beyond_a_shift, "lookback",
          curves("process", "walk", by_lag=True)),
    Claim("lookback.shift", WHY, "“(and translation?)”: the rotation alone does not do it either.",
          "R² of rotation and shift minus that of the rotation alone, N = 50, by halves",
          more_than(0), "better on positions not used in the fit", lookback.beyond_a_rotation,
          "lookback", curves("process", "walk", by_lag=True)),
    Claim("lookback.angle", WHY, "Each token back turns by the same angle.",
          "R² of a straight line through the angles by lag, up to where rotations fit",
          at_least(0.99), "visibly straight", lookback.steady_turning, "lookback",
          curves("process", "walk", by_lag=True)),
    Claim("lookback.heads", WHY, "“… of the positional subspace of query/key vectors.”",
          "lower R² of queries and keys for N = 10, median over the first layer's heads",
          at_least(0.9), "all but a tenth", lookback.in_heads, "lookback",
          lookback.curves_in_heads),
    Claim("lookback.lags", WHY, "“Perhaps even for different Ns across different heads.”",
          (
              "number of different lags that a head attends to twice as much as to itself and to "
              "the farthest"
          ),
          at_least(2), "two are different", lookback.different_lags, "lookback"),
    Claim("heads.position_independent", WHY, "“Position-independent”: scores depend on the lag.",
          "share of the variance of a head's scores explained by the lag, median of layer 0",
          at_least(0.5), "more than half", lookback.by_lag_alone, "kernels",
          lookback.turned_shares),
    Claim("read.norm", WHY, "“The helix puts a bit of positional information in the variable "
          "magnitude …”", "median error of the position with the nearest norm, over chance",
          at_most(0.5), "“a bit”: half the error expected by chance", measures.by_norm, "norms",
          curves("process", "walk", by_lag=True)),
    Claim("read.direction", WHY, "“… and a bit in the variable rotation.”",
          "median error of the position in the nearest direction, over chance", at_most(0.5),
          "“a bit”: half the error expected by chance", measures.by_direction, "norms",
          curves("process", by_lag=True)),
    Claim("curve.curled", WHY, "“You are forced to ‘curl’ the line up”: “high length while staying "
          "close to the origin”.", "length of the curve in three components, over its extent",
          at_least(1.5), "half again as long as a straight line of its extent", measures.curled,
          "shape", curves("process", "walk"), measures.needs_curve),
    Claim("layernorm.ruins_line", WHY, "“Layernorms may directly ruin the linear case by "
          "projecting it away.”",
          "shortest step after LayerNorm of a line of the curve's length, over its mean step",
          at_most(0.25), "a quarter of the mean step", lookback.line_after_layernorm,
          "experiment", curves("process", "walk")),
    Claim("kernels.local", OURS, "Some heads find the last few tokens by position alone.",
          "number of heads of the first layer whose last 32 queries have over 90 % of their "
          "attention at lags 0–10", at_least(1), "at least one", lookback.local_heads, "kernels",
          lookback.turned_kernels),
    Claim("kernels.averaged", OURS, "Finding the previous token requires neighbours to differ: "
          "with positions averaged in blocks of 10, no head finds it as well.",
          "best previous-token score of the first layer, averaged over unaveraged", at_most(0.8),
          "lower by at least a fifth", lookback.blunted, "kernels"),
)  # fmt: skip
"""In the order of the articles."""

__all__ = [
    "CLAIMS", "HELIX", "NORMS", "OURS", "SUBSPACES", "WHY", "Claim", "Verdict", "check",
    "check_claims", "draw_curves", "known_verdict",
]  # fmt: skip
