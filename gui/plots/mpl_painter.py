"""Paints plots for print, with Matplotlib's object-oriented API; see :mod:`gui.plots.spec`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from cmap import Colormap
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm, Normalize, to_rgba
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from gui.plots.figure_base import (
    BESIDE,
    CHARACTERS,
    LEGEND_ROW,
    POINTS,
    SIZE,
    dress_bar,
    legend_below,
    legend_columns,
    legend_outside,
    name_axes,
    new_figures,
    title_axes,
)
from gui.plots.spec import (
    EDGE,
    TINT,
    Axis,
    Band,
    Curve,
    Image,
    Part,
    Plot,
    Rule,
    Span,
    Tiles,
    on_axes,
    shape_places,
)
from gui.style.theme import LIGHT, SMALL, Theme, shape_of

STYLES = {"solid": "-", "dashed": (0, (4, 3)), "dotted": (0, (1, 2))}
PIXELS = 0.65
"""Line width in points per pixel on the screen."""
SHAPE = 3.5
"""Width of a curve's shapes in points."""
DOT = 3.0
"""Area of a dot in square points."""
TINY = float(np.finfo(float).tiny)
IMAGE_WIDTH = 0.75
"""Width of an image with its colour bar, relative to a plot's."""
MAX_TILES = 8
"""Maximum number of numbers along an axis of tiles."""


def paint(
    parts: Sequence[Part],
    title: str,
    detail: str,
    theme: Theme = LIGHT,
    *,
    others: Sequence[tuple[str, str]] = (),
    own: tuple[str, str] | None = None,
    what: str = "",
    size: tuple[float, float] = SIZE,
) -> Figure:
    """Paint plots side by side, without tables, legends, and plots without curves.

    Labels of curves are below their plots; inside the plot if it is the only one, or has the names
    of other models below it.

    Parameters
    ----------
    title, detail
        Title lines.
    others
        Names and colours of the other models, named under the plots.
    own
        Name and colour of the open model.
    what
        What is drawn of the others, shown if the open model has more.
    size
        Width and height in inches, without the names.
    """
    drawn = [
        part
        for part in parts
        if isinstance(part, Image) or (isinstance(part, Plot) and part.curves)
    ]
    widths = [IMAGE_WIDTH if isinstance(part, Image) else 1.0 for part in drawn]
    figure, axes = new_figures(theme, size, columns=len(drawn), width_ratios=widths)
    for part, place in zip(drawn, axes, strict=True):
        if isinstance(part, Image):
            paint_image(place, part, theme)
            place.set_anchor("N")  # aligned with taller plots beside it
        else:
            paint_plot(place, part, theme)
    labelled = [
        place
        for part, place in zip(drawn, axes, strict=True)
        if isinstance(part, Plot) and _is_labelled(part)
    ]
    if len(labelled) == 1 and (others or len(drawn) == 1):
        labelled[0].legend(frameon=False, fontsize=SMALL * POINTS, labelcolor=theme.text)
    elif len(labelled) == 1:
        side = "left" if labelled[0] is axes[0] else "right"
        handles, labels = labelled[0].get_legend_handles_labels()
        legend_outside(figure, handles, labels, side, len(drawn), theme.text)
    else:
        for place in labelled:
            legend_below(figure, place, BESIDE, theme.text)
    title_axes(axes[0], title, detail, theme)
    name_models(figure, others, own, theme, what=what if labelled else "")
    return figure


def paint_plot(axes: Axes, plot: Plot, theme: Theme) -> None:
    """Paint bands, curves and straight lines into axes."""
    if plot.x.log:
        axes.set_xscale("log")
    if plot.y.log:
        axes.set_yscale("log")
    for band in plot.bands:
        paint_band(axes, band)
    span, curves = plot.x.span or spanned_by(plot.curves), _labelled(plot)
    for curve in sorted(curves, key=lambda curve: not curve.name):  # other models' behind
        _paint_curve(axes, curve, plot, span)
    for rule in plot.rules:
        _paint_rule(axes, rule, theme)
    if plot.rings is not None:
        own = plot.curves[0]
        at = np.array(plot.rings.positions, dtype=int) - int(own.x[0])
        axes.plot(
            own.x[at],
            own.y[at],
            "o",
            color=theme.warning,
            markersize=5,
            fillstyle="none",
            clip_on=False,
        )
    if plot.x.span is not None:
        axes.set_xlim(*plot.x.span)
    y = plot.y.home or plot.y.span
    if y is not None and y[0] < y[1]:
        axes.set_ylim(*y)
    name_axes(axes, _titled(plot.x), _titled(plot.y))


def spanned_by(curves: Sequence[Curve]) -> Span:
    """Return the smallest and the largest x of curves; (0, 1) if they have no points."""
    x = np.concatenate([np.zeros(0), *(curve.x for curve in curves)])
    return (float(x.min()), float(x.max())) if len(x) else (0.0, 1.0)


def paint_image(axes: Axes, image: Image, theme: Theme) -> None:
    """Paint a matrix and its colour bar."""
    (y, x), (rows, columns) = image.first, (image.step * n for n in image.values.shape)
    low, high = image.levels
    norm = LogNorm(low, high, clip=True) if image.log else Normalize(low, high)
    # Zero has no logarithm, so it has the colour of the lower level.
    values = np.maximum(image.values, low) if image.log else image.values
    shown = axes.imshow(
        values,
        cmap=Colormap(image.colormap).to_mpl(),
        norm=norm,
        interpolation="antialiased",
        interpolation_stage="rgba",
        extent=(x - 0.5, x + columns - 0.5, y + rows - 0.5, y - 0.5),
    )
    if image.tiles is not None:
        _number_tiles(axes, image.tiles)
    figure = axes.get_figure(root=True)
    assert figure is not None
    bar = figure.colorbar(shown, ax=axes, fraction=0.05, pad=0.03, anchor=(0.0, 1.0))
    dress_bar(bar, image.unit, theme)
    name_axes(axes, _titled(image.x), _titled(image.y))


def _number_tiles(axes: Axes, tiles: Tiles) -> None:
    """Label some tiles with their numbers, at their middles."""
    for axis, count in ((axes.xaxis, tiles.columns), (axes.yaxis, tiles.rows)):
        numbers = np.arange(0, count, -(-count // MAX_TILES))
        axis.set_ticks(numbers * count + (count - 1) / 2, labels=[str(n) for n in numbers])


def name_models(
    figure: Figure,
    others: Sequence[tuple[str, str]],
    own: tuple[str, str] | None = None,
    theme: Theme = LIGHT,
    *,
    what: str = "",
) -> None:
    """Add a legend of models below a figure, which is enlarged.

    Parameters
    ----------
    figure
        A figure with constrained layout.
    others
        Names and colours of the other models; without any, there is no legend.
    own
        Name and colour of the open model, if not shown elsewhere.
    what
        What is drawn of the others, if the open model has more.
    """
    if not others:
        return
    models = [*([] if own is None else [own]), *dict(others).items()]
    names = [name for name, _ in models]
    width, height = figure.get_size_inches()
    columns = legend_columns(names, round(width * CHARACTERS))
    rows = -(-len(models) // columns) + bool(what)
    figure.set_size_inches(width, height + LEGEND_ROW * (rows + 0.5))
    lines = [
        Line2D([], [], color=color, linewidth=1.2, marker=shape_of(color) or None, markersize=SHAPE)
        for _, color in models
    ]
    legend = legend_outside(figure, lines, names, "left", columns, theme.text, what)
    legend.get_title().set_color(theme.muted)


def shaped(color: str, x: np.ndarray, span: Span, *, log: bool = False) -> dict[str, Any]:
    """Return options of a line, for the shape of its colour at some points.

    Parameters
    ----------
    color
        ``#rrggbb``.
    x
        (n,): places of the points; positive on a logarithmic axis.
    span
        Ends of the x axis.
    """
    shape = shape_of(color)
    if log:
        x, span = np.log(x), (math.log(max(span[0], TINY)), math.log(max(span[1], TINY)))
    at = shape_places(x, span, shape)
    return {"marker": shape or None, "markevery": at.tolist(), "markersize": SHAPE}


def _paint_curve(axes: Axes, curve: Curve, plot: Plot, span: Span) -> None:
    shown = on_axes((plot.x.log, plot.y.log), curve.x, curve.y)
    x, y = curve.x[shown], curve.y[shown]
    axes.plot(
        x,
        y,
        color=curve.color,
        linewidth=PIXELS * (curve.width + 0.3),
        linestyle=STYLES[curve.style] if curve.joined else "none",
        label=curve.label or "_",
        **shaped(curve.color, x, span, log=plot.x.log),
    )
    if curve.dots:
        axes.scatter(x, y, DOT, curve.color, linewidths=0)


def _labelled(plot: Plot) -> list[Curve]:
    """Return the curves with labels: of several of one model, those in the row over the plot.

    Entries of that row for a style of curves of several colours have curves without points.
    """
    own = {(curve.color, curve.style) for curve in plot.curves if not curve.name and len(curve.x)}
    labelled = {(curve.color, curve.style) for curve in plot.curves if curve.label}
    named = {
        (reading.color, reading.style): reading.name
        for reading in (plot.readings if len(own) > 1 else ())
        if reading.color and reading.style != "band" and reading.style != "dashed band"
    }
    curves = []
    for curve in plot.curves:
        look = curve.color, curve.style
        label = curve.label or ("" if curve.name or look in labelled else named.pop(look, ""))
        curves.append(replace(curve, label=label))
    nowhere = np.zeros(0)
    return curves + [
        Curve(nowhere, nowhere, color, style, label=name)
        for (color, style), name in named.items()
        if (color, style) not in own
    ]


def _is_labelled(plot: Plot) -> bool:
    """Return whether a curve or a band has a label."""
    return any(c.label for c in _labelled(plot)) or any(band.label for band in plot.bands)


def paint_band(axes: Axes, band: Band) -> None:
    """Paint a band behind the curves; on logarithmic axes, only its positive part."""
    shown = on_axes((axes.get_xscale() == "log", axes.get_yscale() == "log"), band.x, band.low)
    x, low, high = band.x[shown], band.low[shown], band.high[shown]
    axes.fill_between(
        x,
        low,
        high,
        facecolor=to_rgba(band.color, TINT),
        edgecolor=to_rgba(band.color, EDGE),
        linewidth=PIXELS,
        linestyle=STYLES[band.style],
        zorder=0.5,
        label=band.label or "_",
    )
    if band.middle is not None:
        axes.plot(
            x,
            band.middle[shown],
            color=band.color,
            alpha=EDGE,
            linewidth=PIXELS,
            linestyle=STYLES["dotted"],
            zorder=0.6,
        )


def _paint_rule(axes: Axes, rule: Rule, theme: Theme) -> None:
    draw = axes.axhline if rule.axis == "y" else axes.axvline
    draw(rule.at, color=theme.muted, linewidth=0.8, linestyle=STYLES[rule.style])
    if not rule.label:
        return
    if rule.axis == "y":
        where, beside, transform = (0.5, rule.at), (0, 3), ("axes fraction", "data")
    else:
        where, beside, transform = (rule.at, 0.97), (4, 0), ("data", "axes fraction")
    axes.annotate(
        rule.label,
        where,
        beside,
        xycoords=transform,
        textcoords="offset points",
        ha="center" if rule.axis == "y" else "left",
        va="bottom" if rule.axis == "y" else "top",
        fontsize=SMALL * POINTS,
        color=theme.muted,
    )


def _titled(axis: Axis) -> str:
    title = axis.printed or axis.title
    return title[:1].upper() + title[1:]
