"""Facts about the open model for the text of lessons: formatted numbers, and conditions.

Every fact is a result of ``geometry``; nothing is hard-coded for any model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, cast

import numpy as np

from geometry.claims.claim import ModelClaim
from geometry.claims.claims import CLAIMS
from geometry.models.notes import sentences
from geometry.models.residual_stream import Name, Subject
from geometry.models.sources.catalogue import SAMPLE
from geometry.models.sources.layer_tables import LayerStore
from gui.services.lessons import inside_facts
from gui.services.lessons.findings import CARRIES, Absent, Fact, Findings, has_history
from gui.services.questions import Tensor, tensors_of
from gui.style.theme import format_count, format_number, format_percent
from gui.style.verdicts import worth

if TYPE_CHECKING:
    from geometry.models.model import PositionalModel

SHAPES: Mapping[str, str] = {
    "line": "a line",
    "arc": "an arc",
    "circle": "a circle",
    "helix": "a helix",
    "drifting_helix": "a helix that grows wider or narrower",
    "none": "no simple curve",
}
STEADY, SPARSE, FRAYED = 0.1, 0.9, 1.5
"""Steady: maximum variation of norms. Sparse: minimum share of a direction in 40 entries. Frayed:
minimum ratio of early to late residuals.
"""
FAITHFUL, WINS, FAR, LOCAL = 0.75, 0.05, 0.5, 0.5
"""Faithful: minimum variance in the picture. Wins: minimum gain of a rotation over a shift alone.
Far: minimum R² of a motion on new positions. Local: minimum share of a head's attention nearby.
"""
VARIED, TUNED, READABLE = 1.5, 1.5, 0.95
"""Varied: minimum ratio of early to late variation of norms. Tuned: minimum corner of overlaps,
over chance. Readable: minimum share of decoded sums.
"""


def _explained(r2: float) -> str:
    """Format an R², which is negative where the mean predicts better."""
    return format_percent(r2, 0) if r2 >= 0.005 else "nothing"


def _norm(position: int) -> Callable[[Findings], str]:
    return lambda findings: _length(findings.of_model.norms.values[position])


def _length(value: float) -> str:
    """Format a length with at least three digits."""
    digits = 2 if value >= 1 else int(np.clip(2 - np.floor(np.log10(max(value, 1e-9))), 2, 9))
    return format_number(float(value), digits)


def _making(claim: str) -> Callable[[Findings], str]:
    """Return what gives the notes on a model's making that concern a claim."""

    def text(findings: Findings) -> str:
        if not (found := sentences(findings.model.notes, claim)):
            raise Absent
        return " ".join(found)

    return text


def _listed(positions: Sequence[int], max_shown: int = 6) -> str:
    shown = [str(position) for position in positions[:max_shown]]
    if len(positions) > max_shown:
        return f"{', '.join(shown)} and {len(positions) - max_shown} more"
    return inside_facts.listed(shown) if shown else "none"


def _waves(findings: Findings) -> int:
    return int((findings.of_range.sinusoids.r2 >= 0.8).sum())


_E: tuple[Tensor, ...] = (("W_E", 0),)
_Q: tuple[Tensor, ...] = (("W_Q", 0),)
_K: tuple[Tensor, ...] = (("W_K", 0),)
_V: tuple[Tensor, ...] = (("W_V", 0),)
_O: tuple[Tensor, ...] = (("W_O", 0),)
_IN: tuple[Tensor, ...] = (("W_in", 0),)
_QK = _Q + _K

_NUMBERS: dict[str, Fact] = {
    "model": Fact("name of the model", lambda f: f.model.name),
    "n_positions": Fact("rows of P", lambda f: format_count(f.model.n_positions)),
    "d_model": Fact("entries of a row", lambda f: format_count(f.model.d_model)),
    "d_vocab": Fact("tokens of the vocabulary", lambda f: _count(f.model.d_vocab)),
    "last": Fact("the last position", lambda f: str(f.model.n_positions - 1)),
    "from": Fact("first position of the range", lambda f: str(f.positions[0])),
    "to": Fact("last position of the range", lambda f: str(f.positions[1])),
    "variance": Fact(
        "variance share of three components",
        lambda f: format_percent(float(f.of_range.pca.explained_variance_ratio[:3].sum()), 0),
    ),
    "variance_1": Fact(
        "variance share of the first component",
        lambda f: format_percent(f.first_component, 0),
    ),
    "shape": Fact("the curve, “a helix”, “no simple curve”, …", lambda f: SHAPES[f.shapes.best]),
    "helix_r2": Fact("R² of the better helix", lambda f: format_percent(f.helix_r2, 0)),
    "line_r2": Fact("R² of a line", lambda f: format_percent(f.shapes.fits["line"].r2, 0)),
    "making_three": Fact("why three components hold by construction", _making("pca.three")),
    "making_helix": Fact("why a helix holds by construction", _making("shape.helix")),
    "turns": Fact("turns of the helix", lambda f: format_number(f.turns, 1)),
    "norm_first": Fact("norm of position 0", _norm(0)),
    "norm_last": Fact("norm of the last position", _norm(-1)),
    "norm_mean": Fact(
        "mean norm, from 100 to the last but one", lambda f: _length(f.of_model.norms.mean)
    ),
    "norm_spread": Fact(
        "standard deviation of these norms over their mean",
        lambda f: format_percent(f.of_model.norms.cv, 0),
    ),
    "norm_early_spread": Fact(
        "the same for the norms from 1 to 99", lambda f: format_percent(f.early_variation, 0)
    ),
    "outliers": Fact("positions with outlying norms", lambda f: _listed(f.of_model.norms.outliers)),
    "residual_first": Fact(
        "share of the range's first row outside three components",
        lambda f: format_percent(float(f.of_range.residual[0]), 0),
    ),
    "residual": Fact(
        "the same, median over the range",
        lambda f: format_percent(float(np.median(f.of_range.residual)), 0),
    ),
    "rank": Fact("number of directions that represent P", lambda f: str(f.of_model.rank)),
    "energy": Fact(
        "share of P's energy in these directions",
        lambda f: format_percent(f.energy_of("P"), 1),
    ),
    "sparse_1": Fact(
        "entries above 0.1 in P's first direction",
        lambda f: str(f.of_model.sparsity.above_0_1[0]),
    ),
    "sparse_all": Fact(
        "entries above 0.1 in any of P's first five directions",
        lambda f: str(len(f.of_model.sparsity.above_0_1_union)),
    ),
    "mass": Fact(
        "share of P's first direction in its 40 largest entries",
        lambda f: format_percent(f.of_model.sparsity.mass_top40[0], 0),
    ),
    "waves": Fact("entries of which a sine wave explains 80 % or more", lambda f: str(_waves(f))),
    "wave": Fact(
        "the entry best explained by a sine wave",
        lambda f: str(int(f.of_range.sinusoids.r2.argmax())),
    ),
    "cosine_1": Fact(
        "mean cosine of neighbours", lambda f: format_number(float(f.of_range.by_lag[1]), 2)
    ),
    "cosine_low": Fact("lowest mean cosine by lag", lambda f: format_number(f.lowest[1], 2)),
    "lag_low": Fact("its lag", lambda f: str(f.lowest[0])),
    "capture_middle": Fact(
        "mean capture of the first half of E's directions",
        lambda f: format_percent(f.captured(0.0, 0.5), 0),
        _E,
    ),
    "capture_end": Fact(
        "mean capture of the last tenth of E's directions",
        lambda f: format_percent(f.captured(0.9, 1.0), 0),
        _E,
    ),
    "capture_chance": Fact(
        "capture by chance", lambda f: format_percent(f.of_model.capture_chance, 0), _E
    ),
    "cosine_token": Fact(
        "largest cosine of a token and a position",
        lambda f: format_number(f.most_alike[0], 2),
        _E,
    ),
    "token": Fact("that token", lambda f: f.most_alike[1], _E),
    "cosine_random": Fact(
        "typical cosine of two random directions: 1/√d",
        lambda f: format_number(f.model.d_model**-0.5, 2),
    ),
    "token_norm": Fact("mean norm of the tokens", lambda f: _length(f.token_norm), _E),
    "error_orthogonal": Fact(
        "median error of LayerNorm if tokens and positions are taken to be orthogonal",
        lambda f: format_percent(f.layernorm_error("orthogonal"), 1),
        _E,
    ),
    "error_constant": Fact(
        "the same, if all positions are also taken to have equal norms",
        lambda f: format_percent(f.layernorm_error("constant_norm"), 1),
        _E,
    ),
    "worst": Fact(
        "the position with the largest such error", lambda f: str(f.worst_constant[0]), _E
    ),
    "error_worst": Fact("its median error", lambda f: format_percent(f.worst_constant[1], 0), _E),
    "energy_e": Fact(
        "share of E's energy in as many directions",
        lambda f: format_percent(f.energy_of("E"), 0),
        _E,
    ),
    "directions_p": Fact(
        "number of directions with 90 % of P's energy", lambda f: str(f.directions_for_most("P"))
    ),
    "directions_e": Fact("the same for E", lambda f: str(f.directions_for_most("E")), _E),
    "capture_first": Fact(
        "capture of E's first direction",
        lambda f: format_percent(float(f.of_model.capture[0]), 0),
        _E,
    ),
    "capture_about_mean": Fact(
        "the same without P's mean row",
        lambda f: format_percent(f.first_about_mean, 0),
        _E,
    ),
    "overlap_q": Fact(
        "overlap of W_Q's first three directions with P's, 0 to 3",
        lambda f: format_number(f.top3("W_Q"), 2),
        _Q,
    ),
    "overlap_k": Fact("the same for W_K", lambda f: format_number(f.top3("W_K"), 2), _K),
    "overlap_v": Fact("the same for W_V", lambda f: format_number(f.top3("W_V"), 3), _V),
    "overlap_q_folded": Fact(
        "that of W_Q with LayerNorm's gain folded in",
        lambda f: format_number(f.top3("W_Q", fold_ln=True), 2),
        _Q,
    ),
    "gain_ratio": Fact(
        "ratio of LayerNorm's gain in other entries to that in the entries of P's directions",
        lambda f: format_number(f.gain_ratio, 1),
    ),
    "corner_o": Fact(
        "strong corner of W_O with P, relative to chance",
        lambda f: format_number(f.corner("W_O", "P"), 1),
        _O,
    ),
    "corner_in_e": Fact(
        "strong corner of the MLP with E, relative to chance",
        lambda f: format_number(f.corner("W_in", "E"), 1),
        _IN + _E,
    ),
    "corner_in_p": Fact("the same with P", lambda f: format_number(f.corner("W_in", "P"), 1), _IN),
    "read_position": Fact(
        "share of sums from which the position is recovered",
        lambda f: format_percent(f.decoded("position"), 0),
        _E,
    ),
    "read_token": Fact(
        "share of sums from which the token is recovered",
        lambda f: format_percent(f.decoded("token"), 0),
        _E,
    ),
    "back": Fact("the lag N of the following placeholders", lambda f: str(f.back)),
    "back_screw": Fact(
        "R² of looking back N tokens by a rotation and a shift",
        lambda f: _explained(f.back_r2("screw")),
    ),
    "back_shift": Fact("the same by a shift alone", lambda f: _explained(f.back_r2("translation"))),
    "back_far": Fact(
        "R² on the second half of a rotation and a shift fitted on the first half",
        lambda f: _explained(f.back_r2("screw", "halves")),
    ),
    "back_angle": Fact(
        "the angle of that rotation",
        lambda f: f"{format_number(f.back_angle, 0)}°",
    ),
    "n_heads": Fact("number of heads of the first layer", lambda f: str(f.kernels.n_heads), _QK),
    "local_head": Fact(
        "the head with the most attention to nearby positions", lambda f: str(f.nearest_head), _QK
    ),
    "local_mass": Fact(
        "its attention to its own and the last ten positions",
        lambda f: format_percent(float(f.kernels.mass_lag_0_10[f.nearest_head]), 0),
        _QK,
    ),
    "back_head": Fact(
        "the head with the most attention to the previous position",
        lambda f: str(f.previous_head),
        _QK,
    ),
    "back_mass": Fact(
        "that attention",
        lambda f: format_percent(float(f.kernels.previous_token[f.previous_head]), 0),
        _QK,
    ),
    "first_step": Fact("first step of the history", lambda f: format_count(_steps(f)[0])),
    "last_step": Fact("last step of the history", lambda f: format_count(_steps(f)[-1])),
    "snapshots": Fact("number of snapshots of the history", lambda f: format_count(len(_steps(f)))),
}
CLAIM = "claim_"
"""Prefix of the placeholders of claims' verdicts."""


_READ: Mapping[str, tuple[Tensor, ...]] = {
    "capture": _E,
    "decoding": _E,
    "directions.appended": _E,
    "directions.disjoint": _E,
    "heads": _QK,
    "kernels": _QK,
    "layernorm": _E,
    "lookback.heads": _QK,
}
"""Tensors that claims read, by topic or by name."""


def _verdict(claim: ModelClaim) -> Fact:
    if claim.topic == "overlap":
        tensors = _of_overlap(claim.id)
    else:
        tensors = _READ.get(claim.id, _READ.get(claim.topic, ()))
    return Fact(f"the verdict on {claim.id}", lambda f: worth(f.verdict(claim)), tensors)


def _of_overlap(claim: str) -> tuple[Tensor, ...]:
    """Return the tensors of a claim about two matrices, such as "overlap.W_Q_E"."""
    rows, _, columns = claim.split(".")[1].rpartition("_")
    return tensors_of(*(Subject(cast(Name, name)) for name in (rows, columns)))


NUMBERS = {**_NUMBERS, **inside_facts.NUMBERS} | {
    CLAIM + claim.id.replace(".", "_").lower(): _verdict(claim) for claim in CLAIMS
}
"""Placeholders and their facts."""


def _count(value: int | None) -> str:
    if value is None:
        raise Absent
    return format_count(value)


def _steps(findings: Findings) -> list[int]:
    return [int(step) for step in findings.history.steps]


# ---- conditions ----------------------------------------------------------------------------

FEATURES: Mapping[str, Callable[[PositionalModel], bool]] = {
    "tokens": lambda model: "W_E" not in model.missing,
    "attention": lambda model: "W_Q" not in model.missing and "W_K" not in model.missing,
    "mlp": lambda model: "W_in" not in model.missing,
    "history": has_history,
    "causal": lambda model: model.causal,
    "computed": lambda model: model.computed,
    "long": lambda model: model.n_positions >= 200,
    "layers": lambda model: isinstance(model.store, LayerStore),
    "bundled": lambda model: model.source.text == SAMPLE,
}
"""Features of a model, known without computation, for steps and setups."""

_MEASURED: Mapping[str, tuple[Callable[[Findings], bool], tuple[Tensor, ...]]] = {
    "helix": (lambda f: f.has_helix, ()),
    "steady": (lambda f: f.of_model.norms.cv < STEADY, ()),
    "first_outlier": (lambda f: 0 in f.of_model.norms.outliers, ()),
    "last_outlier": (lambda f: f.model.n_positions - 1 in f.of_model.norms.outliers, ()),
    "first_longer": (lambda f: f.of_model.norms.values[0] > f.of_model.norms.mean, ()),
    "last_shorter": (lambda f: f.of_model.norms.values[-1] < f.of_model.norms.mean / 2, ()),
    "frayed": (lambda f: f.frays >= FRAYED, ()),
    "sparse": (lambda f: f.of_model.sparsity.mass_top40[0] >= SPARSE, ()),
    "apart": (lambda f: _apart(f), _E),
    "faithful": (lambda f: f.of_range.pca.explained_variance_ratio[:3].sum() >= FAITHFUL, ()),
    "screw": (lambda f: f.back_r2("screw") >= f.back_r2("translation") + WINS, ()),
    "far": (lambda f: f.back_r2("screw", "halves") >= FAR, ()),
    "local": (lambda f: f.kernels.mass_lag_0_10.max() >= LOCAL, _QK),
    "carried": (lambda f: f.back_r2("screw") >= CARRIES, ()),
    "early_varied": (lambda f: f.early_variation >= VARIED * f.of_model.norms.cv, ()),
    "inner_outlier": (lambda f: bool(f.inner_outliers), ()),
    "common_word": (lambda f: f.common_word, _E),
    "mean_first": (lambda f: f.first_about_mean <= f.of_model.capture[0] / 2, _E),
    "readers": (lambda f: min(f.top3("W_Q"), f.top3("W_K")) >= 1, _QK),
    "values_apart": (lambda f: f.corner("W_V", "P") < 1, _V),
    "gain_hides": (lambda f: f.top3("W_Q", fold_ln=True) <= f.top3("W_Q") / 2, _Q),
    "writes": (lambda f: f.corner("W_O", "P") >= TUNED, _O),
    "mlp_apart": (lambda f: f.corner("W_in", "P") < 1 <= f.corner("W_in", "E"), _IN + _E),
    "readable": (lambda f: min(f.decoded("position"), f.decoded("token")) >= READABLE, _E),
    "turning": (lambda f: f.lowest[1] < 0, ()),
    **{name: (condition, ()) for name, condition in inside_facts.CONDITIONS.items()},
}
CONDITIONS = frozenset((*FEATURES, *_MEASURED))
"""Conditions of paragraphs."""


def _apart(findings: Findings) -> bool:
    """Return whether P's directions are those that tokens use least."""
    chance = findings.of_model.capture_chance
    return findings.captured(0.0, 0.5) < chance < findings.captured(0.9, 1.0)


# ---- look-up -------------------------------------------------------------------------------


def tensors_for(names: Sequence[str]) -> tuple[Tensor, ...]:
    """Return the tensors read for some facts."""
    read: list[Tensor] = []
    for name in names:
        read += NUMBERS[name].tensors if name in NUMBERS else ()
        read += _MEASURED[name][1] if name in _MEASURED else ()
    return tuple(dict.fromkeys(read))


def needs_effects(names: Iterable[str]) -> bool:
    """Return whether some facts need measurements of the panel of effects."""
    return any(name in inside_facts.NUMBERS or name in inside_facts.CONDITIONS for name in names)


def number(name: str, findings: Findings) -> str | None:
    """Return a formatted number; None if the model has none."""
    from geometry.checkpoints.errors import HelixscopeError
    from geometry.hub.faults import HubError

    try:
        return NUMBERS[name].find(findings)
    except HubError:
        raise
    except (Absent, HelixscopeError, IndexError, ValueError):
        return None


def holds(name: str, findings: Findings) -> bool:
    """Return whether a condition holds; False if it cannot be measured."""
    from geometry.checkpoints.errors import HelixscopeError
    from geometry.hub.faults import HubError

    if name in FEATURES:
        return FEATURES[name](findings.model)
    try:
        return bool(_MEASURED[name][0](findings))
    except HubError:
        raise
    except (Absent, HelixscopeError, IndexError, ValueError):
        return False
