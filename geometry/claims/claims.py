"""The ledger: claims of four articles about positional embeddings, checked on a model.

One claim is not from an article: our explanation of a fact that one of them reports.

A claim that does not hold for a model is a finding about the model, not an error. Where an article
is verbal ("fairly low rank"), the numerical criterion is our interpretation.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from geometry.checkpoints.errors import FileChanged, HelixscopeError
from geometry.checkpoints.transfer import Cancelled
from geometry.claims import claim_kernels as kernels
from geometry.claims import claim_lookback as lookback
from geometry.claims import claim_measures as measures
from geometry.claims.measurements import Measurements
from geometry.history.here import NotFetched
from geometry.history.last_position import STAYS
from geometry.hub.faults import HubError

HELIX = "GPT-2's positional embedding matrix is a helix"
NORMS = "The norms of positional embeddings are stable"
SUBSPACES = "Insights into GPT-2's positional encodings"
WHY = "Why a helix and not a line: the comments on it"
OURS = "A hypothesis of ours, to explain the outlier"

Panel = Literal[
    "positions", "norms", "spectra", "capture", "overlaps", "directions", "similarity",
    "dimensions", "layernorm", "shape", "lookback", "kernels", "training",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Expected:
    """A claim's condition on a number: a relation to a bound."""

    relation: Literal["at least", "at most", "more than"]
    bound: float

    def holds(self, value: float) -> bool:
        """Return whether a value meets the condition."""
        return _RELATIONS[self.relation](value, self.bound)

    def __str__(self) -> str:
        return f"{self.relation} {self.bound:g}"


_RELATIONS: Mapping[str, Callable[[float, float], bool]] = {
    "at least": operator.ge, "at most": operator.le, "more than": operator.gt,
}  # fmt: skip


def at_least(bound: float) -> Expected:
    """Expect a number not below a bound."""
    return Expected("at least", bound)


def at_most(bound: float) -> Expected:
    """Expect a number not above a bound."""
    return Expected("at most", bound)


def more_than(bound: float) -> Expected:
    """Expect a number above a bound."""
    return Expected("more than", bound)


@dataclass(frozen=True, slots=True)
class Claim:
    """One factual claim about matrices.

    Attributes
    ----------
    id
        Stable name, "topic.what".
    article
        The source of the claim.
    statement
        The claim, in our words.
    quantity
        What is measured, with its unit or scale.
    expected
        The claim's condition on the number.
    measure
        Computes the number; raises TensorUnavailable or CannotTell if it cannot.
    panel
        The panel that shows it.
    """

    id: str
    article: str
    statement: str
    quantity: str
    expected: Expected
    measure: Callable[[Measurements], float]
    panel: Panel


@dataclass(frozen=True, slots=True)
class Verdict:
    """A claim checked on a model; ``holds`` is None if undecided, for the reason ``why_null``."""

    claim: Claim
    value: float | None
    holds: bool | None
    why_null: str | None


def check_claims(measured: Measurements) -> tuple[Verdict, ...]:
    """Check every claim on one model, in the ledger's order."""
    return tuple(check(claim, measured) for claim in CLAIMS)


def check(claim: Claim, measured: Measurements) -> Verdict:
    """Check one claim on one model, or return its known verdict.

    Verdicts independent of the range are cached in ``measured.of_model``.
    """
    if (kept := known_verdict(claim, measured)) is not None:
        return kept
    measured.range_was_read = False
    try:
        # 0/0 is undefined, and reported so.
        with np.errstate(divide="ignore", invalid="ignore"):
            value = claim.measure(measured)
    except (Cancelled, FileChanged):
        raise
    except HelixscopeError as error:
        verdict = Verdict(claim, None, None, str(error))
        if isinstance(error, HubError | NotFetched):  # may be available the next time
            return verdict
    else:
        verdict = Verdict(claim, float(value), claim.expected.holds(value), None)
        if not np.isfinite(value):
            verdict = Verdict(claim, None, None, "the quantity is not defined for this model")
    if not measured.range_was_read:
        measured.of_model.once(claim, lambda: verdict)
    return verdict


def known_verdict(claim: Claim, measured: Measurements) -> Verdict | None:
    """Return a claim's cached verdict if it is independent of the range; otherwise None."""
    found = measured.of_model.known(claim)
    assert found is None or isinstance(found, Verdict)
    return found


CLAIMS: tuple[Claim, ...] = (
    Claim("rows.unique", HELIX, "No two positions have the same row.",
          "smallest distance between two rows", more_than(0),
          measures.smallest_distance, "positions"),
    Claim("pca.line_by_hand", HELIX, "Were positions written by hand into one entry, they would "
          "lie on a line (a reference: it is the same for every model).",
          "variance that one component holds of such a table", at_least(0.999999),
          measures.hand_made_line, "positions"),
    Claim("pca.three", HELIX, "Three dimensions explain about 90 % of the variance.",
          "variance share of three components, positions 1 to the last", at_least(0.89),
          lambda m: measures.top3(m, 1, -1), "positions"),
    Claim("pca.not_a_line", HELIX, "Training does something weirder than a line.",
          "R² of a straight line in the shown components", at_most(0.5),
          lambda m: measures.fit(m, "line"), "shape"),
    Claim("shape.helix", HELIX, "In three components the positions form a clear helix.",
          "R² of the better helix, 0 if another curve describes them as well", at_least(0.8),
          measures.helix_r2, "shape"),
    Claim("shape.turns", HELIX, "The helix closes loops.", "turns of the fitted helix",
          at_least(1),
          measures.turns, "shape"),
    Claim("outlier.first", HELIX, "Position 0 is an outlier.",
          "1 if its norm is an outlier by the rule, else 0", at_least(1),
          measures.is_outlier(0), "norms"),
    Claim("outlier.last", HELIX, "The very last position is an outlier as well.",
          "1 if its norm is an outlier by the rule, else 0", at_least(1),
          measures.is_outlier(-1), "norms"),
    Claim("position.last_decays", OURS, "The last position's row never learns: it is what it was "
          "at the beginning, and only decays.",
          "largest share of it, over training, that is anything else",
          at_most(STAYS), measures.last_departure, "training"),
    Claim("pca.fraying", HELIX, "The earliest positions fray: they lean on other dimensions.",
          "median residual of the positions to 20, over that from 100 on", at_least(1.5),
          measures.fraying, "norms"),
    Claim("pca.truncated", HELIX, "Without the first 100 positions three dimensions explain "
          "substantially more.", "gain in variance share", at_least(0.02),
          measures.truncation, "positions"),
    Claim("pca.first_hundred", HELIX, "The best three dimensions of the first 100 positions are "
          "not those of the others.", "shared part of the two subspaces, 0 to 1", at_most(0.9),
          measures.shared_subspace, "positions"),
    Claim("steps.early", HELIX, "The first positions are spaced out.",
          "mean step of positions 1–20, over that from 100 on", at_least(2),
          measures.steps, "norms"),
    Claim("entries.waves", HELIX, "Many entries taken alone look like sine waves.",
          "variance that one sinusoid for each entry explains", at_least(0.6),
          measures.sinusoidal_share, "dimensions"),
    Claim("entries.explained", HELIX, "The helix explains these waves.",
          "median R² of the three components for entries with a sinusoid of R² ≥ 0.8",
          at_least(0.8),
          measures.entries_explained, "dimensions"),
    Claim("similarity.periodic", HELIX, "The cosine of positions rises and falls with their "
          "distance.", "lowest mean cosine by lag, to three quarters of the range", at_most(-0.2),
          measures.lowest_cosine, "similarity"),
    Claim("similarity.explained", HELIX, "The helix explains this period.",
          "correlation of the mean cosine by lag before and after projection", at_least(0.95),
          measures.similarity_explained, "similarity"),
    Claim("norms.stable", NORMS, "After the first 100 positions the norms vary moderately.",
          "standard deviation over mean", at_most(0.1), lambda m: m.norms.cv, "norms"),
    Claim("norms.early", NORMS, "Before that they vary more.",
          "coefficient of variation of the earlier norms, over that of the later",
          at_least(1.5),
          measures.early_variation, "norms"),
    Claim("layernorm.orthogonal", NORMS, "Tokens are almost orthogonal to positions.",
          "largest |cosine| of a token and a position", at_most(0.2),
          lambda m: float(m.cosines.largest.max()), "layernorm"),
    Claim("layernorm.sum_of_squares", NORMS, "LayerNorm's denominator is nearly that of "
          "orthogonal embeddings.", "median relative error", at_most(0.05),
          measures.error("orthogonal"), "layernorm"),
    Claim("layernorm.constant", NORMS, "A constant in place of the position's norm is nearly as "
          "good: the position is gone from the denominator.", "median relative error",
          at_most(0.05),
          measures.error("constant_norm"), "layernorm"),
    Claim("spectrum.P", SUBSPACES, "P has fairly low rank: 30 singular directions capture it.",
          "energy of P's first 30 directions", at_least(0.98),
          lambda m: m.spectrum("P").energy_top30, "spectra"),
    Claim("spectrum.E", SUBSPACES, "E has fairly high rank: its mass is spread over many "
          "directions.", "energy of E's first 30 directions", at_most(0.5),
          lambda m: m.spectrum("E").energy_top30, "spectra"),
    Claim("capture.weak", SUBSPACES, "P's strongest directions lie in E's weakest.",
          "capture of E's last 5 %, over chance", at_least(3),
          measures.captured(0.95, 1), "capture"),
    Claim("capture.strong", SUBSPACES, "Most of E's directions have little of P.",
          "capture of E's directions from 2 % to 65 %, over chance", at_most(1),
          measures.captured(0.02, 0.65), "capture"),
    Claim("capture.first", SUBSPACES, "E's very first directions have a small mass of P.",
          "capture of E's first direction, over chance", at_least(1.5),
          measures.captured(0, 0), "capture"),
    Claim("overlap.P_E.strong_weak", SUBSPACES, "P's top is aligned to E's bottom.",
          "top-right corner of P × E, over chance", at_least(2), measures.corner("P", "E", "TR"),
          "overlaps"),
    Claim("overlap.P_E.weak_strong", SUBSPACES, "P's bottom is aligned to E's top.",
          "bottom-left corner of P × E, over chance", at_least(1.5),
          measures.corner("P", "E", "BL"),
          "overlaps"),
    Claim("overlap.P_E.strong", SUBSPACES, "P's top keeps clear of E's top.",
          "top-left corner of P × E, over chance", at_most(1),
          measures.corner("P", "E", "TL"), "overlaps"),
    Claim("overlap.W_Q_P", SUBSPACES, "Queries read the very top of P.",
          "overlap of the first three directions, 0 to 3", at_least(1),
          measures.top3_overlap("W_Q", "P"),
          "overlaps"),
    Claim("overlap.W_K_P", SUBSPACES, "Keys read the very top of P.",
          "overlap of the first three directions, 0 to 3", at_least(1),
          measures.top3_overlap("W_K", "P"),
          "overlaps"),
    Claim("overlap.W_Q_P.folded", SUBSPACES, "With LayerNorm's gain folded into the weights, what "
          "queries read of P's top is another matter.",
          "overlap of the first three directions, folded over raw", at_most(0.5),
          measures.folded_share,
          "overlaps"),
    Claim("overlap.W_Q_E", SUBSPACES, "Queries are aligned to the top of E.",
          "top-left corner, over chance", at_least(1.5),
          measures.corner("W_Q", "E", "TL"), "overlaps"),
    Claim("overlap.W_K_E", SUBSPACES, "Keys are aligned to the top of E.",
          "top-left corner, over chance", at_least(1.5),
          measures.corner("W_K", "E", "TL"), "overlaps"),
    Claim("overlap.W_V_E", SUBSPACES, "Values are aligned to the top of E.",
          "top-left corner, over chance", at_least(1.5),
          measures.corner("W_V", "E", "TL"), "overlaps"),
    Claim("overlap.W_O_P", SUBSPACES, "What attention writes is aligned to the top of P.",
          "top-left corner, over chance", at_least(1.5),
          measures.corner("W_O", "P", "TL"), "overlaps"),
    Claim("overlap.W_O_E", SUBSPACES, "What attention writes is anti-aligned to E.",
          "top-left corner, over chance", at_most(1),
          measures.corner("W_O", "E", "TL"), "overlaps"),
    Claim("overlap.W_in_E", SUBSPACES, "The MLP reads the top of E.",
          "top-left corner, over chance", at_least(1.5),
          measures.corner("W_in", "E", "TL"), "overlaps"),
    Claim("overlap.W_in_P", SUBSPACES, "The MLP does not read the top of P.",
          "top-left corner, over chance", at_most(1),
          measures.corner("W_in", "P", "TL"), "overlaps"),
    Claim("directions.sparse", SUBSPACES, "P's leading directions are sparse: some 40 entries "
          "carry them.", "mass of the 40 largest entries, mean of the first three directions",
          at_least(0.9),
          measures.heaviest, "directions"),
    Claim("directions.few_entries", SUBSPACES, "Positions use few entries of the embedding.",
          "share of entries above 0.1 in any of the first five directions", at_most(0.15),
          measures.union,
          "directions"),
    Claim("directions.disjoint", SUBSPACES, "Tokens leave these entries to the positions.",
          "E's energy in them, over that in an average entry", at_most(0.5), measures.tokens_there,
          "directions"),
    Claim("directions.context_waves", SUBSPACES, "Over position the leading directions are "
          "sinusoids of different frequencies.",
          "mean R² of a sinusoid for the first five, positions 1 to the last but one",
          at_least(0.5),
          measures.context_waves, "directions"),
    Claim("lookback.everywhere", WHY, "Looking back N tokens is a rotation and a shift, the same "
          "at every position.", "R² for N = 50, fitted on the first half, scored on the second",
          at_least(0.8), lookback.everywhere, "lookback"),
    Claim("lookback.rotation", WHY, "A shift alone does not do it, as it would on a line.",
          "R² of rotation and shift for N = 50, above that of the shift alone", at_least(0.1),
          lookback.beyond_a_shift, "lookback"),
    Claim("lookback.angle", WHY, "Each token back turns by the same angle.",
          "R² of a straight line through the angles by lag, as far as rotations fit",
          at_least(0.99), lookback.steady_turning, "lookback"),
    Claim("lookback.heads", WHY, "In queries and keys it is a rotation and a shift as well.",
          "R² for N = 10 in queries or keys, the lower, median of the first layer's heads",
          at_least(0.9), lookback.in_heads, "lookback"),
    Claim("lookback.lags", WHY, "Different heads look back by different N.",
          "different lags that the first layer's heads prefer", at_least(2),
          lookback.different_lags, "lookback"),
    Claim("kernels.local", WHY, "Some heads find the last few tokens by position alone.",
          "heads of the first layer with over 90 % of their attention at lags 0–10", at_least(1),
          kernels.local_heads, "kernels"),
    Claim("kernels.averaged", WHY, "For that neighbours have to differ: with positions averaged in "
          "blocks of 10 no head finds the token before as well.",
          "best previous-token score of the first layer, averaged over as it is", at_most(0.8),
          kernels.blunted, "kernels"),
)  # fmt: skip
