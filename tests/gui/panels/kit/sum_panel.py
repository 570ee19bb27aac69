"""A result panel of the least that there can be: the sum of a column."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from PySide6.QtWidgets import QLabel, QVBoxLayout

from gui.panels.kit.body import PanelBody
from gui.panels.kit.choices import Saved
from gui.panels.kit.spec import PanelSpec
from gui.panels.kit.views import Scope, View
from gui.plots.spec import Axis, Curve, Part, Plot
from gui.services.snippets import python_script

FAILURES: list[Exception] = []


@dataclass(frozen=True, slots=True)
class SumOf:
    """The sum of a column."""

    column: int

    def answer(self, about: Any) -> np.ndarray:
        if FAILURES:
            raise FAILURES[-1]
        return np.array([about.model.W_pos[:, self.column].sum(), float(self.column)])


@dataclass(frozen=True, slots=True)
class Choices:
    """Which column."""

    column: int = 0


class SumPanel(PanelSpec[Choices, np.ndarray]):
    """Shows the sum of a column."""

    name = "sum"
    formula = "Σᵢ Pᵢ"
    meaning = "the sum of a column"
    explanation = "One sentence. Another one."
    empty = "Open a model to see a sum."
    instead = "Other columns still work."
    defaults = Choices()
    controls = (Saved(field="column", kind=int),)
    body = "tests.gui.panels.kit.sum_panel:SumBody"

    def question(self, scope: Scope, choices: Choices) -> SumOf:
        return SumOf(choices.column)

    def plots(self, view: View[Choices, np.ndarray]) -> Sequence[Part]:
        curve = Curve(np.arange(2), view.result, view.theme.text)
        return [Plot("Sum", Axis("index"), Axis("sum"), [curve])]

    def heading(self, view: View[Choices, np.ndarray]) -> tuple[str, str]:
        return "A sum", self.caption(view)

    def caption(self, view: View[Choices, np.ndarray]) -> str:
        return f"column {view.result[1]:.0f}"

    def numbers(self, view: View[Choices, np.ndarray]) -> Mapping[str, np.ndarray]:
        return {"sum": view.result[:1], "both": np.stack([view.result, -view.result])}

    def script(self, view: View[Choices, np.ndarray]) -> str:
        return python_script(f"print(model.W_pos[:, {view.question.column}].sum())", view.model)


class SumBody(PanelBody):
    """The sum as a text."""

    def __init__(self, *of: Any) -> None:
        super().__init__(*of)
        self.label = QLabel()
        QVBoxLayout(self).addWidget(self.label)

    def draw(self, view: View[Choices, np.ndarray]) -> None:
        self.label.setText(f"{view.result[0]:.3f}")
