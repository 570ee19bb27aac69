"""The figure of the dimensions panel for print."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.figure import Figure

from gui.figure_base import POINTS, name_axes, new_figure, title_axes
from gui.theme import LIGHT, SMALL


@dataclass(frozen=True, eq=False, slots=True)
class DrawnEntry:
    """One entry of P: its values over the range, its sinusoid, its colour and what it is called.

    ``before`` are the values before projection, None where nothing is projected.
    """

    values: np.ndarray
    wave: np.ndarray
    before: np.ndarray | None
    color: str
    label: str


def dimensions_figure(
    entries: Sequence[DrawnEntry], positions: np.ndarray, *, title: str, scope: str
) -> Figure:
    """Entries over position, each with its sinusoid dashed.

    Parameters
    ----------
    entries
        Curves.
    positions : (m,)
        Where their values are.
    title, scope
        The lines above.
    """
    figure, axes = new_figure(LIGHT)
    for entry in entries:
        if entry.before is not None:
            axes.plot(positions, entry.before, color=entry.color, linewidth=0.5, alpha=0.35)
        axes.plot(positions, entry.values, color=entry.color, linewidth=0.8, label=entry.label)
        axes.plot(positions, entry.wave, color=LIGHT.text, linewidth=0.9, linestyle=(0, (4, 3)))
    axes.set_xlim(positions[0], max(positions[-1], positions[0] + 1))
    name_axes(axes, "Position (tokens)", "Entry of P (units of P)")
    figure.legend(
        frameon=False, fontsize=SMALL * POINTS, labelcolor=LIGHT.text, loc="outside lower left"
    )
    title_axes(axes, title, scope, LIGHT)
    return figure
