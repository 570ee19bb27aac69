"""The figure of the directions panel for print."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from geometry.measures.overlaps import LARGE
from gui.panels.directions_question import TopDirections
from gui.panels.directions_text import home_of
from gui.plots.figure_base import POINTS, name_axes, new_figures, title_axes
from gui.style.theme import LIGHT, SMALL, format_count

SIZE = (7.2, 3.2)


def directions_figure(
    found: TopDirections,
    drawn: Sequence[tuple[int, str]],
    *,
    title: str,
    scope: str,
) -> Figure:
    """Singular vectors over position and, beside, over embedding index.

    Parameters
    ----------
    found
        The directions.
    drawn
        Which of them, from 1, with their colours.
    title, scope
        The lines above.
    """
    figure, (left, right) = new_figures(LIGHT, SIZE, columns=2)
    for number, color in drawn:
        left.plot(found.over_position[number - 1], color=color, linewidth=0.8)
        count = found.sparsity.above_0_1[number - 1]
        said = f"direction {number} · {count} entries above {LARGE}"
        right.plot(found.over_index[number - 1], color=color, linewidth=0.6, label=said)
    for level in (-LARGE, LARGE):
        right.axhline(level, color=LIGHT.muted, linewidth=0.7, linestyle=(0, (4, 3)))
    for axes, length in ((left, found.over_position), (right, found.over_index)):
        axes.set_xlim(0, max(np.shape(length)[1] - 1, 1))
    name_axes(left, "Position (tokens)", "Left singular vector of P")
    name_axes(right, "Embedding index", "Right singular vector of P")
    numbers = [number for number, _ in drawn]
    values, (low, high) = found.over_position[[n - 1 for n in numbers]], home_of(found, numbers)
    beyond = int(np.count_nonzero((values < low) | (values > high)))
    if beyond:
        # The rows of the first and the last positions may be far larger than all others.
        (least, most), margin = (values.min(), values.max()), 0.03 * (high - low)
        left.set_ylim(max(low, least - margin), min(high, most + margin))
        scope += f" · left, {format_count(beyond)} of {format_count(values.size)} values beyond"
    figure.legend(
        frameon=False, fontsize=SMALL * POINTS, labelcolor=LIGHT.text, loc="outside lower left",
        ncols=2,
    )  # fmt: skip
    title_axes(left, title, scope, LIGHT)
    return figure
