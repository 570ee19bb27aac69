"""Marks over a heatmap: hovered and selected rows and columns."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from PySide6.QtCore import QLineF, QRectF
from PySide6.QtGui import QColor, QPainter, QPen
from PySide6.QtWidgets import QGraphicsItem, QStyleOptionGraphicsItem, QWidget

from gui.plots.plot_view import PlotView
from gui.style.theme import Theme

TICK = 6
"""Length of a selection tick at the edge, in pixels."""


class HeatmapMarks(QGraphicsItem):
    """Lines through the hovered and the current cell, and ticks at all selected ones.

    Coordinates are pixels of the view.
    """

    def __init__(self, theme: Theme, view: PlotView) -> None:
        super().__init__()
        self._theme, self._view = theme, view
        self._hover: tuple[int | None, int | None] = (None, None)
        self._rows = np.zeros(0)
        self._columns = np.zeros(0)
        self._tile: tuple[int, int] | None = None
        self.setZValue(10)

    def set_hover(self, row: int | None, column: int | None) -> None:
        """Show a row and a column as hovered; None for none."""
        if (row, column) != self._hover:
            self._hover = row, column
            self.update()

    def set_selected(self, rows: Sequence[int], columns: Sequence[int]) -> None:
        """Show rows and columns as selected."""
        self._rows, self._columns = np.asarray(rows, float), np.asarray(columns, float)
        self.update()

    def set_tile(self, tile: tuple[int, int] | None) -> None:
        """Set the size of tiles, which are then framed instead of marking rows and columns."""
        if tile != self._tile:
            self._tile = tile
            self.update()

    def set_theme(self, theme: Theme) -> None:
        """Set the colours."""
        self._theme = theme
        self.update()

    def boundingRect(self) -> QRectF:
        return self._view.rect()

    def paint(
        self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None
    ) -> None:
        area = self._view.rect()
        painter.setClipRect(area)
        accent, hover = QColor(self._theme.accent), QColor(self._theme.hover)
        if self._tile is not None:
            self._paint_tiles(painter, self._tile, accent, hover)
            return
        across, down = self._place(self._columns, 0), self._place(self._rows, 1)
        # With a halo, as a map may have colours like the accent.
        for color, wider in ((QColor(self._theme.viewport), 2), (accent, 0)):
            painter.setPen(QPen(color, 2 + wider))
            painter.drawLines([QLineF(x, area.top(), x, area.top() + TICK) for x in across])
            painter.drawLines([QLineF(area.left(), y, area.left() + TICK, y) for y in down])
            painter.setPen(QPen(color, 1 + wider))
            self._lines(painter, down[-1:], across[-1:], area)
        painter.setPen(QPen(hover, 1))
        row, column = (np.zeros(0) if at is None else np.array([float(at)]) for at in self._hover)
        self._lines(painter, self._place(row, 1), self._place(column, 0), area)

    def _paint_tiles(
        self, painter: QPainter, tile: tuple[int, int], accent: QColor, hover: QColor
    ) -> None:
        """Frame the tiles of the selected cells, the last one wider, and of the hovered cell."""
        frames = self._frames(self._rows, self._columns, tile)
        for color, wider in ((QColor(self._theme.viewport), 2), (accent, 0)):
            painter.setPen(QPen(color, 1 + wider))
            painter.drawRects(frames[:-1])
            painter.setPen(QPen(color, 2 + wider))
            painter.drawRects(frames[-1:])
        at_row, at_column = self._hover
        if at_row is not None and at_column is not None:
            painter.setPen(QPen(hover, 2))
            row, column = np.array([float(at_row)]), np.array([float(at_column)])
            painter.drawRects(self._frames(row, column, tile))

    def _frames(self, rows: np.ndarray, columns: np.ndarray, tile: tuple[int, int]) -> list[QRectF]:
        """Return the rectangles of the tiles that contain cells, in pixels."""
        top, left = tile[0] * (rows // tile[0]) - 0.5, tile[1] * (columns // tile[1]) - 0.5
        y0, y1 = self._place(top, 1), self._place(top + tile[0], 1)
        x0, x1 = self._place(left, 0), self._place(left + tile[1], 0)
        return [QRectF(*frame) for frame in zip(x0, y0, x1 - x0, y1 - y0, strict=True)]

    def _lines(
        self, painter: QPainter, rows: np.ndarray, columns: np.ndarray, area: QRectF
    ) -> None:
        painter.drawLines([QLineF(area.left(), y, area.right(), y) for y in rows])
        painter.drawLines([QLineF(x, area.top(), x, area.bottom()) for x in columns])

    def _place(self, values: np.ndarray, axis: int) -> np.ndarray:
        """Return pixels of columns (axis 0) or rows (axis 1)."""
        area, (low, high) = self._view.rect(), self._view.spans()[axis]
        begin, size = (area.left(), area.width()) if axis == 0 else (area.top(), area.height())
        pixels: np.ndarray = begin + (values - low) / (high - low) * size
        return pixels
