"""Shape: line, arc, circle, helix or drifting helix, and the evidence for it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from geometry.checkpoints.errors import RangeError, TensorUnavailable
from geometry.measures.roughness import FEWEST, Roughness, roughness
from geometry.measures.shape_fit import FREE
from geometry.models.model import PositionalModel
from geometry.pca.curve import why_fewer
from geometry.pca.pca import PositionPCA, fit_pca
from gui.panels.kit.choices import Button, Choice, Option, Saved, Toggle
from gui.panels.kit.intents import ShowPanel
from gui.panels.kit.spec import PanelSpec
from gui.panels.kit.views import Reported, Scope, View
from gui.plots.spec import Axis, Curve, Part, Plot, Rule, highest, spanned, values_at
from gui.services.questions import Progress, QuestionContext
from gui.services.snippets import python_script
from gui.state.fields import one_of
from gui.state.guides import Guide
from gui.style.sentences import ranged
from gui.style.theme import SMALL, format_number, format_percent

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from geometry.evidence.bootstrap import Intervals
    from geometry.evidence.null import Null
    from geometry.evidence.turning_share import TurningShare
    from geometry.measures.shape import ShapeFit, Shapes

DRAWN_R2 = 0.5
"""Minimum R² of a fit that is drawn in the 3D view if no curve was chosen in the table."""
NOTED = "shape."
"""Beginning of the claims whose notes are shown with the verdict."""
MIN_POSITIONS = 4
"""Minimum number of positions: fewer lie on any of the curves."""


@dataclass(frozen=True, eq=False, slots=True)
class Shape:
    """The fitted curves, and the curve that describes the positions."""

    pca: PositionPCA  # The components of the range
    components: tuple[int, ...]  # Three of them, from 1
    # The curve that describes the positions by the rule: "line", "arc", "circle", "helix",
    # "drifting_helix" or "none"
    best: str
    evidence: TurningShare | None  # The turning share of the positions; None for fewer than eight
    coordinates: np.ndarray  # (m, 3) float64: the positions in the components
    fits: Mapping[str, ShapeFit]  # Line, circle, helix and drifting helix, by name
    rough: Roughness | None = None  # Roughness of the positions; None for fewer than eight
    # Turning shares of random curves of this size; empty while they are unknown
    nulls: Mapping[str, Null] = field(default_factory=dict)
    # The rule's strength of such curves; empty while it is unknown
    rule: Mapping[str, Null] = field(default_factory=dict)
    # Intervals of the circle or helix; None while they are unknown, or for too few positions
    intervals: Intervals | None = None
    # What holds by construction, by the notes on the model's making
    notes: tuple[str, ...] = ()

    @property
    def positions(self) -> tuple[int, int]:
        """First and last position, both inclusive."""
        return self.pca.positions

    @property
    def first_choice(self) -> str:
        """The initially shown curve: the best one, or the better helix if there is none."""
        if self.best == "none":
            return self.better_helix.name
        return "circle" if self.best == "arc" else self.best

    def distances(self, name: str) -> np.ndarray:
        """Return (m,) distances of the positions from a curve, in the table's units."""
        return self.fits[name].distances(self.coordinates)

    def rms(self, name: str) -> float:
        """Return the root mean square of these distances."""
        return float(np.sqrt(np.mean(np.square(self.distances(name)))))

    @property
    def better_helix(self) -> ShapeFit:
        """The better helix, whichever curve describes the positions."""
        return max(self.fits["helix"], self.fits["drifting_helix"], key=lambda fit: fit.r2)


@dataclass(frozen=True, slots=True)
class ShapeOf:
    """The shape of a range of positions in three principal components, from 1."""

    positions: tuple[int, int]
    components: tuple[int, ...]

    def steps(self, context: QuestionContext) -> Iterator[Progress | Shape]:
        from geometry.evidence.turning_nulls import rule_nulls, turning_nulls
        from geometry.evidence.turning_share import turning_in
        from geometry.measures.shape import fit_shapes, shape_intervals
        from geometry.models.notes import sentences

        check_positions(self.positions)
        yield Progress(None, "Finding the components")
        first, last = self.positions
        rows = context.model.W_pos[first : last + 1]
        pca = fit_pca(context.model.W_pos, self.positions, max(self.components))
        coordinates = coordinates_in(context.model.W_pos, pca, self.components)
        yield Progress(None, "Fitting line, circle and helices")
        enough = len(rows) >= FEWEST
        evidence = turning_in(rows, coordinates, self.components) if enough else None
        shapes = fit_shapes(coordinates, evidence, check=context.raise_if_cancelled)
        shape = shape_of(pca, self.components, coordinates, shapes)
        shape = replace(shape, notes=sentences(context.model.notes, NOTED))
        if enough:
            yield Progress(None, "Drawing random curves", shape)
            nulls = context.cache(
                ("turning nulls", self.positions),
                lambda: turning_nulls(rows, check=context.raise_if_cancelled),
            )
            rule = context.cache(
                ("rule nulls", self.positions),
                lambda: rule_nulls(rows, check=context.raise_if_cancelled),
            )
            shape = replace(shape, nulls=nulls, rule=rule)
            yield Progress(None, "Resampling the positions’ departures from the curve", shape)
            found = shape_intervals(rows, shapes, self.components, check=context.raise_if_cancelled)
            shape = replace(shape, intervals=found)
        yield shape


def check_positions(positions: tuple[int, int]) -> None:
    """Raise RangeError for a range so short that every curve fits."""
    first, last = positions
    if last - first + 1 < MIN_POSITIONS:
        raise RangeError(
            f"A curve needs at least {MIN_POSITIONS} positions; the range is {first}–{last}.",
            "Show a longer range.",
        )


def coordinates_in(table: np.ndarray, pca: PositionPCA, components: tuple[int, ...]) -> np.ndarray:
    """(m, 3) the range's positions in three of its components, from 1; RangeError without them."""
    if max(components) > len(pca.components):
        raise RangeError(
            f"The curve is fitted in the components {', '.join(map(str, components))}, but "
            f"{why_fewer(pca)}.",
            "Choose other components." if min(len(pca.mean), len(pca.components)) >= 3 else "",
        )
    first, last = pca.positions
    chosen = [number - 1 for number in components]
    coordinates = np.ascontiguousarray(pca.project(table[first : last + 1])[:, chosen])
    coordinates.setflags(write=False)
    return coordinates


def shape_of(
    pca: PositionPCA,
    components: tuple[int, ...],
    coordinates: np.ndarray,
    shapes: Shapes,
    nulls: Mapping[str, Null] | None = None,
) -> Shape:
    """Combine the fitted curves into a result.

    Parameters
    ----------
    pca, components
        The components of the range, and which three, from 1.
    coordinates : (m, 3)
        The positions in these.
    shapes
        The curves fitted to them.
    nulls
        Turning shares of random curves, if known.
    """
    fits: Mapping[str, ShapeFit] = {str(name): fit for name, fit in shapes.fits.items()}
    rough = roughness(coordinates) if len(coordinates) >= FEWEST else None
    return Shape(
        pca, components, shapes.best, shapes.evidence, coordinates, fits, rough, nulls or {}
    )


def drift_of(fit: ShapeFit) -> float:
    """Return the change of the radius from the first position to the last, in the table's units."""
    return fit.drift * (len(fit.values) - 1)


VERDICTS = {
    "line": "A line, not a helix",
    "arc": "An arc, not a helix",
    "circle": "A circle, not a helix",
    "helix": "A helix",
    "drifting_helix": "A drifting helix",
    "none": "No clear helix",
}
"""Verdicts, by the best curve."""
CURVES = {
    "line": "the line",
    "circle": "the circle",
    "helix": "the helix",
    "drifting_helix": "the drifting helix",
}
"""Names of the curves within sentences."""
UNDECIDED = "Undetermined"
"""The verdict on fewer than 1.5 turns."""
NAMES = {"line": "Line", "circle": "Circle", "helix": "Helix", "drifting_helix": "Drifting helix"}
FIGURE = (6.4, 4.2)
"""Inches."""
TITLES = {"distance": "distance (units of P)", "turning": "turning angle (°)"}
Plotted = Literal["distance", "turning"]


@dataclass(frozen=True, slots=True)
class Choices:
    """The shown curve, "" for the best; whether also in the viewport; the plotted quantity."""

    curve: str = ""
    in_view: bool = True
    plotted: Plotted = "distance"


ShapeView = View[Choices, Shape]


class ShapePanel(PanelSpec[Choices, Shape]):
    """The fit of simple curves to the shown positions, and the distances from one of them."""

    name = "shape"
    formula = "pᵢ ≈ m + r(cos ωi · u + sin ωi · v) + c·i·w"
    meaning = "the simple curve that fits best"
    explanation = (
        "The curve is a helix or a circle if the positions turn at one frequency more evenly than "
        "random curves, over ≥ 1.5 turns: two directions in which they are a cosine and a sine "
        "hold more of the variance than a bound that some 98 % of random curves are to miss; "
        "along the direction in which a helix climbs, a straight line explains at least half of "
        "the course, and its radius drifts if that reduces the out-of-sample error by 5 %. "
        "Otherwise the curve is a line, or an arc of less than one turn, with R² ≥ 0.8, or none of "
        "these; the rule misses fewer turns, flat ellipses and strong noise, and takes a random "
        "curve with one preferred frequency for a circle."
    )
    empty = "Open a model to see which simple curve its positions follow."
    instead = "The Norms and Spectra panels need no curve."
    defaults = Choices()
    controls = (
        Saved(field="curve", kind=one_of("", *NAMES)),
        Choice(
            field="plotted",
            label="Plotted",
            options=(
                Option(
                    "distance",
                    "Distance",
                    "Plot the distance of each position from the chosen curve",
                ),
                Option(
                    "turning",
                    "Turning",
                    "Plot the turning angle at each position, between the step to it and the step "
                    "from it",
                ),
            ),
        ),
        Toggle(
            field="in_view",
            text="Show in 3D",
            tip="Draw the chosen curve as a thin line among the positions, with its axis dashed",
        ),
    )
    buttons = (
        Button(
            "Artefact of PCA?",
            "Could this be an artefact of PCA? Show the components beside those of smooth random "
            "tables",
            lambda _: ShowPanel("artefact", {}),
        ),
    )
    body = "gui.panels.shape.body:ShapeBody"

    def choices_for(self, model: PositionalModel, choices: Choices) -> Choices:
        """Show the best curve of another model."""
        return replace(choices, curve="")

    def question(self, scope: Scope, choices: Choices) -> ShapeOf:
        return ShapeOf(scope.positions, scope.components)

    def result_for_report(self, reported: Reported, choices: Choices) -> tuple[ShapeOf, Shape]:
        from geometry.models.notes import sentences

        measured, components = reported.measured, (1, 2, 3)
        check_positions(measured.positions)
        coordinates = coordinates_in(reported.model.W_pos, measured.pca, components)
        if measured.shapes is None:
            raise TensorUnavailable(f"No shape can be fitted: {why_fewer(measured.pca)}.")
        shape = shape_of(
            measured.pca, components, coordinates, measured.shapes, measured.turning_nulls
        )
        notes = sentences(measured.model.notes, NOTED)
        shape = replace(shape, rule=measured.rule_nulls, intervals=measured.intervals, notes=notes)
        return ShapeOf(measured.positions, components), shape

    def plots(self, view: ShapeView) -> Sequence[Part]:
        what, first = plotted(view), view.result.positions[0]
        x, y = _values(view, what)
        rough = view.result.rough
        turning = what == "turning" and rough is not None
        level = rough.turning_angle if turning and rough else view.result.rms(chosen(view))
        others = [
            other.curve(*_values(other, what))
            for other in view.others
            if what == "distance" or other.result.rough is not None
        ]

        def hover(_: int, index: int) -> str:
            position = int(x[index])
            label = view.label_at(position)
            where = f"{view.row} {position}" + ("" if label is None else f" {label}")
            own = _value_text(view, what, position - first)
            return " · ".join([where, own, *values_at(others, position)])

        own = Curve(x, y, view.ink)
        span = spanned(first - 0.5, view.result.positions[1] + 0.5, others)
        return [
            Plot(
                "Plotted quantity",
                Axis(view.along, whole=True, span=span),
                Axis(TITLES[what], span=(0.0, 1.05 * highest([own, *others]) or 1.0)),
                [own, *others],
                [Rule(level, label="in all" if turning else "root mean square")],
                hover,
                over="position",
            )
        ]

    def heading(self, view: ShapeView) -> tuple[str, str]:
        shape = view.result
        components = ", ".join(map(str, shape.components))
        where = f"{ranged(view.model, shape.positions)}, centred · PC {components}"
        return verdict_of(shape, chosen(view)), f"{view.model.name} · {where}"

    def caption(self, view: ShapeView) -> str:
        shape, name = view.result, chosen(view)
        near = f"{CURVES[name]}: RMS distance {format_number(shape.rms(name))}"
        return f"{verdict_name(shape)} · {self.heading(view)[1]} · {near}"

    def figure(self, view: ShapeView) -> Figure:
        from matplotlib.figure import Figure

        from gui.plots.figure_base import POINTS, dress_axes, name_axes
        from gui.plots.mpl_painter import name_models, shaped

        shape, name, theme = view.result, chosen(view), view.theme
        figure = Figure(figsize=FIGURE, layout="constrained", facecolor=theme.viewport)
        grid = figure.add_gridspec(2, 3, height_ratios=[3, 2])
        first, last = shape.positions
        at = np.arange(first, last + 1)
        above = [figure.add_subplot(grid[0, 0])]
        above += [figure.add_subplot(grid[0, column], sharey=above[0]) for column in (1, 2)]
        for column, axes in enumerate(above):
            dress_axes(axes, theme)
            axes.plot(at, shape.coordinates[:, column], ".", color=theme.faint, markersize=3)
            axes.plot(at, shape.fits[name].values[:, column], color=view.ink, linewidth=1)
            axes.tick_params(labelleft=column == 0)
            name_axes(axes, view.row.capitalize(), f"PC {shape.components[column]}")
        below = figure.add_subplot(grid[1, :])
        dress_axes(below, theme)
        for other in view.others:
            x, y = _values(other, "distance")
            shapes = shaped(other.color, x, (x[0], x[-1]))
            below.plot(x, y, color=other.color, linewidth=0.8, **shapes)
        shapes = shaped(view.ink, at, (first, last))
        below.plot(at, shape.distances(name), color=view.ink, linewidth=0.8, **shapes)
        below.axhline(shape.rms(name), color=theme.muted, linewidth=0.8, linestyle=(0, (4, 3)))
        drawn = [Curve(*_values(other, "distance"), "") for other in view.others]
        below.set_xlim(*spanned(first, last, drawn))
        name_models(figure, view.other_names, (view.name, view.ink), theme)
        below.set_ylim(0.0, None)
        below.annotate(
            f"RMS\n{format_number(shape.rms(name))}",
            (1, shape.rms(name)),
            (4, 0),
            va="center",
            xycoords=below.get_yaxis_transform(),
            textcoords="offset points",
            fontsize=SMALL * POINTS,
            color=theme.muted,
        )
        name_axes(below, view.row.capitalize(), "Distance (units of P)")
        rough = " · ".join(rough_parts(shape).values())
        figure.suptitle(
            "\n".join(filter(None, (*self.heading(view), rough))),
            x=0.01,
            ha="left",
            fontsize=SMALL * POINTS,
            color=theme.text,
        )
        return figure

    def tables(self, view: ShapeView) -> Mapping[str, Mapping[str, np.ndarray]]:
        """Return a table by curve, one by position, one of single numbers, and the null curves.

        Turning angles are in degrees, by position; NaN at both ends.
        """
        shape = view.result
        names, fits = list(shape.fits), list(shape.fits.values())
        first, last = shape.positions
        whole = {"verdict": np.array([shape.best])}
        positions = {
            "position": np.arange(first, last + 1),
            **{f"distance_{name}": shape.distances(name) for name in names},
        }
        if shape.rough is not None:
            angles = np.pad(shape.rough.turning_angles, 1, constant_values=np.nan)
            positions["turning_angle"] = angles
            whole |= {
                "median_turning_angle": np.array([shape.rough.turning_angle]),
                "high_frequency_energy": np.array([shape.rough.high_frequency_energy]),
                "loops": np.array([shape.rough.loops]),
            }
        nulls = {}
        if shape.evidence is not None:
            evidence = shape.evidence
            whole |= {
                "turning_share": np.array([evidence.b]),
                "turning_share_without_climb": np.array([_nan_for_none(evidence.b_prime)]),
                "turning_share_turns": np.array([evidence.turns]),
                "climb_ratio": np.array([_nan_for_none(evidence.climb_ratio)]),
                "purity": np.array([evidence.purity]),
                "pair_share": np.array([evidence.pair_share]),
                "strength": np.array([evidence.strength]),
            }
            found = shape.intervals
            for name, ends in interval_ends(found).items():
                whole |= {f"{name}_interval": np.array([ends])}
            nulls = {f"turning_share_of_{name}": null.values for name, null in shape.nulls.items()}
        curves = {
            "curve": np.array(names),
            "best": np.array([describes(shape, name) for name in names]),
            "r2": np.array([fit.r2 for fit in fits]),
            "score": np.array([fit.score for fit in fits]),
            "n_free": np.array([FREE[fit.name] for fit in fits]),
            "turns": np.array([fit.turns for fit in fits]),
            "radius": np.array([fit.radius for fit in fits]),
            "drift": np.array([drift_of(fit) for fit in fits]),
            "climb_per_turn": np.array([fit.climb_per_turn for fit in fits]),
            "rms_distance": np.array([shape.rms(name) for name in names]),
        }
        tables = {"": curves, "positions": positions, "whole": whole}
        return {**tables, "null-curves": nulls} if nulls else tables

    def script(self, view: ShapeView) -> str:
        question, name = view.question, chosen(view)
        first, last = question.positions
        components = [number - 1 for number in question.components]
        enough = last - first + 1 >= FEWEST
        nulls = rough = ""
        whole = sorted(question.components) == [1, 2, 3]
        turning = f"turning_share(rows{'' if whole else ', points'})"
        if enough:
            nulls = """\
print(evidence.b, evidence.b_prime, evidence.turns, evidence.remarkable)
for name, null in turning_nulls(rows).items():
    print(name, null.draws, *null.band, null.share_from(evidence.b))
for name, null in rule_nulls(rows).items():
    print(name, null.draws, null.p_value(evidence.strength))
"""
            rough = """\
rough = roughness(points)
print(rough.turning_angle, rough.high_frequency_energy, rough.loops)
"""
        lines = f"""
rows = model.W_pos[{first}:{last + 1}]
pca = fit_pca(model.W_pos, ({first}, {last}), {max(question.components)})
points = pca.project(rows)[:, {components}]
evidence = {turning if enough else None}
found = fit_shapes(points, evidence)
print(found.best)
for name, fit in found.fits.items():
    print(name, fit.r2, fit.score, fit.turns, fit.radius, fit.climb_per_turn)
{nulls}\
distances = found.fits[{name!r}].distances(points)  # of each position from {CURVES[name]}
print({first} + distances.argmax(), distances.max())
{rough}"""
        return python_script(lines, view.model)

    def compares(self, choices: Choices) -> str:
        if choices.plotted == "turning":
            return "Turning angle"
        whose = CURVES[choices.curve] if choices.curve else "the best curve of each"
        return f"Distance from {whose}"

    def summary(self, view: ShapeView) -> str:
        return " · ".join(
            [verdict_of(view.result, chosen(view)), *rough_parts(view.result).values()]
        )

    def guide(self, view: ShapeView, current: int | None) -> Guide | None:
        fit, asked = view.result.fits[chosen(view)], bool(view.choices.curve)
        drawn = view.choices.in_view and (asked or fit.r2 >= DRAWN_R2)
        return shape_guide(view.result, chosen(view)) if drawn else None


def chosen(view: ShapeView) -> str:
    """Return the name of the shown curve: the chosen or the best one."""
    return view.choices.curve or view.result.first_choice


def plotted(view: ShapeView) -> Plotted:
    """Return the plotted quantity: too few positions have no angles."""
    return "distance" if view.result.rough is None else view.choices.plotted


def _values(view: ShapeView, what: Plotted) -> tuple[np.ndarray, np.ndarray]:
    shape = view.result
    first, last = shape.positions
    if what == "turning" and shape.rough is not None:
        # There is no angle at a step of length zero.
        return np.arange(first + 1, last), np.nan_to_num(shape.rough.turning_angles)
    return np.arange(first, last + 1), shape.distances(chosen(view))


def _value_text(view: ShapeView, what: Plotted, row: int) -> str:
    shape = view.result
    if what == "turning" and shape.rough is not None:
        angle = float(shape.rough.turning_angles[row - 1])
        return f"{format_number(angle, 1)}°" if np.isfinite(angle) else "no angle"
    return format_number(float(shape.distances(chosen(view))[row]))


def describes(shape: Shape, name: str) -> bool:
    """Return whether a curve is the one that describes the positions."""
    return shape.best != "none" and name == shape.first_choice


def verdict_name(shape: Shape) -> str:
    """Return the verdict in a few words."""
    evidence = shape.evidence
    if shape.best == "none" and evidence is not None and evidence.remarkable is None:
        return UNDECIDED
    return VERDICTS[shape.best]


def verdict_of(shape: Shape, name: str = "") -> str:
    """Return the verdict, with the R² of the shown curve."""
    if name and name != shape.first_choice:
        drawn = f"{CURVES[name]}: R² {format_number(shape.fits[name].r2)}"
        return f"{verdict_of(shape)}; drawn, {drawn}"
    if shape.best == "none":
        better = format_number(shape.better_helix.r2)
        return f"{verdict_name(shape)} (the better helix fit: R² {better})"
    return f"{VERDICTS[shape.best]} (R² {format_number(shape.fits[shape.first_choice].r2)})"


def _nan_for_none(value: float | None) -> float:
    return np.nan if value is None else value


def interval_ends(found: Intervals | None) -> dict[str, tuple[float, float]]:
    """Return the intervals that there are, by the name of their quantity."""
    if found is None:
        return {}
    ends = {"turns": found.turns, "radius": found.radius, "turning_share": found.b, "r2": found.r2}
    return {name: end for name, end in ends.items() if end is not None}


def rough_parts(shape: Shape) -> dict[str, str]:
    """Return the formatted roughness by quantity; empty for too few positions."""
    rough = shape.rough
    if rough is None:
        return {}
    return {
        "turning_angle": f"Turning angle {format_number(rough.turning_angle, 1)}° per step",
        "high_frequency": f"roughness {format_percent(rough.high_frequency_energy, 4)}",
        "loops": f"loops {format_number(rough.loops, 2)} (median)",
    }


# ---- guide in the viewport ----

PER_TURN = 64
"""Points per turn, for a smooth curve."""
BEYOND = 0.06
"""Extension of an axis at either end, as a share of the climb."""
MANY_TURNS = 24
"""Maximum number of turns of a dark line."""
MIN_AXIS = 0.3
"""Minimum half length of an axis, in radii."""


def shape_guide(shape: Shape, name: str) -> Guide:
    """Return a guide of one of the curves, with its dashed axis.

    Parameters
    ----------
    shape
        The result.
    name
        "line", "circle", "helix" or "drifting_helix".
    """
    fit, last = shape.fits[name], len(shape.coordinates) - 1
    count = 2 if name == "line" else math.ceil(PER_TURN * max(fit.turns, 1.0)) + 1
    axis = () if name == "line" else (axis_line(fit),)
    caption = f"thin line: fitted {CURVES[name].removeprefix('the ')}, R² {format_number(fit.r2)}"
    return Guide(
        shape.pca,
        shape.components,
        lines=(fit.at(np.linspace(0.0, last, count)),),
        dashed=axis,
        caption=f"{caption} · dashed: its axis" if axis else caption,
        pale=shape.best == "none" or fit.turns > MANY_TURNS,
    )


def axis_line(fit: ShapeFit) -> np.ndarray:
    """Return the ends of a curve's axis: (2, 3)."""
    climbed = fit.climb * (len(fit.values) - 1) / 2
    half = max((1 + 2 * BEYOND) * climbed, MIN_AXIS * abs(fit.radius))
    return np.array([fit.centre - half * fit.frame[2], fit.centre + half * fit.frame[2]])
