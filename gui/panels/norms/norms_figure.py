"""Norms, steps or residuals by position, for print. Knows no Qt."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from geometry.measures.norms import NormProfile
from geometry.measures.stretches import measure_stretch
from gui.panels.norms.norms_reading import Beside, Reading
from gui.plots.figure_base import POINTS, name_axes, new_figure, title_axes
from gui.style.theme import LIGHT, SMALL, Theme, format_count, format_number, format_percent


def norms_figure(name: str, profile: NormProfile, theme: Theme = LIGHT) -> Figure:
    """Norm of every stored row by position, with its stability and outliers.

    Parameters
    ----------
    name
        Of the model.
    profile
        Its norms.
    theme
        Colours.
    """
    values = profile.values
    stretch = measure_stretch(values, profile.after)
    reading = Reading(
        "norm", profile.centred, values, profile.after, stretch, profile.outliers, len(values), None
    )
    listed = ", ".join(map(str, profile.outliers[:8]))
    more = ", …" if len(profile.outliers) > 8 else ""
    return lengths_figure(
        reading,
        title=f"{name} · norms of all {format_count(len(values))} positions",
        detail=f"from {profile.after} to the last but one: mean {format_number(profile.mean)}, "
        f"std {format_number(profile.std)} ({format_percent(profile.cv)})"
        + (f" · outliers (○) {listed}{more}" if listed else " · no outliers"),
        y_title="Norm ‖Pᵢ‖₂" + (" of the centred row" if profile.centred else ""),
        theme=theme,
    )


def lengths_figure(
    reading: Reading,
    others: Sequence[tuple[Beside, str]] = (),
    *,
    title: str,
    detail: str,
    y_title: str,
    name: str = "",
    theme: Theme = LIGHT,
) -> Figure:
    """Draw a quantity by position, other models' behind it.

    Parameters
    ----------
    reading
        The open model's; its mean is dashed, and outliers have rings.
    others
        Other models' curves with their colours.
    title, detail, y_title
        What is written over the figure and beside its axis.
    name
        What the open model is called in the legend, which there is among others.
    theme
        Colours.
    """
    figure, axes = new_figure(theme)
    values = reading.drawn
    for other, color in others:
        axes.plot(other.drawn, color=color, linewidth=0.8, label=other.overlay.name)
    axes.plot(values, color=theme.text, linewidth=1.0, label=name)
    if not reading.relative:
        axes.axhline(reading.stretch.mean, color=theme.muted, linewidth=0.8, linestyle=(0, (4, 3)))
    outliers = np.array(reading.outliers, dtype=int)
    axes.plot(
        outliers, values[outliers], "o",
        color=theme.warning, markersize=5, fillstyle="none", clip_on=False,
    )  # fmt: skip
    if others:
        axes.legend(fontsize=SMALL * POINTS, labelcolor=theme.text, frameon=False)
    name_axes(axes, "Position", y_title)
    axes.set_ylim(bottom=0.0)
    axes.set_xlim(0, max(reading.n_positions - 1, 1))
    title_axes(axes, title, detail, theme)
    return figure
