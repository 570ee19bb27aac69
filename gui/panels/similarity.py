"""The similarity panel: the cosine of every pair of positions, and its mean by lag."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHBoxLayout, QWidget

from geometry.measures.similarity import Similarity
from gui.panels.figure_text import similarity_scope, similarity_title
from gui.panels.overlay_panel import XY, OverlayPanel
from gui.panels.similarity_question import LEVELS, ByLag, ByLagOf, SimilarityOf
from gui.plots.color_bar import ColorBar
from gui.services.overlay_curves import said_at
from gui.services.snippets import opening
from gui.state.session import Session
from gui.style.theme import DIVERGING, GRID, Theme, format_number
from gui.widgets.segmented import Segmented

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from gui.plots.compared_plot import ComparedPlot
    from gui.plots.heatmap import Heatmap

LAGS = (1, 100, 300)
"""Those that the caption tells."""


class SimilarityPanel(OverlayPanel):
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
        self.lags: ComparedPlot
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
        self.listen_throttled(events.positions, self.ask)
        self.listen(events.components, self.ask)
        self.listen(events.hover, self._on_hover_changed)
        self.listen(events.selection, self._on_selection_changed)
        self.listen(events.tokens, self._on_hover_changed)

    # What it asks.

    def question(self) -> SimilarityOf:
        """Ask for the shown range."""
        return SimilarityOf(self.session.positions, self._components_of(self.session))

    def question_of(self, session: Session) -> ByLagOf:
        """Ask other models for what is drawn of them: not for the cosines of all pairs."""
        return ByLagOf(session.positions, self._components_of(session))

    def _components_of(self, session: Session) -> tuple[int, ...] | None:
        projected = self.rows.value() == "projected"
        return tuple(sorted(set(session.components))) if projected else None

    def configure(self, **options: Any) -> None:
        """Show ``rows``, "raw" or "projected"."""
        self.rows.show_value(options.pop("rows", self.rows.value()))
        self.ask()
        super().configure(**options)

    def options(self) -> dict[str, Any]:
        """Return what :meth:`configure` takes."""
        return {"rows": self.rows.value()}

    # What it shows.

    def build(self) -> QWidget:
        """Make the heatmap, its colour bar and the plot beside it."""
        from gui.plots.compared_plot import ComparedPlot
        from gui.plots.heatmap import Heatmap

        self.heatmap = Heatmap(self.theme, "position j", "position i")
        self.heatmap.setAccessibleName("Cosine of every two positions")
        self.heatmap.cellHovered.connect(self._on_cell_hovered)
        self.heatmap.cellClicked.connect(self._on_cell_clicked)
        self.bar = ColorBar(self.theme, "Cosine")
        self.bar.levelsRequested.connect(self._set_levels)
        self.lags = ComparedPlot(self.theme, "lag Δ (positions)", "mean cosine")
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
        self._draw_lags()
        self._on_selection_changed()
        self._on_hover_changed()

    def _draw_lags(self) -> None:
        from gui.plots.compared_plot import Thin

        others = [Thin(other.y, other.color) for other in self.overlay_lines()]
        own = self.result.by_lag
        low = min(0.0, *(float(values.min()) for values in (own, *(o.values for o in others))))
        margin = 0.04 * (1.0 - low)
        self.lags.set_compared(own, (low - margin, 1.0 + margin), others)

    def redraw(self) -> None:
        """Draw the lags anew, and what is said of the one under the mouse."""
        self._draw_lags()
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
        parts = [f"Δ = {lag}", f"mean cosine {format_number(self.result.by_lag[lag])}"]
        parts += said_at(lag, self.overlay_lines())
        self.lags.set_hover(lag, " · ".join(parts))

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
            if self.result is not None:
                self._draw_lags()

    # What it says, and what can be taken away.

    def caption(self, result: Similarity) -> str:
        """Name the scope, and the mean cosine at some lags."""
        assert self.session.model is not None
        means = _means(result.by_lag)
        lags = f" · mean cosine at {means}" if means else ""
        return f"{self.session.model.name} · {self._scope(result)}{lags}"

    def _scope(self, result: Similarity) -> str:
        return similarity_scope(result.positions, self.answered.components)

    def figure(self, result: Similarity) -> Callable[[], Figure]:
        """Return what draws both for print."""
        assert self.session.model is not None
        levels, scope, others = self._levels, self._scope(result), self.printed_lines()
        title, name = similarity_title(self.session.model), self.session.model.name

        def draw() -> Figure:
            from gui.panels.similarity_figure import similarity_figure

            return similarity_figure(
                result, DIVERGING["light"], levels,
                title=title, scope=scope, others=others, name=name,
            )  # fmt: skip

        return draw

    def numbers(self, result: Similarity) -> Mapping[str, np.ndarray]:
        """Return positions, the mean by lag, and the matrix."""
        first, last = result.positions
        return self.with_others(
            {
                "position": np.arange(first, last + 1),
                **_by_lag(result.by_lag),
                "cosine": result.cosines,
            }
        )

    def python(self) -> str:
        """Return a script that prints the mean cosine by lag."""
        return self.with_other_scripts(self._script(self.session, self.answered))

    # The same of other models.

    def overlay_words(self) -> str:
        """Say what is drawn beside the heatmap."""
        return "Mean cosine by lag"

    def overlay_xy(self, result: ByLag) -> Mapping[str, XY]:
        """Return the mean by lag."""
        return {"": (np.arange(len(result.by_lag)), result.by_lag)}

    def overlay_said(self, result: ByLag) -> str:
        """Say what the caption says of the open model."""
        means = _means(result.by_lag)
        return f"Mean cosine at {means}" if means else ""

    def overlay_numbers(self, result: ByLag) -> Mapping[str, np.ndarray]:
        """Return the mean by lag."""
        return _by_lag(result.by_lag)

    def overlay_python(self, session: Session, result: ByLag) -> str:
        """Return a script that prints the mean cosine by lag."""
        return self._script(session, result)

    def _script(self, session: Session, rows: SimilarityOf | ByLag) -> str:
        assert session.model is not None
        positions, components = rows.positions, rows.components
        fit = "similarity(model.W_pos, positions)"
        imports, prepare = "", ""
        if components is not None:
            imports = "from geometry.pca.pca import fit_pca\n"
            kept = [component - 1 for component in components]
            prepare = (
                f"pca = fit_pca(model.W_pos, positions, {max(components)})\n"
                f"pca = dataclasses.replace(pca, components=pca.components[{kept}])\n"
            )
            fit = "similarity(model.W_pos, positions, pca)"
        return (
            ("import dataclasses\n\n" if components is not None else "")
            + opening(session.model)
            + imports
            + f"""from geometry.measures.similarity import similarity

positions = {positions}
{prepare}found = {fit}
print(found.cosines.shape)
print(found.by_lag)
"""
        )


def _means(by_lag: np.ndarray) -> str:
    told = [lag for lag in LAGS if lag < len(by_lag)]
    return ", ".join(f"Δ {lag}: {format_number(by_lag[lag])}" for lag in told)


def _by_lag(by_lag: np.ndarray) -> dict[str, np.ndarray]:
    return {"lag": np.arange(len(by_lag)), "mean_cosine_at_lag": by_lag}
