"""The shape panel: line, circle, helix, or a helix that drifts, and which of them it is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtWidgets import QScrollArea, QWidget

from gui.panels.figure_text import VERDICTS, shape_scope, shape_title
from gui.panels.result_panel import ResultPanel
from gui.panels.shape_numbers import ShapeNumbers
from gui.panels.shape_question import Shape, ShapeOf
from gui.session import Session
from gui.snippets import opening
from gui.theme import Theme

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class ShapePanel(ResultPanel):
    """How well simple curves describe the shown positions in the shown components."""

    slot = "shape"
    formula = "pᵢ ≈ m + r(cos ωi · u + sin ωi · v) + c·i·w"
    meaning = "the best simple curve"
    explanation = (
        "Line, circle, helix and a helix whose radius drifts are fitted to the shown positions in"
        " the three shown components. It is a helix if the better of the two has R² ≥ 0.8, is above"
        " line and circle by ≥ 0.1 and makes ≥ 1 turn, and BIC says which of them; else it is the"
        " line or the circle if one has R² ≥ 0.8, and otherwise none of these."
    )
    empty = "Open a model to see which simple curve its positions follow."
    instead = "Norms and spectra need no curve."

    def __init__(self, session: Session, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(session, theme, parent)
        # A fit takes up to a second: it waits for the end of a drag.
        events = session.events
        for signal in (events.positions, events.dragging, events.components):
            self.listen(signal, self._ask_when_still)

    def question(self) -> ShapeOf:
        """Ask for the shown range in the shown components."""
        return ShapeOf(self.session.positions, self.session.components)

    def build(self) -> QWidget:
        """Make the table."""
        self.shown = ShapeNumbers()
        area = QScrollArea()
        area.setFrameShape(QScrollArea.Shape.NoFrame)
        area.setWidgetResizable(True)
        area.setWidget(self.shown)
        return area

    def show_result(self, result: Shape) -> None:
        """Fill the table."""
        self.shown.show_shape(result)

    def caption(self, result: Shape) -> str:
        """Name the scope, and what it is."""
        return f"{VERDICTS[result.best]} · {self._scope(result)}"

    def figure(self, result: Shape) -> Callable[[], Figure]:
        """Draw each component over position, with the curve."""
        title, detail = shape_title(result), self._scope(result)

        def draw() -> Figure:
            from gui.panels.shape_figure import shape_figure

            return shape_figure(result, title, detail)

        return draw

    def numbers(self, result: Shape) -> Mapping[str, np.ndarray]:
        """Return a line for each curve."""
        names = ("r2", "bic", "turns", "radius", "drift", "climb_per_turn")
        return {
            "curve": np.array([one.name for one in result.curves]),
            "best": np.array([one.name == result.best for one in result.curves]),
            **{name: np.array([getattr(one, name) for one in result.curves]) for name in names},
        }

    def python(self) -> str:
        """Return a script that fits the curves and prints them."""
        assert self.session.model is not None
        first, last = self.session.positions
        columns = [number - 1 for number in self.session.components]
        return (
            opening(self.session.model)
            + "from geometry.pca import fit_pca\n"
            + "from geometry.shape import fit_shapes\n\n"
            + f"pca = fit_pca(model.W_pos, ({first}, {last}), {max(columns) + 1})\n"
            + f"points = pca.project(model.W_pos[{first}:{last + 1}])[:, {columns}]\n"
            + "found = fit_shapes(points)\n"
            + "print(found.best)\n"
            + "for name, fit in found.fits.items():\n"
            + "    print(name, fit.r2, fit.bic, fit.turns, fit.radius, fit.climb_per_turn)\n"
        )

    def _ask_when_still(self) -> None:
        if not self.session.dragging:
            self.ask()

    def _scope(self, result: Shape) -> str:
        assert self.session.model is not None
        return shape_scope(self.session.model, result)
