"""The body of the overlaps panel: one heatmap, or the article's figures with several."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import numpy as np
from PySide6.QtCore import QPointF, QRectF, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QImage,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QResizeEvent,
)
from PySide6.QtWidgets import QStackedLayout, QWidget

from gui.panels.kit.body import PanelBody
from gui.panels.overlaps.form import arrange
from gui.panels.overlaps.picture import (
    Ends,
    Levels,
    Look,
    OverlapsView,
    cell_text,
    cells_of,
    home_levels,
    levels_of,
    pictures_of,
    title_of,
)
from gui.panels.overlaps.question import Overlap, OverlapFigure
from gui.panels.overlaps.spec import OverlapsPanel
from gui.plots.color_bar import ColorBar
from gui.plots.picture_grid import PictureGrid, as_image
from gui.plots.qt_painter import PaintedRow
from gui.state.colors import lookup_table
from gui.state.session import Session
from gui.style.theme import GRID, Theme

GAP = GRID
"""Vertical gap between cells in pixels; the horizontal one is twice that."""
ENDS = 5
"""Margin of a colour bar at its ends, in pixels."""
HINT = "Click to enlarge one."


class OverlapsBody(PanelBody):
    """The heatmap of a pair, or a figure, with colour levels that can be dragged."""

    def __init__(self, session: Session, theme: Theme) -> None:
        super().__init__(session, theme)
        self._view: OverlapsView | None = None
        self.pair, self.figure = PaintedRow(session, theme), FigureView(theme)
        self._stack = QStackedLayout(self)
        for widget in (self.pair, self.figure):
            self._stack.addWidget(widget)
        self.pair.chosen.connect(lambda _, levels: self._set_levels(*levels))
        self.figure.bar.levelsRequested.connect(self._set_levels)
        self.figure.grid.cellChosen.connect(self._open)

    def draw(self, view: OverlapsView) -> None:
        self._view = view
        if isinstance(view.result, Overlap):
            self.pair.draw(OverlapsPanel().plots(view))
            self._stack.setCurrentWidget(self.pair)
        else:
            self.figure.draw(view, self._home(view))
            self._stack.setCurrentWidget(self.figure)

    def forget(self) -> None:
        self._view = None
        self.pair.forget()

    def set_theme(self, theme: Theme) -> None:
        super().set_theme(theme)
        self.pair.set_theme(theme)
        self.figure.set_theme(theme)

    def _home(self, view: OverlapsView) -> Levels:
        look = view.choices.look
        return home_levels(cells_of(view.result), look.blur, log=look.log)

    def _set_levels(self, low: float, high: float) -> None:
        assert self._view is not None
        levels, choices = (max(low, 0.0), min(high, 1.0)), self._view.choices
        if (low, high) == self._home(self._view):
            self.chosen.emit("ends", None)
        elif levels[0] < levels[1]:
            self.chosen.emit("ends", Ends(levels, choices.view, choices.look.log))

    def _open(self, number: int) -> None:
        assert self._view is not None
        cell = cells_of(self._view.result)[number]
        self.changed.emit({"rows": cell.rows, "columns": cell.columns})


class OverlapGrid(PictureGrid):
    """A figure's cells, each with its title; a missing cell shows the reason."""

    cellChosen = Signal(int)
    """The index of a clicked cell that is not missing."""

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme)
        self.figure = OverlapFigure((), 1)
        self._pictures: Sequence[np.ndarray | None] = ()
        self._look, self._levels = Look(), (0.0, 1.0)
        self._current: int | None = None
        self.setAccessibleName("Squared overlaps of several matrices")
        self.setAccessibleDescription(f"Use the arrow keys to move between them. {HINT}")

    def show_figure(
        self,
        figure: OverlapFigure,
        pictures: Sequence[np.ndarray | None],
        look: Look,
        levels: Levels,
    ) -> None:
        """Draw cells from their pictures, None for missing ones, in colours with these levels."""
        if figure is not self.figure:
            self._current = None
            self._hover(None)
        self.figure, self._pictures = figure, pictures
        self._look, self._levels = look, levels
        self._images.clear()
        self.update()

    # Geometry.

    def area_of(self, number: int) -> QRectF:
        """Return the rectangle of a cell's picture, in logical pixels."""
        across, side = self._arrangement()
        row, column = divmod(self._place(number, across), across)
        step = self._title() + side + GAP
        # A pixel at the left for the frame.
        return QRectF(1 + column * (side + 2 * GAP), row * step + self._title(), side, side)

    def used(self) -> QRectF:
        """Return the bounding rectangle of all pictures."""
        areas = map(self.area_of, range(len(self.figure.cells)))
        return functools.reduce(QRectF.united, areas, QRectF())

    def _arrangement(self) -> tuple[int, int]:
        room = float(self.width()), float(self.height())
        count, columns = len(self.figure.cells), self.figure.columns
        return arrange(count, columns, room, (2 * GAP, GAP), self._title())

    def _place(self, number: int, across: int) -> int:
        """Return the place of a cell: in a wide arrangement, the figure's columns become rows."""
        count, columns = len(self.figure.cells), self.figure.columns
        if across == columns or across in (1, count):
            return number
        row, column = divmod(number, columns)
        return column * across + row

    def _cell_at(self, point: QPointF) -> int | None:
        numbers = range(len(self.figure.cells))
        return next((number for number in numbers if self.area_of(number).contains(point)), None)

    # Painting.

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setFont(self._font())
        for number, cell in enumerate(self.figure.cells):
            area = self.area_of(number)
            painter.setPen(QColor(self.theme.text))
            title = QRectF(area.left(), area.top() - self._title(), area.width(), self._title())
            words = title_of(cell.rows, cell.columns)
            shown = painter.fontMetrics().elidedText(
                words, Qt.TextElideMode.ElideRight, int(title.width())
            )
            painter.drawText(title, Qt.AlignmentFlag.AlignVCenter, shown)
            if isinstance(cell, Overlap):
                painter.drawImage(area, self._image(number, area))
            else:
                self._draw_reason(painter, area, cell.why)
            focused = number == self._current and self.hasFocus()
            painter.setPen(QPen(QColor(self.theme.muted if focused else self.theme.line), 1))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRect(area.adjusted(-0.5, -0.5, 0.5, 0.5))

    def _draw_reason(self, painter: QPainter, area: QRectF, why: str) -> None:
        room = area.adjusted(4, 4, -4, -4)
        flags = Qt.TextFlag.TextWordWrap | Qt.AlignmentFlag.AlignCenter
        painter.setPen(QColor(self.theme.muted))
        needed = painter.boundingRect(room, int(flags), why)
        # The hover label has the text if there is no room.
        painter.drawText(room, int(flags), why if room.contains(needed) else "—")

    def _image(self, number: int, area: QRectF) -> QImage:
        if number not in self._images:
            picture = self._pictures[number]
            assert picture is not None
            size = max(1, round(area.width() * self.devicePixelRatio()))
            small = shrunk(picture, size, size)
            self._images[number] = as_image(colored(small, self._look, self._levels))
        return self._images[number]

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._images.clear()
        self._hover(None)

    # The mouse and the keys.

    def _hover(self, point: QPointF | None) -> None:
        number = None if point is None else self._cell_at(point)
        text = ""
        if number is not None and point is not None:
            cell, area = self.figure.cells[number], self.area_of(number)
            text = f"{title_of(cell.rows, cell.columns)} · " + (
                _at(cell, point, area) if isinstance(cell, Overlap) else cell.why
            )
        self._show_label(text, point, QRectF(self.rect()), clickable=self._can_open(number))

    def _can_open(self, number: int | None) -> bool:
        return number is not None and isinstance(self.figure.cells[number], Overlap)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        if event.button() is Qt.MouseButton.LeftButton:
            self._open(self._cell_at(event.position()))

    def _open(self, number: int | None) -> None:
        if number is not None and self._can_open(number):
            self.cellChosen.emit(number)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Step through the cells, and open one with Enter."""
        keys = Qt.Key
        key, last = keys(event.key()), len(self.figure.cells) - 1
        back, on = (keys.Key_Left, keys.Key_Up), (keys.Key_Right, keys.Key_Down)
        if last >= 0 and key in (*back, *on):
            step = -1 if key in back else 1
            start = -step if self._current is None else self._current
            self._current = min(max(start + step, 0), last)
            self.update()
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self._open(self._current)
        else:
            super().keyPressEvent(event)


def _at(overlap: Overlap, point: QPointF, area: QRectF) -> str:
    rows, columns = overlap.values.shape
    i = min(rows, 1 + int((point.y() - area.top()) / area.height() * rows))
    j = min(columns, 1 + int((point.x() - area.left()) / area.width() * columns))
    return cell_text(overlap, i, j)


class FigureView(QWidget):
    """A figure with its one colour bar."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.grid, self.bar = OverlapGrid(theme), ColorBar(theme, "squared overlap")
        for part in (self.grid, self.bar):
            part.setParent(self)

    def draw(self, view: OverlapsView, home: Levels) -> None:
        """Show a figure; ``home`` are the initial colour levels."""
        assert isinstance(view.result, OverlapFigure)
        look, levels = view.choices.look, levels_of(view)
        self.grid.show_figure(view.result, pictures_of(view.result.cells, look.blur), look, levels)
        self.place_parts()
        self.bar.show_scale(look.colormap, levels, home, log=look.log)

    def place_parts(self) -> None:
        """Place the bar beside the pictures, with their height."""
        width = self.bar.sizeHint().width()
        self.grid.setGeometry(0, 0, self.width() - width - GAP, self.height())
        used = self.grid.used().toRect()
        self.bar.setGeometry(used.right() + GAP, used.top() - ENDS, width, used.height() + 2 * ENDS)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.place_parts()

    def set_theme(self, theme: Theme) -> None:
        self.grid.set_theme(theme)
        self.bar.set_theme(theme)


def colored(picture: np.ndarray, look: Look, levels: Levels) -> np.ndarray:
    """Return (a, b, 4) uint8 colours; values beyond the levels are clipped."""
    low, high = levels
    scaled = picture
    if look.log:
        scaled = np.log10(np.maximum(picture, np.finfo(np.float32).tiny))
        low, high = np.log10(low), np.log10(high)
    share = np.clip((scaled - low) * (256.0 / (high - low)), 0, 255).astype(np.uint8)
    colors: np.ndarray = lookup_table(look.colormap)[share]
    return colors


def shrunk(picture: np.ndarray, rows: int, columns: int) -> np.ndarray:
    """Downsample a picture by averages to at most so many rows and columns."""
    for axis, limit in enumerate((rows, columns)):
        size = picture.shape[axis]
        if size > limit:
            edges = np.arange(limit) * size // limit
            counts = np.diff(np.append(edges, size)).astype(np.float32)
            sums = np.add.reduceat(picture, edges, axis=axis)
            picture = sums / (counts[:, None] if axis == 0 else counts)
    return picture
