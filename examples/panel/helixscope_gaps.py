"""A panel: the distance of each position from the next."""

from dataclasses import dataclass

import numpy as np

from gui.panels.kit.spec import PanelSpec
from gui.plots.spec import Axis, Curve, Plot
from gui.services.snippets import python_script


@dataclass(frozen=True)
class GapsOf:
    positions: tuple[int, int]  # First and last, both included

    def answer(self, context):
        first, last = self.positions
        return np.linalg.norm(np.diff(context.model.W_pos[first : last + 1], axis=0), axis=1)


class GapsPanel(PanelSpec):
    name = "gaps"
    formula = "‖p(i + 1) − p(i)‖"
    explanation = "The distance of each position from the next. A jump is a row that stands out."
    empty = "Open a model to see the distances of its neighbouring positions."

    def question(self, scope, choices):
        return GapsOf(scope.positions)

    def numbers(self, view):
        return {"position": np.arange(*view.question.positions), "gap": view.result}

    def plots(self, view):
        curve = Curve(*self.numbers(view).values(), view.theme.text)
        return [Plot("Gaps", Axis(view.along), Axis("distance from the next"), [curve])]

    def script(self, view):
        first, last = view.question.positions
        rows = f"np.diff(model.W_pos[{first} : {last + 1}], axis=0)"
        return python_script(f"print(np.linalg.norm({rows}, axis=1))", view.model)
