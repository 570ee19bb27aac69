"""The spectra panel: singular values of P, E and the layers' weights."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtWidgets import QLabel, QWidget

from geometry.residual_stream import Subject
from gui.panels.base import label
from gui.panels.result_panel import ResultPanel
from gui.panels.spectra_question import Spectra, SpectraOf
from gui.snippets import opening, written
from gui.theme import format_count, format_number

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class SpectraPanel(ResultPanel):
    """Singular values against their index, both logarithmic, as in the article."""

    slot = "spectra"
    formula = "σᵢ"
    meaning = "singular values"
    explanation = (
        "A matrix stretches some directions of the residual stream more than others: singular value"
        " σᵢ says how far, the strongest first. A few large ones mean that the matrix lives in few"
        " dimensions; a Gaussian matrix of the same shape and norm shows what chance would give."
    )
    empty = "Open a model to see the singular values of its position table and weights."

    def question(self) -> SpectraOf:
        """Ask for the chosen matrices."""
        return SpectraOf((Subject("P"),))

    def build(self) -> QWidget:
        """Make the plot."""
        self.text: QLabel = label("")
        return self.text

    def show_result(self, result: Spectra) -> None:
        """Draw the curves."""
        values = result.found[0].singular_values
        self.text.setText(", ".join(format_number(value) for value in values[:12]))

    def caption(self, result: Spectra) -> str:
        """Name the scope, and the stable rank."""
        assert self.session.model is not None
        rows = format_count(self.session.model.n_positions)
        rank = format_number(result.found[0].stable_rank, 2)
        return f"{self.session.model.name} · all {rows} positions, uncentred · stable rank {rank}"

    def figure(self, result: Spectra) -> Callable[[], Figure]:
        """Draw the same for print."""

        def draw() -> Figure:
            from gui.figure_base import name_axes, new_figure

            figure, axes = new_figure()
            axes.loglog(result.found[0].singular_values)
            name_axes(axes, "Index i", "Singular value σᵢ")
            return figure

        return draw

    def numbers(self, result: Spectra) -> Mapping[str, np.ndarray]:
        """Return the singular values by matrix."""
        return {found.subject.name: found.singular_values for found in result.found}

    def python(self) -> str:
        """Return a script that prints them."""
        assert self.session.model is not None
        return (
            opening(self.session.model)
            + "from geometry.residual_stream import ResidualStream, Subject\n\n"
            + "stream = ResidualStream(model)\n"
            + f"print(stream.directions({written(Subject('P'))}).singular_values)\n"
        )
