"""The figure of the capture panel for print."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from gui.export.figure_base import POINTS, name_axes, new_figure, title_axes
from gui.export.figure_models import draw_others, name_models
from gui.panels.capture_question import Captures
from gui.panels.subject_text import subject_colors, subject_name
from gui.services.overlay_curves import OverlayLine, span_with, top_of
from gui.style.theme import LIGHT, SMALL


def capture_figure(
    captures: Captures,
    k: int,
    *,
    title: str,
    scope: str,
    others: Sequence[OverlayLine] = (),
    name: str = "",
) -> Figure:
    """Capture by the first k directions of P, against j, with chance.

    Parameters
    ----------
    captures
        For every k.
    k
        The one that is drawn.
    title, scope
        The lines above.
    others, name
        Curves of other models behind it, and what its own model is called among them.
    """
    figure, axes = new_figure(LIGHT)
    values = captures.by_rank[k - 1]
    (color,) = subject_colors([captures.of], LIGHT, others=bool(others))
    draw_others(axes, others)
    axes.plot(np.arange(1, len(values) + 1), values, color=color, linewidth=0.9)
    axes.axhline(k / captures.d, color=LIGHT.muted, linewidth=0.8, linestyle=(0, (4, 3)))
    axes.annotate(
        "chance", (0.5, k / captures.d), (0, 3), xycoords=("axes fraction", "data"),
        textcoords="offset points", ha="center", fontsize=SMALL * POINTS, color=LIGHT.muted,
    )  # fmt: skip
    axes.set_xlim(0, span_with(0, len(values), others)[1] + 1)
    axes.set_ylim(0.0, max(1.0, top_of(values, others)))
    name_models(figure, others, (name, color))
    whose = subject_name(captures.of)
    name_axes(axes, f"Index j of {whose}'s singular direction", f"Captured by P's first {k}")
    title_axes(axes, title, scope, LIGHT)
    return figure
