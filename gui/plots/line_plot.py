"""A line by position, with hover, selection, shown range and marked positions."""

from __future__ import annotations

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import QPointF, QRectF, QSizeF, Qt
from PySide6.QtWidgets import QLabel, QWidget

from gui.plots.plot import Plot
from gui.plots.plot_layer import Frame
from gui.plots.plot_marks import Marks
from gui.plots.plot_view import Span
from gui.style.theme import SMALL, Theme

REACH = 8
"""Distance in pixels within which marked points take precedence over the nearest position."""
SMALLEST_SPAN = 8.0
LABEL_PADDING = 16
"""Padding of the hover label, in pixels."""
MARGIN = 12
"""Margin at both ends in pixels, so that rings at the ends are not cut."""


class LinePlot(Plot):
    """``values[i]`` against i, for any number of positions.

    Positions outside the shown range are pale, marked ones have a ring and their number, selected
    ones are accented and the hovered one has a label. Values beyond the view's y span are marked at
    its edge.
    """

    def __init__(
        self, theme: Theme, x_title: str, y_title: str, parent: QWidget | None = None
    ) -> None:
        super().__init__(theme, x_title, y_title, whole_x=True, parent=parent)
        self.values = np.zeros(0)
        self._end = -1
        self.mark_tooltip = ""
        self._line = pg.PlotCurveItem(antialias=True, skipFiniteCheck=True)
        self.view.addItem(self._line)
        self.marks = Marks(theme, self._frame)
        self.marks.setParentItem(self.view)
        self._label = QLabel(self.viewport())
        self._label.setTextFormat(Qt.TextFormat.PlainText)
        self._label.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self._label.hide()
        self._said = ""
        self.view.sigRangeChanged.connect(self._on_view_changed)
        self.view.sigResized.connect(self._on_resized)
        self.set_theme(theme)

    def set_values(self, values: np.ndarray, y: Span, *, end: int | None = None) -> None:
        """Set the values.

        Parameters
        ----------
        values
            (n,) finite, one for each position 0…n − 1; not copied.
        y
            A span along y with all of them, which limits the view.
        end
            The last position of the axis; that of the last value if None.
        """
        end = len(values) - 1 if end is None else end
        same_table = end == self._end
        x_before = self.view.spans()[0]
        self.values, self._end = values, end
        self.marks.set_values(values)
        self.view.set_bounds(self._reach(), y, smallest_x=SMALLEST_SPAN)
        if same_table:
            # Another quantity of the same rows: keep the visible span.
            self.view.setRange(xRange=x_before, padding=0)
        self._on_view_changed()

    def set_hover(self, position: int | None, text: str = "") -> None:
        """Show a position as hovered, with a label."""
        self.marks.set_hover(position)
        self._said = text
        self._place_label()

    def position_of(self, index: int) -> int:
        """Return the position of a value, which is its index."""
        return index

    def positions(self) -> tuple[int, int] | None:
        """Return the first and the last position of the axis; None if there are no values."""
        return (0, self._end) if len(self.values) else None

    def index_at(self, point: QPointF) -> int | None:
        """Return the marked position within reach of a point, or the one nearest along x."""
        if not len(self.values):
            return None
        marked = self.marks.mark_near(self.view.mapFromScene(point), REACH)
        if marked is not None:
            return marked
        x, last = round(self.to_data(point).x()), len(self.values) - 1
        if x > last + 1 and self._end > last + 1:  # only other models' lines extend so far
            return None
        return min(max(x, 0), last)

    def tooltip_at(self, point: QPointF) -> str:
        """Return the rule behind a marked position, or the base class's tooltip."""
        marked = self.marks.mark_near(self.view.mapFromScene(point), REACH)
        return super().tooltip_at(point) if marked is None else self.mark_tooltip

    def show_sweep(self, span: tuple[int, int] | None) -> None:
        self.marks.set_sweep(span)

    def set_theme(self, theme: Theme) -> None:
        super().set_theme(theme)
        self._line.setPen(pg.mkPen(theme.muted, width=1))
        self.marks.set_theme(theme)
        self._label.setStyleSheet(
            f"background: {theme.panel}; color: {theme.text}; border: 1px solid {theme.line};"
            f"border-radius: 4px; padding: 2px 4px; font-size: {SMALL}px;"
        )

    def label_geometry(self) -> QRectF:
        """Geometry of the hover label in the widget; empty if there is none."""
        return QRectF() if self._label.isHidden() else QRectF(self._label.geometry())

    def hover_text(self) -> str:
        """Return the full text of the hover label, even if elided; "" if there is none."""
        return "" if self._label.isHidden() else self._said

    def _frame(self) -> Frame:
        x, y = self.view.spans()
        return Frame(self.view.rect(), x, y)

    def _reach(self) -> Span:
        """Return the span along x of all positions with a margin."""
        last = max(self._end, 0)
        width = max(self.view.rect().width(), 4 * MARGIN)
        margin = max(0.5, last * MARGIN / (width - 2 * MARGIN))
        return -margin, last + margin

    def _on_resized(self, *_: object) -> None:
        self.view.set_x_bounds(self._reach())
        self._on_view_changed()

    def _on_view_changed(self, *_: object) -> None:
        """Draw the visible part, with at most a few vertices per pixel."""
        x0, x1 = self.view.spans()[0]
        first = max(0, int(np.floor(x0)) - 1)
        stop = min(len(self.values), int(np.ceil(x1)) + 2)
        width = max(1, int(self.view.rect().width()))
        self._line.setData(*envelope(self.values, first, stop, width))
        self.marks.invalidate()
        self._place_label()

    def _place_label(self) -> None:
        """Place the hover label beside its point, inside the axes."""
        point = self.marks.hover_point()
        if point is None or not self._said:
            self._label.hide()
            return
        area = self.view.sceneBoundingRect()
        room = int(area.width()) - LABEL_PADDING
        shown = self._label.fontMetrics().elidedText(self._said, Qt.TextElideMode.ElideRight, room)
        if self._label.text() != shown:
            self._label.setText(shown)
            self._label.adjustSize()
        size = QSizeF(self._label.size())
        places = [
            _inside(area, QRectF(corner, size)) for corner in _corners(area.topLeft() + point, size)
        ]
        numbers = [place.translated(area.topLeft()) for _, place in self.marks.labels()]
        # Cover the number of a mark only if all sides of the point have one.
        place = min(places, key=lambda p: sum(p.intersects(number) for number in numbers))
        self._label.move(place.topLeft().toPoint())
        self._label.show()


def _corners(point: QPointF, size: QSizeF) -> list[QPointF]:
    """Return the upper left corners of a label on the sides of a point, best first."""
    gap = 8
    right, left = point.x() + gap, point.x() - gap - size.width()
    above, below = point.y() - gap - size.height(), point.y() + gap
    return [
        QPointF(x, y) for x, y in ((right, above), (left, above), (right, below), (left, below))
    ]


def _inside(area: QRectF, place: QRectF) -> QRectF:
    """Return a rectangle moved into an area, if that has room for it."""
    x = max(area.left() + 1, min(place.x(), area.right() - place.width() - 1))
    y = max(area.top() + 1, min(place.y(), area.bottom() - place.height() - 1))
    return QRectF(QPointF(x, y), place.size())


def envelope(
    values: np.ndarray, first: int, stop: int, columns: int
) -> tuple[np.ndarray, np.ndarray]:
    """Reduce a line to its visible detail.

    Parameters
    ----------
    values
        (n,) the value at each position.
    first, stop
        The visible positions: first to stop − 1.
    columns
        Pixel columns available for them.

    Returns
    -------
    x, y : (m,) float64
        The positions themselves if they are few; otherwise the smallest and largest value of each
        run of positions. Runs start at multiples of their length, so that nothing flickers while
        panning; the last one may be shorter.
    """
    step = (stop - first) // (2 * columns)
    if step < 2:
        return np.arange(first, stop, dtype=np.float64), values[first:stop]
    first -= first % step
    part = values[first:stop]
    starts = np.arange(0, len(part), step)
    y = np.empty(2 * len(starts))
    y[0::2] = np.minimum.reduceat(part, starts)
    y[1::2] = np.maximum.reduceat(part, starts)
    return np.repeat(first + starts.astype(np.float64), 2), y
