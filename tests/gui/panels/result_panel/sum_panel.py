"""A result panel of the least that there can be: the sum of a column."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QWidget

from gui.panels.result_panel import ResultPanel
from gui.plots.figure_base import name_axes, new_figure
from gui.services.snippets import opening

LEFT = Qt.MouseButton.LeftButton
FAILURES: list[Exception] = []


@dataclass(frozen=True, slots=True)
class SumOf:
    """The sum of a column."""

    column: int

    def answer(self, about: Any) -> np.ndarray:
        if FAILURES:
            raise FAILURES[-1]
        return np.array([about.model.W_pos[:, self.column].sum(), float(self.column)])


class SumPanel(ResultPanel):
    """Shows the sum of a column."""

    slot = "sum"
    formula = "Σᵢ Pᵢ"
    meaning = "the sum of a column"
    explanation = "One sentence. Another one."
    empty = "Open a model to see a sum."
    instead = "Other columns still work."

    column = 0

    def question(self) -> SumOf:
        return SumOf(self.column)

    def build(self) -> QWidget:
        self.label = QLabel()
        self.built = getattr(self, "built", 0) + 1
        return self.label

    def show_result(self, result: np.ndarray) -> None:
        self.label.setText(f"{result[0]:.3f}")

    def caption(self, result: np.ndarray) -> str:
        return f"column {result[1]:.0f}"

    def figure(self, result: np.ndarray) -> Callable[[], Figure]:
        def draw() -> Figure:
            figure, axes = new_figure()
            axes.plot(result)
            name_axes(axes, "index", "sum")
            return figure

        return draw

    def numbers(self, result: np.ndarray) -> Mapping[str, np.ndarray]:
        return {"sum": result[:1], "both": np.stack([result, -result])}

    def python(self) -> str:
        assert self.session.model is not None
        return opening(self.session.model) + f"print(model.W_pos[:, {self.column}].sum())\n"
