"""Matplotlib figures that belong to no panel: the helix, the spectrum of P."""

from __future__ import annotations

from typing import TYPE_CHECKING

import matplotlib as mpl
import numpy as np
from cmap import Colormap
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from mpl_toolkits.mplot3d.art3d import Line3DCollection

from geometry.measures.spectra import TOP, Spectrum
from geometry.pca.curve import Curve
from gui.plots.figure_base import MAX_DOTS, POINTS, dress_bar, name_axes, new_figure, title_axes
from gui.scene.scene_state import net
from gui.style.theme import (
    COLORMAPS,
    LIGHT,
    SMALL,
    Theme,
    format_count,
    format_number,
    format_percent,
)

if TYPE_CHECKING:
    from mpl_toolkits.mplot3d.axes3d import Axes3D

HELIX_SIZE = (5.2, 4.6)
HELIX_PLACE, BAR_PLACE = (0.09, 0.03, 0.73, 0.9), (0.85, 0.3, 0.02, 0.36)
"""Left, bottom, width, height as shares of the figure: layouts do not know 3D labels."""
ELEVATION, AZIMUTH = 20, 45
"""View of the helix article, in degrees."""
FLAT = 0.05
"""Minimum side of the box around the curve, as a share of the largest."""


def helix_figure(name: str, curve: Curve, theme: Theme = LIGHT, columns: int = 0) -> Figure:
    """Positions of a range in three of its principal components, coloured by position.

    ``curve`` has its rows in three components of the range; ``columns`` of a picture's patches join
    them to a net, 0 to a line.
    """
    first, last = curve.pca.positions
    figure = Figure(figsize=HELIX_SIZE, facecolor=theme.viewport)
    with mpl.rc_context({"grid.color": theme.line, "grid.linewidth": 0.5}):
        axes: Axes3D = figure.add_axes(HELIX_PLACE, projection="3d", facecolor=theme.viewport)
    axes.view_init(elev=ELEVATION, azim=AZIMUTH)
    at = np.arange(first, last + 1)
    points = curve.coordinates[first : last + 1].T
    if columns:
        edges, _ = net(len(curve.coordinates), columns, (first, last))
        lines = Line3DCollection(curve.coordinates[edges], colors=theme.faint, linewidths=0.5)
        axes.add_collection3d(lines)
    else:
        axes.plot(*points, color=theme.faint, linewidth=0.5)
    dots = axes.scatter(
        *points,
        c=at,
        cmap=Colormap(COLORMAPS[0]).to_mpl(),
        s=6,
        linewidths=0,
        depthshade=False,
        rasterized=at.size > MAX_DOTS,
    )
    shares = curve.explained_variance_ratio
    for axis, component, share in zip(
        (axes.xaxis, axes.yaxis, axes.zaxis), curve.components, shares, strict=True
    ):
        axis.set_label_text(
            f"PC {component} ({'none' if component in curve.absent else format_percent(share)})",
            fontsize=SMALL * POINTS,
            color=theme.text,
        )
        axis.set_pane_color((0.0, 0.0, 0.0, 0.0))
        axis.set_major_locator(MaxNLocator(5))
        axis.set_tick_params(labelsize=SMALL * POINTS, labelcolor=theme.text, color=theme.line)
        axis.line.set_color(theme.muted)
    axes.set_box_aspect(_sides(axes))
    bar = figure.colorbar(dots, cax=figure.add_axes(BAR_PLACE))
    dress_bar(bar, "Position", theme)
    components = ", ".join(map(str, curve.components))
    figure.suptitle(
        f"{name} · positions {first}–{last}, centred\n"
        f"PC {components}: {format_percent(sum(shares))} of the variance"
        + (f" · {curve.shortage}" if curve.shortage else ""),
        x=0.02,
        y=0.98,
        ha="left",
        va="top",
        fontsize=SMALL * POINTS,
        color=theme.text,
    )
    return figure


def _sides(axes: Axes3D) -> np.ndarray:
    """Return the sides of a box with equal scales on all axes."""
    spans = np.ptp([axes.get_xlim(), axes.get_ylim(), axes.get_zlim()], axis=1)
    # Nearly flat curves would have no box, but the third axis still has to be drawn.
    sides: np.ndarray = np.maximum(spans, FLAT * spans.max())
    return sides


def spectrum_figure(name: str, n_positions: int, found: Spectrum, theme: Theme = LIGHT) -> Figure:
    """Singular values of all stored rows, uncentred, on a logarithmic axis."""
    values = found.singular_values
    figure, axes = new_figure(theme)
    index = np.arange(1, values.size + 1)
    positive = values > 0.0
    axes.plot(
        index[positive],
        values[positive],
        color=theme.text,
        linewidth=1.0,
        marker="." if values.size <= 64 else "",
        markersize=4,
    )
    if positive.any():
        axes.set_yscale("log")
    if values.size > TOP:
        axes.axvline(TOP, color=theme.muted, linewidth=0.8, linestyle=(0, (4, 3)))
    name_axes(axes, "Index of the singular value", "Singular value σ")
    axes.set_xlim(1, max(values.size, 2))
    title_axes(
        axes,
        f"{name} · spectrum of P, uncentred, all {format_count(n_positions)} positions",
        f"first {TOP}: {format_percent(found.energy_top30, 2)} of Σσ²"
        f" · stable rank {format_number(found.stable_rank, 2)}",
        theme,
    )
    return figure
