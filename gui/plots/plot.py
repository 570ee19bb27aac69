"""The base of all plots: axes, a bounded view, mouse and keys.

Uses pyqtgraph without its mouse handling, menus and buttons, as plots behave like the 3D view: a
click selects, a drag moves. Importing pyqtgraph is slow: panels import it when they first draw.
"""

from __future__ import annotations

import math

import pyqtgraph as pg
from PySide6.QtCore import QEvent, QPointF, Qt, Signal
from PySide6.QtGui import (
    QAccessible,
    QFocusEvent,
    QHelpEvent,
    QKeyEvent,
    QMouseEvent,
    QResizeEvent,
    QWheelEvent,
)
from PySide6.QtWidgets import QToolTip, QWidget

from gui.plots.plot_axis import LogAxis, PlotAxis, Side
from gui.plots.plot_view import PlotView
from gui.plots.scatter import ScatterAxis
from gui.plots.spec import Axis
from gui.style.theme import Theme
from gui.widgets.tooltips import wrapped

CLICK_RADIUS = 4
"""A press that moves farther than this (pixels) is a drag."""
WHEEL_STEP = 0.8
"""Factor of the visible span for one notch of the wheel."""
GESTURES = (
    "Click selects, Shift-click adds or removes, drag with Shift selects a range.\n"
    "Wheel zooms (over the y axis: along y), drag pans, double-click or F resets the zoom."
)
_KEYS = {
    Qt.Key.Key_F,
    Qt.Key.Key_Left,
    Qt.Key.Key_Right,
    Qt.Key.Key_Plus,
    Qt.Key.Key_Equal,
    Qt.Key.Key_Minus,
}


class PlotWidget(pg.GraphicsView):
    """Two axes and a view that zooms, pans and resets, but never leaves its data.

    The wheel zooms along x about the mouse (over the y axis: along y), a horizontal wheel and a
    drag pan, double-click and F show everything, + and − zoom. Subclasses draw into :attr:`view`
    and define which item is at a point (:meth:`index_at`).
    """

    accessible_role = QAccessible.Role.Chart

    hovered = Signal(object)
    """The item under the mouse (int or None) has changed."""
    clicked = Signal(int, object)
    """An item was clicked, with these keyboard modifiers."""
    clickRepeated = Signal()
    """The last click was the first half of a double-click: its selection is to be undone."""
    swept = Signal(int, int)
    """A drag with Shift: its first and last item."""
    stepped = Signal(int, object)
    """Left (−1) or right (+1) was pressed, with these keyboard modifiers."""

    def __init__(self, theme: Theme, x: Axis, y: Axis) -> None:
        super().__init__(background=theme.panel)
        self.theme = theme
        self.view = PlotView()
        # Not a PlotItem, which builds a control panel for its menu.
        self.centralLayout.setSpacing(0)
        self.centralLayout.setContentsMargins(0, 4, 16, 0)
        self.y_axis = self._add_axis("left", y)
        self.centralLayout.addItem(self.view, 0, 1)
        self.x_axis = self._add_axis("bottom", x)
        self._under_mouse: int | None = None
        self._press: QPointF | None = None
        self._last: QPointF | None = None
        self._sweeping = False
        self.view.zoomed.connect(self._show_cursor)
        self.setMinimumSize(160, 88)
        self._apply_theme()
        self._show_cursor()

    def _add_axis(self, side: Side, axis: Axis | ScatterAxis) -> PlotAxis:
        kind = LogAxis if axis.log else PlotAxis
        added = kind(side, axis.title, whole=axis.whole)
        self.centralLayout.addItem(added, *((1, 1) if side == "bottom" else (0, 0)))
        added.linkToView(self.view)
        return added

    # ---- content ----

    def index_at(self, point: QPointF) -> int | None:
        """Return the item at a point of the widget, or None."""
        return None

    def tooltip_at(self, point: QPointF) -> str:
        """Return the tooltip at a point of the widget; "" for none."""
        return "" if self.holds(point) else GESTURES

    def show_sweep(self, span: tuple[int, int] | None) -> None:
        """Show the items that a drag with Shift would select; None at its end."""

    # ---- coordinates ----

    def to_data(self, point: QPointF) -> QPointF:
        """Convert a point of the widget to data coordinates."""
        return self.view.mapSceneToView(self.mapToScene(point.toPoint()))

    def holds(self, point: QPointF) -> bool:
        """Return whether a point of the widget lies between the axes."""
        return self.view.sceneBoundingRect().contains(point)

    # ---- appearance ----

    def set_theme(self, theme: Theme) -> None:
        """Set the colours; extended by subclasses."""
        self.theme = theme
        self._apply_theme()

    def _apply_theme(self) -> None:
        self.setBackground(self.theme.panel)
        self.view.setBackgroundColor(self.theme.viewport)
        self._show_focus()
        for axis in (self.x_axis, self.y_axis):
            axis.set_theme(self.theme)

    def _show_focus(self) -> None:
        self.view.setBorder(pg.mkPen(self.theme.muted if self.hasFocus() else self.theme.line))

    def _show_cursor(self, *_: object) -> None:
        shape = Qt.CursorShape.OpenHandCursor if self.view.is_zoomed else Qt.CursorShape.CrossCursor
        if self._press is not None and not self._sweeping and self._last is not None:
            shape = Qt.CursorShape.ClosedHandCursor
        self.viewport().setCursor(shape)

    def resizeEvent(self, event: QResizeEvent | None) -> None:
        """Hide axis titles that have no room."""
        # pyqtgraph calls this with None from its constructor, before there are axes.
        super().resizeEvent(event)
        if event is not None:
            self.y_axis.hide_title_unless(self.room_for_y_title())

    def room_for_y_title(self) -> float:
        """Return the available length of the y axis' title, in pixels."""
        return self.height() - 40

    # ---- mouse: pyqtgraph's scene gets none of these events ----

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() is not Qt.MouseButton.LeftButton or not self.holds(event.position()):
            event.ignore()
            return
        self._press, self._last = event.position(), None
        self._sweeping = bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Hover, pan or, with Shift, sweep over items."""
        if self._press is None:
            self._hover(event.position())
            return
        moved = event.position() - self._press
        if self._last is None and math.hypot(moved.x(), moved.y()) <= CLICK_RADIUS:
            return
        if self._sweeping:
            self.show_sweep(self._swept_items(event.position()))
        else:
            move = self.to_data(self._last or self._press) - self.to_data(event.position())
            self.view.pan(move.x(), move.y())
        self._last = event.position()
        self._show_cursor()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        if event.button() is not Qt.MouseButton.LeftButton or self._press is None:
            event.ignore()
            return
        press, dragged, sweeping = self._press, self._last is not None, self._sweeping
        items = self._swept_items(event.position())
        self._end_drag()
        if not dragged:
            item = self.index_at(press)
            if item is not None:
                self.clicked.emit(item, event.modifiers())
        elif sweeping and items is not None:
            self.swept.emit(*items)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        if event.button() is Qt.MouseButton.LeftButton and self.holds(event.position()):
            self.clickRepeated.emit()
            self.view.show_all()

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Zoom along x (over the y axis: along y); a horizontal wheel pans."""
        at, turn = event.position(), event.angleDelta()
        share = WHEEL_STEP ** (turn.y() / 120)
        if turn.y() and at.x() < self.view.sceneBoundingRect().left():
            self.view.zoom_y(share, self.to_data(at).y())
        elif turn.y():
            self.view.zoom_x(share, self.to_data(at).x())
        elif turn.x():
            x0, x1 = self.view.spans()[0]
            self.view.pan(-turn.x() / 1200 * (x1 - x0), 0.0)
        event.accept()

    def leaveEvent(self, event: QEvent) -> None:
        self._set_under_mouse(None)

    def _hover(self, point: QPointF) -> None:
        self._set_under_mouse(self.index_at(point) if self.holds(point) else None)

    def _set_under_mouse(self, item: int | None) -> None:
        if item != self._under_mouse:
            self._under_mouse = item
            self.hovered.emit(item)

    def _swept_items(self, point: QPointF) -> tuple[int, int] | None:
        area = self.view.sceneBoundingRect()
        point.setX(min(max(point.x(), area.left()), area.right()))
        first = self.index_at(self._press) if self._press is not None else None
        last = self.index_at(point)
        return None if first is None or last is None else (first, last)

    def _end_drag(self) -> None:
        self._press = self._last = None
        self._sweeping = False
        self.show_sweep(None)
        self._show_cursor()

    # ---- keys and other events ----

    def event(self, event: QEvent) -> bool:
        # With the focus, these keys take precedence over shortcuts of the window.
        if event.type() == QEvent.Type.ShortcutOverride and isinstance(event, QKeyEvent):
            plain = not event.modifiers() & ~(
                Qt.KeyboardModifier.ShiftModifier | Qt.KeyboardModifier.KeypadModifier
            )
            dragging = event.key() == Qt.Key.Key_Escape and self._press is not None
            if (event.key() in _KEYS and plain) or dragging:
                event.accept()
                return True
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Show everything on F, step on arrows, zoom on + and −, end a drag on Esc."""
        match event.key():
            case Qt.Key.Key_F:
                self.view.show_all()
            case Qt.Key.Key_Left | Qt.Key.Key_Right:
                step = 1 if event.key() == Qt.Key.Key_Right else -1
                self.stepped.emit(step, event.modifiers())
            case Qt.Key.Key_Plus | Qt.Key.Key_Equal:
                self.view.zoom_x(WHEEL_STEP)
            case Qt.Key.Key_Minus:
                self.view.zoom_x(1 / WHEEL_STEP)
            case Qt.Key.Key_Escape if self._press is not None:
                self._end_drag()
            case _:
                event.ignore()

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self._show_focus()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self._show_focus()

    def close(self) -> bool:
        """Close like any widget: pyqtgraph's method removes the viewport, which crashes Qt."""
        return QWidget.close(self)

    def viewportEvent(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.ToolTip and isinstance(event, QHelpEvent):
            text = self.tooltip_at(QPointF(event.pos()))
            QToolTip.showText(event.globalPos(), wrapped(text), self)
            return True
        return super().viewportEvent(event)
