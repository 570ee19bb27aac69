"""Norms: lengths of rows, steps between them, or residuals, by position."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from geometry.checkpoints.errors import RangeError
from geometry.measures.norms import NormProfile, norm_profile
from geometry.measures.row_lengths import row_lengths
from geometry.measures.stretches import AFTER, Stretch, measure_stretch
from geometry.pca.curve import place_curve
from geometry.pca.norm_rule import ABOUT_MEAN_LOG_RATIO, NEIGHBOURS, OUTLIER_LOG_RATIO
from geometry.pca.pca import fit_pca
from gui.panels.kit.choices import Button, Choice, Number, Option, Toggle
from gui.panels.kit.intents import AddModel
from gui.panels.kit.spec import PanelSpec
from gui.panels.kit.views import Reported, Scope, View
from gui.plots.spec import Axis, Curve, Part, Plot, Rings, Rule, Span, Table, legend_of
from gui.services.questions import QuestionContext
from gui.services.snippets import python_script
from gui.state.values import Quantity
from gui.style.theme import format_count, format_number, format_percent, format_position
from gui.widgets.table_text import Column, Row

TITLES: dict[tuple[Quantity, bool], tuple[str, str]] = {
    ("norm", False): ("‖Pᵢ‖₂", "· norm of each row"),
    ("norm", True): ("‖Pᵢ − mean(Pᵢ)‖₂", "· norm of each row minus its mean"),
    ("step", False): ("‖Pᵢ₊₁ − Pᵢ‖₂", "· step to the next row"),
    ("step", True): ("‖Δᵢ − mean(Δᵢ)‖₂", "· step Δᵢ = Pᵢ₊₁ − Pᵢ minus its mean"),
    ("residual", False): ("‖xᵢ⊥‖₂ / ‖xᵢ‖₂", "· share outside the shown components"),
}
"""Formula and meaning, by quantity and whether rows are centred."""
MEANINGS: dict[Quantity, str] = {
    "norm": "‖Pᵢ‖₂, the Euclidean length of each row, in the table’s units",
    "step": "‖Pᵢ₊₁ − Pᵢ‖₂, the distance from each row to the next, in the table’s units",
    "residual": "‖xᵢ⊥‖₂ / ‖xᵢ‖₂, xᵢ the row minus the range’s mean and xᵢ⊥ its part outside the"
    " shown components: the share of its length that is not shown (“fraying”), from 0 to 1",
}
EXPLANATIONS: dict[Quantity, str] = {
    "norm": (
        "The norm is the Euclidean length of a position's row: where it hardly varies, positions "
        "differ only in direction. Rings mark outliers, whose norm differs from the median of the "
        f"{NEIGHBOURS} nearest other positions by more than {OUTLIER_LOG_RATIO} in natural "
        f"logarithm, or whose norm about the mean row does by more than {ABOUT_MEAN_LOG_RATIO}, "
        "so that a vector common to all rows cannot hide them."
    ),
    "step": (
        "The step is the distance from a position's row to the next one's. Where the first steps "
        "are longer than later ones, early positions are farther apart."
    ),
    "residual": (
        "The residual is the share of a row's length, counted from the mean of the shown range, "
        "that lies outside the shown components. Where it is large the curve frays: the drawn "
        "point is far from the row. It depends on the range and the components."
    ),
}
UNITS: dict[Quantity, str] = {"norm": "units of P", "step": "units of P", "residual": "share"}
OUTLIER_RULE = (
    f"Outlier: its norm differs from the median norm of the {NEIGHBOURS} nearest other positions "
    f"by more than {OUTLIER_LOG_RATIO} in natural logarithm (about a third), or its norm about the "
    f"mean row by more than {ABOUT_MEAN_LOG_RATIO}."
)
ABOUT_MEAN = "‖Pᵢ − mean row‖₂"
AFTER_TIP = (
    "Mean, std and cv are measured from this position to the last but one. Type it here, or drag "
    f"the dashed line; double-click the line to reset it to {AFTER}."
)
ONE_ROW = "there is only one position, so there is no step"
OUTLIERS_LISTED = 8
MAX_TOKEN_LENGTH = 24
COLUMNS = (
    Column("model", "The open model first, then the overlaid models", 148, left=True),
    Column(
        "mean", f"{AFTER_TIP.partition('. ')[0]}; over all positions where there are too few", 64
    ),
    Column("cv", "Standard deviation over the mean, over the same positions", 64),
)


@dataclass(frozen=True, eq=False, slots=True)
class Values:
    """A quantity of all positions."""

    values: np.ndarray  # (n,) float64: values by position; there is one step fewer than positions
    # Positions with outlying norms and norms about the mean row; empty for other quantities
    outliers_raw: tuple[int, ...] = ()
    outliers_about_mean: tuple[int, ...] = ()
    # (n,) float64: norms about the mean row; None for other quantities
    about_mean: np.ndarray | None = None

    @classmethod
    def of_norms(cls, norms: NormProfile) -> Values:
        """Return the norms of a profile."""
        return cls(norms.values, norms.outliers_raw, norms.outliers_about_mean, norms.about_mean)

    @property
    def outliers(self) -> tuple[int, ...]:
        """Positions that are outliers by either rule, ascending."""
        return tuple(sorted({*self.outliers_raw, *self.outliers_about_mean}))


@dataclass(frozen=True, slots=True)
class ValuesOf:
    """Norms, steps or residuals of all rows; residuals depend on a range's components."""

    quantity: Quantity
    centred: bool
    positions: tuple[int, int] = (0, 0)
    components: tuple[int, ...] = ()

    def answer(self, context: QuestionContext) -> Values:
        W_pos = context.model.W_pos
        if self.quantity == "norm":
            return Values.of_norms(norm_profile(W_pos, centred=self.centred))
        if self.quantity == "step":
            steps = row_lengths(W_pos).of("step", centred=self.centred)
            if not len(steps):
                raise RangeError(ONE_ROW)
            return Values(steps)
        pca = fit_pca(W_pos, self.positions, max(self.components))
        return Values(np.asarray(place_curve(W_pos, pca, self.components).residual))


@dataclass(frozen=True, slots=True)
class Choices:
    """Choices of the norms panel; the statistics begin at ``norms_after``."""

    norms_quantity: Quantity = "norm"
    norms_centred: bool = False
    norms_after: int = AFTER
    norms_relative: bool = False
    about_mean: bool = False
    sphere: bool = False
    bulk: bool = False


NormsView = View[Choices, Values]


class NormsPanel(PanelSpec[Choices, Values]):
    """A quantity against position, its stability, and outliers."""

    name = "norms"
    formula, meaning = TITLES["norm", False]
    explanation = EXPLANATIONS["norm"]
    empty = "Open a model to see the norm of every row of its position table."
    instead = "Norms and residuals are defined for any table."
    defaults = Choices()
    follows_drag = True
    controls = (
        Choice(
            field="norms_quantity",
            shared=True,
            label="Show",
            options=tuple(Option(what, what.capitalize(), tip) for what, tip in MEANINGS.items()),
        ),
        Toggle(
            field="norms_centred",
            shared=True,
            text="Centred",
            works=lambda view: view.choices.norms_quantity != "residual",
            tip="Subtract each row's mean over d_model first, which LayerNorm removes anyway",
        ),
        Number(
            field="norms_after",
            shared=True,
            text="after",
            minimum=0,
            maximum=lambda result: max(len(result.values) - 2, 0),
            slider=False,
            tip=AFTER_TIP,
        ),
        Toggle(
            field="norms_relative",
            shared=True,
            text="Relative",
            works=lambda view: bool(view.others),
            tip="Divide each model's values by its own mean over the measured positions, so that "
            "models of different widths can be compared",
        ),
        Toggle(
            field="about_mean",
            text="About mean",
            works=lambda view: view.choices.norms_quantity == "norm",
            tip=f"Draw {ABOUT_MEAN} beside the norms, dotted: the distance of each row from the "
            "mean of all rows. A vector common to all rows changes the norms but not these "
            "distances",
        ),
        Toggle(
            field="sphere",
            shared=True,
            text="Sphere",
            tip="Draw in the 3D view where rows of mean norm lie: the section of the sphere around "
            "the origin by the shown components. The caption gives its size there",
        ),
        Toggle(
            field="bulk",
            text="Clip outliers",
            tip="Scale the axis to the values without outliers and first positions; arrows at the "
            "edge mark outliers beyond it",
        ),
    )
    buttons = (
        Button(
            "Overlay…",
            "Overlay the norms of other models on this machine, as thin lines",
            lambda at: AddModel(at, in_grid=False),
        ),
    )

    def headline(self, choices: Choices) -> tuple[str, str, str]:
        centred = choices.norms_centred and choices.norms_quantity != "residual"
        return *TITLES[choices.norms_quantity, centred], EXPLANATIONS[choices.norms_quantity]

    def question(self, scope: Scope, choices: Choices) -> ValuesOf:
        if choices.norms_quantity == "residual":
            return ValuesOf("residual", False, scope.positions, scope.components)
        return ValuesOf(choices.norms_quantity, choices.norms_centred)

    def choices_for_report(self, reported: Reported, figure: str) -> Choices:
        norms = reported.measured.norms
        return replace(self.defaults, norms_after=norms.after, norms_centred=norms.centred)

    def result_for_report(self, reported: Reported, choices: Choices) -> tuple[ValuesOf, Values]:
        norms = reported.measured.norms
        return self.question(reported.scope, choices), Values.of_norms(norms)

    def plots(self, view: NormsView) -> Sequence[Part]:
        theme, alone = view.theme, not view.others
        own, *about_mean = _lines(view)
        color, width = (theme.muted, 1.0) if alone else (view.ink, 1.5)
        label = "of the rows" if about_mean else ""
        curves = [
            Curve(_positions(own), own, color, width=width, label=label),
            *(other.curve(_positions(_drawn(other)), _drawn(other)) for other in view.others),
        ]
        label = "about the mean row"
        curves += [
            Curve(_positions(norms), norms, theme.muted, "dotted", silent=True, label=label)
            for norms in about_mean
        ]
        last = max(view.model.n_positions, *(len(curve.x) for curve in curves)) - 1
        margin = 0.015 * max(last, 1)  # of x, so that rings at both ends fit
        quantity = view.choices.norms_quantity
        after = Rule(
            view.choices.norms_after,
            "x",
            tip=AFTER_TIP,
            drags="norms_after",
            bounds=(0, max(len(own) - 2, 0)),  # at least two are left for the statistics
            back=AFTER,
        )
        plot = Plot(
            f"{quantity.capitalize()} of each position",
            Axis(view.along, whole=True, span=(-margin, last + margin), printed=view.row),
            Axis(
                f"{quantity} / its mean" if _relative(view) else f"{quantity} ({UNITS[quantity]})",
                span=full_span(view),
                home=bulk_span(view) if view.choices.bulk else None,
            ),
            curves,
            [] if _stretch(view).whole else [after],
            lambda _, position: _describe(view, position),
            over="position",
            rings=Rings(view.result.outliers, OUTLIER_RULE),
            veiled=True,
            readings=legend_of(curves),
        )
        return [plot] if alone else [plot, _table(view)]

    def heading(self, view: NormsView) -> tuple[str, str]:
        formula, meaning, _ = self.headline(view.choices)
        return f"{view.model.name} · {formula} {meaning}", summary(view)

    def caption(self, view: NormsView) -> str:
        return f"{view.model.name} · {summary(view)}"

    def numbers(self, view: NormsView) -> Mapping[str, np.ndarray]:
        values, about_mean = view.result.values, view.result.about_mean
        more = {} if about_mean is None else {"about_mean": about_mean}
        return {"position": np.arange(len(values)), view.choices.norms_quantity: values, **more}

    def script(self, view: NormsView) -> str:
        choices, (first, last) = view.choices, view.scope.positions
        components, centred = tuple(view.scope.components), choices.norms_centred
        values = {
            "norm": "norms.values",
            "step": f'row_lengths(model.W_pos).of("step", centred={centred})',
            "residual": f"place_curve(model.W_pos, pca, {components}).residual",
        }[choices.norms_quantity]
        before = {
            "norm": f"norms = norm_profile(model.W_pos, centred={centred})\n",
            "step": "",
            "residual": f"pca = fit_pca(model.W_pos, ({first}, {last}), {max(components)})\n",
        }[choices.norms_quantity]
        outliers = "print(norms.outliers_raw, norms.outliers_about_mean)\n"
        if view.choices.about_mean:
            outliers += "print(norms.about_mean)\n"
        lines = f"""
{before}values = {values}
for position, value in enumerate(values):
    print(position, value)
{outliers if choices.norms_quantity == "norm" else ""}\
print(measure_stretch(values, {choices.norms_after}))
"""
        return python_script(lines, view.model)

    def compares(self, choices: Choices) -> str:
        # Residuals refer to a model's own components.
        quantity = choices.norms_quantity
        return "" if quantity == "residual" else f"{quantity.capitalize()}s"

    def summary(self, view: NormsView) -> str:
        stretch = _stretch(view)
        return f"Mean {format_number(stretch.mean)}, cv {format_percent(stretch.cv)}"


def _stretch(view: NormsView) -> Stretch:
    return measure_stretch(view.result.values, view.choices.norms_after)


def _relative(view: NormsView) -> bool:
    return view.choices.norms_relative and bool(view.others or view.color)


def _drawn(view: NormsView) -> np.ndarray:
    return _lines(view)[0]


def _lines(view: NormsView) -> list[np.ndarray]:
    """Return the values as they are drawn and, if they are, the norms about the mean row."""
    result, lines = view.result, [view.result.values]
    if result.about_mean is not None and view.choices.about_mean:
        lines.append(result.about_mean)
    if not _relative(view):
        return lines
    mean = _stretch(view).mean or 1.0
    return [line / mean for line in lines]


def _positions(values: np.ndarray) -> np.ndarray:
    return np.arange(float(len(values)))


def _table(view: NormsView) -> Table:
    models = (view, *view.others)
    stretches = [_stretch(shown) for shown in models]
    rows = [
        Row(key, (shown.name, format_number(of.mean), format_percent(of.cv)))
        for key, (shown, of) in enumerate(zip(models, stretches, strict=True))
    ]
    colors = {key: shown.ink for key, shown in enumerate(models)}
    return Table("Stability of norms by model", COLUMNS, rows, colors, spare=(2,))


def summary(view: NormsView) -> str:
    """Return the stability of the values, and outliers."""
    stretch, quantity = _stretch(view), view.choices.norms_quantity
    where = f"{format_position(stretch.first)}–{format_position(stretch.last)}"
    if stretch.whole:
        where = f"all positions (too few to leave out the first {view.choices.norms_after})"
    parts = [f"mean {format_number(stretch.mean)}", f"std {format_number(stretch.std)}"]
    if quantity != "residual":
        parts.append(f"cv {format_percent(stretch.cv)}")
    parts[-1] += f" over {where}"
    if quantity == "norm":
        parts.append(_list_outliers(view.result.outliers))
    elif stretch.early is not None:
        parts.append(_early(stretch, stretch.early))
    # Lines may break between two facts, never inside a number.
    return " · ".join(parts).replace("\N{THIN SPACE}", "\N{NARROW NO-BREAK SPACE}")


def _describe(view: NormsView, position: int) -> str:
    """Return the hover label of a position; values of compared models come last."""
    values, quantity = view.result.values, view.choices.norms_quantity
    where = f"{view.row} {format_position(position)}"
    if quantity == "step":
        where = f"{view.row}s {format_position(position)} → {format_position(position + 1)}"
    value = f"{quantity} {format_number(float(values[position]))}"
    if _relative(view):
        value += f" ({format_number(float(_drawn(view)[position]), 2)}×)"
    parts, shown = [where, value], view.label_at(position) or view.model.place_of(position)
    if shown:
        cut = f"{shown[: MAX_TOKEN_LENGTH - 1]}…"
        parts.append(shown if len(shown) <= MAX_TOKEN_LENGTH else cut)
    parts += _about_mean(view, position)
    parts += [
        f"{other.name} {format_number(float(other.result.values[position]))}"
        for other in view.others
        if position < len(other.result.values)
    ]
    return " · ".join(parts)


def _about_mean(view: NormsView, position: int) -> list[str]:
    """Return the parts of a hover label about the mean row and the outliers' rules."""
    result, parts = view.result, []
    if result.about_mean is not None and view.choices.about_mean:
        parts.append(f"about the mean row {format_number(float(result.about_mean[position]))}")
    by = ["norm"] if position in result.outliers_raw else []
    if position in result.outliers_about_mean:
        by.append("norm about the mean row")
    return [*parts, f"outlier by {' and '.join(by)}"] if by else parts


def full_span(view: NormsView) -> Span:
    """Return the span of all values from zero, with room for rings."""
    lines = [*_lines(view), *map(_drawn, view.others)]
    top = max(float(line.max()) for line in lines) or 1.0
    return -0.04 * top, 1.1 * top


def bulk_span(view: NormsView) -> Span:
    """Return the span of the values in the summary, without outliers."""
    stretch = _stretch(view)
    usual = np.zeros(len(view.result.values), dtype=bool)
    usual[stretch.first : stretch.last + 1] = True
    usual[list(view.result.outliers)] = False
    parts = [line[usual] if usual.any() else line for line in _lines(view)]
    for other in view.others:
        # Other models' outliers have no marks: the middle 98 % of their values count.
        theirs = _stretch(other)
        parts.append(np.percentile(_drawn(other)[theirs.first : theirs.last + 1], (1, 99)))
    low, high = (float(pick([pick(part) for part in parts])) for pick in (np.min, np.max))
    # All norms of computed positions are equal except for rounding.
    margin = 0.15 * (high - low) if high - low > 1e-6 * high else 0.05 * high or 0.5
    bottom, top = full_span(view)
    return max(low - margin, bottom), min(high + margin, top)


def _early(stretch: Stretch, early: float) -> str:
    """Return a comparison of the first positions with the others."""
    # No line break before the number.
    text = f"first\N{NO-BREAK SPACE}{format_count(stretch.first)}: mean {format_number(early)}"
    if stretch.mean <= 0.0:
        return text
    return f"{text}, {format_number(early / stretch.mean, 2)} times the mean"


def _list_outliers(outliers: tuple[int, ...]) -> str:
    if not outliers:
        return "no outliers"
    # No line breaks between a few.
    space = "\N{NO-BREAK SPACE}" if len(outliers) <= 5 else " "
    listed = f",{space}".join(format_position(p) for p in outliers[:OUTLIERS_LISTED])
    more = len(outliers) - OUTLIERS_LISTED
    return f"outliers{space}{listed}" + (f" and {format_count(more)} more" if more > 0 else "")
