"""The figure of the kernels panel for print: attention by lag, and one head's map."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.colors import ListedColormap, LogNorm
from matplotlib.figure import Figure

from geometry.measures.kernels import NEAR, HeadKernels
from gui.panels.kernels_question import LEAST
from gui.plots.figure_base import POINTS, name_axes, new_figures, title_axes
from gui.plots.figure_models import draw_others, name_models
from gui.services.overlay_curves import OverlayLine
from gui.state.colors import lookup_table
from gui.style.theme import LIGHT, SERIES, SMALL

SIZE = (6.8, 3.1)
DEEPEST = 1e-6
"""The least mean attention on the axis."""
NAMED = 3
"""So many heads have a colour and a name: those that look nearest."""
TICKS = (-1000, -100, -10, 0, 5, 10, 100, 1000)
"""Of the lags."""
MAP = "gray_r"


def kernels_figure(
    found: HeadKernels,
    head: int,
    weights: np.ndarray,
    *,
    title: str,
    scope: str,
    levels: tuple[float, float] = (LEAST, 1.0),
    others: Sequence[OverlayLine] = (),
) -> Figure:
    """Mean attention of every head by lag, and beside it the map of one.

    Parameters
    ----------
    found
        All heads.
    head, weights
        Whose map it is, and the map: (m, m), queries down.
    title, scope
        The lines above.
    levels
        The attention at the two ends of the map's colours.
    others
        Of other models, the heads that look nearest.
    """
    figure, (left, right) = new_figures(LIGHT, SIZE, columns=2, width_ratios=(1.1, 1.0))
    figure.set_layout_engine("compressed", wspace=0.1)
    left.set_box_aspect(0.82)
    named = list(dict.fromkeys([head, *np.argsort(found.mean_lag, kind="stable")]))[:NAMED]
    # Among other models one head is drawn, and theirs are the colours.
    named = named[:1] if others else named
    for number in range(0 if others else found.n_heads):
        if number not in named:
            left.plot(found.lags, found.attention[number], color=LIGHT.faint, linewidth=0.7)
    draw_others(left, others)
    for color, number in zip(SERIES["light"], named, strict=False):
        left.plot(
            found.lags, found.attention[number], color=color, linewidth=1.1, label=f"head {number}"
        )
    left.set_yscale("log")
    left.set_ylim(DEEPEST, 1.5)
    # Lags to ten as far apart as on a line: there is where most heads look.
    left.set_xscale("symlog", linthresh=NEAR)
    ticks = [t for t in TICKS if found.lags[0] <= t <= found.lags[-1]]
    left.set_xticks(ticks, [f"{t}".replace("-", "\N{MINUS SIGN}") for t in ticks], minor=False)
    left.set_xlim(found.lags[0] - 0.5, max(found.lags[-1], found.lags[0] + 1))
    left.legend(fontsize=SMALL * POINTS, frameon=False, labelcolor=LIGHT.text, loc="upper right")
    name_models(figure, others, what="The head of each that looks nearest")
    name_axes(left, "Lag Δ (positions back)", "Mean attention A(i, i − Δ)")
    first, last = found.positions
    image = right.imshow(
        np.maximum(weights, np.finfo(np.float32).tiny),
        cmap=ListedColormap(lookup_table(MAP) / 255.0), norm=LogNorm(*levels, clip=True),
        extent=(first - 0.5, last + 0.5, last + 0.5, first - 0.5), interpolation="antialiased",
        interpolation_stage="rgba",
    )  # fmt: skip
    name_axes(right, "Position j", f"Query i of head {head}")
    bar = figure.colorbar(image, ax=right, fraction=0.05, pad=0.03)
    bar.outline.set_visible(False)
    bar.ax.tick_params(
        which="both", labelsize=SMALL * POINTS, color=LIGHT.line, labelcolor=LIGHT.text
    )
    bar.set_label("A(i, j)", fontsize=SMALL * POINTS, color=LIGHT.text)
    title_axes(left, title, scope, LIGHT)
    return figure
