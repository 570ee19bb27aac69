"""Capture: how much of each direction of a matrix lies among P's strongest directions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from geometry.measures.overlaps import squared_overlaps
from geometry.models.residual_stream import NAMES, Name, Subject
from gui.panels.choices import Choice, Layer, Number, Option
from gui.panels.kit import PanelSpec, Reported, Scope, View
from gui.panels.subject_text import subject_colors, subject_name
from gui.plots.spec import Axis, Curve, Part, Plot, Rule, highest
from gui.services.questions import QuestionContext, Tensor, tensors_of
from gui.services.snippets import opening, written
from gui.style.theme import format_count, format_number

RANK = 30
EDGE = 30
"""Number of directions at either end that the caption averages."""


@dataclass(frozen=True, eq=False, slots=True)
class Captures:
    """Capture for every k at once.

    Attributes
    ----------
    of
        Whose directions v_j are captured.
    by_rank : (r, n) float64
        ``by_rank[k − 1, j − 1]`` = v_jᵀ Π v_j, with Π the projector onto the first k directions of
        P: the sum of the first k squared overlaps with v_j.
    d
        Dimensions of the space they share: chance is k/d.
    """

    of: Subject
    by_rank: np.ndarray
    d: int


@dataclass(frozen=True, slots=True)
class CaptureOf:
    """Capture of a matrix's directions by P's, which is uncentred."""

    of: Subject

    def tensors(self) -> tuple[Tensor, ...]:
        return tensors_of(self.of)

    def answer(self, about: QuestionContext) -> Captures:
        P, other = about.stream.pair(Subject("P"), self.of)
        by_rank = np.cumsum(squared_overlaps(P, other), axis=0)
        by_rank.flags.writeable = False
        return Captures(self.of, by_rank, P.vectors.shape[1])


@dataclass(frozen=True, slots=True)
class Choices:
    """The matrix, its layer, and the number of P's directions."""

    name: Name = "E"
    layer: int = 0
    k: int = RANK


CaptureView = View[Choices, Captures]


class CapturePanel(PanelSpec[Choices, Captures]):
    """Captured share by index of the direction, with chance."""

    name = "capture"
    formula = "vⱼᵀ Π vⱼ"
    meaning = "captured by P's first k"
    explanation = (
        "Π projects onto the k strongest directions of P, and vⱼ is the j-th strongest direction "
        "of the other matrix, so this is the share of vⱼ that positions occupy. Values below the "
        "dashed line, k over d_model, mean that the two keep out of each other's way."
    )
    empty = "Open a model to see which directions of its token embeddings its positions occupy."
    instead = "Another matrix may be chosen above."
    defaults = Choices()
    controls = (
        Choice(
            field="name",
            label="Whose directions",
            tip="Whose directions are captured",
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
            most=lambda captures: len(captures.by_rank),
        ),
    )
    claims = {f"capture.{which}": {"name": "E"} for which in ("weak", "strong", "first")}

    def question(self, scope: Scope, choices: Choices) -> CaptureOf:
        return CaptureOf(_subject(choices))

    def choices_for_report(self, reported: Reported, figure: str) -> Choices:
        return replace(self.defaults, k=reported.measured.rank)

    def plots(self, view: CaptureView) -> Sequence[Part]:
        result, values, k = view.result, _captured(view), _rank(view)
        (color,) = subject_colors([result.of], view.theme, others=bool(view.others))
        chance = k / result.d
        own = Curve(_index(values), values, color, width=1.5 if view.others else 1.0)
        others = [
            other.curve(_index(_captured(other)), _captured(other), silent=False)
            for other in view.others
        ]
        top = max(1.0, highest([own, *others]))

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
            )
        ]

    def heading(self, view: CaptureView) -> tuple[str, str]:
        title = f"{view.model.name} · capture by the first {_rank(view)} directions of P"
        return title, _scope(view)

    def caption(self, view: CaptureView) -> str:
        chance, ends = _summed_up(view)
        return f"{view.model.name} · {_scope(view)} · chance {chance} · {ends}"

    def numbers(self, view: CaptureView) -> Mapping[str, np.ndarray]:
        values = _captured(view)
        return {
            "j": np.arange(1, len(values) + 1),
            "captured": values,
            "chance": np.full(len(values), _rank(view) / view.result.d),
        }

    def script(self, view: CaptureView) -> str:
        return opening(view.model) + (
            f"""from geometry import capture
from geometry import ResidualStream, Subject

P, other = ResidualStream(model).pair(Subject("P"), {written(view.result.of)})
captured = capture(P, other, rank={_rank(view)})
print(captured)
print("chance", {_rank(view)} / P.vectors.shape[1])
"""
        )

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
    return f"{subject_name(of)}{side}, by P: {rows}, uncentred"


def _summed_up(view: CaptureView) -> tuple[str, str]:
    """Return chance, and the mean of the first and of the last directions."""
    values = _captured(view)
    m = min(EDGE, len(values))
    first, last = (format_number(part.mean()) for part in (values[:m], values[-m:]))
    ends = f"mean of the first {m}: {first}, of the last {m}: {last}"
    return format_number(_rank(view) / view.result.d), ends
