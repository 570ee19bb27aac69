"""A matrix as an image with square cells: hover, selection, zoom, and a colour range.

The first row is at the top. Imports pyqtgraph; see :mod:`gui.plots.plot`.
"""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import QPoint, QPointF, QRectF, Qt, Signal
from PySide6.QtGui import QImage, QKeyEvent, QResizeEvent, QWheelEvent
from PySide6.QtWidgets import QWidget

from gui.plots.heatmap_marks import HeatmapMarks
from gui.plots.hover_label import HoverLabel
from gui.plots.plot import WHEEL_STEP, PlotWidget
from gui.plots.spec import Axis
from gui.state.colors import lookup_table
from gui.style.theme import Theme

LEVELS = 256
"""Entries of a colour table."""
KEPT = 4
"""Number of cached images."""


@dataclass(frozen=True, eq=False, slots=True)
class _Drawn:
    """The pixels of a matrix and their parameters; shared with the image without a copy."""

    matrix: weakref.ref[np.ndarray]
    look: Hashable
    pixels: np.ndarray
    image: QImage


class MatrixImage(pg.ImageItem):
    """An image item of finite numbers that is several times faster than pyqtgraph's own.

    pyqtgraph averages by ``mean`` over a reshaped array, drops the last cells if they do not fill a
    pixel, and rebuilds its colour table for each image. The last few images are cached, so a shown
    matrix must not change.
    """

    def __init__(self) -> None:
        super().__init__(axisOrder="row-major", autoDownsample=True)
        self._colors = np.zeros(LEVELS, np.uint32)
        self._matrix: np.ndarray | None = None
        self._drawn: deque[_Drawn] = deque(maxlen=KEPT)
        self._shown: _Drawn | None = None

    def setImage(
        self, image: np.ndarray | None = None, *arguments: object, **options: object
    ) -> None:
        if image is not None:
            self._matrix = image
        super().setImage(image, *arguments, **options)

    def set_table(self, table: np.ndarray) -> None:
        """Set the colours, (256, 4) uint8, all opaque."""
        self.setLookupTable(table, update=False)
        red, green, blue = table[:, :3].T.astype(np.uint32)
        self._colors = 0xFF000000 | red << 16 | green << 8 | blue
        self._drawn.clear()
        self._renderRequired = True
        self.update()

    def render(self) -> None:
        """Average, scale, and apply the colours."""
        self._unrenderable = True
        if self.image is None or not self.image.size:
            return
        across, down = self._lastDownsample = self._computeDownsampleFactors()
        low, high = (float(level) for level in self.levels)
        look = (across, down, low, high)
        known = (d for d in self._drawn if d.matrix() is self._matrix and d.look == look)
        self._shown = next(known, None) or self._draw(*look)
        self.qimage = self._shown.image
        self._renderRequired = self._unrenderable = False

    def _draw(self, across: int, down: int, low: float, high: float) -> _Drawn:
        assert self._matrix is not None
        small = averaged(averaged(self.image, down, 0), across, 1)
        scaled = (small - np.float32(low)) * np.float32(LEVELS / max(high - low, 1e-30))
        indices = np.clip(scaled, 0, LEVELS - 1, out=scaled).astype(np.uint8)
        pixels = self._colors[indices]
        rows, columns = indices.shape
        image = QImage(pixels.data, columns, rows, 4 * columns, QImage.Format.Format_RGB32)
        drawn = _Drawn(weakref.ref(self._matrix), (across, down, low, high), pixels, image)
        self._drawn.append(drawn)
        return drawn


def averaged(values: np.ndarray, count: int, axis: int) -> np.ndarray:
    """Average every ``count`` rows (axis 0) or columns (axis 1); the last group may be smaller."""
    if count <= 1:
        return values
    size = values.shape[axis]
    along = (lambda part: (part,)) if axis == 0 else (lambda part: (slice(None), part))
    total = values[along(slice(0, None, count))].copy()
    for start in range(1, min(count, size)):
        part = values[along(slice(start, None, count))]
        total[along(slice(0, part.shape[axis]))] += part
    total *= np.float32(1 / count)
    if remainder := size % count:
        total[along(slice(-1, None))] *= np.float32(count / remainder)
    return total


MIN_SPAN = 8.0
"""Minimum number of visible cells along each side."""
MARGINS = (0, 4, 16, 0)
"""Margins around the axes in pixels; enlarged where necessary for square cells."""
ZOOMING = "Wheel zooms, drag pans, double-click or F resets the zoom."


class Heatmap(PlotWidget):
    """``values[i, j]`` with i down and j across.

    Parameters
    ----------
    x_title, y_title
        Titles of the columns and the rows.
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
        super().__init__(theme, Axis(x_title, whole=True), Axis(y_title, whole=True))
        self.values = np.zeros((0, 0))
        self.first, self.step = (0, 0), 1
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
        self._label, self._around = HoverLabel(self.viewport()), self.viewport()
        self._hover_text, self._at = "", (0.0, 0.0)
        self.view.sigRangeChanged.connect(self._on_view_changed)
        self.view.sigResized.connect(self._fit)
        self.hovered.connect(self._on_hovered)
        self.clicked.connect(self._on_clicked)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.NoContextMenu)
        self._built = True

    # ---- content ----

    def set_image(self, values: np.ndarray, first: tuple[int, int] = (0, 0), step: int = 1) -> None:
        """Set the matrix; the view is kept if the matrix covers the same cells.

        Parameters
        ----------
        values
            (rows, columns) finite; not copied, and must not be changed.
        first
            Numbers of the first row and the first column on the axes.
        step
            Difference of the numbers of adjacent rows, and columns, on the axes.
        """
        same = (values.shape, first, step) == (self.values.shape, self.first, self.step)
        redraw = values is not self.values
        self.values, self.first, self.step = values, first, step
        if redraw:
            self._draw()
        if not same:
            (y, x), (rows, columns) = first, (step * n for n in values.shape)
            self.image.setRect(QRectF(x - 0.5, y - 0.5, columns, rows))
            x_span, y_span = (x - 0.5, x + columns - 0.5), (y - 0.5, y + rows - 0.5)
            self.view.set_bounds(x_span, y_span, smallest_x=step * MIN_SPAN)
            self.y_axis.hide_title_unless(self.room_for_y_title())
            self._fit()
        self._on_view_changed()

    def set_tile(self, tile: tuple[int, int] | None) -> None:
        """Set the rows and columns of a tile, for a grid of pictures; None for other matrices."""
        self.marks.set_tile(tile)
        for axis, size in zip((self.y_axis, self.x_axis), tile or (1, 1), strict=True):
            if axis.tile != size:
                axis.tile, axis.picture = size, None
                axis.update()

    def set_colors(self, colormap: str, levels: tuple[float, float], *, log: bool = False) -> None:
        """Set the colours.

        Parameters
        ----------
        colormap
            A name for :func:`gui.state.colors.lookup_table`; the articles use "gray".
        levels
            The values at its two ends; values beyond them have the end's colour.
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
        """Mark a row and a column as hovered, with a label at their cell."""
        self.marks.set_hover(row, column)
        self._hover_text = text if row is not None and column is not None else ""
        self._at = (float(row or 0), float(column or 0))
        self._place_label()

    def set_selected(self, rows: Sequence[int], columns: Sequence[int]) -> None:
        """Mark rows and columns as selected, the last of each as the current one."""
        self.marks.set_selected(rows, columns)

    def hover_text(self) -> str:
        """Return the full text of the hover label, even if elided; "" if there is none."""
        return "" if self._label.isHidden() else self._hover_text

    def label_over(self, widget: QWidget) -> None:
        """Let the hover label use the area of a parent widget, as cells may have little room."""
        self._around = widget
        self._label.setParent(widget)

    def set_theme(self, theme: Theme) -> None:
        super().set_theme(theme)
        self.marks.set_theme(theme)

    # ---- geometry ----

    def index_at(self, point: QPointF) -> int | None:
        """Return the cell at a point, counted by rows; None outside the matrix."""
        at = self.to_data(point)
        (y, x), step = self.first, self.step
        row, column = (round(at.y()) - y) // step, (round(at.x()) - x) // step
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
        (y, x), step = self.first, self.step
        return float(self.values[(row - y) // step, (column - x) // step])

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
        # The future width of the axis; its current one is from the previous layout.
        axis = self.y_axis.minimumWidth() + left + right
        below = self.height() - self.x_axis.minimumHeight() - top - bottom
        ideal = round(below * columns / rows)
        # This may shrink the widget immediately.
        self.setMaximumWidth(max(self.minimumWidth(), round(axis + ideal)))
        beside = self.width() - axis
        right += max(0, round(beside - ideal))
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
        visible = self._hover_text and x0 <= column <= x1 and y0 <= row <= y1
        # May cover the axes, as a heatmap is often small.
        corner = QPointF(self.viewport().mapTo(self._around, QPoint()))
        point = corner + self.point_of(row, column) if visible else None
        self._label.show_text(self._hover_text, point, QRectF(self._around.rect()))
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
        return self.step * row + self.first[0], self.step * column + self.first[1]

    def _on_hovered(self, index: int | None) -> None:
        self.cellHovered.emit(None if index is None else self._cell(index))

    def _on_clicked(self, index: int, modifiers: Qt.KeyboardModifier) -> None:
        self.cellClicked.emit(*self._cell(index), modifiers)
