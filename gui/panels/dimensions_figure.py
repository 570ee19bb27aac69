"""The figure of the dimensions panel for print."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from gui.panels.dimensions_question import Dimensions, DimensionsOf
from gui.panels.dimensions_text import fit, scope, values
from gui.plots.figure_base import POINTS, name_axes, new_figure, title_axes
from gui.style.theme import LIGHT, SERIES, SMALL

COLORS = SERIES["light"][1:]


def dimensions_figure(
    result: Dimensions, question: DimensionsOf, entries: Sequence[int], *, title: str
) -> Figure:
    """Entries over position, each with its sinusoid dashed; pale, before projection.

    Parameters
    ----------
    result, question
        All entries, and what was asked of them.
    entries
        Those that are drawn, six at most.
    title
        The line above.
    """
    figure, axes = new_figure(LIGHT)
    first, last = result.positions
    positions = np.arange(first, last + 1)
    for entry, color in zip(entries, COLORS, strict=False):
        if question.projected:
            axes.plot(positions, result.rows[:, entry], color=color, linewidth=0.5, alpha=0.35)
        shown = values(result, question, entry)
        axes.plot(positions, shown, color=color, linewidth=0.8, label=fit(result, entry))
        wave = result.sinusoids.values(entry)
        axes.plot(positions, wave, color=LIGHT.text, linewidth=0.9, linestyle=(0, (4, 3)))
    axes.set_xlim(first, max(last, first + 1))
    name_axes(axes, "Position (tokens)", "Entry of P (units of P)")
    figure.legend(
        frameon=False, fontsize=SMALL * POINTS, labelcolor=LIGHT.text, loc="outside lower left"
    )
    title_axes(axes, title, scope(result, question), LIGHT)
    return figure
