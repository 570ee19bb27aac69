"""Plots by snapshot, for trainings and for layers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from geometry.history.last_position import NEIGHBOURS
from gui.panels.kit.views import View as AnyView
from gui.panels.training.question import Training
from gui.plots.spec import Axis, Line, Plot, Reading, Rule, Style, level_band
from gui.style.theme import SERIES

if TYPE_CHECKING:
    from geometry.evidence.null import Null
    from geometry.history.history import History
    from geometry.history.timelapse import Basis

WIDE = 1460
"""Minimum width with all plots, in pixels."""
MARGIN = 1.2
"""Margin of the steps' axis, as a factor."""
MAX_SELECTED = 3
"""Maximum number of selected positions with a norm curve: the last ones."""
DESCRIBES = 0.5
"""Minimum R² of a helix whose turns describe the positions."""
TURNS = Axis("turns", printed="turns of the helix")
NO_TURNS = "none is close to a helix"
SCRUB_TIP = "Click or drag to see the model at a {unit}; the wheel zooms"


@dataclass(frozen=True, slots=True)
class Choices:
    """Choices of the training panel."""

    third: Literal["turns", "loss", "sparsity"] = "turns"  # The third plot in narrow panels
    # As in the session
    basis: Basis = "frozen"
    snapshot: int | None = None
    selection: tuple[int, ...] = ()
    gathered: History | None = None
    by_layer: bool = False  # Whether the open model's snapshots are layers
    # Page of layers: positions, the decomposition of the residual stream, or other counters
    page: Literal["positions", "decomposition", "counters"] = "positions"


View = AnyView[Choices, Training]


def places_of(steps: np.ndarray) -> np.ndarray:
    """(n,) float64: places of steps on a logarithmic axis; step 0 left of the first one."""
    places = steps.astype(np.float64)
    if len(steps) > 1 and steps[0] == 0:
        places[0] = steps[1] / 2
    return np.maximum(places, 0.5)


def plot_by_snapshot(
    view: View,
    lines: Sequence[Line],
    y: Axis,
    *,
    empty: str = "",
    min_width: int = 0,
    null: Null | None = None,
) -> Plot:
    """Return a plot of lines over the steps; ``empty`` explains why there are none.

    The values of the lines by chance are drawn as a band behind them.
    """
    history, at = view.result.history, view.choices.snapshot
    unit, layers = history.unit, history.unit == "layer"
    places = history.steps.astype(np.float64) if layers else places_of(history.steps)
    last = len(places) - 1
    known = [line for line in lines if np.isfinite(line.values).any()]
    shown = history.shown if at is None else min(at, last)
    marked = at is not None and at <= last
    span = (float(places[0]) / MARGIN, float(places[-1]) * MARGIN)
    if layers:
        x = Axis("layer", whole=True, span=(-0.5, last + 0.5))
    else:
        x = Axis("step", printed="training step", log=True, span=span)
    bands = []
    if null is not None and known:
        low, _, high = null.band
        bands.append(level_band(low, high, span, view.theme.muted, "90 % of random"))
    return Plot(
        f"{y.title} by {unit}",
        x,
        y,
        [curve for line in known for curve in line.curves(places, dots=True, named=len(known) > 1)],
        [Rule(float(places[shown]), "x", style="solid")] if marked else [],
        min_width=min_width,
        readings=[
            *([line.reading(shown) for line in known] or [Reading(empty)]),
            *(band.reading() for band in bands),
        ],
        bands=bands,
        scrubs="snapshot",
        scrub_stops=places,
        scrub_tip=SCRUB_TIP.format(unit=unit),
    )


def share_lines(view: View) -> list[Line]:
    """Return shares between 0 and 1: variance in three components, R² of the helix."""
    colors, timeline = SERIES[view.theme.name], view.result.timelapse
    lines = [
        Line("top 3 PCs", timeline.top3, colors[0], percent=True),
        Line(f"PCs of {_shown(view)}", timeline.frozen_variance_ratio, colors[1], percent=True),
    ]
    if view.result.helices is not None:
        helices = view.result.helices
        lines.append(Line("helix R²", helices.r2, colors[2], measured=helices.fitted))
    return lines


def _shown(view: View) -> str:
    """Name the snapshot whose components are fixed."""
    history, step = view.result.history, view.result.timelapse.basis_step
    if history.unit == "step" and step == history.steps[-1]:
        return "last"
    return f"{history.unit} {step}"


def norm_lines(view: View) -> list[Line]:
    """Return norms: the mean or those of the last rows, and those of the selected positions."""
    theme, riddle, timelapse = view.theme, view.result.riddle, view.result.timelapse
    colors, norms = SERIES[theme.name], timelapse.norms
    last = norms.shape[1] - 1
    if riddle is None:
        lines = [Line("mean", timelapse.mean_norms, colors[1])]
    else:
        before = max(last - NEIGHBOURS, 0)
        lines = [
            Line(str(last), riddle.norms, colors[2]),
            Line(f"{before}–{last - 1}", riddle.neighbour_norms, colors[1]),
        ]
    selection = view.choices.selection
    chosen = [p for p in selection if p != last and p < norms.shape[1]][-MAX_SELECTED:]
    looks: tuple[tuple[str, Style], ...] = (
        (theme.accent, "solid"),
        (theme.hover, "dashed"),
        (theme.muted, "dotted"),
    )
    for position, (color, style) in zip(reversed(chosen), looks, strict=False):
        lines.append(Line(str(position), norms[:, position], color, style=style))
    if riddle is not None:
        lines.append(Line("decay only", riddle.predicted_norms, colors[2], style="dashed"))
    return lines


def turn_lines(view: View) -> list[Line]:
    """Return the turns of the helix, where it fits well."""
    helices = view.result.helices
    if helices is None:
        return []
    turns = np.where(helices.r2 >= DESCRIBES, helices.turns, np.nan)
    return [Line("turns", turns, SERIES[view.theme.name][3], measured=helices.fitted)]
