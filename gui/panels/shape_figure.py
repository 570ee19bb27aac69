"""The positions and the curve fitted to them, for print."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from gui.figure_base import POINTS, name_axes, new_figures
from gui.panels.shape_question import Shape
from gui.theme import LIGHT, SMALL, Theme

SIZE = (6.4, 2.6)


def shape_figure(shape: Shape, title: str, detail: str, theme: Theme = LIGHT) -> Figure:
    """Draw each component over position with the curve that was fitted.

    Parameters
    ----------
    shape
        What was found.
    title, detail
        The verdict, and what it is about.
    theme
        Colours.
    """
    figure, all_axes = new_figures(theme, SIZE, columns=3, sharey=True)
    first, last = shape.positions
    at = np.arange(first, last + 1)
    for column, axes in enumerate(all_axes):
        axes.plot(at, shape.coordinates[:, column], ".", color=theme.faint, markersize=3)
        axes.plot(at, shape.fitted[:, column], color=theme.text, linewidth=1)
        name_axes(axes, "Position", f"PC {shape.components[column]}")
    figure.suptitle(
        f"{title}\n{detail}", x=0.01, ha="left", fontsize=SMALL * POINTS, color=theme.text
    )
    return figure
