"""The figure of the spectra panel for print."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from gui.panels.spectra_question import NamedSpectrum
from gui.panels.subject_text import subject_colors, subject_name
from gui.plots.figure_base import POINTS, name_axes, new_figure, title_axes
from gui.plots.figure_models import name_models
from gui.services.overlay_curves import OverlayLine
from gui.style.theme import LIGHT, SMALL, format_percent

BY_CHANCE = "Gaussian of the same shape and norm"


def spectra_figure(
    spectra: Sequence[NamedSpectrum],
    k: int,
    *,
    chance: bool,
    title: str,
    scope: str,
    others: Sequence[OverlayLine] = (),
) -> Figure:
    """Singular values against their index, both logarithmic.

    Parameters
    ----------
    spectra
        Curves, each with its share of Σσ² in the first k.
    k
        Marked by an upright line.
    chance
        Whether to draw those of Gaussian matrices, dashed.
    title, scope
        The lines above.
    others
        Singular values of other models' matrices, behind them.
    """
    figure, axes = new_figure(LIGHT)
    for other in others:
        _draw(axes, other.x, other.y, color=other.color, linewidth=0.8)
    name_models(figure, others)
    subjects = [spectrum.subject for spectrum in spectra]
    colors = subject_colors(subjects, LIGHT, others=bool(others))
    for spectrum, color in zip(spectra, colors, strict=True):
        index = np.arange(1, len(spectrum.singular_values) + 1)
        energy = format_percent(spectrum.energy[min(k, len(index)) - 1])
        if chance:
            _draw(axes, index, spectrum.chance, color=color, linewidth=0.7, linestyle=(0, (4, 3)))
        said = f"{subject_name(spectrum.subject)} · first {k}: {energy}"
        _draw(axes, index, spectrum.singular_values, color=color, linewidth=1.2, label=said)
    if chance:
        axes.plot([], [], color=LIGHT.muted, linewidth=0.7, linestyle=(0, (4, 3)), label=BY_CHANCE)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.axvline(k, color=LIGHT.muted, linewidth=0.8, linestyle=(0, (1, 2)))
    name_axes(axes, "Index i of the singular value", "Singular value σᵢ")
    axes.legend(frameon=False, fontsize=SMALL * POINTS, labelcolor=LIGHT.text)
    title_axes(axes, title, scope, LIGHT)
    return figure


def _draw(axes, index: np.ndarray, values: np.ndarray, **style) -> None:
    positive = values > 0.0
    axes.plot(index[positive], values[positive], **style)
