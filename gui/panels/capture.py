"""Capture: how much of each direction of a matrix lies among P's strongest directions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from geometry.evidence.null import Null
from geometry.evidence.random_frames import shared_energy
from geometry.measures.overlaps import squared_overlaps
from geometry.models.model import PositionalModel
from geometry.models.residual_stream import NAMES, Name, Subject
from gui.panels.kit.choices import Choice, Layer, Number, Option, Toggle
from gui.panels.kit.nulls import Finding
from gui.panels.kit.spec import PanelSpec
from gui.panels.kit.subject_text import subject_colors, subject_name
from gui.panels.kit.views import Reported, Scope, View
from gui.plots.spec import Axis, Curve, Part, Plot, Reading, Rule, highest, level_band
from gui.services.questions import QuestionContext, Tensor, tensors_of
from gui.services.snippets import python_script, written
from gui.style.theme import format_count, format_number

RANK = 30
EDGE = 30
"""Number of directions at either end that the caption averages."""


@dataclass(frozen=True, eq=False, slots=True)
class Captures:
    """Capture for every k at once."""

    of: Subject  # The matrix whose directions v_j are captured
    # (r, n) float64: ``by_rank[k − 1, j − 1]`` = v_jᵀ Π v_j, with Π the projector onto the
    # first k directions of P: the sum of the first k squared overlaps with v_j
    by_rank: np.ndarray
    d: int  # Dimensions of their common space: chance is k/d
    centred: bool = False  # Whether P's mean row was subtracted


@dataclass(frozen=True, slots=True)
class CaptureOf:
    """Capture of a matrix's directions by P's, whose mean row may be subtracted first."""

    of: Subject
    centred: bool = False

    def tensors(self) -> tuple[Tensor, ...]:
        return tensors_of(self.of)

    def answer(self, context: QuestionContext) -> Captures:
        P, other = context.stream.pair(Subject("P", centred=self.centred), self.of)
        by_rank = np.cumsum(squared_overlaps(P, other), axis=0)
        by_rank.flags.writeable = False
        return Captures(self.of, by_rank, P.vectors.shape[1], self.centred)


@dataclass(frozen=True, eq=False, slots=True)
class CaptureNulls:
    """Capture of random directions by the same number of P's."""

    single: Null  # Capture of one direction
    first: Null  # Mean capture of as many directions as the caption averages


@dataclass(frozen=True, slots=True)
class CaptureNullsOf:
    """Capture of random directions by the first k of P; else as :class:`CaptureOf`."""

    of: Subject
    centred: bool
    k: int

    def tensors(self) -> tuple[Tensor, ...]:
        return tensors_of(self.of)

    def answer(self, context: QuestionContext) -> CaptureNulls:
        P, other = context.stream.pair(Subject("P", centred=self.centred), self.of)
        (r, d), m = P.vectors.shape, min(EDGE, len(other.vectors))
        k = min(self.k, r)
        return CaptureNulls(shared_energy(1, k, d), shared_energy(m, k, d).scaled(1, m))


@dataclass(frozen=True, slots=True)
class Choices:
    """The matrix, its layer, the number of P's directions, and whether P is centred."""

    name: Name = "E"
    layer: int = 0
    k: int = RANK
    centred: bool = False


CaptureView = View[Choices, Captures]


class CapturePanel(PanelSpec[Choices, Captures]):
    """Captured share by index of the direction, with chance."""

    name = "capture"
    formula = "vⱼᵀ Π vⱼ"
    meaning = "captured by P's first k"
    explanation = (
        "Π projects onto the k strongest directions of P, and vⱼ is the j-th strongest direction "
        "of the other matrix, so this is the share of vⱼ that positions occupy. Values below the "
        "dashed line, k over d_model, mean that the two subspaces overlap less than by chance."
    )
    empty = (
        "Open a model to see which directions of its token embeddings are occupied by its "
        "positions."
    )
    instead = "Choose another matrix above."
    defaults = Choices()
    controls = (
        Choice(
            field="name",
            label="Matrix",
            tip="The matrix whose directions are captured",
            options=tuple(Option(name, f"of {name}") for name in NAMES[1:]),
            listed=True,
        ),
        Layer(
            field="layer",
            tip="The layer of the weight",
            enabled=lambda choices: choices.name != "E",
        ),
        Number(
            field="k",
            text="k",
            tip="How many of P's strongest directions span the subspace that captures",
            maximum=lambda captures: len(captures.by_rank),
        ),
        Toggle(
            field="centred",
            text="Centre P",
            tip="Subtract the mean row of P before its decomposition, so that the part common to "
            "all positions is not counted",
        ),
    )
    claims = {f"capture.{which}": {"name": "E"} for which in ("weak", "strong", "first")}

    def concerns(self, model: PositionalModel) -> bool:
        return len(model.missing) < len(NAMES[1:])

    def instead_for(self, model: PositionalModel) -> str:
        return self.instead if self.concerns(model) else "Directions shows those of P itself."

    def question(self, scope: Scope, choices: Choices) -> CaptureOf:
        return CaptureOf(_subject(choices), choices.centred)

    def nulls_question(self, scope: Scope, choices: Choices) -> CaptureNullsOf:
        k = min(choices.k, min(scope.model.W_pos.shape))
        return CaptureNullsOf(_subject(choices), choices.centred, k)

    def finding(self, view: CaptureView) -> Finding:
        values, null, chance = _captured(view), view.nulls.first, _rank(view) / view.result.d
        m = min(EDGE, len(values))
        mean, low = float(values[:m].mean()), float(np.percentile(null.values, 5))
        return Finding.of(
            f"{subject_name(view.result.of)}'s first {m} are captured at "
            f"{format_number(mean / chance, 2)} × chance (expected < 1); 95 % of {null.draws} "
            f"random ones have more than {format_number(low / chance, 2)}",
            mean < chance,
            mean,
            "below",
            null,
        )

    def choices_for_report(self, reported: Reported, figure: str) -> Choices:
        return replace(self.defaults, k=reported.measured.rank)

    def plots(self, view: CaptureView) -> Sequence[Part]:
        result, values, k = view.result, _captured(view), _rank(view)
        (color,) = subject_colors([result.of], view)
        chance = k / result.d
        own = Curve(_index(values), values, color, width=1.5 if view.others else 1.0)
        others = [
            other.curve(_index(_captured(other)), _captured(other), silent=False)
            for other in view.others
        ]
        top = max(1.0, highest([own, *others]))
        bands = []
        if view.nulls is not None:
            low, _, high = view.nulls.single.band
            ends = (own.x[0], max(curve.x[-1] for curve in (own, *others)))
            label = "90 % of random directions"
            bands.append(level_band(low, high, ends, view.theme.muted, label))

        def hover(curve: int, at: int) -> str:
            if curve > 0:
                other = others[curve - 1]
                return f"{other.name} · j = {at + 1} · captured {format_number(other.y[at])}"
            return (
                f"{subject_name(result.of)} · j = {at + 1} · captured {format_number(values[at])}"
                f" · {format_number(values[at] / chance, 2)} × chance"
            )

        return [
            Plot(
                "Capture of each direction",
                Axis(
                    "index j",
                    whole=True,
                    printed=f"index j of {subject_name(result.of)}'s singular direction",
                ),
                Axis(
                    "captured share of vⱼ",
                    span=(-0.03 * top, 1.03 * top),
                    printed=f"captured by P's first {k}",
                ),
                [own, *others],
                [Rule(chance, label="chance")],
                hover,
                readings=[
                    Reading(subject_name(result.of), color=own.color),
                    *(band.reading() for band in bands),
                ],
                bands=bands,
            )
        ]

    def heading(self, view: CaptureView) -> tuple[str, str]:
        title = f"{view.model.name} · capture by the first {_rank(view)} directions of P"
        return title, _scope(view)

    def caption(self, view: CaptureView) -> str:
        chance, ends = _summed_up(view)
        return f"{view.model.name} · {_scope(view)} · chance {chance} · {ends}"

    def numbers(self, view: CaptureView) -> Mapping[str, np.ndarray]:
        values, nulls = _captured(view), {}
        if view.nulls is not None:
            low, _, high = view.nulls.single.band
            nulls = {
                "random_p5": np.full(len(values), low),
                "random_p95": np.full(len(values), high),
            }
        return {
            "j": np.arange(1, len(values) + 1),
            "captured": values,
            "chance": np.full(len(values), _rank(view) / view.result.d),
            **nulls,
        }

    def script(self, view: CaptureView) -> str:
        P, m = Subject("P", centred=view.result.centred), min(EDGE, len(_captured(view)))
        lines = f"""
P, other = ResidualStream(model).pair({written(P)}, {written(view.result.of)})
captured, d = capture(P, other, rank={_rank(view)}), P.vectors.shape[1]
print(captured)
print("chance", {_rank(view)} / d, "random", *shared_energy(1, {_rank(view)}, d).band)
random = shared_energy({m}, {_rank(view)}, d).scaled(1, {m})
first = captured[:{m}].mean()
print(first, *random.band)
print(weigh(first < {_rank(view)} / d, first, "below", random))
"""
        return python_script(lines, view.model)

    def compares(self, choices: Choices) -> str:
        return f"Captured of {subject_name(_subject(choices))}"

    def summary(self, view: CaptureView) -> str:
        chance, ends = _summed_up(view)
        return f"{ends[0].upper()}{ends[1:]}, chance {chance}"


def _subject(choices: Choices) -> Subject:
    return Subject(choices.name, 0 if choices.name == "E" else choices.layer)


def _rank(view: CaptureView) -> int:
    return min(view.choices.k, len(view.result.by_rank))


def _captured(view: CaptureView) -> np.ndarray:
    captured: np.ndarray = view.result.by_rank[_rank(view) - 1]
    return captured


def _index(values: np.ndarray) -> np.ndarray:
    return np.arange(1.0, len(values) + 1)


def _scope(view: CaptureView) -> str:
    of, side = view.result.of, ""
    if of.name != "E":
        side = ", output side" if of.name == "W_O" else ", input side, gain not folded"
    rows = f"all {format_count(view.model.n_positions)} positions"
    centred = "centred" if view.result.centred else "uncentred"
    return f"{subject_name(of)}{side}, by P: {rows}, {centred}"


def _summed_up(view: CaptureView) -> tuple[str, str]:
    """Return chance, and the mean of the first and of the last directions."""
    values = _captured(view)
    m = min(EDGE, len(values))
    first, last = (format_number(part.mean()) for part in (values[:m], values[-m:]))
    ends = f"mean of the first {m}: {first}, of the last {m}: {last}"
    return format_number(_rank(view) / view.result.d), ends
