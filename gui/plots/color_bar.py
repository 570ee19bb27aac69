"""The colour bar of a heatmap, with draggable ends."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

from PySide6.QtCore import QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QAccessible,
    QColor,
    QFont,
    QFontMetrics,
    QImage,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
)
from PySide6.QtWidgets import QSizePolicy, QWidget

from gui.plots.picture_grid import as_image
from gui.state.colors import lookup_table
from gui.style.theme import GRID, SMALL, Theme, format_level
from gui.widgets.tooltips import wrapped

BAR, WIDTH = 12, 72
TIP = "Drag the upper or lower half to change the value at that end; double-click to reset."
STEP = 1.25
"""Factor of the span for a key press, or for a drag over a quarter of the bar."""


class ColorBar(QWidget):
    """A vertical colour bar; dragging near an end changes the value of its colour."""

    accessible_role = QAccessible.Role.Slider

    levelsRequested = Signal(float, float)
    """Requested values of the two ends."""

    def __init__(self, theme: Theme, title: str) -> None:
        super().__init__()
        self.theme = theme
        self._levels, self._home = (0.0, 1.0), (0.0, 1.0)
        self._log = False
        self._colors = _colors_of("gray")
        self._write: Callable[[float], str] = format_level
        self._press: tuple[float, bool, tuple[float, float]] | None = None
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Expanding)
        self.setCursor(Qt.CursorShape.SizeVerCursor)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.set_title(title)

    @property
    def levels(self) -> tuple[float, float]:
        """The values at the lower and the upper end."""
        return self._levels

    def set_title(self, title: str) -> None:
        """Set the name of the quantity."""
        self.setAccessibleName(f"Colours of {title}")
        self.setToolTip(wrapped(f"{title}. {TIP}"))

    def show_scale(
        self,
        colormap: str,
        levels: tuple[float, float],
        home: tuple[float, float],
        *,
        log: bool = False,
    ) -> None:
        """Set colours and values.

        Parameters
        ----------
        colormap, levels, log
            As in :meth:`gui.plots.heatmap.Heatmap.set_colors`.
        home
            Levels restored by a double-click.
        """
        self._colors = _colors_of(colormap)
        self._levels, self._home, self._log = levels, home, log
        self.update()

    def set_theme(self, theme: Theme) -> None:
        """Set the colours."""
        self.theme = theme
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(WIDTH, 120)

    def minimumSizeHint(self) -> QSize:
        return QSize(WIDTH, 48)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter, area = QPainter(self), self._bar()
        painter.drawImage(area, self._colors)
        painter.setPen(QPen(QColor(self.theme.muted if self.hasFocus() else self.theme.line), 1))
        painter.drawRect(area)
        font = QFont(self.font())
        font.setPixelSize(self.theme.px(SMALL))
        painter.setFont(font)
        painter.setPen(QColor(self.theme.muted))
        height = QFontMetrics(font).height()
        for share in (0.0, 0.5, 1.0) if area.height() > 4 * height else (0.0, 1.0):
            y = area.bottom() - share * area.height()
            top = min(max(y - height / 2, area.top() - 2), area.bottom() - height + 2)
            room = QRectF(area.right() + GRID / 2, top, self.width() - area.right(), height)
            painter.drawText(room, Qt.AlignmentFlag.AlignVCenter, self._write(self._value(share)))

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() is Qt.MouseButton.LeftButton:
            upper = event.position().y() < self._bar().center().y()
            self._press = event.position().y(), upper, self._levels

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Move the held end; up increases its value."""
        if self._press is not None:
            start, upper, levels = self._press
            steps = 4 * (start - event.position().y()) / max(self._bar().height(), 1.0)
            self._change(levels, upper, STEP**steps)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        self._press = None

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        self._press = None
        self.levelsRequested.emit(*self._home)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Up and Down move the upper end, with Shift the lower one; Home restores both."""
        upper = not event.modifiers() & Qt.KeyboardModifier.ShiftModifier
        match event.key():
            case Qt.Key.Key_Up:
                self._change(self._levels, upper, STEP)
            case Qt.Key.Key_Down:
                self._change(self._levels, upper, 1 / STEP)
            case Qt.Key.Key_Home:
                self.levelsRequested.emit(*self._home)
            case _:
                event.ignore()

    def _bar(self) -> QRectF:
        return QRectF(1.0, 5.0, BAR, max(self.height() - 10.0, 1.0))

    def _value(self, share: float) -> float:
        low, high = self._levels
        if self._log and low > 0.0:
            return float(low * (high / low) ** share)
        return low + share * (high - low)

    def _change(self, levels: tuple[float, float], upper: bool, factor: float) -> None:
        """Stretch the span by moving one end."""
        low, high = (math.log(level) for level in levels) if self._log else levels
        if upper:
            high = low + (high - low) * factor
        else:
            low = high - (high - low) / factor
        ends = (math.exp(low), math.exp(high)) if self._log else (low, high)
        self.levelsRequested.emit(*ends)


@cache
def _colors_of(colormap: str) -> QImage:
    """Return a colour map as a column of pixels, its upper end on top."""
    return as_image(lookup_table(colormap)[::-1, None])
