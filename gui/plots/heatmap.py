"""A matrix as an image with square cells: hover, selection, zoom, and a colour range.

The first row is at the top. Imports pyqtgraph; see :mod:`gui.plots.plot`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from PySide6.QtCore import QPoint, QPointF, QRectF, Qt, Signal
from PySide6.QtGui import QKeyEvent, QResizeEvent, QWheelEvent
from PySide6.QtWidgets import QWidget

from gui.plots.heatmap_marks import HeatmapMarks
from gui.plots.hover_label import HoverLabel
from gui.plots.matrix_image import MatrixImage
from gui.plots.plot import WHEEL_STEP, PlotWidget
from gui.state.colors import lookup_table
from gui.style.theme import Theme

SMALLEST_SPAN = 8.0
"""Minimum number of visible cells along each side."""
MARGINS = (0, 4, 16, 0)
"""Margins around the axes in pixels; enlarged where necessary for square cells."""
ZOOMING = "Wheel zooms, drag pans, double-click or F shows everything."


class Heatmap(PlotWidget):
    """``values[i, j]`` with i down and j across.

    Parameters
    ----------
    x_title, y_title
        What the columns and the rows are.
    selects
        Whether clicks select positions.
    """

    cellHovered = Signal(object)
    """The cell under the mouse, (row, column) by their numbers on the axes, or None."""
    cellClicked = Signal(int, int, object)
    """Row and column of a clicked cell, and the keyboard modifiers held."""
    _built = False
    """Qt resizes the widget during the base class's constructor."""

    def __init__(self, theme: Theme, x_title: str, y_title: str, *, selects: bool = True) -> None:
        super().__init__(theme, x_title, y_title, whole_x=True)
        self.y_axis.whole = True
        self.values = np.zeros((0, 0))
        self.first = (0, 0)
        self._levels, self._log = (0.0, 1.0), False
        self._colormap = ""
        self._room = (-1, -1)
        self.image = MatrixImage()
        self.view.invertY(True)
        self.view.addItem(self.image)
        self.marks = HeatmapMarks(theme, self.view)
        self.marks.setParentItem(self.view)
        clicks = ", click selects, Shift-click adds or removes" if selects else ""
        self._gestures = f"Hover shows the value{clicks}.\n{ZOOMING}"
        self._label, self._around = HoverLabel(theme, self.viewport()), self.viewport()
        self._said, self._at = "", (0.0, 0.0)
        self.view.sigRangeChanged.connect(self._on_view_changed)
        self.view.sigResized.connect(self._fit)
        self.hovered.connect(self._on_hovered)
        self.clicked.connect(self._on_clicked)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.NoContextMenu)
        self._built = True

    # ---- content ----

    def set_image(self, values: np.ndarray, first: tuple[int, int] = (0, 0)) -> None:
        """Set the matrix; the view is kept if the matrix covers the same cells.

        Parameters
        ----------
        values
            (rows, columns) finite; not copied, and must not change any more.
        first
            Numbers of the first row and the first column on the axes.
        """
        same = values.shape == self.values.shape and first == self.first
        redraw = values is not self.values
        self.values, self.first = values, first
        if redraw:
            self._draw()
        if not same:
            (rows, columns), (y, x) = values.shape, first
            self.image.setRect(QRectF(x - 0.5, y - 0.5, columns, rows))
            x_span, y_span = (x - 0.5, x + columns - 0.5), (y - 0.5, y + rows - 0.5)
            self.view.set_bounds(x_span, y_span, smallest_x=SMALLEST_SPAN)
            self.y_axis.hide_title_unless(self.room_for_y_title())
            self._fit()
        self._on_view_changed()

    def set_colors(self, colormap: str, levels: tuple[float, float], *, log: bool = False) -> None:
        """Set the colours.

        Parameters
        ----------
        colormap
            A name for :func:`gui.state.colors.lookup_table`; "gray" is that of the articles.
        levels
            The values at its two ends; values beyond them take the end's colour.
        log
            Whether colours are logarithmic; levels must be positive then.
        """
        redraw = log != self._log
        self._levels, self._log = levels, log
        if colormap != self._colormap:
            self._colormap = colormap
            self.image.set_table(lookup_table(colormap))
        if redraw:
            self._draw()
        else:
            self.image.setLevels(self._scaled(np.array(levels)))

    def set_hover(self, row: int | None, column: int | None, text: str = "") -> None:
        """Mark a row and a column as hovered, with a label where they cross."""
        self.marks.set_hover(row, column)
        self._said = text if row is not None and column is not None else ""
        self._at = (float(row or 0), float(column or 0))
        self._place_label()

    def set_selected(self, rows: Sequence[int], columns: Sequence[int]) -> None:
        """Mark rows and columns as selected, the last of each as the current one."""
        self.marks.set_selected(rows, columns)

    def hover_text(self) -> str:
        """Return the full text of the hover label, even if elided; "" if there is none."""
        return "" if self._label.isHidden() else self._said

    def label_over(self, widget: QWidget) -> None:
        """Let the hover's words take the room of a widget around: cells may have little."""
        self._around = widget
        self._label.setParent(widget)

    def set_theme(self, theme: Theme) -> None:
        super().set_theme(theme)
        self.marks.set_theme(theme)
        self._label.set_theme(theme)

    # ---- geometry ----

    def index_at(self, point: QPointF) -> int | None:
        """Return the cell at a point, counted by rows; None outside the matrix."""
        at = self.to_data(point)
        row, column = round(at.y()) - self.first[0], round(at.x()) - self.first[1]
        rows, columns = self.values.shape
        if not (0 <= row < rows and 0 <= column < columns):
            return None
        return row * columns + column

    def tooltip_at(self, point: QPointF) -> str:
        return "" if self.holds(point) else self._gestures

    def point_of(self, row: float, column: float) -> QPointF:
        """Return the widget coordinates of a cell's middle."""
        return self.view.mapViewToScene(QPointF(column, row))

    def value_at(self, row: int, column: int) -> float:
        """Return the value of a cell, by its numbers on the axes."""
        return float(self.values[row - self.first[0], column - self.first[1]])

    # ---- drawing ----

    def _scaled(self, values: np.ndarray) -> np.ndarray:
        if not self._log:
            return values.astype(np.float32, copy=False)
        return np.log10(np.maximum(values, np.finfo(np.float32).tiny)).astype(np.float32)

    def _draw(self) -> None:
        if self.values.size:
            levels = self._scaled(np.array(self._levels))
            self.image.setImage(self._scaled(self.values), levels=levels)

    def _fit(self, *_: object) -> None:
        """Set the margins at the side or below so that cells are square."""
        rows, columns = self.values.shape
        if not rows or not columns:
            return
        left, top, right, bottom = MARGINS
        # The width the axis will take; its current size is that of the previous layout.
        axis = self.y_axis.minimumWidth() + left + right
        below = self.height() - self.x_axis.minimumHeight() - top - bottom
        wanted = round(below * columns / rows)
        # This may shrink the widget immediately.
        self.setMaximumWidth(max(self.minimumWidth(), round(axis + wanted)))
        beside = self.width() - axis
        right += max(0, round(beside - wanted))
        bottom += max(0, round(below - beside * rows / columns))
        # Setting them causes a new layout, even if they are unchanged.
        if (right, bottom) != self._room:
            self._room = (right, bottom)
            self.centralLayout.setContentsMargins(left, top, right, bottom)
        # Margins count towards the minimum size, so the layout does not shrink by itself.
        if self.centralWidget.geometry() != self.range:
            self.centralWidget.setGeometry(self.range)

    def room_for_y_title(self) -> float:
        """Return the length available for the title: with few rows the axis is short."""
        room = super().room_for_y_title()
        rows, columns = self.values.shape
        return min(room, self.width() * rows / columns) if columns else room

    def resizeEvent(self, event: QResizeEvent | None) -> None:
        ready = event is not None and self._built
        if ready:
            # First, because margins of the previous size may not fit.
            self._fit()
        super().resizeEvent(event)
        if ready:
            self._place_label()

    def _on_view_changed(self, *_: object) -> None:
        self.marks.update()
        self._place_label()

    def _place_label(self) -> None:
        row, column = self._at
        (x0, x1), (y0, y1) = self.view.spans()
        seen = self._said and x0 <= column <= x1 and y0 <= row <= y1
        # Over the axes too: a heatmap is often small, and the cell is what one looks at.
        corner = QPointF(self.viewport().mapTo(self._around, QPoint()))
        point = corner + self.point_of(row, column) if seen else None
        self._label.say(self._said, point, QRectF(self._around.rect()))
        self._label.raise_()

    # ---- mouse ----

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Zoom about the mouse, with square cells."""
        at, share = self.to_data(event.position()), WHEEL_STEP ** (event.angleDelta().y() / 120)
        self.view.zoom_x(share, at.x())
        self.view.zoom_y(share, at.y())
        event.accept()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Zoom with + and − in both directions; other keys as in any plot."""
        match event.key():
            case Qt.Key.Key_Plus | Qt.Key.Key_Equal:
                self._zoom(WHEEL_STEP)
            case Qt.Key.Key_Minus:
                self._zoom(1 / WHEEL_STEP)
            case _:
                super().keyPressEvent(event)

    def _zoom(self, share: float) -> None:
        self.view.zoom_x(share)
        self.view.zoom_y(share)

    def _cell(self, index: int) -> tuple[int, int]:
        row, column = divmod(index, self.values.shape[1])
        return row + self.first[0], column + self.first[1]

    def _on_hovered(self, index: int | None) -> None:
        self.cellHovered.emit(None if index is None else self._cell(index))

    def _on_clicked(self, index: int, modifiers: Qt.KeyboardModifier) -> None:
        self.cellClicked.emit(*self._cell(index), modifiers)
