"""LayerNorm's errors by position and the cosines of tokens with positions, for print."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from gui.panels.layernorm_question import LayerNorms
from gui.plots.figure_base import POINTS, name_axes, new_figures
from gui.plots.figure_models import draw_others, name_models
from gui.services.overlay_curves import OverlayLine
from gui.style.theme import LIGHT, SMALL, Theme


def layernorm_figure(
    result: LayerNorms,
    title: str,
    theme: Theme = LIGHT,
    *,
    others: Sequence[OverlayLine] = (),
) -> Figure:
    """Draw the errors of both versions, and the histogram.

    Parameters
    ----------
    result
        What was found.
    title
        What it is about.
    theme
        Colours.
    others
        Median errors of other models, of the orthogonal version.
    """
    figure, (errors, cosines) = new_figures(theme, columns=2)
    first, last = result.positions
    at = np.arange(first, last + 1)
    draw_others(errors, others)
    name_models(figure, others, theme=theme, what="Orthogonal, median")
    for name, found, color in (
        ("orthogonal", result.orthogonal, theme.text),
        ("constant norm", result.constant_norm, theme.faint),
    ):
        errors.plot(at, found.median, color=color, linewidth=1, label=f"{name}, median")
        errors.plot(
            at, found.p95, color=color, linewidth=1, linestyle="--",
            label=f"{name}, 95th percentile",
        )  # fmt: skip
    errors.set_ylim(bottom=0)
    errors.legend(fontsize=SMALL * POINTS * 0.8, frameon=False, labelcolor=theme.text)
    name_axes(errors, "Position", "Relative error of LayerNorm")
    edges = np.linspace(0, 1, len(result.histogram) + 1)
    cosines.stairs(result.histogram / result.histogram.sum(), edges, color=theme.text)
    cosines.set_yscale("log")
    cosines.set_xlim(0, min(1.0, 1.1 * result.most_alike[0].cosine + 0.01))
    name_axes(cosines, "|cos(Eₜ, Pᵢ)|", "Share of all pairs")
    figure.suptitle(title, x=0.01, ha="left", fontsize=SMALL * POINTS, color=theme.text)
    return figure
