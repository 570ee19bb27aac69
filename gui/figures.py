"""Two-dimensional figures for files: Matplotlib figures, without pyplot and without a window."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from geometry.model import PositionalModel
from geometry.norms import norm_profile
from geometry.spectra import TOP, spectrum
from gui.theme import LIGHT, SMALL, TEXT, Theme, format_count, format_number, format_percent

SIZE = (6.4, 3.2)
DPI = 200
# The theme's logical pixels are 1/96 inch, Matplotlib's points 1/72.
POINTS = 72 / 96


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
    figure, axes = _figure(theme)
    axes.plot(profile.values, color=theme.text, linewidth=1.0)
    axes.axhline(profile.mean, color=theme.muted, linewidth=0.8, linestyle=(0, (4, 3)))
    outliers = np.array(profile.outliers, dtype=int)
    axes.plot(
        outliers, profile.values[outliers], "o",
        color=theme.warning, markersize=5, fillstyle="none", clip_on=False,
    )  # fmt: skip
    _label(axes, "Position", "Norm ‖Pᵢ‖₂" + (" of the centred row" if centred else ""))
    axes.set_ylim(bottom=0.0)
    axes.set_xlim(0, max(model.n_positions - 1, 1))
    listed = ", ".join(map(str, profile.outliers[:8]))
    more = ", …" if len(profile.outliers) > 8 else ""
    _title(
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
    figure, axes = _figure(theme)
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
    _label(axes, "Index of the singular value", "Singular value σ")
    axes.set_xlim(1, max(values.size, 2))
    _title(
        axes,
        f"{model.name} · spectrum of P, uncentred, all {format_count(model.n_positions)} positions",
        f"first {TOP}: {format_percent(found.energy_top30, 2)} of Σσ²"
        f" · stable rank {format_number(found.stable_rank, 2)}",
        theme,
    )
    return figure


def save_figure(figure: Figure, path: Path) -> None:
    """Write a figure as PNG or SVG, by the file's ending; equal figures give equal files.

    Raises
    ------
    OSError
        When the file cannot be written.
    """
    # Text stays text in SVG, so that it can be edited and searched.
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "helixscope"}):
        metadata = {"Date": None} if path.suffix == ".svg" else {"Software": "Helixscope"}
        figure.savefig(path, dpi=DPI, metadata=metadata, facecolor=figure.get_facecolor())


def _figure(theme: Theme) -> tuple[Figure, Axes]:
    figure = Figure(figsize=SIZE, layout="constrained", facecolor=theme.viewport)
    axes = figure.add_subplot(facecolor=theme.viewport)
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(theme.line)
    axes.tick_params(
        which="both", color=theme.line, labelcolor=theme.text, labelsize=SMALL * POINTS
    )
    return figure, axes


def _label(axes: Axes, x: str, y: str) -> None:
    axes.set_xlabel(x, fontsize=SMALL * POINTS, color=axes.xaxis.get_tick_params()["labelcolor"])
    axes.set_ylabel(y, fontsize=SMALL * POINTS, color=axes.yaxis.get_tick_params()["labelcolor"])


def _title(axes: Axes, title: str, detail: str, theme: Theme) -> None:
    axes.set_title(title, loc="left", fontsize=TEXT * POINTS, color=theme.text, pad=18)
    axes.annotate(
        detail, (0, 1), (0, 5), xycoords="axes fraction", textcoords="offset points",
        fontsize=SMALL * POINTS, color=theme.muted,
    )  # fmt: skip
