"""A scatter as a Matplotlib figure."""

from __future__ import annotations

from typing import TYPE_CHECKING

import matplotlib as mpl
import numpy as np
from matplotlib.collections import LineCollection
from matplotlib.colors import ListedColormap, Normalize

from gui.plots.figure_base import MAX_DOTS, POINTS, dress_bar, name_axes, new_figure, title_axes
from gui.plots.scatter import Scatter
from gui.state.colors import ColorScale, point_colors
from gui.style.theme import LIGHT, SMALL, Theme

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SIZE = (6.4, 4.0)
"""Size in inches."""
MAX_NAMES = 20
"""Categories in the legend, and names at an axis."""


def scatter_figure(
    title: str, detail: str, scatter: Scatter, scale: ColorScale, theme: Theme = LIGHT
) -> Figure:
    """Draw points of two columns; ``scale`` has their colours, perhaps with other limits."""
    figure, axes = new_figure(theme, SIZE)
    places = scatter.places()
    shown = np.flatnonzero(np.isfinite(places[:, 0]))
    x, y = scatter.x.values, scatter.y.values
    runs = [run[np.isfinite(places[run, 0])] for run in scatter.runs]
    lines = [np.column_stack([x[run], y[run]]) for run in runs if run.size > 1]
    axes.add_collection(LineCollection(lines, colors=theme.faint, linewidths=0.6, zorder=1))
    colors = point_colors(scale, theme.viewport)[shown] / 255
    axes.scatter(
        x[shown],
        y[shown],
        c=colors,
        s=5,
        linewidths=0,
        zorder=2,
        rasterized=shown.size > MAX_DOTS,
    )
    for axis, of in ((axes.xaxis, scatter.x), (axes.yaxis, scatter.y)):
        if of.log:
            (axes.set_xscale if axis is axes.xaxis else axes.set_yscale)("log")
        if of.names:
            names = of.names if len(of.names) <= MAX_NAMES else ()
            axis.set_ticks(range(len(names)), labels=names)
    name_axes(axes, scatter.x.title, scatter.y.title)
    title_axes(axes, title, detail, theme)
    if scale.categories:
        _legend(axes, scale, theme)
    else:
        _bar(figure, axes, scale, theme)
    return figure


def _legend(axes: Axes, scale: ColorScale, theme: Theme) -> None:
    rows = scale.legend(theme.viewport, MAX_NAMES)
    dots = [
        axes.scatter([], [], color=tuple(color / 255), s=10, linewidths=0, label=name)
        for name, color in rows
    ]
    axes.legend(
        handles=dots,
        title=scale.title,
        fontsize=SMALL * POINTS,
        title_fontsize=SMALL * POINTS,
        labelcolor=theme.text,
        frameon=False,
        loc="upper left",
        bbox_to_anchor=(1.0, 1.0),
    ).get_title().set_color(theme.text)


def _bar(figure: Figure, axes: Axes, scale: ColorScale, theme: Theme) -> None:
    table = ListedColormap(scale.table(theme.viewport) / 255)
    bar = figure.colorbar(mpl.cm.ScalarMappable(Normalize(*scale.limits), table), ax=axes)
    dress_bar(bar, scale.title, theme)
