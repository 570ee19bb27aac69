"""A bar for each of the first components: its share of the variance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QAccessible,
    QColor,
    QFont,
    QFontMetrics,
    QHelpEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
)
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from gui.style.theme import SMALL, Theme, format_number, format_percent
from gui.widgets.tooltips import wrapped

N_BARS = 10
"""Number of components to choose from."""
_LINE = 14
"""Line height of the numbers at the default size of text, in pixels."""
_GAP = 5
"""Gap between two numbers, in pixels."""
_AXES = "xyz"


class VarianceBars(QWidget):
    """Up to ten bars; components on an axis are dark with their share above, others grey.

    The bars are relative to the largest. A click on one emits ``componentClicked``. Below each
    shown component is its axis; under the mouse, the axis to which a click would put a component.
    Its bar and that of the component it would replace have a tone between the other two.
    """

    accessible_role = QAccessible.Role.Chart

    componentClicked = Signal(int)

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._ratios: tuple[float, ...] = ()
        self._components: tuple[int, ...] = ()
        self._known = N_BARS
        self._next_axis = 2
        self._hover = 0
        self.setMaximumHeight(120)
        self.setMouseTracking(True)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setAccessibleName("Variance per component")

    def set_theme(self, theme: Theme) -> None:
        """Set the colours."""
        self._theme = theme
        self.update()

    @property
    def _line(self) -> int:
        """Line height of the numbers, in pixels."""
        return self._theme.px(_LINE)

    def set_shares(
        self, ratios: Sequence[float], components: Sequence[int], known: int = N_BARS
    ) -> None:
        """Show shares (0 to 1) of the first components, and which (1-based) are on the axes.

        Shares from number ``known`` on are those of an earlier range, as their tooltips explain.
        """
        self._ratios = tuple(float(ratio) for ratio in ratios[:N_BARS])
        self._components = tuple(components)
        self._known = known
        self.update()

    def set_next_axis(self, axis: int) -> None:
        """Set the axis (0–2) to which a click puts a component that is not shown."""
        self._next_axis = axis
        self.update()

    def axis_for(self, component: int) -> int:
        """Return the axis (0–2) to which a click puts a component: one that is shown moves on."""
        if component in self._components:
            return (self._components.index(component) + 1) % 3
        return self._next_axis

    def replaced(self, component: int) -> int:
        """Return the shown component that a click on another one replaces or swaps with it."""
        return self._components[self.axis_for(component)]

    def foot(self, component: int) -> str:
        """Return the text below a bar: its number and its axis, or the axis after a click."""
        if component == self._hover and self._components:
            return f"→ {_AXES[self.axis_for(component)]}"
        if component in self._components:
            return f"{component} {_AXES[self._components.index(component)]}"
        return str(component)

    def shares(self) -> tuple[float, ...]:
        """Return the drawn shares."""
        return self._ratios

    def slot(self, component: int) -> QRectF:
        """Return the column of a component (1-based), in this widget's pixels."""
        width = self.width() / N_BARS
        return QRectF((component - 1) * width, 0, width, self.height())

    def component_at(self, point: QPointF) -> int | None:
        """Return the component (1-based) at a point, or None."""
        component = int(point.x() * N_BARS // max(1, self.width())) + 1
        inside = 0 <= point.y() < self.height() and 1 <= component <= len(self._ratios)
        return component if inside else None

    def describe(self, component: int) -> str:
        """Return the tooltip of a component."""
        share = format_percent(self._ratios[component - 1], 2)
        text = f"PC {component} · {share} of the variance"
        if component > self._known:
            return f"{text} at the last exact fit"
        to, replaced = _AXES[self.axis_for(component)], f"PC {self.replaced(component)}"
        if component in self._components:
            now = _AXES[self._components.index(component)]
            return f"{text}, on {now}\nClick to move it to {to}, and {replaced} to {now}"
        return f"{text}\nClick to show it on {to} in place of {replaced}"

    def sizeHint(self) -> QSize:
        return QSize(240, 88)

    def minimumSizeHint(self) -> QSize:
        return QSize(200, 76)

    def event(self, event: QEvent) -> bool:
        if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip:
            component = self.component_at(QPointF(event.pos()))
            text = self.describe(component) if component else self.toolTip()
            QToolTip.showText(event.globalPos(), wrapped(text), self)
            return True
        return super().event(event)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        component = self.component_at(event.position())
        if event.button() == Qt.MouseButton.LeftButton and component:
            self.componentClicked.emit(component)
        else:
            event.ignore()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        self._set_hover(self.component_at(event.position()) or 0)

    def leaveEvent(self, event: QEvent) -> None:
        self._set_hover(0)

    def _set_hover(self, component: int) -> None:
        if component != self._hover:
            self._hover = component
            pointing = Qt.CursorShape.PointingHandCursor
            self.setCursor(pointing if component else Qt.CursorShape.ArrowCursor)
            self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        font = QFont(self.font())
        font.setPixelSize(self._theme.px(SMALL))
        painter.setFont(font)
        line = self._line
        foot = self.height() - line
        painter.fillRect(QRectF(0, foot, self.width(), 1), QColor(self._theme.line))
        largest = max(self._ratios[: self._known], default=0.0) or 1.0
        tops: dict[int, float] = {}
        for component in range(1, N_BARS + 1):
            height = 0.0
            if component <= len(self._ratios):
                height = min(1.0, self._ratios[component - 1] / largest) * (foot - line)
                if component in self._components:
                    tops[component] = foot - height
            self._draw_bar(painter, component, foot, height)
        painter.setPen(QColor(self._theme.text))
        for place, text in self.labels(tops, painter.fontMetrics()):
            painter.drawText(place, Qt.AlignmentFlag.AlignCenter, text)

    def labels(
        self, tops: Mapping[int, float], metrics: QFontMetrics
    ) -> tuple[tuple[QRectF, str], ...]:
        """Place the share of each shown component above its bar, none closer than a gap.

        ``tops`` are those of each shown component's bar, in pixels from the widget's top.
        """
        line = self._line
        texts = {c: format_number(100 * self._ratios[c - 1], 1) for c in sorted(tops)}
        width = {c: metrics.horizontalAdvance(text) for c, text in texts.items()}
        left: dict[int, float] = {}
        for c in texts:
            pushed = [left[o] + width[o] + _GAP for o in left if abs(tops[o] - tops[c]) < line]
            left[c] = max(0, self.slot(c).center().x() - width[c] / 2, *pushed)
        # Labels beyond the right edge push the others back.
        done: list[int] = []
        for c in reversed(texts):
            free = [left[o] - _GAP for o in done if abs(tops[o] - tops[c]) < line]
            left[c] = min(left[c], *(end - width[c] for end in (self.width(), *free)))
            done.append(c)
        return tuple((QRectF(left[c], tops[c] - line, width[c], line), texts[c]) for c in texts)

    def _draw_bar(self, painter: QPainter, component: int, foot: float, height: float) -> None:
        theme = self._theme
        column = self.slot(component)
        shown = component in self._components
        changing = self._hover and component in (self._hover, self.replaced(self._hover))
        tone = theme.muted if changing else theme.text if shown else theme.faint
        bar = QRectF(column.x() + 4, foot - height, column.width() - 8, height)
        painter.fillRect(bar.toAlignedRect(), QColor(tone))
        known = component <= len(self._ratios)
        painter.setPen(QColor(theme.text if shown and known else theme.muted))
        below = QRectF(column.x(), foot, column.width(), self._line)
        painter.drawText(below, Qt.AlignmentFlag.AlignCenter, self.foot(component))
