"""The similarity panel: the cosine of every pair of positions, and its mean by lag."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHBoxLayout, QWidget

from geometry.similarity import Similarity
from gui.panels.color_bar import ColorBar
from gui.panels.figure_text import similarity_scope, similarity_title
from gui.panels.result_panel import ResultPanel
from gui.panels.segmented import Segmented
from gui.panels.similarity_question import LEVELS, SimilarityOf
from gui.session import Session
from gui.snippets import opening
from gui.theme import DIVERGING, GRID, Theme, format_number

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from gui.panels.heatmap import Heatmap
    from gui.panels.line_plot import LinePlot

LAGS = (1, 100, 300)
"""Those that the caption tells."""


class SimilarityPanel(ResultPanel):
    """A heatmap of cosines, and beside it their mean by lag."""

    slot = "similarity"
    formula = "cos(Pᵢ, Pⱼ)"
    meaning = "similarity of positions"
    explanation = (
        "The cosine of the angle between the rows of every two positions of the range, and beside "
        "it the mean over all pairs that are Δ apart. What is still periodic after the rows are "
        "projected on the shown components, the helix explains."
    )
    empty = "Open a model to see how similar every two of its positions are."

    def __init__(self, session: Session, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(session, theme, parent)
        self.heatmap: Heatmap
        self.lags: LinePlot
        self._levels = LEVELS
        self._cell: tuple[int, int] | None = None
        self.rows = Segmented(
            (
                ("raw", "Raw rows", "Rows as they are stored"),
                (
                    "projected",
                    "Projected",
                    "Rows projected on the shown components: the range's mean and these alone",
                ),
            ),
            "Rows",
        )
        self.header.add(self.rows)
        self.rows.chosen.connect(self.ask)
        events = session.events
        self.listen_calmly(events.positions, self.ask)
        self.listen(events.components, self.ask)
        self.listen(events.hover, self._on_hover_changed)
        self.listen(events.selection, self._on_selection_changed)
        self.listen(events.tokens, self._on_hover_changed)

    # What it asks.

    def question(self) -> SimilarityOf:
        """Ask for the shown range."""
        projected = self.rows.value() == "projected"
        components = tuple(sorted(set(self.session.components))) if projected else None
        return SimilarityOf(self.session.positions, components)

    def configure(self, **options: Any) -> None:
        """Show ``rows``, "raw" or "projected"."""
        self.rows.show_value(options.pop("rows", self.rows.value()))
        self.ask()
        super().configure(**options)

    # What it shows.

    def build(self) -> QWidget:
        """Make the heatmap, its colour bar and the plot beside it."""
        from gui.panels.heatmap import Heatmap
        from gui.panels.line_plot import LinePlot

        self.heatmap = Heatmap(self.theme, "position j", "position i")
        self.heatmap.setAccessibleName("Cosine of every two positions")
        self.heatmap.cellHovered.connect(self._on_cell_hovered)
        self.heatmap.cellClicked.connect(self._on_cell_clicked)
        self.bar = ColorBar(self.theme, "Cosine")
        self.bar.levelsRequested.connect(self._set_levels)
        self.lags = LinePlot(self.theme, "lag Δ (positions)", "mean cosine")
        self.lags.setAccessibleName("Mean cosine by lag")
        self.lags.setContextMenuPolicy(Qt.ContextMenuPolicy.NoContextMenu)
        self.lags.hovered.connect(self._on_lag_hovered)
        content = QWidget()
        row = QHBoxLayout(content)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(0)
        row.addWidget(self.heatmap, 3)
        row.addWidget(self.bar)
        row.addSpacing(GRID)
        row.addWidget(self.lags, 2)
        return content

    def show_result(self, result: Similarity) -> None:
        """Draw both."""
        first = result.positions[0]
        self._color()
        self.heatmap.set_image(result.cosines, (first, first))
        low = min(0.0, float(result.by_lag.min()))
        margin = 0.04 * (1.0 - low)
        self.lags.set_values(result.by_lag, (low - margin, 1.0 + margin))
        self._on_selection_changed()
        self._on_hover_changed()

    def _color(self) -> None:
        colormap = DIVERGING[self.theme.name]
        self.heatmap.set_colors(colormap, self._levels)
        self.bar.show_scale(colormap, self._levels, LEVELS)

    def _set_levels(self, low: float, high: float) -> None:
        self._levels = max(low, -1.0), min(high, 1.0)
        self._color()

    # Brushing.

    def _on_cell_hovered(self, cell: tuple[int, int] | None) -> None:
        self._cell = cell
        hover = None if cell is None else cell[1]
        if hover != self.session.hover:
            self.hoverRequested.emit(hover)
        self._on_hover_changed()

    def _on_hover_changed(self) -> None:
        if self.result is None:
            return
        position, cell = self.session.hover, self._cell
        first, last = self.result.positions
        if cell is not None and cell[1] == position:
            self.heatmap.set_hover(*cell, self._described(*cell))
            self._show_lag(abs(cell[0] - cell[1]))
        elif position is not None and first <= position <= last:
            self.heatmap.set_hover(position, position)
            self.lags.set_hover(None)
        else:
            self.heatmap.set_hover(None, None)
            self.lags.set_hover(None)

    def _on_lag_hovered(self, lag: int | None) -> None:
        if lag is None:
            self.lags.set_hover(None)
        else:
            self._show_lag(lag)

    def _show_lag(self, lag: int) -> None:
        value = format_number(self.result.by_lag[lag])
        self.lags.set_hover(lag, f"Δ = {lag} · mean cosine {value}")

    def _described(self, i: int, j: int) -> str:
        value = format_number(self.heatmap.value_at(i, j))
        names = []
        for position in (i, j):
            token = self.session.token_at(position)
            names.append(f"{position}" if token is None else f"{position} {token!r}")
        return f"{names[0]} and {names[1]}\ncosine {value} · Δ = {j - i}"

    def _on_cell_clicked(self, i: int, j: int, modifiers: Qt.KeyboardModifier) -> None:
        before = self.session.selection if modifiers & Qt.KeyboardModifier.ShiftModifier else ()
        self.selectionRequested.emit((*before, i, j))

    def _on_selection_changed(self) -> None:
        if self.result is not None:
            first, last = self.result.positions
            inside = [p for p in self.session.selection if first <= p <= last]
            self.heatmap.set_selected(inside, inside)

    def set_theme(self, theme: Theme) -> None:
        """Take new colours."""
        super().set_theme(theme)
        if self.content is not None:
            for part in (self.heatmap, self.bar, self.lags):
                part.set_theme(theme)
            self._color()

    # What it says, and what can be taken away.

    def caption(self, result: Similarity) -> str:
        """Name the scope, and the mean cosine at some lags."""
        assert self.session.model is not None
        told = [lag for lag in LAGS if lag < len(result.by_lag)]
        means = ", ".join(f"Δ {lag}: {format_number(result.by_lag[lag])}" for lag in told)
        lags = f" · mean cosine at {means}" if told else ""
        return f"{self.session.model.name} · {self._scope(result)}{lags}"

    def _scope(self, result: Similarity) -> str:
        return similarity_scope(result.positions, self.answered.components)

    def figure(self, result: Similarity) -> Callable[[], Figure]:
        """Return what draws both for print."""
        assert self.session.model is not None
        levels, scope = self._levels, self._scope(result)
        title = similarity_title(self.session.model)

        def draw() -> Figure:
            from gui.panels.similarity_figure import similarity_figure

            return similarity_figure(result, DIVERGING["light"], levels, title=title, scope=scope)

        return draw

    def numbers(self, result: Similarity) -> Mapping[str, np.ndarray]:
        """Return positions, the mean by lag, and the matrix."""
        first, last = result.positions
        return {
            "position": np.arange(first, last + 1),
            "lag": np.arange(len(result.by_lag)),
            "mean_cosine_at_lag": result.by_lag,
            "cosine": result.cosines,
        }

    def python(self) -> str:
        """Return a script that prints the mean cosine by lag."""
        assert self.session.model is not None
        positions, components = self.result.positions, self.answered.components
        fit = "similarity(model.W_pos, positions)"
        imports, prepare = "", ""
        if components is not None:
            imports = "from geometry.pca import fit_pca\n"
            rows = [component - 1 for component in components]
            prepare = (
                f"pca = fit_pca(model.W_pos, positions, {max(components)})\n"
                f"pca = dataclasses.replace(pca, components=pca.components[{rows}])\n"
            )
            fit = "similarity(model.W_pos, positions, pca)"
        return (
            ("import dataclasses\n\n" if components is not None else "")
            + opening(self.session.model)
            + imports
            + f"""from geometry.similarity import similarity

positions = {positions}
{prepare}found = {fit}
print(found.cosines.shape)
print(found.by_lag)
"""
        )
