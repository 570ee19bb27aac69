"""Overlaps for print, drawn with Matplotlib; and no Qt."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from matplotlib.axes import Axes
from matplotlib.colors import LogNorm, Normalize
from matplotlib.figure import Figure

from gui.panels.overlaps_look import Levels, Look, blurred, home_levels
from gui.panels.overlaps_question import Overlap, OverlapFigure
from gui.panels.overlaps_text import corners, title_of
from gui.plots.figure_base import POINTS, dress_axes, name_axes, new_figure, title_axes
from gui.style.theme import LIGHT, SMALL, TEXT

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.image import AxesImage

ONE_SIZE = (4.2, 4.1)
"""Inches of a figure with one heatmap."""
CELL = 2.3
"""Inches of a heatmap in a figure with several."""


def draw_overlap(overlap: Overlap, look: Look, levels: Levels | None, caption: str) -> Figure:
    """Draw one heatmap with its colour bar.

    Parameters
    ----------
    overlap
        The numbers.
    look, levels
        As on the screen; levels are those that suit the picture if None.
    caption
        What stands below it.
    """
    picture = blurred(overlap.values, look.blur)
    levels = levels or home_levels([picture], overlap.contrast.chance, log=look.log)
    figure, axes = new_figure(size=ONE_SIZE)
    image = draw_picture(axes, picture, look, levels)
    axes.set_title(title_of(overlap.rows, overlap.columns), loc="left", fontsize=TEXT * POINTS,
                   color=LIGHT.text)  # fmt: skip
    name_axes(axes, f"{overlap.columns.name} direction j", f"{overlap.rows.name} direction i")
    add_bar(figure, image, [axes])
    add_caption(figure, caption, 72)
    return figure


def draw_figure(shown: OverlapFigure, look: Look, levels: Levels | None, caption: str) -> Figure:
    """Draw a figure of the article: one heatmap for each cell, all in the same colours.

    Parameters
    ----------
    shown
        The numbers; a cell that is missing says why.
    look, levels, caption
        As in :func:`draw_overlap`.
    """
    across = shown.columns
    down = len(shown.cells) // across
    pictures = {cell: blurred(cell.values, look.blur) for cell in shown.found}
    chance = max(cell.contrast.chance for cell in shown.found)
    levels = levels or home_levels(list(pictures.values()), chance, log=look.log)
    size = (CELL * across + 1.0, (CELL + 0.25) * down + 0.6)
    figure = Figure(figsize=size, layout="constrained", facecolor=LIGHT.viewport)
    grid = list(figure.subplots(down, across, squeeze=False).flat)
    image = None
    for axes, cell in zip(grid, shown.cells, strict=True):
        dress_axes(axes, LIGHT)
        detail = ""
        if isinstance(cell, Overlap):
            image = draw_picture(axes, pictures[cell], look, levels)
            detail = corners(cell.contrast)
        else:
            _say_why(axes, cell.why)
        title_axes(axes, title_of(cell.rows, cell.columns), detail, LIGHT)
        name_axes(axes, f"{cell.columns.name} direction j", f"{cell.rows.name} direction i")
    assert image is not None
    add_bar(figure, image, grid)
    add_caption(figure, f"{caption} · corners TL, TR, BL, BR over chance", 34 * across + 12)
    return figure


def _say_why(axes: Axes, why: str) -> None:
    axes.set_box_aspect(1)
    axes.set_xticks([])
    axes.set_yticks([])
    axes.spines[:].set_visible(True)
    axes.spines[:].set_color(LIGHT.line)
    axes.text(
        0.5, 0.5, textwrap.fill(why, 24), transform=axes.transAxes, ha="center", va="center",
        fontsize=SMALL * POINTS, color=LIGHT.muted,
    )  # fmt: skip


def draw_picture(axes: Axes, picture: np.ndarray, look: Look, levels: Levels) -> AxesImage:
    """Draw a matrix, its first row at the top, rows and columns numbered from 1."""
    from cmap import Colormap

    rows, columns = picture.shape
    norm = LogNorm(*levels, clip=True) if look.log else Normalize(*levels)
    axes.spines[:].set_visible(True)
    axes.spines[:].set_color(LIGHT.line)
    return axes.imshow(
        picture, cmap=Colormap(look.colormap).to_mpl(), norm=norm, aspect="equal",
        extent=(0.5, columns + 0.5, rows + 0.5, 0.5),
    )  # fmt: skip


def add_bar(figure: Figure, image: AxesImage, axes: list[Axes]) -> None:
    """Add a colour bar for all of these axes."""
    # As long as one heatmap is high, however many there are.
    specs = [cell.get_subplotspec() for cell in axes]
    rows = len({spec.rowspan.start for spec in specs if spec is not None})
    bar = figure.colorbar(image, ax=axes, shrink=0.8 / rows, aspect=20, fraction=0.06, pad=0.02)
    bar.set_label("Squared overlap", fontsize=SMALL * POINTS, color=LIGHT.text)
    bar.ax.tick_params(labelsize=SMALL * POINTS, color=LIGHT.line, labelcolor=LIGHT.text)
    bar.outline.set_edgecolor(LIGHT.line)


def add_caption(figure: Figure, caption: str, width: int) -> None:
    """Write a caption below a figure, in lines of so many characters."""
    lines = "\n".join(textwrap.wrap(caption, width))
    figure.supxlabel(lines, x=0.01, ha="left", fontsize=SMALL * POINTS, color=LIGHT.muted)
