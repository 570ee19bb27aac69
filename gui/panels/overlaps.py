"""The overlaps panel: how far the directions of two matrices coincide."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QBoxLayout, QVBoxLayout, QWidget

from geometry.residual_stream import Subject
from gui.panels.overlaps_controls import OverlapsControls
from gui.panels.overlaps_look import Levels, Pictures, home_levels
from gui.panels.overlaps_question import FigureOf, Overlap, OverlapsOf
from gui.panels.overlaps_text import caption_of, python_of
from gui.panels.result_panel import ResultPanel
from gui.session import Session
from gui.theme import GRID, Theme

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from gui.panels.overlap_view import OverlapView

AROUND = (148, 36)
"""Pixels that axes and colour bar take of the width and of the height."""


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
        """Show two matrices: ``rows`` and ``columns``, each a Subject."""
        rows: Subject = options.pop("rows", self.controls.rows.subject)
        columns: Subject = options.pop("columns", self.controls.columns.subject)
        super().configure(**options)
        self.controls.show_pair(rows, columns)
        self.ask()

    def _on_model_changed(self) -> None:
        # Before the base asks: another model may have fewer layers and heads.
        self.controls.show_model(self.session.model, self.theme)
        self._pictures.forget()
        self._levels = None
        super()._on_model_changed()

    # What it shows.

    def build(self) -> QWidget:
        """Make the heatmap."""
        from gui.panels.overlap_view import OverlapView

        self.heatmap = OverlapView(self.theme)
        self.heatmap.bar.levelsRequested.connect(self._set_levels)
        return self.heatmap

    def show_result(self, result: Overlap) -> None:
        """Draw it."""
        self._draw(result)

    def _draw(self, result: Overlap) -> None:
        look = self.controls.look()
        picture = self._pictures.of(result, look.blur)
        self._home = home_levels([picture], result.contrast.chance, log=look.log)
        levels = self._levels or self._home
        self.heatmap.show_overlap(result, picture, look, levels, self._home)

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

    # What can be taken away.

    def caption(self, result: Overlap) -> str:
        """Name both matrices, and the corners."""
        assert self.session.model is not None
        return caption_of(self.session.model, result, self.controls.look().blur)

    def figure(self, result: Overlap) -> Callable[[], Figure]:
        """Draw the same for print."""
        from gui.panels.overlaps_figure import draw_overlap

        look, levels = self.controls.look(), self._levels
        caption = self.caption(result)
        return lambda: draw_overlap(result, look, levels, caption)

    def numbers(self, result: Overlap) -> Mapping[str, np.ndarray]:
        """Return the overlaps themselves, never blurred."""
        return {"overlap": result.values}

    def python(self) -> str:
        """Return a script that prints the corners."""
        assert self.session.model is not None
        return python_of(self.session.model, [(self.result.rows, self.result.columns)])

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
        """Put the controls beside or above, where more is left for square cells."""
        taken = self.controls.sizeHint()
        width = event.size().width() - 2 * GRID
        height = event.size().height() - self.header.sizeHint().height() - 2 * GRID
        beside = min(width - taken.width() - AROUND[0], height - AROUND[1])
        above = min(width - AROUND[0], height - taken.height() - AROUND[1])
        directions = QBoxLayout.Direction
        way = directions.LeftToRight if beside >= above else directions.TopToBottom
        if self._body.direction() is not way:
            self._body.setDirection(way)
        super().resizeEvent(event)
