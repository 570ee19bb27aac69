"""One heatmap of overlaps with its colour bar; and the colours that all views share."""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import QPoint, QPointF, QRectF, Qt
from PySide6.QtWidgets import QHBoxLayout, QWidget

from gui.panels.overlaps_look import Levels, Look
from gui.panels.overlaps_question import Overlap
from gui.panels.overlaps_text import TIMES
from gui.plots.color_bar import ColorBar
from gui.plots.heatmap import Heatmap
from gui.style.theme import Theme, format_level, format_number

BAR_LEAST, BAR_ENDS = 64, 10
"""Pixels: the least height of the colour bar, and of it what lies beyond its ends."""
GESTURES = "Hover shows the value. Wheel zooms, drag pans, double-click or F shows everything."


class OverlapMap(Heatmap):
    """A heatmap whose rows and columns are directions, numbered from 1."""

    _over: QWidget | None = None

    def label_over(self, widget: QWidget) -> None:
        """Let the hover's words take the room of a widget around: cells may have little."""
        self._label.setParent(widget)
        self._over = widget

    def _place_label(self) -> None:
        if self._over is None:
            super()._place_label()
            return
        row, column = self._at
        (x0, x1), (y0, y1) = self.view.spans()
        seen = self._said and x0 <= column <= x1 and y0 <= row <= y1
        corner = QPointF(self.viewport().mapTo(self._over, QPoint()))
        point = corner + self.point_of(row, column) if seen else None
        self._label.say(self._said, point, QRectF(self._over.rect()))
        self._label.raise_()

    def tooltip_at(self, point: QPointF) -> str:
        """Return the gestures, beside the cells."""
        return "" if self.holds(point) else GESTURES


class OverlapView(QWidget):
    """Two matrices' overlaps, square cells, the strongest directions in the top left corner.

    Parameters
    ----------
    theme
        Colours.
    bar
        The colour bar, which the owner answers.
    """

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.heatmap = OverlapMap(theme, "direction j", "direction i")
        self.heatmap.setAccessibleName("Squared overlaps of two matrices")
        self.bar = ColorBar(theme, "squared overlap")
        self._overlap: Overlap | None = None
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.addWidget(self.heatmap, 1)
        row.addWidget(self.bar, 0, Qt.AlignmentFlag.AlignTop)
        row.addStretch(0)
        self.heatmap.label_over(self)
        self.heatmap.cellHovered.connect(self._on_hovered)
        self.heatmap.view.sigResized.connect(self._on_fitted)

    def show_overlap(
        self, overlap: Overlap, picture: np.ndarray, look: Look, levels: Levels, home: Levels
    ) -> None:
        """Draw a result.

        Parameters
        ----------
        overlap, picture
            The numbers, and what of them is drawn, perhaps blurred.
        look, levels, home
            Colours; the values at their two ends, and what those were at first.
        """
        if overlap is not self._overlap:
            self._overlap = overlap
            self._name_axes()
            self.heatmap.set_hover(None, None)
        self.heatmap.set_image(picture, (1, 1))
        self.heatmap.set_colors(look.colormap, levels, log=look.log)
        self.bar.show_scale(look.colormap, levels, home, log=look.log)

    def set_theme(self, theme: Theme) -> None:
        """Take new colours."""
        self.heatmap.set_theme(theme)
        self.bar.set_theme(theme)

    def _on_fitted(self, *_: object) -> None:
        # Where the cells' square is lower than the panel, the bar ends with it.
        self.bar.setFixedHeight(max(BAR_LEAST, round(self.heatmap.view.height()) + BAR_ENDS))

    def _name_axes(self) -> None:
        assert self._overlap is not None
        heatmap = self.heatmap
        for axis, title in (
            (heatmap.x_axis, f"{self._overlap.columns.name} direction j"),
            (heatmap.y_axis, f"{self._overlap.rows.name} direction i"),
        ):
            if axis.title != title:
                axis.set_title(title, heatmap.theme)

    def _on_hovered(self, cell: tuple[int, int] | None) -> None:
        if cell is None or self._overlap is None:
            self.heatmap.set_hover(None, None)
        else:
            self.heatmap.set_hover(*cell, cell_text(self._overlap, *cell))


def cell_text(overlap: Overlap, i: int, j: int) -> str:
    """Say what a cell holds; i and j count from 1, the strongest direction."""
    value = float(overlap.values[i - 1, j - 1])
    times = value / overlap.contrast.chance
    shown = format_number(times, 1) if times >= 0.1 else format_level(times)
    return f"i {i} · j {j} · {format_level(value)} · {shown} {TIMES} chance"
