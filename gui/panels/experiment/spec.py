"""Line or helix: LayerNorm of synthetic curves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from geometry.measures.line_or_helix import Distances, Survival
from geometry.measures.synthetic import KINDS, CurveKind
from geometry.models.model import PositionalModel
from gui.panels.experiment.question import (
    Experiment,
    ExperimentLike,
    ExperimentOf,
    ExperimentSettings,
    are_small,
)
from gui.panels.experiment.words import NAMES, amount, scope
from gui.panels.kit.choices import Choice, Option, Saved
from gui.panels.kit.spec import PanelSpec
from gui.panels.kit.views import Scope, View
from gui.plots.spec import Axis, Curve, Plot, Rule
from gui.services.snippets import python_script
from gui.style.theme import SERIES, SMALL, Theme, format_count, format_number

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FIGURE = (6.4, 2.6)
"""Inches."""
MAX_STEP = 4.0
"""Maximum shown step relative to the mean step: a step across the origin is very long."""
ACROSS = np.array([0.0, 0.45, 1.0, 0.0])
UPWARDS = np.array([1.0, 0.25, 0.0, 1.0])
"""Projection of the coordinates around the axis (two), along it and away from the origin: the axis
points right, seen slightly from the side."""


@dataclass(frozen=True, slots=True)
class Choices:
    """Choices of the experiment."""

    before: bool = False  # Whether curves and numbers are those before LayerNorm
    # The shown page; in wide panels, the table is beside the others
    page: Literal["curves", "steps", "price", "table"] = "curves"
    # Settings of the curves; None for those of the model's size
    settings: ExperimentSettings | None = None


ExperimentView = View[Choices, Experiment]


class ExperimentPanel(PanelSpec[Choices, Experiment]):
    """Line, circle and helix with the same spacing, before and after LayerNorm."""

    name = "experiment"
    formula = "LN(p) = √d · p / ‖p‖"
    meaning = "why not a line"
    explanation = (
        "Three synthetic curves with the same distance between neighbours: which of them would "
        "serve as positions? LayerNorm makes all rows equally long: it reduces a line through the "
        "origin to two points; a circle is unchanged but repeats after one turn; a helix keeps "
        "its turns apart. Weight decay penalises ‖p‖², which grows with the square of a line’s "
        "length."
    )
    empty = "Open a model to see what LayerNorm leaves of a line, a circle and a helix of its size."
    instead = "Shape shows which of them the open model’s positions are."
    of_rows = False  # but points of the synthetic curves
    defaults = Choices()
    controls = (
        Choice(
            field="before",
            label="Before or after LayerNorm",
            options=(
                Option(True, "Before", "The curves as generated"),
                Option(False, "After", "The curves after LayerNorm: all rows equally long"),
            ),
        ),
        Choice(
            field="page",
            label="What is shown",
            options=(
                Option("curves", "Curves", "The three curves from the side, at one scale"),
                Option("steps", "Steps", "Distance from each position to the next"),
                Option(
                    "price",
                    "‖p‖² cost",
                    "Mean ‖p‖², which weight decay penalises, if the same curve had more or fewer "
                    "positions; drag the marker",
                ),
                Option("table", "Table", "Summary of each curve"),
            ),
        ),
        Saved(
            field="settings",
            reset="As in the model",
            tip="Use the open model’s number of positions, spacing, turns, offset and mean token "
            "norm",
            kind=ExperimentSettings | None,
            check=are_small,
        ),
    )
    body = "gui.panels.experiment.body:ExperimentBody"

    def choices_for(self, model: PositionalModel, choices: Choices) -> Choices:
        """Reset to curves of another model's size."""
        return replace(choices, settings=None)

    def question(self, scope: Scope, choices: Choices) -> ExperimentLike | ExperimentOf:
        if choices.settings is None:
            return ExperimentLike(scope.positions)
        return ExperimentOf(choices.settings)

    def plots(self, view: ExperimentView) -> Sequence[Plot]:
        return [_steps(view), _price(view)]

    def heading(self, view: ExperimentView) -> tuple[str, str]:
        when = "before" if view.choices.before else "after"
        return f"Line, circle and helix {when} LayerNorm", scope(view.model, view.result)

    def caption(self, view: ExperimentView) -> str:
        return scope(view.model, view.result)

    def figure(self, view: ExperimentView) -> Figure:
        from gui.plots.figure_base import POINTS, name_axes, new_figures
        from gui.plots.mpl_painter import paint_plot, shaped

        theme, size = view.theme, SMALL * POINTS
        figure, (curves, *axes) = new_figures(theme, FIGURE, columns=3)
        for kind, survival in view.result.curves.items():
            x, y = flat(drawn(survival, view.choices)).T
            color, at = colors_of(theme)[kind], np.arange(len(x))
            shapes = shaped(color, at, (0, len(x)))
            curves.plot(x, y, linewidth=0.5, color=color, label=NAMES[kind], **shapes)
            curves.scatter(x, y, 1.0, color, linewidths=0)
        curves.set_aspect("equal", adjustable="datalim")
        curves.set_xticks([])
        curves.set_yticks([])
        curves.legend(fontsize=size, frameon=False, labelcolor=theme.text)
        name_axes(curves, f"{'Before' if view.choices.before else 'After'} LayerNorm", "")
        for place, plot in zip(axes, self.plots(view), strict=True):
            paint_plot(place, plot, theme)
        figure.suptitle(self.caption(view), x=0.01, ha="left", fontsize=size, color=theme.text)
        return figure

    def tables(self, view: ExperimentView) -> Mapping[str, Mapping[str, np.ndarray]]:
        """Return a table by position, and one by number of positions."""
        result = view.result
        position: np.ndarray = np.arange(result.settings.curve.n_positions)
        positions = {"position": position}
        for kind, survival in result.curves.items():
            for when, apart in (("before", survival.before), ("after", survival.after)):
                positions[f"{kind}_step_{when}"] = apart.steps
                positions[f"{kind}_nearest_other_{when}"] = apart.others
        lengths = {"n_positions": result.lengths}
        lengths |= {f"{kind}_mean_square": result.prices[kind] for kind in KINDS}
        return {"": positions, "lengths": lengths}

    def script(self, view: ExperimentView) -> str:
        settings = view.result.settings
        lines = f"""
curve = {settings.curve!r}
for kind, one in line_or_helix(curve, {settings.token_norm!r}, {settings.lag!r}).items():
    print(kind, one.after.evenness, one.after.alike, one.look_back_after, one.mean_square)
"""
        return python_script(lines)


def _steps(view: ExperimentView) -> Plot:
    curves = []
    for kind, survival in view.result.curves.items():
        steps = distances(survival, view.choices).steps
        mean = float(steps.mean())
        shares = steps / mean if mean > 0.0 else steps  # a curve may be a single point
        curves.append(_curve(view, kind, np.arange(1, len(shares) + 1), shares))

    def hover(curve: int, at: int) -> str:
        share = format_number(float(curves[curve].y[at]), 2)
        return f"{NAMES[KINDS[curve]]}, {at} to {at + 1}: {share} mean steps"

    highest = max(float(curve.y.max()) for curve in curves)
    return Plot(
        "Steps between neighbours",
        Axis("position", whole=True),
        Axis("step / mean step", span=(0.0, min(MAX_STEP, 1.05 * max(highest, 1.0)))),
        curves,
        hover=hover,
    )


def _price(view: ExperimentView) -> Plot:
    lengths, prices = view.result.lengths, view.result.prices

    def hover(curve: int, at: int) -> str:
        kind, n = KINDS[curve], int(lengths[at])
        return f"{NAMES[kind]}, {format_count(n)} positions: ‖p‖² {amount(float(prices[kind][at]))}"

    n = view.result.settings.curve.n_positions
    tip = f"{format_count(n)} positions: drag to change the length"
    return Plot(
        "Cost under weight decay",
        Axis("positions", log=True),
        Axis("mean ‖p‖²", log=True),
        [_curve(view, kind, lengths, prices[kind]) for kind in KINDS],
        [Rule(n, axis="x", tip=tip, drags="n_positions", style="solid")],
        hover,
    )


def _curve(view: ExperimentView, kind: CurveKind, x: np.ndarray, y: np.ndarray) -> Curve:
    return Curve(x, y, colors_of(view.theme)[kind], width=1.5)


def distances(survival: Survival, choices: Choices) -> Distances:
    """Return the distances of positions before or after LayerNorm."""
    return survival.before if choices.before else survival.after


def drawn(survival: Survival, choices: Choices) -> np.ndarray:
    """Return the coordinates of a picture, (n, 4), before or after LayerNorm."""
    return survival.drawn_before if choices.before else survival.drawn_after


def flat(coordinates: np.ndarray) -> np.ndarray:
    """Project (n, 4) coordinates to a picture: (n, 2), centred."""
    placed = coordinates @ np.stack([ACROSS, UPWARDS], axis=1)
    middle = (placed.max(axis=0) + placed.min(axis=0)) / 2
    return np.asarray(placed - middle)


def colors_of(theme: Theme) -> dict[CurveKind, str]:
    """Return the colour of each curve in the plots."""
    return dict(zip(KINDS, SERIES[theme.name][1:], strict=False))
