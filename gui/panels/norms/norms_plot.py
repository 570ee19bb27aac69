"""The plot of the norms panel: its line, other models behind it, where stability begins."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from PySide6.QtCore import QPointF, Qt, Signal
from PySide6.QtGui import QMouseEvent
from PySide6.QtWidgets import QWidget

from gui.panels.norms.after_line import AfterLine
from gui.plots.compared_plot import ComparedPlot, Thin
from gui.plots.plot import CLICK_RADIUS
from gui.plots.plot_view import Span
from gui.style.theme import Theme


class NormsPlot(ComparedPlot):
    """A :class:`ComparedPlot` with a line that can be dragged.

    A press on the dashed line that does not move is a click like any other.
    """

    afterDragged = Signal(int)
    """The position that the dashed line was dragged to."""
    afterReset = Signal()
    """The dashed line was double-clicked."""

    # What the base asks for while it is being built.
    _after: AfterLine | None = None
    _on_line = _holding = False

    def __init__(
        self, theme: Theme, x_title: str, y_title: str, parent: QWidget | None = None
    ) -> None:
        super().__init__(theme, x_title, y_title, parent)
        self._after = AfterLine(theme, self._frame)
        self._after.setParentItem(self.view)
        self.after_tooltip = ""

    # What is shown.

    def set_lines(
        self, values: np.ndarray, y: Span, end: int, others: Sequence[Thin], y_title: str
    ) -> None:
        """Show other values.

        Parameters
        ----------
        values, y
            As in :meth:`LinePlot.set_values`.
        end
            The last position of the axis.
        others
            Lines behind it, the last one over the ones before.
        y_title
            Quantity and unit.
        """
        if y_title != self.y_axis.title:
            self.y_axis.title = y_title
            self.y_axis.set_theme(self.theme)
            self.y_axis.hide_title_unless(self.height() - 40)
        self.set_compared(values, y, others, end=end)

    def set_after(self, position: int | None) -> None:
        """Stand the dashed line at a position; None hides it."""
        assert self._after is not None
        self._after.set_position(position)

    def set_theme(self, theme: Theme) -> None:
        """Take new colours; other lines keep theirs until they are set anew."""
        super().set_theme(theme)
        if self._after is not None:
            self._after.set_theme(theme)

    def after_point(self) -> QPointF | None:
        """Return where the dashed line crosses the middle of the plot, in the widget."""
        x = None if self._after is None else self._after.pixel()
        if x is None:
            return None
        return self.view.mapToScene(QPointF(x, self.view.rect().center().y()))

    def tooltip_at(self, point: QPointF) -> str:
        """Say what the dashed line is for, or what the base says."""
        said = super().tooltip_at(point)
        return self.after_tooltip if not said and self._is_on_line(point) else said

    # The mouse.

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Take hold of the dashed line, or begin what the base begins."""
        super().mousePressEvent(event)
        pressed = self._press is not None and not self._sweeping
        self._hold(pressed and self._is_on_line(event.position()))

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Move the dashed line, or do what the base does."""
        if not self._holding or self._press is None:
            super().mouseMoveEvent(event)
            self._point_at(event.position())
            return
        way = event.position() - self._press
        if self._last is None and math.hypot(way.x(), way.y()) <= CLICK_RADIUS:
            return
        self._last = event.position()
        x = round(self.to_data(event.position()).x())
        # From the last position but one nothing would be left to measure.
        self.afterDragged.emit(min(max(x, 0), max(len(self.values) - 2, 0)))

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """Let go of the dashed line, or end a click or a drag."""
        super().mouseReleaseEvent(event)
        self._point_at(event.position())

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        """Put the dashed line back; elsewhere, show everything."""
        if event.button() is Qt.MouseButton.LeftButton and self._is_on_line(event.position()):
            self.clickRepeated.emit()
            self.afterReset.emit()
        else:
            super().mouseDoubleClickEvent(event)

    def _is_on_line(self, point: QPointF) -> bool:
        if self._after is None or not self.holds(point):
            return False
        return self._after.is_near(self.view.mapFromScene(point))

    def _hold(self, holding: bool) -> None:
        self._holding = holding
        self._show_cursor()

    def _point_at(self, point: QPointF) -> None:
        on_line = self._press is None and self._is_on_line(point)
        if on_line != self._on_line:
            self._on_line = on_line
            self._show_cursor()

    def _end_drag(self) -> None:
        self._holding = False
        super()._end_drag()

    def _show_cursor(self, *_: object) -> None:
        on_line = self._holding or self._on_line
        if self._after is not None:
            self._after.set_held(on_line)
        if on_line:
            self.viewport().setCursor(Qt.CursorShape.SizeHorCursor)
        else:
            super()._show_cursor()

    # Drawing.

    def _on_view_changed(self, *_: object) -> None:
        super()._on_view_changed()
        if self._after is not None:
            self._after.moved()
