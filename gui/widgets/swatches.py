"""A legend of categories: squares of colour with names."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from PySide6.QtCore import QEvent, QRect, QSize, Qt
from PySide6.QtGui import QColor, QFont, QFontMetrics, QHelpEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from gui.style.theme import GRID, SMALL, Theme
from gui.widgets.fonts import sized
from gui.widgets.tooltips import wrapped

Rows = Sequence[tuple[str, np.ndarray]]
"""Names with their colours, each (4,) uint8."""
MAX_MEASURED = 64
"""Maximum number of names whose widths are measured."""
SQUARE, LINE, WIDTH = 10, 18, 120
"""Side of a square, height of a line and width of the legend, in pixels."""


class Swatches(QWidget):
    """Names of categories beside their colours; the whole names are in tooltips."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._rows_of: Callable[[int], Rows] = lambda _: ()
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Ignored)

    def show_rows(self, rows_of: Callable[[int], Rows]) -> None:
        """Set the function that returns names and colours for a number of lines."""
        self._rows_of = rows_of
        self.setAccessibleName(f"Colours of {', '.join(name for name, _ in rows_of(MAX_MEASURED))}")
        self.updateGeometry()
        self.update()

    def set_theme(self, theme: Theme) -> None:
        """Set the colours."""
        self._theme = theme
        self.update()

    def rows(self) -> Rows:
        """Return the names for which there is room, with their colours."""
        return self._rows_of(max(2, self.height() // self._theme.px(LINE)))

    def sizeHint(self) -> QSize:
        metrics = QFontMetrics(self._font())
        named = (metrics.horizontalAdvance(name) for name, _ in self._rows_of(MAX_MEASURED))
        needed = SQUARE + GRID + max(named, default=0) + GRID
        return QSize(min(needed, self._theme.px(WIDTH)), 0)

    def event(self, event: QEvent) -> bool:
        if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip:
            at = event.pos().y() // self._theme.px(LINE)
            rows = self.rows()
            name = rows[at][0] if at < len(rows) else ""
            QToolTip.showText(event.globalPos(), wrapped(name), self)
            return True
        return super().event(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setFont(self._font())
        line, left = self._theme.px(LINE), SQUARE + GRID
        for at, (name, color) in enumerate(self.rows()):
            top = at * line
            square = QRect(0, top + (line - SQUARE) // 2, SQUARE, SQUARE)
            painter.fillRect(square, QColor(*map(int, color)))
            painter.setPen(QColor(self._theme.muted))
            room = QRect(left, top, self.width() - left, line)
            text = painter.fontMetrics().elidedText(name, Qt.TextElideMode.ElideRight, room.width())
            painter.drawText(room, Qt.AlignmentFlag.AlignVCenter, text)

    def _font(self) -> QFont:
        return sized(self.font(), SMALL)
