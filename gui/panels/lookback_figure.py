"""How well motions look back, and how far they turn, for print."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from gui.figure_base import POINTS, name_axes, new_figures, title_axes
from gui.panels.training_curves import Line
from gui.theme import LIGHT, SMALL, Theme

SIZE = (6.8, 3.0)
LOWEST = -0.5
"""R² below this is as good as none, and would make the rest small."""


def lowest(lines: Sequence[Line]) -> float:
    """Return where an axis of R² begins."""
    least = min((float(np.nanmin(line.values)) for line in lines), default=0.0)
    return max(LOWEST, min(0.0, least))


def lookback_figure(
    lags: np.ndarray,
    fits: Sequence[Line],
    angles: Sequence[Line],
    lag: int | None,
    *,
    title: str,
    scope: str,
    theme: Theme = LIGHT,
) -> Figure:
    """R² by lag, and the angle by lag beside it where there is one.

    Parameters
    ----------
    lags
        N.
    fits, angles
        What is drawn.
    lag
        The one that is marked; None for none.
    title, scope
        The lines above.
    theme
        Colours.
    """
    known = [line for line in angles if np.isfinite(line.values).any()]
    figure, axes = new_figures(theme, SIZE, columns=2 if known else 1)
    axes[0].set_ylim(lowest(fits) - 0.02, 1.02)
    _draw(axes[0], lags, fits, lag, theme)
    name_axes(axes[0], "Lag N (tokens)", "R²")
    if known:
        _draw(axes[1], lags, known, lag, theme)
        name_axes(axes[1], "Lag N (tokens)", "Angle (degrees)")
    title_axes(axes[0], title, scope, theme)
    return figure


def _draw(
    axes: Axes, lags: np.ndarray, lines: Sequence[Line], lag: int | None, theme: Theme
) -> None:
    for line in lines:
        style = "--" if line.dashed else "-"
        axes.plot(lags, line.values, style, color=line.color, linewidth=1.2, label=line.name)
    if lag is not None:
        axes.axvline(lag, color=theme.muted, linewidth=0.8)
    axes.set_xlim(0, float(lags[-1]))
    axes.legend(frameon=False, fontsize=SMALL * POINTS, labelcolor=theme.text, handlelength=1.4)
