"""The ledger: what four articles say about positional embeddings, and whether it holds for a model.

A claim that does not hold for a model is a finding about the model, not an error. Where an article
speaks in words ("fairly low rank"), the number that is asked for here is our reading of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from geometry.errors import HelixscopeError
from geometry.measurements import LEADING, Measurements
from geometry.norms import row_norms
from geometry.pca import fit_pca
from geometry.residual_stream import Name
from geometry.single_dimensions import best_sinusoids

HELIX = "GPT-2's positional embedding matrix is a helix"
NORMS = "The norms of positional embeddings are stable"
SUBSPACES = "Insights into GPT-2's positional encodings"

Panel = Literal[
    "positions", "norms", "spectra", "capture", "overlaps", "directions", "similarity",
    "dimensions", "layernorm", "shape",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class AtLeast:
    """Holds for numbers not below ``bound``."""

    bound: float

    def holds(self, value: float) -> bool:
        """Compare."""
        return value >= self.bound

    def __str__(self) -> str:
        return f"at least {self.bound:g}"


@dataclass(frozen=True, slots=True)
class AtMost:
    """Holds for numbers not above ``bound``."""

    bound: float

    def holds(self, value: float) -> bool:
        """Compare."""
        return value <= self.bound

    def __str__(self) -> str:
        return f"at most {self.bound:g}"


@dataclass(frozen=True, slots=True)
class MoreThan:
    """Holds for numbers above ``bound``."""

    bound: float

    def holds(self, value: float) -> bool:
        """Compare."""
        return value > self.bound

    def __str__(self) -> str:
        return f"more than {self.bound:g}"


Expected = AtLeast | AtMost | MoreThan


class CannotTell(HelixscopeError):
    """What a claim is about, the model does not have."""


@dataclass(frozen=True, slots=True)
class Claim:
    """One factual claim about matrices.

    Attributes
    ----------
    id
        Stable name, "topic.what".
    article
        Whose claim it is.
    statement
        The claim, in our words.
    quantity
        What is measured, with its unit or scale.
    expected
        What the claim says of the number.
    measure
        Gets the number; TensorUnavailable or CannotTell where there is none.
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
    """A claim checked on a model; ``holds`` None where it cannot be told, and ``why_null`` why."""

    claim: Claim
    value: float | None
    holds: bool | None
    why_null: str | None


def check_claims(measured: Measurements) -> tuple[Verdict, ...]:
    """Check every claim on one model, in the ledger's order."""
    return tuple(check(claim, measured) for claim in CLAIMS)


def check(claim: Claim, measured: Measurements) -> Verdict:
    """Check one claim on one model."""
    try:
        # A share of nothing is not defined, and said to be so.
        with np.errstate(divide="ignore", invalid="ignore"):
            value = claim.measure(measured)
    except HelixscopeError as error:
        return Verdict(claim, None, None, str(error))
    if not np.isfinite(value):
        return Verdict(claim, None, None, "the quantity is not defined for this model")
    return Verdict(claim, float(value), claim.expected.holds(value), None)


# ---- what is measured --------------------------------------------------------------------


def _span(measured: Measurements, first: int, last: int) -> tuple[int, int]:
    """Return a range of the table by positions counted from the start (or, negative, the end)."""
    n = measured.model.n_positions
    first, last = first + n * (first < 0), last + n * (last < 0)
    if not 0 <= first <= last < n or last - first < 3:
        raise CannotTell(f"this table has only {n} positions")
    return first, last


def _top3(measured: Measurements, first: int, last: int) -> float:
    pca = fit_pca(measured.model.W_pos, _span(measured, first, last), 3)
    return float(pca.explained_variance_ratio.sum())


def _smallest_distance(measured: Measurements) -> float:
    P = measured.model.W_pos
    squares = np.einsum("ij,ij->i", P, P)
    nearest = squares[:, None] + squares - 2 * (P @ P.T)
    np.fill_diagonal(nearest, np.inf)
    i, j = np.unravel_index(int(nearest.argmin()), nearest.shape)
    # Of rows that are nearly alike the difference of squares is rounding; their own is not.
    return float(np.linalg.norm(P[i] - P[j]))


def _hand_made_line(measured: Measurements) -> float:
    by_hand = np.zeros(measured.model.W_pos.shape)
    by_hand[:, 0] = np.arange(len(by_hand))
    pca = fit_pca(by_hand, _span(measured, 1, -1), 1)
    return float(pca.explained_variance_ratio[0])


def _fit(measured: Measurements, name: Literal["line", "helix"]) -> float:
    if measured.shapes is None:
        raise CannotTell("too few positions are shown")
    return measured.shapes.fits[name].r2


def _turns(measured: Measurements) -> float:
    if measured.shapes is None:
        raise CannotTell("too few positions are shown")
    return measured.shapes.fits["helix"].turns


def _helix_r2(measured: Measurements) -> float:
    shapes = measured.shapes
    if shapes is None:
        raise CannotTell("too few positions are shown")
    if shapes.best not in ("helix", "drifting_helix"):
        return 0.0
    return max(shapes.fits["helix"].r2, shapes.fits["drifting_helix"].r2)


def _is_outlier(position: int) -> Callable[[Measurements], float]:
    def measure(measured: Measurements) -> float:
        wanted = position if position >= 0 else measured.model.n_positions + position
        return float(wanted in measured.norms.outliers)

    return measure


def _fraying(measured: Measurements) -> float:
    first, last = _span(measured, 100, -2)
    start = measured.positions[0]
    early = measured.residual[: max(0, 21 - start)]
    late = measured.residual[max(0, first - start) : last + 1 - start]
    if not len(early) or not len(late):
        raise CannotTell("the shown range lacks the first positions, or those from 100 on")
    return float(np.median(early) / np.median(late))


def _truncation(measured: Measurements) -> float:
    return _top3(measured, 100, -1) - _top3(measured, 1, -1)


def _shared_subspace(measured: Measurements) -> float:
    P = measured.model.W_pos
    early = fit_pca(P, _span(measured, 1, 99), 3).components
    late = fit_pca(P, _span(measured, 100, -1), 3).components
    return float(np.square(early @ late.T).sum() / 3)


def _steps(measured: Measurements) -> float:
    lengths = row_norms(np.diff(measured.model.W_pos, axis=0))
    first, last = _span(measured, 100, -2)
    # The first positions without 0, whose row is an outlier.
    return float(lengths[1:20].mean() / lengths[first:last].mean())


def _sinusoidal_share(measured: Measurements) -> float:
    variance = measured.rows.var(axis=0)
    return float((measured.sinusoids.r2 * variance).sum() / variance.sum())


def _lowest_cosine(measured: Measurements) -> float:
    # The last lags are means of a few pairs only.
    by_lag = measured.similarity.by_lag
    return float(by_lag[: max(1, len(by_lag) * 3 // 4)].min())


def _similarity_explained(measured: Measurements) -> float:
    raw, projected = (
        found.by_lag[: len(found.by_lag) * 3 // 4]
        for found in (measured.similarity, measured.similarity_projected)
    )
    if len(raw) < 3:
        raise CannotTell("too few positions are shown")
    return float(np.corrcoef(raw, projected)[0, 1])


def _entries_explained(measured: Measurements) -> float:
    waves = measured.sinusoids.r2 >= 0.8
    if not waves.any():
        raise CannotTell("no entry is like a sine wave")
    return float(np.median(measured.projected_r2[waves]))


def _early_variation(measured: Measurements) -> float:
    first, last = _span(measured, measured.norms.after, -2)
    values = measured.norms.values
    early, late = values[1:first], values[first : last + 1]
    if len(early) < 2:
        raise CannotTell("the stretch of stable norms begins with the table")
    return float((early.std() / early.mean()) / (late.std() / late.mean()))


def _error(which: Literal["orthogonal", "constant_norm"]) -> Callable[[Measurements], float]:
    return lambda measured: float(np.median(getattr(measured.layernorm, which)))


def _captured(first: float, last: float) -> Callable[[Measurements], float]:
    """Mean capture of a part of E's directions (shares of their number), over chance."""

    def measure(measured: Measurements) -> float:
        values = measured.capture
        part = values[int(first * len(values)) : max(int(last * len(values)), 1)]
        return float(part.mean() * measured.width("E") / measured.rank)

    return measure


def _corner(
    rows: Name, columns: Name, which: Literal["TL", "TR", "BL", "BR"]
) -> Callable[[Measurements], float]:
    return lambda measured: float(getattr(measured.contrast(rows, columns), which))


def _top3_overlap(rows: Name, columns: Name) -> Callable[[Measurements], float]:
    return lambda measured: float(measured.overlaps(rows, columns, fold_ln=False)[:3, :3].sum())


def _folded_share(measured: Measurements) -> float:
    raw, folded = (
        measured.overlaps("W_Q", "P", fold_ln=fold)[:3, :3].sum() for fold in (False, True)
    )
    return float(folded / raw)


def _heaviest(measured: Measurements) -> float:
    return float(np.mean(measured.sparsity.mass_top40[:3]))


def _union(measured: Measurements) -> float:
    return float(len(measured.sparsity.above_0_1_union) / measured.model.d_model)


def _tokens_there(measured: Measurements) -> float:
    columns = measured.sparsity.above_0_1_union
    if not len(columns):
        raise CannotTell("no entry of P's leading directions is above 0.1")
    E = measured.model.W_E
    if E.shape[1] != measured.model.d_model:
        raise CannotTell("tokens and positions are of different size")
    squares = np.einsum("ij,ij->j", E, E, dtype=np.float64)
    return float(squares[columns].mean() / squares.mean())


def _context_waves(measured: Measurements) -> float:
    vectors = measured.contexts.vectors[:LEADING].T
    found = best_sinusoids(vectors, _span(measured, 1, -2))
    return float(found.r2.mean())


# ---- the ledger ----------------------------------------------------------------------------

CLAIMS: tuple[Claim, ...] = (
    Claim("rows.unique", HELIX, "No two positions have the same row.",
          "smallest distance between two rows", MoreThan(0), _smallest_distance, "positions"),
    Claim("pca.line_by_hand", HELIX, "Were positions written by hand into one entry, they would "
          "lie on a line (a reference: it is the same for every model).",
          "variance that one component holds of such a table", AtLeast(0.999999),
          _hand_made_line, "positions"),
    Claim("pca.three", HELIX, "Three dimensions explain about 90 % of the variance.",
          "variance share of three components, positions 1 to the last", AtLeast(0.89),
          lambda m: _top3(m, 1, -1), "positions"),
    Claim("pca.not_a_line", HELIX, "Training does something weirder than a line.",
          "R² of a straight line in the shown components", AtMost(0.5),
          lambda m: _fit(m, "line"), "shape"),
    Claim("shape.helix", HELIX, "In three components the positions form a clear helix.",
          "R² of the better helix, 0 if another curve describes them as well", AtLeast(0.8),
          _helix_r2, "shape"),
    Claim("shape.turns", HELIX, "The helix closes loops.", "turns of the fitted helix",
          AtLeast(1), _turns, "shape"),
    Claim("outlier.first", HELIX, "Position 0 is an outlier.",
          "1 if its norm is an outlier by the rule, else 0", AtLeast(1), _is_outlier(0), "norms"),
    Claim("outlier.last", HELIX, "The very last position is an outlier as well.",
          "1 if its norm is an outlier by the rule, else 0", AtLeast(1), _is_outlier(-1), "norms"),
    Claim("pca.fraying", HELIX, "The earliest positions fray: they lean on other dimensions.",
          "median residual of the positions to 20, over that from 100 on", AtLeast(1.5),
          _fraying, "norms"),
    Claim("pca.truncated", HELIX, "Without the first 100 positions three dimensions explain "
          "substantially more.", "gain in variance share", AtLeast(0.02), _truncation, "positions"),
    Claim("pca.first_hundred", HELIX, "The best three dimensions of the first 100 positions are "
          "not those of the others.", "shared part of the two subspaces, 0 to 1", AtMost(0.9),
          _shared_subspace, "positions"),
    Claim("steps.early", HELIX, "The first positions are spaced out.",
          "mean step of positions 1–20, over that from 100 on", AtLeast(2), _steps, "norms"),
    Claim("entries.waves", HELIX, "Many entries taken alone look like sine waves.",
          "variance that one sinusoid for each entry explains", AtLeast(0.6),
          _sinusoidal_share, "dimensions"),
    Claim("entries.explained", HELIX, "The helix explains these waves.",
          "median R² of the three components for entries with a sinusoid of R² ≥ 0.8",
          AtLeast(0.8), _entries_explained, "dimensions"),
    Claim("similarity.periodic", HELIX, "The cosine of positions rises and falls with their "
          "distance.", "lowest mean cosine by lag, to three quarters of the range", AtMost(-0.2),
          _lowest_cosine, "similarity"),
    Claim("similarity.explained", HELIX, "The helix explains this period.",
          "correlation of the mean cosine by lag before and after projection", AtLeast(0.95),
          _similarity_explained, "similarity"),
    Claim("norms.stable", NORMS, "After the first 100 positions the norms vary moderately.",
          "standard deviation over mean", AtMost(0.1), lambda m: m.norms.cv, "norms"),
    Claim("norms.early", NORMS, "Before that they vary more.",
          "coefficient of variation of the earlier norms, over that of the later",
          AtLeast(1.5), _early_variation, "norms"),
    Claim("layernorm.orthogonal", NORMS, "Tokens are almost orthogonal to positions.",
          "largest |cosine| of a token and a position", AtMost(0.2),
          lambda m: float(m.cosines.largest.max()), "layernorm"),
    Claim("layernorm.sum_of_squares", NORMS, "LayerNorm's denominator is nearly that of "
          "orthogonal embeddings.", "median relative error", AtMost(0.05),
          _error("orthogonal"), "layernorm"),
    Claim("layernorm.constant", NORMS, "A constant in place of the position's norm is nearly as "
          "good: the position is gone from the denominator.", "median relative error",
          AtMost(0.05), _error("constant_norm"), "layernorm"),
    Claim("spectrum.P", SUBSPACES, "P has fairly low rank: 30 singular directions capture it.",
          "energy of P's first 30 directions", AtLeast(0.98),
          lambda m: m.spectrum("P").energy_top30, "spectra"),
    Claim("spectrum.E", SUBSPACES, "E has fairly high rank: its mass is spread over many "
          "directions.", "energy of E's first 30 directions", AtMost(0.5),
          lambda m: m.spectrum("E").energy_top30, "spectra"),
    Claim("capture.weak", SUBSPACES, "P's strongest directions lie in E's weakest.",
          "capture of E's last 5 %, over chance", AtLeast(3), _captured(0.95, 1), "capture"),
    Claim("capture.strong", SUBSPACES, "Most of E's directions have little of P.",
          "capture of E's directions from 2 % to 65 %, over chance", AtMost(1),
          _captured(0.02, 0.65), "capture"),
    Claim("capture.first", SUBSPACES, "E's very first directions have a small mass of P.",
          "capture of E's first direction, over chance", AtLeast(1.5), _captured(0, 0), "capture"),
    Claim("overlap.P_E.strong_weak", SUBSPACES, "P's top is aligned to E's bottom.",
          "top-right corner of P × E, over chance", AtLeast(2), _corner("P", "E", "TR"),
          "overlaps"),
    Claim("overlap.P_E.weak_strong", SUBSPACES, "P's bottom is aligned to E's top.",
          "bottom-left corner of P × E, over chance", AtLeast(1.5), _corner("P", "E", "BL"),
          "overlaps"),
    Claim("overlap.P_E.strong", SUBSPACES, "P's top keeps clear of E's top.",
          "top-left corner of P × E, over chance", AtMost(1), _corner("P", "E", "TL"), "overlaps"),
    Claim("overlap.W_Q_P", SUBSPACES, "Queries read the very top of P.",
          "overlap of the first three directions, 0 to 3", AtLeast(1), _top3_overlap("W_Q", "P"),
          "overlaps"),
    Claim("overlap.W_K_P", SUBSPACES, "Keys read the very top of P.",
          "overlap of the first three directions, 0 to 3", AtLeast(1), _top3_overlap("W_K", "P"),
          "overlaps"),
    Claim("overlap.W_Q_P.folded", SUBSPACES, "With LayerNorm's gain folded into the weights, what "
          "queries read of P's top is another matter.",
          "overlap of the first three directions, folded over raw", AtMost(0.5), _folded_share,
          "overlaps"),
    Claim("overlap.W_Q_E", SUBSPACES, "Queries are aligned to the top of E.",
          "top-left corner, over chance", AtLeast(1.5), _corner("W_Q", "E", "TL"), "overlaps"),
    Claim("overlap.W_K_E", SUBSPACES, "Keys are aligned to the top of E.",
          "top-left corner, over chance", AtLeast(1.5), _corner("W_K", "E", "TL"), "overlaps"),
    Claim("overlap.W_V_E", SUBSPACES, "Values are aligned to the top of E.",
          "top-left corner, over chance", AtLeast(1.5), _corner("W_V", "E", "TL"), "overlaps"),
    Claim("overlap.W_O_P", SUBSPACES, "What attention writes is aligned to the top of P.",
          "top-left corner, over chance", AtLeast(1.5), _corner("W_O", "P", "TL"), "overlaps"),
    Claim("overlap.W_O_E", SUBSPACES, "What attention writes is anti-aligned to E.",
          "top-left corner, over chance", AtMost(1), _corner("W_O", "E", "TL"), "overlaps"),
    Claim("overlap.W_in_E", SUBSPACES, "The MLP reads the top of E.",
          "top-left corner, over chance", AtLeast(1.5), _corner("W_in", "E", "TL"), "overlaps"),
    Claim("overlap.W_in_P", SUBSPACES, "The MLP does not read the top of P.",
          "top-left corner, over chance", AtMost(1), _corner("W_in", "P", "TL"), "overlaps"),
    Claim("directions.sparse", SUBSPACES, "P's leading directions are sparse: some 40 entries "
          "carry them.", "mass of the 40 largest entries, mean of the first three directions",
          AtLeast(0.9), _heaviest, "directions"),
    Claim("directions.few_entries", SUBSPACES, "Positions use few entries of the embedding.",
          "share of entries above 0.1 in any of the first five directions", AtMost(0.15), _union,
          "directions"),
    Claim("directions.disjoint", SUBSPACES, "Tokens leave these entries to the positions.",
          "E's energy in them, over that in an average entry", AtMost(0.5), _tokens_there,
          "directions"),
    Claim("directions.context_waves", SUBSPACES, "Over position the leading directions are "
          "sinusoids of different frequencies.",
          "mean R² of a sinusoid for the first five, positions 1 to the last but one",
          AtLeast(0.5), _context_waves, "directions"),
)  # fmt: skip
