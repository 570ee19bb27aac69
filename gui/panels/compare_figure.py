"""The table of models as a page for print: a line for each number, the models side by side."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.figure import Figure

from gui.panels.compare_question import Line
from gui.panels.compare_text import turned
from gui.plots.figure_base import POINTS
from gui.style.theme import LIGHT, SMALL, TEXT, Theme

LINE, MARGIN, NAMES, MODEL = 0.19, 0.2, 2.2, 1.3
"""Inches: a line of text, the edge, the names' column, a model's."""
CHARACTERS = 20
"""Of a model's name."""


def compare_figure(lines: Sequence[Line], theme: Theme = LIGHT) -> Figure:
    """Draw the table.

    Parameters
    ----------
    lines
        The models, in their order; those that are not measured are left out.
    theme
        Colours.
    """
    titles, rows = turned(lines)
    width = 2 * MARGIN + NAMES + MODEL * max(len(titles) - 1, 1)
    height = 2 * MARGIN + LINE * (len(rows) + 3)
    figure = Figure(figsize=(width, height), facecolor=theme.viewport)
    at = height - MARGIN

    def write(x: float, text: str, color: str, size: int = SMALL, side: str = "left") -> None:
        figure.text(
            x / width, at / height, text, color=color, fontsize=size * POINTS, ha=side, va="top"
        )

    write(MARGIN, "Position tables in numbers", theme.text, TEXT)
    at -= 1.8 * LINE
    for row in (titles, *rows):
        write(MARGIN, row[0], theme.muted)
        for number, cell in enumerate(row[1:], start=1):
            color = theme.muted if row is titles else theme.text
            write(MARGIN + NAMES + MODEL * number, _short(cell), color, side="right")
        at -= LINE
    return figure


def _short(name: str) -> str:
    return name if len(name) <= CHARACTERS else f"…{name[1 - CHARACTERS :]}"
