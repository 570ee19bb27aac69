"""Two sums among random pairs, as they are and after LayerNorm, for print."""

from __future__ import annotations

from textwrap import fill
from typing import get_args

from matplotlib.figure import Figure

from geometry.measures.interference import Measure
from gui.panels.interference_question import Compared
from gui.panels.interference_text import AXES, histogram, rank
from gui.plots.figure_base import CHARACTERS, POINTS, SIZE, name_axes, new_figures
from gui.style.theme import LIGHT, SMALL, Theme


def interference_figure(
    result: Compared, title: str, theme: Theme = LIGHT, *, cosine: bool = False
) -> Figure:
    """Draw the histograms of a measure as it is and after LayerNorm, with the two sums in them.

    Parameters
    ----------
    result
        What was found.
    title
        What it is about.
    theme
        Colours.
    cosine
        Draw cosines in place of distances.
    """
    figure, both = new_figures(theme, columns=2)
    measures = (one for one in get_args(Measure) if one.endswith("cosine") == cosine)
    for axes, measure in zip(both, measures, strict=True):
        counts, edges = histogram(result, measure)
        axes.stairs(counts, edges, color=theme.muted, fill=True, alpha=0.35)
        name = AXES[measure]
        name_axes(axes, name[0].upper() + name[1:], "Random pairs")
        if result.found is not None:
            axes.axvline(result.found.of(measure), color=theme.text, linewidth=1.2)
            axes.set_title(
                rank(result.found, measure), loc="left",
                fontsize=SMALL * POINTS, color=theme.muted,
            )  # fmt: skip
    figure.suptitle(
        fill(title, round(SIZE[0] * CHARACTERS)),
        x=0.01, ha="left", fontsize=SMALL * POINTS, color=theme.text,
    )  # fmt: skip
    return figure
