"""The figure of the training panel for print."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import fill

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from gui.panels.training.training_curves import (
    loss_lines,
    norm_lines,
    places_of,
    share_lines,
    turn_lines,
)
from gui.panels.training.training_question import Training
from gui.plots.figure_base import CHARACTERS, POINTS, name_axes, new_figures
from gui.plots.spec import Line
from gui.style.theme import LIGHT, SMALL, Theme

SIZE = (9.6, 3.0)


def training_figure(
    training: Training,
    selection: Sequence[int],
    detail: str,
    verdict: str,
    snapshot: int | None = None,
    theme: Theme = LIGHT,
) -> Figure:
    """Draw shares, norms, turns and loss against the step.

    Parameters
    ----------
    training
        What is drawn; what there is nothing of is left out.
    selection
        Positions whose norms are drawn too.
    detail, verdict
        What it is about, and what it says of the last position.
    snapshot
        Marked by an upright line; None for none.
    theme
        Colours.
    """
    panels = [
        (share_lines(training, theme), "share of the variance, R²", False),
        (norm_lines(training, selection, theme), "norm of the row", True),
        (turn_lines(training, theme), "turns of the helix", False),
        (loss_lines(training, theme), "loss (nats)", False),
    ]
    shown = [panel for panel in panels if panel[0]]
    figure, all_axes = new_figures(theme, SIZE, columns=len(shown))
    places = places_of(training.history.steps)
    for axes, (lines, title, logarithmic) in zip(all_axes, shown, strict=True):
        for line in lines:
            _draw(axes, places, line)
        axes.set_xscale("log")
        axes.set_xlim(places[0] / 1.3, places[-1] * 1.3)
        if logarithmic:
            axes.set_yscale("log")
        if snapshot is not None:
            axes.axvline(places[snapshot], color=theme.muted, linewidth=0.8)
        name_axes(axes, "step of the training", title)
        if len(lines) > 1:
            axes.legend(frameon=False, fontsize=SMALL * POINTS * 0.9, labelcolor=theme.text)
    words = "\n".join(fill(text, round(SIZE[0] * CHARACTERS)) for text in (detail, verdict))
    figure.suptitle(words, x=0.01, ha="left", fontsize=SMALL * POINTS, color=theme.text)
    return figure


def _draw(axes: Axes, places: np.ndarray, line: Line) -> None:
    style = (0, (4, 3)) if line.dashed else "-"
    axes.plot(
        places, line.values, color=line.color, linewidth=0.8 if line.dashed else 1.2,
        linestyle=style, marker="" if line.dashed else ".", markersize=3, label=line.name,
    )  # fmt: skip
