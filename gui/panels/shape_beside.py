"""The shapes of the models beside the open one: what the shape panel draws and says of them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from gui.panels import shape_text
from gui.panels.figure_text import CURVES, shape_title
from gui.panels.overlay_panel import XY, OverlayPanel
from gui.panels.shape_question import Shape, ShapeOf
from gui.state.session import Session
from gui.widgets.segmented import Segmented


class ShapeBeside(OverlayPanel):
    """The part of the panel that is about other models: each in its own range and components."""

    plotted: Segmented
    picked = ""
    """The curve that the user chose; "" for the one that each model's positions follow best."""

    def question_of(self, session: Session) -> ShapeOf:
        """Ask for the shown range in the shown components."""
        return ShapeOf(session.positions, session.components)

    def chosen(self, result: Shape) -> str:
        """Return the name of the curve that is shown: the user's choice, or the one that it is."""
        return self.picked or result.first_choice

    def overlay_words(self) -> str:
        """Say what is plotted."""
        if self.plotted.value() == "turning":
            return "Turning angle"
        return f"Distance from {CURVES[self.picked] if self.picked else 'the best curve of each'}"

    def overlay_xy(self, result: Shape) -> Mapping[str, XY]:
        """Return distances and angles by position."""
        first, last = result.positions
        found = {"distance": (np.arange(first, last + 1), result.distances(self.chosen(result)))}
        if result.rough is not None:
            # Beside a step of no length there is no angle, and the curve stays where it is.
            found["turning"] = (
                np.arange(first + 1, last),
                np.nan_to_num(result.rough.turning_angles),
            )
        return found

    def overlay_said(self, result: Shape) -> str:
        """Say what it is, and how rough."""
        rough = shape_text.rough_parts(result).values()
        return " · ".join([shape_title(result, self.chosen(result)), *rough])

    def overlay_numbers(self, result: Shape) -> Mapping[str, np.ndarray]:
        """Return a line for each curve, the distances from each by position, and the roughness."""
        return shape_text.columns(result)

    def overlay_python(self, session: Session, result: Shape) -> str:
        """Return a script that fits the curves and prints them."""
        assert session.model is not None
        question = session.answers[self.slot].question
        return shape_text.script(session.model, question, self.chosen(result))
