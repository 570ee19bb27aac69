"""Spectra: singular values of P, E and the layers' weights."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from geometry.checkpoints.errors import TensorUnavailable
from geometry.checkpoints.stores import RegionStore
from geometry.hub.faults import Offline
from geometry.measures.directions import Directions
from geometry.measures.spectra import gaussian_singular_values, summarise
from geometry.models.model import PositionalModel
from geometry.models.residual_stream import NAMES, Name, Subject
from gui.panels.kit.choices import Matrices, Number, Toggle
from gui.panels.kit.spec import PanelSpec
from gui.panels.kit.subject_text import TABLES, WORDS, subject_colors, subject_name
from gui.panels.kit.views import Reported, Scope, View
from gui.plots.spec import Axis, Curve, Entry, Legend, Part, Plot, Rule
from gui.services.questions import Progress, QuestionContext, Tensor, resolve, tensors_of
from gui.services.snippets import python_script, written
from gui.style.theme import format_count, format_number, format_percent

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TOP = 30
BY_CHANCE = "Gaussian of the same shape and norm"
P = Subject("P")
FIGURES: Mapping[str, tuple[Name, ...]] = {
    "spectra": ("P", "E"),
    "spectra-weights": tuple(name for name in NAMES if name not in TABLES),
}
"""The figures of a report, and their matrices."""


@dataclass(frozen=True, eq=False, slots=True)
class NamedSpectrum:
    """Singular values of one matrix."""

    subject: Subject  # The matrix
    shape: tuple[int, int]  # Its rows and columns
    # (min(shape),) float64: descending, in the matrix's units; and of a Gaussian matrix of the
    # same shape and norm
    singular_values: np.ndarray
    chance: np.ndarray
    energy: np.ndarray  # (min(shape),) float64: cumulative share of Σσ²
    stable_rank: float  # ‖A‖_F² / σ₁²


@dataclass(frozen=True, eq=False, slots=True)
class Spectra:
    """Spectra of several matrices, and the reasons why others are missing."""

    spectra: tuple[NamedSpectrum, ...]  # In the requested order
    missing: tuple[tuple[Subject, str], ...]  # Matrices that the checkpoint lacks, with the reasons

    @property
    def longest(self) -> int:
        """Length of the longest spectrum."""
        return max(len(spectrum.singular_values) for spectrum in self.spectra)


@dataclass(frozen=True, slots=True)
class SpectraOf:
    """Singular values of some matrices, uncentred unless a subject is centred."""

    subjects: tuple[Subject, ...]

    def tensors(self) -> tuple[Tensor, ...]:
        return tensors_of(*self.subjects)

    def steps(self, context: QuestionContext) -> Iterator[Progress | Spectra]:
        spectra: list[NamedSpectrum] = []
        missing: list[tuple[Subject, str]] = []
        for number, subject in enumerate(self.subjects):
            yield Progress(number / len(self.subjects), f"Decomposing {subject.name}")
            try:
                spectra.append(_spectrum(context, subject))
            except TensorUnavailable as error:
                missing.append((subject, str(error)))
                last = error
        if not spectra:
            raise last
        yield Spectra(tuple(spectra), tuple(missing))


def _spectrum(context: QuestionContext, subject: Subject) -> NamedSpectrum:
    directions = context.stream.directions(subject)
    values = directions.singular_values
    shape = _shape(context, subject, directions)
    squares = values**2
    total = float(squares.sum())
    energy = np.cumsum(squares) / total if total > 0.0 else np.zeros_like(squares)
    energy.flags.writeable = False
    return NamedSpectrum(
        subject,
        shape,
        values,
        gaussian_singular_values(shape, float(np.sqrt(total))),
        energy,
        summarise(values).stable_rank,
    )


def _shape(context: QuestionContext, subject: Subject, directions: Directions) -> tuple[int, int]:
    """Return the matrix's shape, without reading E if its directions are cached."""
    if subject.name == "E" and context.model.d_vocab is not None:
        return context.model.d_vocab, directions.vectors.shape[1]
    rows, columns = context.stream.matrix(subject).shape
    return rows, columns


@dataclass(frozen=True, slots=True)
class Choices:
    """The matrices; the number of values in the share of Σσ²; whether to draw chance."""

    subjects: tuple[Subject, ...] = (P,)
    k: int = TOP
    chance: bool = True


SpectraView = View[Choices, Spectra]


class SpectraPanel(PanelSpec[Choices, Spectra]):
    """Singular values against their index, both logarithmic, as in the article."""

    name = "spectra"
    formula = "σᵢ(A)"
    meaning = "singular values"
    explanation = (
        "A matrix scales some directions of the residual stream more than others, by the singular "
        "values σᵢ, largest first. A few large values mean that the matrix is close to low rank; "
        "a Gaussian matrix of the same shape and norm shows what to expect by chance."
    )
    empty = "Open a model to see the singular values of its position table and weights."
    instead = "Choose P above: the position table is always available."
    defaults = Choices()
    controls = (
        Matrices(field="subjects"),
        Number(
            field="k",
            text="k",
            tip="Number of leading singular values in the share of Σσ²",
            maximum=lambda spectra: spectra.longest,
            slider=False,
        ),
        Toggle(
            field="chance",
            text="Chance",
            tip="Show the singular values of a random Gaussian matrix of the same shape and norm, "
            "dashed",
        ),
    )
    figures = {"spectra-weights": {"chance": False}}

    def choices_for(self, model: PositionalModel, choices: Choices) -> Choices:
        """Show P of a new model, and E if that needs no download."""
        here = isinstance(model.store, RegionStore) and "W_E" not in model.missing
        return replace(choices, subjects=(P, Subject("E")) if here else (P,))

    def question(self, scope: Scope, choices: Choices) -> SpectraOf:
        return SpectraOf(choices.subjects)

    def question_about_other(self, scope: Scope, choices: Choices) -> SpectraOf:
        """Only the first matrix: more curves could not be distinguished."""
        return SpectraOf(choices.subjects[:1])

    def choices_for_report(self, reported: Reported, figure: str) -> Choices:
        measured = reported.measured
        subjects = tuple(measured.subject(name) for name in FIGURES[figure])
        chance = bool(self.figures.get(figure, {}).get("chance", True))
        return Choices(subjects, measured.rank, chance)

    def result_for_report(self, reported: Reported, choices: Choices) -> tuple[SpectraOf, Spectra]:
        """Omit matrices that are missing, or not on this machine."""
        here = []
        for subject in choices.subjects:
            try:
                reported.measured.directions(subject.name)
            except (TensorUnavailable, Offline) as error:
                last = error
            else:
                here.append(subject)
        if not here:
            raise last
        question = SpectraOf(tuple(here))
        return question, resolve(question, reported.context)

    def plots(self, view: SpectraView) -> Sequence[Part]:
        result, choices, k = view.result, view.choices, _k(view)
        colors = _colors(view)
        curves: list[Curve] = []
        drawn: list[NamedSpectrum | None] = []  # by curve, for the hover label
        for spectrum, color in zip(result.spectra, colors, strict=True):
            index = _index(spectrum)
            words = f"{subject_name(spectrum.subject)} · first {k}: {_energy(view, spectrum)}"
            curves.append(Curve(index, spectrum.singular_values, color, width=1.5, label=words))
            drawn.append(spectrum)
            if choices.chance:
                curves.append(Curve(index, spectrum.chance, color, "dashed", silent=True))
                drawn.append(None)
        if choices.chance:
            # Without points, for the legend of the dashes.
            none = np.empty(0)
            curves.append(
                Curve(none, none, view.theme.muted, "dashed", silent=True, label=BY_CHANCE)
            )
        for other in view.others:
            (spectrum,) = other.result.spectra
            curves.append(other.curve(_index(spectrum), spectrum.singular_values, silent=False))

        def hover(curve: int, at: int) -> str:
            where = f"i = {at + 1} · σ {_sigma(curves[curve].y[at])}"
            if curves[curve].name:
                return f"{curves[curve].name} · {where}"
            spectrum = drawn[curve]
            assert spectrum is not None
            return (
                f"{subject_name(spectrum.subject)} · {where} · chance {_sigma(spectrum.chance[at])}"
                f" · first {at + 1}: {format_percent(spectrum.energy[at])}"
            )

        return [
            Plot(
                "Singular values",
                Axis("index i", log=True, printed="index i of the singular value"),
                Axis("singular value σᵢ", log=True),
                curves,
                [
                    Rule(
                        k,
                        "x",
                        tip=(
                            "Drag to change k, the number of leading singular values that are "
                            "summed"
                        ),
                        drags="k",
                        style="solid",
                    )
                ],
                hover,
            ),
            Legend((f"first {k}", "stable rank"), _entries(view, colors), "subjects"),
        ]

    def heading(self, view: SpectraView) -> tuple[str, str]:
        return f"{view.model.name} · singular values", _scope(view)

    def caption(self, view: SpectraView) -> str:
        return f"{view.model.name} · {_scope(view)}"

    def figure(self, view: SpectraView) -> Figure:
        from gui.plots.mpl_painter import paint

        of = subject_name(view.choices.subjects[0])
        names = [(f"{name} · {of}", color) for name, color in view.other_names]
        return paint(self.plots(view), *self.heading(view), view.theme, others=names)

    def numbers(self, view: SpectraView) -> Mapping[str, np.ndarray]:
        columns: dict[str, np.ndarray] = {"index": np.arange(1, view.result.longest + 1)}
        for spectrum in view.result.spectra:
            name = subject_name(spectrum.subject).replace(" ", "_")
            columns[f"{name}_singular_value"] = spectrum.singular_values
            columns[f"{name}_by_chance"] = spectrum.chance
            columns[f"{name}_energy_of_first"] = spectrum.energy
        return columns

    def script(self, view: SpectraView) -> str:
        subjects = ", ".join(written(found.subject) for found in view.result.spectra)
        lines = f"""
stream = ResidualStream(model)
for subject in ({subjects},):
    sigma = stream.directions(subject).singular_values
    energy = (sigma[:{_k(view)}] ** 2).sum() / (sigma**2).sum()
    stable_rank = (sigma**2).sum() / sigma[0] ** 2
    print(subject.name, subject.layer, sigma[:5], energy, stable_rank)
"""
        return python_script(lines, view.model)

    def compares(self, choices: Choices) -> str:
        return f"σᵢ of {subject_name(choices.subjects[0])}"

    def summary(self, view: SpectraView) -> str:
        (spectrum,) = view.result.spectra
        rank = format_number(spectrum.stable_rank, 2)
        energy = _energy(view, spectrum)
        return f"{_described(spectrum)} First {_k(view)}: {energy}, stable rank {rank}"


def _k(view: SpectraView) -> int:
    return min(view.choices.k, view.result.longest)


def _energy(view: SpectraView, spectrum: NamedSpectrum) -> str:
    return format_percent(float(spectrum.energy[min(view.choices.k, len(spectrum.energy)) - 1]))


def _index(spectrum: NamedSpectrum) -> np.ndarray:
    return np.arange(1.0, len(spectrum.singular_values) + 1)


def _colors(view: SpectraView) -> list[str]:
    subjects = [spectrum.subject for spectrum in view.result.spectra]
    return subject_colors(subjects, view)


def _entries(view: SpectraView, colors: Sequence[str]) -> list[Entry]:
    def without(subject: Subject) -> tuple[Subject, ...]:
        """Return the others, or P if there are none."""
        return tuple(other for other in view.choices.subjects if other != subject) or (P,)

    entries = [
        Entry(
            color,
            subject_name(spectrum.subject),
            (_energy(view, spectrum), format_number(spectrum.stable_rank, 2)),
            _described(spectrum),
            without(spectrum.subject),
        )
        for spectrum, color in zip(view.result.spectra, colors, strict=True)
    ]
    return entries + [
        Entry("", subject_name(subject), ("not in this checkpoint",), why, without(subject))
        for subject, why in view.result.missing
    ]


def _scope(view: SpectraView) -> str:
    """Return rows, layers and preparation of the matrices."""
    subjects = [spectrum.subject for spectrum in view.result.spectra]
    weights = [subject for subject in subjects if subject.name not in TABLES]
    parts = []
    if len(weights) < len(subjects):
        parts.append(f"all {format_count(view.model.n_positions)} positions, nothing centred")
    if weights:
        layers = sorted({subject.layer for subject in weights})
        named = f"layer{'s' * (len(layers) > 1)} {', '.join(map(str, layers))}"
        folded = "folded" if any(subject.fold_ln for subject in weights) else "not folded"
        parts.append(f"{named}, LayerNorm gain {folded}")
    return " · ".join(parts)


def _described(spectrum: NamedSpectrum) -> str:
    rows, columns = (format_count(size) for size in spectrum.shape)
    return f"{WORDS[spectrum.subject.name]} ({rows} × {columns})."


def _sigma(value: float) -> str:
    return format_number(value, 3 if value < 100 else 1)
