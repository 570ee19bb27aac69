"""Other models' curves in figures for files, and a legend under the figure that names them."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from gui.plots.figure_base import CHARACTERS, POINTS
from gui.services.overlay_curves import OverlayLine
from gui.style.theme import LIGHT, SMALL, Theme

MOST_COLUMNS = 4
HANDLE = 7
"""Characters that a name's line and the space around it take."""
ROW = 0.2
"""Inches of a row of the legend."""


def draw_others(axes: Axes, others: Sequence[OverlayLine], width: float = 0.8) -> None:
    """Draw other models' curves, behind what is drawn later."""
    for other in others:
        axes.plot(other.x, other.y, color=other.color, linewidth=width)


def name_models(
    figure: Figure,
    others: Sequence[OverlayLine],
    own: tuple[str, str] | None = None,
    theme: Theme = LIGHT,
    *,
    what: str = "",
) -> None:
    """Put the models' names under a figure, which becomes higher by them.

    Parameters
    ----------
    figure
        With constrained layout.
    others
        Whose names; without any, nothing is done.
    own
        Name and colour of the open model, where nothing else in the figure tells it.
    theme
        Colours.
    what
        What is drawn of the others, where the open model has more than that.
    """
    if not others:
        return
    names = {other.name: other.color for other in others}
    models = [*([] if own is None else [own]), *names.items()]
    longest = max(len(name) for name, _ in models) + HANDLE
    width, height = figure.get_size_inches()
    columns = min(max(int(width * CHARACTERS) // longest, 1), MOST_COLUMNS, len(models))
    rows = -(-len(models) // columns) + bool(what)
    figure.set_size_inches(width, height + ROW * (rows + 0.5))
    legend = figure.legend(
        handles=[Line2D([], [], color=color, linewidth=1.2, label=name) for name, color in models],
        loc="outside lower left", ncols=columns, frameon=False, fontsize=SMALL * POINTS,
        labelcolor=theme.text, handlelength=1.4, columnspacing=1.6, title=what or None,
        title_fontproperties={"size": SMALL * POINTS}, alignment="left",
    )  # fmt: skip
    legend.get_title().set_color(theme.muted)
