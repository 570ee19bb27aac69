"""How well motions look back, and how far they turn, for print."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from gui.plots.figure_base import POINTS, name_axes, new_figures, title_axes
from gui.plots.figure_models import draw_others, name_models
from gui.plots.spec import Line
from gui.services.overlay_curves import OverlayLine, span_with
from gui.style.theme import LIGHT, SMALL, Theme

SIZE = (6.8, 3.4)
LOWEST = -0.5
"""R² below this is as good as none, and would make the rest small."""


def lowest(lines: Sequence[Line | OverlayLine]) -> float:
    """Return where an axis of R² begins."""
    drawn = [line.y if isinstance(line, OverlayLine) else line.values for line in lines]
    least = min((float(np.nanmin(values)) for values in drawn), default=0.0)
    return max(LOWEST, min(0.0, least))


def known(lines: Sequence[Line]) -> int:
    """Return how many lags, from the first on, any line has a value for."""
    found = [np.flatnonzero(np.isfinite(line.values)) for line in lines]
    return max((int(at[-1]) + 1 for at in found if len(at)), default=0)


def lookback_figure(
    lags: np.ndarray,
    fits: Sequence[Line],
    angles: Sequence[Line],
    lag: int | None,
    *,
    title: str,
    scope: str,
    theme: Theme = LIGHT,
    others: tuple[Sequence[OverlayLine], Sequence[OverlayLine]] = ((), ()),
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
    others
        R² and angles of other models, behind them.
    """
    reach = known(angles)
    figure, axes = new_figures(theme, SIZE, columns=2 if reach else 1)
    axes[0].set_ylim(lowest((*fits, *others[0])) - 0.02, 1.02)
    _draw(axes[0], lags, fits, lag, theme, others[0])
    name_axes(axes[0], "Lag N (tokens)", "R²")
    if reach:
        _draw(axes[1], lags[:reach], angles, lag, theme, others[1])
        name_axes(axes[1], "Lag N (tokens)", "Angle (degrees)")
    name_models(figure, others[0], theme=theme, what="Rotation + shift; its angle")
    title_axes(axes[0], title, scope, theme)
    return figure


def _draw(
    axes: Axes,
    lags: np.ndarray,
    lines: Sequence[Line],
    lag: int | None,
    theme: Theme,
    others: Sequence[OverlayLine],
) -> None:
    draw_others(axes, others)
    for line in lines:
        style, values = "--" if line.dashed else "-", line.values[: len(lags)]
        axes.plot(lags, values, style, color=line.color, linewidth=1.2, label=line.name)
    if lag is not None and lag <= lags[-1]:
        axes.axvline(lag, color=theme.muted, linewidth=0.8)
    axes.set_xlim(0, span_with(0, float(lags[-1]), others)[1])
    axes.legend(
        loc="upper left", bbox_to_anchor=(-0.1, -0.2), ncols=2, frameon=False,
        fontsize=SMALL * POINTS, labelcolor=theme.text, handlelength=1.4, borderaxespad=0.0,
        columnspacing=1.2,
    )  # fmt: skip
