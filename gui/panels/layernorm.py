"""The LayerNorm panel: how far token and position can be told apart in its denominator."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHBoxLayout, QWidget

from gui.panels.figure_text import layernorm_scope
from gui.panels.layernorm_question import Errors, LayerNormOf, LayerNorms
from gui.panels.position_rows import Column, Row
from gui.panels.position_table import PositionTable
from gui.panels.result_panel import ResultPanel
from gui.panels.segmented import Segmented
from gui.session import Session
from gui.snippets import opening
from gui.theme import GRID, Theme, format_count, format_number

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from gui.panels.curve_plot import CurvePlot

COLUMNS = (
    Column("Token", "The tokens most like a position; blanks are made visible", left=True),
    Column("Position", "The stored position that it is most like", 8 * GRID),
    Column("|cos|", "Cosine of the two rows as they are stored, its sign left out", 7 * GRID),
)


class LayerNormPanel(ResultPanel):
    """Errors of two simpler LayerNorms by position, and how orthogonal tokens and positions are."""

    slot = "layernorm"
    formula = "‖E + p‖² ≈ ‖E‖² + ‖p‖²"
    meaning = "LayerNorm taken apart"
    explanation = (
        "LayerNorm divides token plus position by its norm; the orthogonal version divides by "
        "√(‖E‖² + ‖p‖²) and the one of constant norm by √(‖E‖² + c²), c the mean ‖p‖ of the range. "
        "Shown are ‖approximate − exact‖ / ‖exact‖ by position over a sample of tokens, and |cos| "
        "of all tokens with all positions, which is why it is small."
    )
    empty = "Open a model to see how far LayerNorm keeps its tokens and positions apart."
    instead = "Norms shows how stable the positions’ norms are."

    def __init__(self, session: Session, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(session, theme, parent)
        self.errors: CurvePlot
        self.cosines: CurvePlot
        self.version = Segmented(
            (
                ("orthogonal", "Orthogonal", "Errors of the denominator √(‖E‖² + ‖p‖²)"),
                ("constant_norm", "Constant norm", "Errors of the denominator √(‖E‖² + c²)"),
            ),
            "Version of LayerNorm",
        )
        self.version.chosen.connect(self._on_version_changed)
        self.header.add(self.version)
        # All tokens with all positions take a moment: they wait for the end of a drag.
        for signal in (session.events.positions, session.events.dragging):
            self.listen(signal, self._ask_when_still)
        self.listen(session.events.hover, self._on_hover_changed)
        self.listen(session.events.selection, self._on_hover_changed)

    def question(self) -> LayerNormOf:
        """Ask for the shown range."""
        return LayerNormOf(self.session.positions)

    def configure(self, **options: Any) -> None:
        """Show ``version``, "orthogonal" or "constant_norm"."""
        self.version.show_value(options.pop("version", self.version.value()))
        self._on_version_changed()
        super().configure(**options)

    def build(self) -> QWidget:
        """Make both plots and the table of tokens."""
        from gui.panels.curve_plot import CurvePlot

        self.errors = CurvePlot(self.theme, "position", "relative error", whole_x=True)
        self.errors.setAccessibleName("Error by position")
        self.errors.pointHovered.connect(self._on_error_hovered)
        self.errors.pointClicked.connect(self._on_error_clicked)
        self.cosines = CurvePlot(self.theme, "|cos(Eₜ, Pᵢ)|", "share of pairs", log_y=True)
        self.cosines.setAccessibleName("Cosines of tokens with positions")
        self.cosines.pointHovered.connect(self._on_cosine_hovered)
        self.tokens = PositionTable(COLUMNS, "Click to select position {position}", scrolls_from=3)
        self.tokens.setAccessibleName("Tokens most like a position")
        self.tokens.hovered.connect(self.hoverRequested)
        self.tokens.chosen.connect(lambda position, _: self.selectionRequested.emit((position,)))
        content = QWidget()
        row = QHBoxLayout(content)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(GRID)
        row.addWidget(self.errors, 3)
        row.addWidget(self.cosines, 3)
        row.addWidget(self.tokens, 3, Qt.AlignmentFlag.AlignTop)
        return content

    def show_result(self, result: LayerNorms) -> None:
        """Draw both plots and list the tokens."""
        self._draw_errors()
        self._draw_cosines()
        self.tokens.set_rows(
            Row(one.position, (one.text, str(one.position), format_number(one.cosine)))
            for one in result.most_alike
        )
        self._on_hover_changed()

    def _on_version_changed(self) -> None:
        self._draw_errors()
        self._on_hover_changed()
        self.show_caption()

    def _draw_errors(self) -> None:
        result = self.result
        if result is None:
            return
        from gui.panels.curve_plot import PlotCurve

        first, last = result.positions
        at, found = np.arange(first, last + 1.0), self._found(result)
        self.errors.set_curves(
            [
                PlotCurve(at, found.p95, self.theme.muted, "dashed"),
                PlotCurve(at, found.median, self.theme.text),
            ],
            y=(0.0, 1.05 * float(found.p95.max()) or 1.0),
        )

    def _draw_cosines(self) -> None:
        from gui.panels.curve_plot import PlotCurve

        counts = self.result.histogram
        shares, bins = counts / counts.sum(), len(counts)
        centres = (np.arange(bins) + 0.5) / bins
        last = int(np.flatnonzero(counts)[-1]) + 1
        self.cosines.set_curves([PlotCurve(centres[:last], shares[:last], self.theme.text)])

    def _found(self, result: LayerNorms) -> Errors:
        return result.orthogonal if self.version.value() == "orthogonal" else result.constant_norm

    # Brushing.

    def _on_error_hovered(self, point: tuple[int, int] | None) -> None:
        self.hoverRequested.emit(None if point is None else self.result.positions[0] + point[1])

    def _on_error_clicked(self, curve: int, index: int, modifiers: object) -> None:
        self.selectionRequested.emit((self.result.positions[0] + index,))

    def _on_cosine_hovered(self, point: tuple[int, int] | None) -> None:
        if point is None:
            self.cosines.set_hover(None)
            return
        counts, at = self.result.histogram, point[1]
        span = f"{format_number(at / len(counts))} to {format_number((at + 1) / len(counts))}"
        self.cosines.set_hover(point, f"|cos| {span} · {format_count(int(counts[at]))} pairs")

    def _on_hover_changed(self) -> None:
        if self.result is None:
            return
        hover, (first, last) = self.session.hover, self.result.positions
        self.tokens.set_tints(hover, self.session.selection, self.theme)
        if hover is None or not first <= hover <= last:
            self.errors.set_hover(None)
            return
        found, at = self._found(self.result), hover - first
        self.errors.set_hover(
            (1, at),
            f"{hover}: {format_number(found.median[at])}, "
            f"95 % below {format_number(found.p95[at])}",
        )

    def set_theme(self, theme: Theme) -> None:
        """Take new colours."""
        super().set_theme(theme)
        if self.content is not None and self.result is not None:
            self.errors.set_theme(theme)
            self.cosines.set_theme(theme)
            self.show_result(self.result)

    # What it says, and what can be taken away.

    def caption(self, result: LayerNorms) -> str:
        """Name the scope, the version, its median and 95th percentile."""
        median, p95 = self._found(result).overall
        name = "orthogonal" if self.version.value() == "orthogonal" else "constant norm"
        return (
            f"{self._scope(result)} · {name}: median {format_number(median)}, "
            f"95 % below {format_number(p95)}"
        )

    def figure(self, result: LayerNorms) -> Callable[[], Figure]:
        """Draw both versions and the histogram."""
        title = self._scope(result)

        def draw() -> Figure:
            from gui.panels.layernorm_figure import layernorm_figure

            return layernorm_figure(result, title)

        return draw

    def numbers(self, result: LayerNorms) -> Mapping[str, np.ndarray]:
        """Return errors by position, the histogram, and the tokens."""
        first, last = result.positions
        bins = len(result.histogram)
        return {
            "position": np.arange(first, last + 1),
            "orthogonal_median": result.orthogonal.median,
            "orthogonal_p95": result.orthogonal.p95,
            "constant_norm_median": result.constant_norm.median,
            "constant_norm_p95": result.constant_norm.p95,
            "cosine_from": np.arange(bins) / bins,
            "pairs": result.histogram,
            "token": np.array([one.token for one in result.most_alike]),
            "token_text": np.array([one.text for one in result.most_alike]),
            "token_position": np.array([one.position for one in result.most_alike]),
            "token_cosine": np.array([one.cosine for one in result.most_alike]),
        }

    def python(self) -> str:
        """Return a script that prints the errors and the most position-like tokens."""
        assert self.session.model is not None
        return (
            opening(self.session.model)
            + f"""import numpy as np

from geometry.measurements import Measurements, Scope

measured = Measurements(model, Scope(positions={self.session.positions}))
for errors in (measured.layernorm.orthogonal, measured.layernorm.constant_norm):
    print(*np.percentile(errors, (50, 95)))
for one in measured.cosines.most_alike():
    print(one.token, one.position, one.value)
"""
        )

    def _ask_when_still(self) -> None:
        if not self.session.dragging:
            self.ask()

    def _scope(self, result: LayerNorms) -> str:
        assert self.session.model is not None
        return layernorm_scope(self.session.model, result.positions, result.n_tokens)
