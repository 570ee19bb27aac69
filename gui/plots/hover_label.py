"""A small label beside a point of a plot, always inside the axes."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF, QSizeF, Qt
from PySide6.QtWidgets import QWidget

from geometry.checkpoints.plain_text import visible_lines
from gui.widgets.label import PlainLabel

PADDING = 16
"""Horizontal padding of the label, in pixels."""
GAP = 8
"""Gap between the point and the label, in pixels."""


class HoverLabel(PlainLabel):
    """A label beside a point, transparent to the mouse.

    Points are in the parent's coordinates.
    """

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent=parent)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.hide()

    def show_text(self, text: str, point: QPointF | None, area: QRectF) -> None:
        """Show a text beside a point, within an area; without a point or a text, hide the label.

        The text may have several lines; each is elided if it does not fit.
        """
        if point is None or not text:
            self.hide()
            return
        self.ensurePolished()  # the style sheet sets the font
        room = int(area.width()) - PADDING
        lines = (self._elided(line, room) for line in text.split("\n"))
        shown = visible_lines("\n".join(lines))
        if self.text() != shown:
            self.setText(shown)
            self.adjustSize()
        place = _beside(point, QSizeF(self.size()), area)
        self.move(place.toPoint())
        self.show()

    def _elided(self, line: str, room: int) -> str:
        return self.fontMetrics().elidedText(line, Qt.TextElideMode.ElideRight, room)


def _beside(point: QPointF, size: QSizeF, area: QRectF) -> QPointF:
    """Return the label's corner: above and right of the point, if there is room."""
    x = point.x() + GAP
    if x + size.width() > area.right():
        x = point.x() - GAP - size.width()
    y = point.y() - GAP - size.height()
    if y < area.top():
        y = point.y() + GAP
    x = max(area.left() + 1, min(x, area.right() - size.width() - 1))
    y = max(area.top() + 1, min(y, area.bottom() - size.height() - 1))
    return QPointF(x, y)
