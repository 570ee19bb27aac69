"""Overlaps for print, drawn with Matplotlib. Independent of Qt."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

import numpy as np
from cmap import Colormap
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm, Normalize
from matplotlib.figure import Figure
from matplotlib.image import AxesImage

from gui.panels.overlaps.picture import OverlapsView, corners, levels_of, pictures_of, title_of
from gui.panels.overlaps.question import Missing, Overlap, OverlapFigure
from gui.plots.figure_base import DETAIL, POINTS, dress_axes, name_axes, new_figure, title_axes
from gui.style.theme import SMALL, TEXT, Theme

FIGURE_SIZE = (4.2, 4.1)
"""Size of a figure with one heatmap, in inches."""
CELL = 2.3
"""Size of a heatmap in a figure with several, in inches."""


def draw_pair(view: OverlapsView, caption: str) -> Figure:
    """Draw one heatmap with its colour bar, and the caption below it."""
    overlap, theme = view.result, view.theme
    assert isinstance(overlap, Overlap)
    (picture,) = pictures_of((overlap,), view.choices.look.blur)
    assert picture is not None
    figure, axes = new_figure(theme, FIGURE_SIZE)
    image = _draw_picture(axes, picture, view)
    axes.set_title(
        title_of(overlap.rows, overlap.columns),
        loc="left",
        fontsize=TEXT * POINTS,
        color=theme.text,
    )
    name_axes(axes, f"{overlap.columns.name} direction j", f"{overlap.rows.name} direction i")
    _add_bar(figure, image, [axes], theme)
    _add_caption(figure, caption, 72, theme)
    return figure


def draw_cells(view: OverlapsView, caption: str) -> Figure:
    """Draw a figure of the article: one heatmap for each cell, all in the same colours."""
    shown, theme = view.result, view.theme
    assert isinstance(shown, OverlapFigure)
    across = shown.columns
    down = len(shown.cells) // across
    pictures = pictures_of(shown.cells, view.choices.look.blur)
    size = (CELL * across + 1.0, (CELL + 0.25) * down + 0.6)
    figure = Figure(figsize=size, layout="constrained", facecolor=theme.viewport)
    grid = list(figure.subplots(down, across, squeeze=False).flat)
    image = None
    for axes, cell, picture in zip(grid, shown.cells, pictures, strict=True):
        dress_axes(axes, theme)
        detail = ""
        if isinstance(cell, Missing):
            _draw_reason(axes, cell.why, theme)
        else:
            assert picture is not None
            image = _draw_picture(axes, picture, view)
            detail = corners(cell.contrast)
        title_axes(axes, title_of(cell.rows, cell.columns), detail, theme)
        name_axes(axes, f"{cell.columns.name} direction j", f"{cell.rows.name} direction i")
    assert image is not None
    _add_bar(figure, image, grid, theme)
    caption = f"{caption} · corners TL, TR, BL, BR over chance"
    _add_caption(figure, caption, 34 * across + 12, theme)
    return figure


def _draw_reason(axes: Axes, why: str, theme: Theme) -> None:
    axes.set_box_aspect(1)
    axes.set_xticks([])
    axes.set_yticks([])
    _frame(axes, theme)
    axes.text(
        0.5,
        0.5,
        textwrap.fill(why, 24),
        transform=axes.transAxes,
        ha="center",
        va="center",
        fontsize=SMALL * POINTS,
        color=theme.muted,
    )


def _frame(axes: Axes, theme: Theme) -> None:
    axes.spines[:].set_visible(True)
    axes.spines[:].set_color(theme.line)


def _draw_picture(axes: Axes, picture: np.ndarray, view: OverlapsView) -> AxesImage:
    """Draw a matrix, its first row at the top, rows and columns numbered from 1."""
    (rows, columns), look, levels = picture.shape, view.choices.look, levels_of(view)
    _frame(axes, view.theme)
    return axes.imshow(
        picture,
        cmap=Colormap(look.colormap).to_mpl(),
        aspect="equal",
        norm=LogNorm(*levels, clip=True) if look.log else Normalize(*levels),
        extent=(0.5, columns + 0.5, rows + 0.5, 0.5),
    )


def _add_bar(figure: Figure, image: AxesImage, axes: Sequence[Axes], theme: Theme) -> None:
    # As long as the height of one heatmap.
    specs = [cell.get_subplotspec() for cell in axes]
    rows = len({spec.rowspan.start for spec in specs if spec is not None})
    bar = figure.colorbar(
        image, ax=list(axes), shrink=0.8 / rows, aspect=20, fraction=0.06, pad=0.02
    )
    bar.set_label("Squared overlap", fontsize=SMALL * POINTS, color=theme.text)
    bar.ax.tick_params(labelsize=SMALL * POINTS, color=theme.line, labelcolor=theme.text)
    bar.outline.set_edgecolor(theme.line)


def _add_caption(figure: Figure, caption: str, width: int, theme: Theme) -> None:
    """Write a caption below a figure, wrapped at a width in characters."""
    lines = "\n".join(textwrap.wrap(caption, width))
    figure.supxlabel(
        lines, x=0.01, ha="left", fontsize=SMALL * POINTS, color=theme.muted, gid=DETAIL
    )
