"""The overlaps panel: how far the directions of two matrices coincide."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QBoxLayout, QStackedWidget, QVBoxLayout, QWidget

from gui.panels.options import subject_of
from gui.panels.overlaps_controls import OverlapsControls
from gui.panels.overlaps_look import Levels, Look, Pictures, arrange
from gui.panels.overlaps_question import FigureOf, Overlap, OverlapFigure, OverlapsOf
from gui.panels.overlaps_text import caption_of, figure_caption, python_of
from gui.panels.result_panel import ResultPanel
from gui.state.session import Session
from gui.style.theme import GRID, Theme
from gui.widgets.segmented import Segmented

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from gui.panels.overlap_grid import FigureView
    from gui.panels.overlap_view import OverlapView

VIEWS = (
    ("pair", "Pair", "Any two matrices"),
    ("attention", "Attention figure", "The article's eight panels: W_Q, W_K, W_V and W_O with P and"
     " E"),
    ("mlp", "MLP figure", "The article's two panels: the MLP's fan-out with E and P"),
)  # fmt: skip
Shown = Overlap | OverlapFigure

AROUND = (148, 36)
"""Pixels that axes and colour bar take of the width and of the height."""
BAR = 80
"""Pixels that the colour bar of a figure takes."""


class OverlapsPanel(ResultPanel):
    """Squared overlaps of any two matrices, and the article's figures of them."""

    slot = "overlaps"
    formula = "(uᵢ·vⱼ)²"
    meaning = "squared overlaps"
    explanation = (
        "uᵢ and vⱼ are the singular directions of two matrices, the strongest first: (uᵢ·vⱼ)² is 1"
        " where two coincide, 0 where they are orthogonal, and 1/d by chance. TL, TR, BL and BR are"
        " the means of the corners of 30 × 30 over chance, strong directions being top and left."
    )
    empty = "Open a model to see how far the directions of its matrices coincide."

    def __init__(self, session: Session, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(session, theme, parent)
        self.heatmap: OverlapView
        self.grid: FigureView
        self.views = Segmented(VIEWS, "What is compared")
        self.header.add(self.views)
        self.views.chosen.connect(self._on_view_chosen)
        self._pictures = Pictures()
        self._levels: Levels | None = None
        self._home: Levels = (0.0, 1.0)
        self._log = False
        self.controls = OverlapsControls()
        self.controls.asked.connect(self.ask)
        self.controls.lookChanged.connect(self._on_look_changed)
        self._place_controls()
        self.controls.show_model(session.model, theme)

    # What it asks.

    def question(self) -> OverlapsOf | FigureOf:
        """Ask for what the controls say."""
        return self.controls.question()

    def configure(self, **options: Any) -> None:
        """Show two matrices, ``rows`` and ``columns``, each a Subject; or one ``view``.

        The views are "pair", and the article's figures "attention" and "mlp". ``look`` has the
        fields of :class:`Look`.
        """
        chosen = "rows" in options
        rows = subject_of(options.pop("rows", self.controls.rows.subject))
        columns = subject_of(options.pop("columns", self.controls.columns.subject))
        view: str = options.pop("view", "pair")
        look = Look(**{**asdict(self.controls.look()), **options.pop("look", {})})
        super().configure(**options)
        if chosen or view == "pair":
            self.controls.show_pair(rows, columns)
        self.controls.show_look(look)
        self._on_look_changed()
        self.views.show_value(view)
        self._on_view_chosen(view)

    def options(self) -> dict[str, Any]:
        """Return what :meth:`configure` takes."""
        rows, columns = self.controls.pair()
        return {
            "view": self.controls.view,
            "rows": asdict(rows),
            "columns": asdict(columns),
            "look": asdict(self.controls.look()),
        }

    def _on_view_chosen(self, view: str) -> None:
        self.controls.show_view(view)
        self._levels = None
        self._turn()
        self.ask()

    def _on_model_changed(self) -> None:
        # Before the base asks: another model may have fewer layers and heads.
        self.controls.show_model(self.session.model, self.theme)
        self._pictures.forget()
        self._levels = None
        super()._on_model_changed()

    # What it shows.

    def build(self) -> QWidget:
        """Make the heatmap, and the figure's place."""
        from gui.panels.overlap_grid import FigureView
        from gui.panels.overlap_view import OverlapView

        self.heatmap, self.grid = OverlapView(self.theme), FigureView(self.theme)
        self._views = QStackedWidget()
        for view in (self.heatmap, self.grid):
            self._views.addWidget(view)
            view.bar.levelsRequested.connect(self._set_levels)
        self.grid.grid.cellChosen.connect(self._on_cell_chosen)
        return self._views

    def show_result(self, result: Shown) -> None:
        """Draw it."""
        self._views.setCurrentWidget(self.heatmap if isinstance(result, Overlap) else self.grid)
        self._draw(result)

    def _draw(self, result: Shown) -> None:
        look = self.controls.look()
        cells = (result,) if isinstance(result, Overlap) else result.cells
        pictures = [
            self._pictures.of(cell, look.blur) if isinstance(cell, Overlap) else None
            for cell in cells
        ]
        found = tuple(cell for cell in cells if isinstance(cell, Overlap))
        self._home = self._pictures.home_levels(found, look.blur, log=look.log)
        levels = self._levels or self._home
        if isinstance(result, Overlap):
            picture = self._pictures.of(result, look.blur)
            self.heatmap.show_overlap(result, picture, look, levels, self._home)
        else:
            self.grid.grid.show_figure(result, pictures, look, levels)
            self.grid.place_parts()
            self.grid.bar.show_scale(look.colormap, levels, self._home, log=look.log)

    def _on_cell_chosen(self, number: int) -> None:
        cell = self.result.cells[number]
        self.configure(rows=cell.rows, columns=cell.columns)

    def _on_look_changed(self) -> None:
        log = self.controls.look().log
        if log != self._log:
            # Ends that were chosen for the one scale mean nothing on the other.
            self._log, self._levels = log, None
        if self.result is not None:
            self._draw(self.result)
            self.show_caption()

    def _set_levels(self, low: float, high: float) -> None:
        low, high = max(low, 0.0), min(high, 1.0)
        if self.result is not None and low < high:
            self._levels = None if (low, high) == self._home else (low, high)
            self._draw(self.result)

    def set_theme(self, theme: Theme) -> None:
        """Take new colours."""
        super().set_theme(theme)
        self.controls.show_model(self.session.model, theme)
        if self.content is not None:
            self.heatmap.set_theme(theme)
            self.grid.set_theme(theme)

    # What can be taken away.

    def caption(self, result: Shown) -> str:
        """Name what is compared, and the corners."""
        assert self.session.model is not None
        blur = self.controls.look().blur
        if isinstance(result, Overlap):
            return caption_of(self.session.model, result, blur)
        return figure_caption(self.session.model, result, blur)

    def figure(self, result: Shown) -> Callable[[], Figure]:
        """Draw the same for print."""
        look, levels, caption = self.controls.look(), self._levels, self.caption(result)

        def draw() -> Figure:
            from gui.panels.overlaps_figure import draw_figure, draw_overlap

            if isinstance(result, Overlap):
                return draw_overlap(result, look, levels, caption)
            return draw_figure(result, look, levels, caption)

        return draw

    def numbers(self, result: Shown) -> Mapping[str, np.ndarray]:
        """Return the overlaps themselves, never blurred."""
        if isinstance(result, Overlap):
            return {"overlap": result.values}
        return {f"{cell.rows.name}_{cell.columns.name}": cell.values for cell in result.found}

    def python(self) -> str:
        """Return a script that prints the corners."""
        assert self.session.model is not None
        result: Shown = self.result
        cells = (result,) if isinstance(result, Overlap) else result.cells
        return python_of(self.session.model, [(cell.rows, cell.columns) for cell in cells])

    # The parts.

    def _place_controls(self) -> None:
        """Put the controls beside all states: they are how to leave one that is not possible."""
        page = self.layout()
        assert isinstance(page, QVBoxLayout)
        page.removeWidget(self._holder)
        self._body = QBoxLayout(QBoxLayout.Direction.LeftToRight)
        self._body.setSpacing(GRID // 2)
        self._body.addWidget(self.controls)
        self._body.addWidget(self._holder, 1)
        page.addLayout(self._body, 1)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Put the controls beside the cells or above them, where these become larger."""
        self._turn()
        super().resizeEvent(event)

    def _turn(self) -> None:
        taken = self.controls.sizeHint()
        width = self.width() - 2 * GRID
        height = self.height() - self.header.sizeHint().height() - 2 * GRID
        beside = self._cell_size(width - taken.width(), height)
        above = self._cell_size(width, height - taken.height())
        directions = QBoxLayout.Direction
        way = directions.LeftToRight if beside >= above else directions.TopToBottom
        if self._body.direction() is not way:
            self._body.setDirection(way)

    def _cell_size(self, width: int, height: int) -> int:
        if self.controls.view == "pair":
            return min(width - AROUND[0], height - AROUND[1])
        cells = (8, 2) if self.controls.view == "attention" else (2, 2)
        room = (float(width - BAR), float(height))
        return arrange(*cells, room, (2 * GRID, GRID), 2 * GRID)[1]
