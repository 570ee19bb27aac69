"""The positions, a curve fitted to them, and how far they are from it, for print."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from gui.panels.shape_question import Shape
from gui.panels.shape_text import rough_parts
from gui.plots.figure_base import POINTS, dress_axes, name_axes
from gui.plots.figure_models import draw_others, name_models
from gui.services.overlay_curves import OverlayLine, span_with
from gui.style.theme import LIGHT, SMALL, Theme, format_number

SIZE = (6.4, 4.2)


def shape_figure(
    shape: Shape,
    title: str,
    detail: str,
    theme: Theme = LIGHT,
    *,
    name: str = "",
    others: Sequence[OverlayLine] = (),
    called: str = "",
) -> Figure:
    """Draw each component over position with a curve, and below the distances from it.

    Parameters
    ----------
    shape
        What was found.
    title, detail
        The verdict, and what it is about.
    theme
        Colours.
    name
        The curve that is drawn; by default the one that it is, or the better helix.
    others, called
        Distances of other models' positions, and what its own model is called among them.
    """
    name = name or shape.first_choice
    figure = Figure(figsize=SIZE, layout="constrained", facecolor=theme.viewport)
    grid = figure.add_gridspec(2, 3, height_ratios=[3, 2])
    first, last = shape.positions
    at = np.arange(first, last + 1)
    above = [figure.add_subplot(grid[0, 0])]
    above += [figure.add_subplot(grid[0, column], sharey=above[0]) for column in (1, 2)]
    for column, axes in enumerate(above):
        dress_axes(axes, theme)
        axes.plot(at, shape.coordinates[:, column], ".", color=theme.faint, markersize=3)
        axes.plot(at, shape.fits[name].values[:, column], color=theme.text, linewidth=1)
        axes.tick_params(labelleft=column == 0)
        name_axes(axes, "Position", f"PC {shape.components[column]}")
    below = figure.add_subplot(grid[1, :])
    dress_axes(below, theme)
    draw_others(below, others)
    below.plot(at, shape.distances(name), color=theme.text, linewidth=0.8)
    below.axhline(shape.rms(name), color=theme.muted, linewidth=0.8, linestyle=(0, (4, 3)))
    below.set_xlim(*span_with(first, last, others))
    name_models(figure, others, (called, theme.text), theme)
    below.set_ylim(0.0, None)
    below.annotate(
        f"RMS\n{format_number(shape.rms(name))}", (1, shape.rms(name)), (4, 0), va="center",
        xycoords=below.get_yaxis_transform(), textcoords="offset points",
        fontsize=SMALL * POINTS, color=theme.muted,
    )  # fmt: skip
    name_axes(below, "Position", "Distance (units of P)")
    rough = " · ".join(rough_parts(shape).values())
    figure.suptitle(
        "\n".join(filter(None, (title, detail, rough))),
        x=0.01,
        ha="left",
        fontsize=SMALL * POINTS,
        color=theme.text,
    )
    return figure
