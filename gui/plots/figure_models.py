"""Other models' curves in figures, with a legend below."""

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
"""Width of a name's line with spacing, in characters."""
ROW = 0.2
"""Height of a legend row in inches."""


def draw_others(axes: Axes, others: Sequence[OverlayLine], width: float = 0.8) -> None:
    """Draw other models' curves, behind later curves."""
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
    """Add a legend of models below a figure, which becomes higher.

    Parameters
    ----------
    figure
        A figure with constrained layout.
    others
        The other models; nothing is done if there are none.
    own
        Name and colour of the open model, if not shown elsewhere.
    theme
        Colours.
    what
        What is drawn of the others, if the open model has more.
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
