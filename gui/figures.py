"""Two-dimensional figures for files: Matplotlib figures, without pyplot and without a window."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from geometry.model import PositionalModel
from geometry.norms import norm_profile
from geometry.spectra import TOP, spectrum
from gui.figure_base import name_axes, new_figure, save_figure, title_axes
from gui.theme import LIGHT, Theme, format_count, format_number, format_percent

__all__ = ["norms_figure", "save_figure", "spectrum_figure"]


def norms_figure(
    model: PositionalModel, *, after: int = 100, centred: bool = False, theme: Theme = LIGHT
) -> Figure:
    """Norm of every stored row by position, with its stability and outliers.

    Parameters
    ----------
    model
        The open model.
    after, centred
        As in :func:`geometry.norms.norm_profile`.
    theme
        Colours.
    """
    profile = norm_profile(model.W_pos, after=after, centred=centred)
    figure, axes = new_figure(theme)
    axes.plot(profile.values, color=theme.text, linewidth=1.0)
    axes.axhline(profile.mean, color=theme.muted, linewidth=0.8, linestyle=(0, (4, 3)))
    outliers = np.array(profile.outliers, dtype=int)
    axes.plot(
        outliers, profile.values[outliers], "o",
        color=theme.warning, markersize=5, fillstyle="none", clip_on=False,
    )  # fmt: skip
    name_axes(axes, "Position", "Norm ‖Pᵢ‖₂" + (" of the centred row" if centred else ""))
    axes.set_ylim(bottom=0.0)
    axes.set_xlim(0, max(model.n_positions - 1, 1))
    listed = ", ".join(map(str, profile.outliers[:8]))
    more = ", …" if len(profile.outliers) > 8 else ""
    title_axes(
        axes,
        f"{model.name} · norms of all {format_count(model.n_positions)} positions",
        f"from {after} to the last but one: mean {format_number(profile.mean)}, "
        f"std {format_number(profile.std)} ({format_percent(profile.cv)})"
        + (f" · outliers (○) {listed}{more}" if listed else " · no outliers"),
        theme,
    )
    return figure


def spectrum_figure(model: PositionalModel, *, theme: Theme = LIGHT) -> Figure:
    """Singular values of all stored rows, uncentred, on a logarithmic axis.

    Parameters
    ----------
    model
        The open model.
    theme
        Colours.
    """
    found = spectrum(model.W_pos)
    values = found.singular_values
    figure, axes = new_figure(theme)
    index = np.arange(1, values.size + 1)
    positive = values > 0.0
    axes.plot(
        index[positive], values[positive],
        color=theme.text, linewidth=1.0, marker="." if values.size <= 64 else "", markersize=4,
    )  # fmt: skip
    if positive.any():
        axes.set_yscale("log")
    if values.size > TOP:
        axes.axvline(TOP, color=theme.muted, linewidth=0.8, linestyle=(0, (4, 3)))
    name_axes(axes, "Index of the singular value", "Singular value σ")
    axes.set_xlim(1, max(values.size, 2))
    title_axes(
        axes,
        f"{model.name} · spectrum of P, uncentred, all {format_count(model.n_positions)} positions",
        f"first {TOP}: {format_percent(found.energy_top30, 2)} of Σσ²"
        f" · stable rank {format_number(found.stable_rank, 2)}",
        theme,
    )
    return figure
