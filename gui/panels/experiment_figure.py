"""Line, circle and helix after LayerNorm, their steps, and what each costs, for print."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from gui.panels.experiment_look import MOST_STEPS, colors_of, flat, shares_of
from gui.panels.experiment_question import Experiment
from gui.panels.experiment_text import NAMES
from gui.plots.figure_base import POINTS, name_axes, new_figures
from gui.style.theme import LIGHT, SMALL, Theme

SIZE = (6.4, 2.6)


def experiment_figure(
    result: Experiment, title: str, *, after: bool = True, theme: Theme = LIGHT
) -> Figure:
    """Draw the curves, the steps between neighbours, and the price by number of positions.

    Parameters
    ----------
    result
        What was found.
    title
        What it is about.
    after
        Whether curves and steps are those after LayerNorm.
    theme
        Colours.
    """
    figure, (curves, steps, price) = new_figures(theme, SIZE, columns=3)
    colors = colors_of(theme)
    for kind, one in result.curves.items():
        style: dict[str, Any] = {"color": colors[kind], "label": NAMES[kind]}
        points = flat(one.drawn_after if after else one.drawn_before)
        curves.plot(*points.T, ".-", markersize=2, linewidth=0.5, **style)
        apart = shares_of((one.after if after else one.before).steps)
        steps.plot(np.arange(1, len(apart) + 1), apart, linewidth=1, **style)
        price.loglog(result.lengths, result.prices[kind], linewidth=1, **style)
    curves.set_aspect("equal", adjustable="datalim")
    curves.set_xticks([])
    curves.set_yticks([])
    steps.set_ylim(0, min(MOST_STEPS, 1.05 * max(1.0, steps.get_ylim()[1])))
    price.axvline(result.settings.curve.n_positions, color=theme.muted, linewidth=0.8)
    curves.legend(fontsize=SMALL * POINTS * 0.8, frameon=False, labelcolor=theme.text)
    name_axes(curves, f"{'After' if after else 'Before'} LayerNorm", "")
    name_axes(steps, "Position", "Step / mean step")
    name_axes(price, "Positions", "Mean ‖p‖²")
    figure.suptitle(title, x=0.01, ha="left", fontsize=SMALL * POINTS, color=theme.text)
    return figure
