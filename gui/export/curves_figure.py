"""Small pictures of curves as one Matplotlib figure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.collections import LineCollection
from matplotlib.colors import ListedColormap

from geometry.checkpoints.plain_text import shortened
from gui.plots.curve_picture import pictures_across
from gui.plots.figure_base import POINTS, new_figure, title_axes
from gui.state.colors import legible, lookup_table
from gui.style.theme import LIGHT, SMALL, Theme

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CELL = (1.3, 1.1)
"""Size of a picture with its name, in inches."""
ROOM = 0.38
"""Half of the side of a picture, as a share of a cell's height."""
MAX_NAME_LENGTH = 24


def curves_figure(
    title: str,
    detail: str,
    curves: Mapping[str, np.ndarray],
    names: Mapping[str, str],
    colormap: str,
    theme: Theme = LIGHT,
) -> Figure:
    """Draw curves side by side, each at its own scale, coloured by position.

    Parameters
    ----------
    curves
        (m, 2) each: to the right and upwards.
    names
        The text below each.
    """
    across = pictures_across(len(curves))
    down = -(-len(curves) // across)
    figure, axes = new_figure(theme, (max(across * CELL[0], 3.0), down * CELL[1] + 0.6))
    title_axes(axes, title, detail, theme)
    axes.axis("off")
    axes.set(xlim=(-0.5, across - 0.5), ylim=(down - 0.4, -0.5), aspect=CELL[1] / CELL[0])
    lines, dots, shares = [], [], []
    for at, (key, points) in enumerate(curves.items()):
        middle = np.array([at % across, at // across])
        size = float(np.abs(points).max()) or 1.0
        placed = middle + points / size * (ROOM * CELL[1] / CELL[0], -ROOM)
        lines.append(placed)
        dots.append(placed)
        shares.append(np.linspace(0, 1, len(points)))
        axes.annotate(
            shortened(names[key], MAX_NAME_LENGTH),
            (middle[0], middle[1] + ROOM),
            (0, -2),
            textcoords="offset points",
            ha="center",
            va="top",
            color=theme.text,
            fontsize=0.8 * SMALL * POINTS,
        )
    axes.add_collection(LineCollection(lines, colors=theme.faint, linewidths=0.4, zorder=1))
    if dots:
        x, y = np.concatenate(dots).T
        axes.scatter(
            x,
            y,
            c=np.concatenate(shares),
            s=1.5,
            linewidths=0,
            zorder=2,
            cmap=ListedColormap(legible(lookup_table(colormap), theme.viewport) / 255),
            rasterized=True,
        )
    return figure
