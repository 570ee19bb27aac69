"""The capture panel: how much of each direction of E lies among P's strongest."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from PySide6.QtWidgets import QWidget

from geometry.models.model import PositionalModel
from geometry.models.residual_stream import NAMES, Subject
from gui.panels.capture_question import CaptureOf, Captures
from gui.panels.figure_text import capture_scope, capture_title
from gui.panels.overlay_panel import XY, OverlayPanel
from gui.panels.subject_text import subject_colors, subject_name
from gui.services.snippets import opening, written
from gui.state.session import Session
from gui.style.theme import Theme, format_number
from gui.widgets.drop_down import DropDown
from gui.widgets.number_slider import NumberSlider
from gui.widgets.tooltips import wrapped

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from gui.plots.curve_plot import CurvePlot

RANK = 30
EDGE = 30
"""How many directions at either end the caption sums up."""
RANK_TIP = "How many of P's strongest directions span the subspace that captures"


class CapturePanel(OverlayPanel):
    """Captured share against the index of the direction, with chance."""

    slot = "capture"
    formula = "vⱼᵀ Π vⱼ"
    meaning = "captured by P's first k"
    explanation = (
        "Π projects onto the k strongest directions of P, and vⱼ is the j-th strongest direction "
        "of the other matrix, so this is the share of vⱼ that positions occupy. Values below the "
        "dashed line, k over d_model, mean that the two keep out of each other's way."
    )
    empty = "Open a model to see which directions of its token embeddings its positions occupy."
    instead = "Another matrix may be chosen above."

    def __init__(self, session: Session, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(session, theme, parent)
        self.plot: CurvePlot
        self._model: PositionalModel | None = None
        self.matrix, self.layer = DropDown(), DropDown()
        self.matrix.addItems([f"of {name}" for name in NAMES[1:]])
        self.matrix.setAccessibleName("Whose directions")
        self.matrix.setToolTip(wrapped("Whose directions are captured"))
        self.layer.addItem("Layer 0")
        self.layer.setAccessibleName("Layer")
        self.layer.setToolTip(wrapped("The layer of the weight"))
        self.k = NumberSlider("k", 1, RANK, RANK, RANK_TIP, theme)
        for control in (self.matrix, self.layer, self.k):
            self.header.add(control)
        self.matrix.currentIndexChanged.connect(self._on_matrix_changed)
        self.layer.currentIndexChanged.connect(self.ask)
        self.k.changed.connect(self._draw)
        self._wanted = RANK
        self.k.changed.connect(self._remember)
        self._follow_model()

    # What it asks.

    def question_of(self, session: Session) -> CaptureOf:
        """Ask for the chosen matrix, for every k at once."""
        self._follow_model()
        return CaptureOf(self.subject())

    def subject(self) -> Subject:
        """Return whose directions are captured."""
        name = NAMES[1 + self.matrix.currentIndex()]
        return Subject(name, 0 if name == "E" else max(self.layer.currentIndex(), 0))

    def configure(self, **options: Any) -> None:
        """Show ``name`` (of the matrix), ``layer`` and ``k``."""
        self._follow_model()
        self.matrix.setCurrentIndex(NAMES[1:].index(options.pop("name", self.subject().name)))
        self.layer.setCurrentIndex(options.pop("layer", self.layer.currentIndex()))
        self._remember(options.pop("k", self._wanted))
        self.k.show_value(self._wanted)
        self._draw()
        super().configure(**options)

    def options(self) -> dict[str, Any]:
        """Return what :meth:`configure` takes."""
        layer = max(self.layer.currentIndex(), 0)
        return {"name": self.subject().name, "layer": layer, "k": self._wanted}

    def _remember(self, k: int) -> None:
        self._wanted = k

    def _follow_model(self) -> None:
        model = self.session.model
        if model is not None and model is not self._model:
            self._model = model
            blocked = self.layer.blockSignals(True)
            self.layer.clear()
            self.layer.addItems([f"Layer {layer}" for layer in range(max(model.n_layers or 1, 1))])
            self.layer.blockSignals(blocked)
        self.layer.setEnabled(self.matrix.currentIndex() > 0)

    def _on_matrix_changed(self) -> None:
        self.layer.setEnabled(self.matrix.currentIndex() > 0)
        self.ask()

    # What it shows.

    def build(self) -> QWidget:
        """Make the plot."""
        from gui.plots.curve_plot import CurvePlot

        self.plot = CurvePlot(self.theme, "index j", "captured share of vⱼ", whole_x=True)
        self.plot.setAccessibleName("Capture of each direction")
        self.plot.pointHovered.connect(self._on_hovered)
        return self.plot

    def show_result(self, result: Captures) -> None:
        """Draw the curve."""
        self.k.set_bounds(1, len(result.by_rank))
        self.k.show_value(self._wanted)
        self._draw()

    def _draw(self) -> None:
        result = self.result
        if result is None:
            return
        from gui.plots.curve_plot import PlotCurve

        values = result.by_rank[self.k.value - 1]
        index = np.arange(1.0, len(values) + 1)
        (color,) = subject_colors([result.of], self.theme, others=self.overlaid)
        chance = self.k.value / result.d
        ends, level = np.array([1.0, len(values)]), np.full(2, chance)
        line = PlotCurve(ends, level, self.theme.muted, "dashed", silent=True)
        others = [
            PlotCurve(other.x, other.y, other.color, name=other.name)
            for other in self.overlay_lines()
        ]
        curves = [PlotCurve(index, values, color, width=1.5 if others else 1.0), line, *others]
        top = max(1.0, *(float(curve.y.max()) for curve in curves))
        self.plot.set_curves(curves, y=(-0.03 * top, 1.03 * top))
        self.show_caption()
        self.show_overlay_legend()

    def redraw(self) -> None:
        """Draw the curves anew."""
        self._draw()

    def _on_hovered(self, point: tuple[int, int] | None) -> None:
        if point is None:
            self.plot.set_hover(None)
            return
        result, (at, j) = self.result, point
        curve = self.plot.curves[at]
        if curve.name:
            said = f"{curve.name} · j = {j + 1} · captured {format_number(float(curve.y[j]))}"
            self.plot.set_hover(point, said)
            return
        value, chance = result.by_rank[self.k.value - 1, j], self.k.value / result.d
        self.plot.set_hover(
            point,
            f"{subject_name(result.of)} · j = {j + 1} · captured {format_number(value)} · "
            f"{format_number(value / chance, 2)} × chance",
        )

    def set_theme(self, theme: Theme) -> None:
        """Take new colours."""
        super().set_theme(theme)
        self.k.set_theme(theme)
        if self.content is not None:
            self.plot.set_theme(theme)
            self._draw()

    # What it says, and what can be taken away.

    def caption(self, result: Captures) -> str:
        """Name the scope, chance, and the mean at both ends."""
        assert self.session.model is not None
        values, m = result.by_rank[self.k.value - 1], min(EDGE, result.by_rank.shape[1])
        first, last = (format_number(part.mean()) for part in (values[:m], values[-m:]))
        chance = format_number(self.k.value / result.d)
        return (
            f"{self.session.model.name} · {self._scope(result)} · chance {chance} · "
            f"mean of the first {m}: {first}, of the last {m}: {last}"
        )

    def _scope(self, result: Captures) -> str:
        assert self.session.model is not None
        return capture_scope(self.session.model, result.of)

    def figure(self, result: Captures) -> Callable[[], Figure]:
        """Return what draws the same for print."""
        assert self.session.model is not None
        k, scope, others = self.k.value, self._scope(result), self.printed_lines()
        title, name = capture_title(self.session.model, k), self.session.model.name

        def draw() -> Figure:
            from gui.panels.capture_figure import capture_figure

            return capture_figure(result, k, title=title, scope=scope, others=others, name=name)

        return draw

    def numbers(self, result: Captures) -> Mapping[str, np.ndarray]:
        """Return the capture at the chosen k by j, and chance."""
        return self.with_others(self.overlay_numbers(result))

    def python(self) -> str:
        """Return a script that prints the capture of every direction."""
        return self.with_other_scripts(self.overlay_python(self.session, self.result))

    # The same of other models.

    def overlay_words(self) -> str:
        """Say whose directions are captured."""
        return f"Captured of {subject_name(self.subject())}"

    def overlay_xy(self, result: Captures) -> Mapping[str, XY]:
        """Return capture by j, by as many directions as there are, if these are fewer than k."""
        values = result.by_rank[self._rank(result) - 1]
        return {"": (np.arange(1.0, len(values) + 1), values)}

    def overlay_said(self, result: Captures) -> str:
        """Say what the caption says of the open model."""
        values, m = self.overlay_xy(result)[""][1], min(EDGE, result.by_rank.shape[1])
        first, last = (format_number(part.mean()) for part in (values[:m], values[-m:]))
        chance = format_number(self._rank(result) / result.d)
        return f"Mean of the first {m}: {first}, of the last {m}: {last}, chance {chance}"

    def overlay_numbers(self, result: Captures) -> dict[str, np.ndarray]:
        """Return the capture by j, and chance."""
        values, k = self.overlay_xy(result)[""][1], self._rank(result)
        return {
            "j": np.arange(1, len(values) + 1),
            "captured": values,
            "chance": np.full(len(values), k / result.d),
        }

    def overlay_python(self, session: Session, result: Captures) -> str:
        """Return a script that prints the capture of every direction."""
        assert session.model is not None
        k = self._rank(result)
        return (
            opening(session.model)
            + f"""from geometry.measures.overlaps import capture
from geometry.models.residual_stream import ResidualStream, Subject

P, other = ResidualStream(model).pair(Subject("P"), {written(result.of)})
captured = capture(P, other, rank={k})
print(captured)
print("chance", {k} / P.vectors.shape[1])
"""
        )

    def _rank(self, result: Captures) -> int:
        return min(self.k.value, len(result.by_rank))
