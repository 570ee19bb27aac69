"""A line of text that may change on every tick of a drag."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QRect, QSize, Qt
from PySide6.QtGui import QColor, QFont, QFontMetrics, QHelpEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from gui.style.theme import GRID, SMALL, TEXT, Theme
from gui.widgets.fonts import sized
from gui.widgets.tooltips import wrapped


class Readout(QWidget):
    """A line of text, with a small muted note at its right, that only repaints when it changes.

    A QLabel requests a new layout for every text, which costs more than drawing it. Long texts are
    elided, the note first, and complete in the tooltip.
    """

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._text = ""
        self._note = ""
        self._theme = theme
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)

    def text(self) -> str:
        """Return the full text, even if elided."""
        return self._text

    def note(self) -> str:
        """Return the full note, even if elided."""
        return self._note

    def set_text(self, text: str) -> None:
        """Set the text."""
        self._show(text, self._note)

    def set_note(self, note: str) -> None:
        """Set the note."""
        self._show(self._text, note)

    def set_theme(self, theme: Theme) -> None:
        """Set the colours."""
        self._theme = theme
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(80, QFontMetrics(self._font(TEXT)).height() + 2)

    def minimumSizeHint(self) -> QSize:
        return self.sizeHint()

    def event(self, event: QEvent) -> bool:
        if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip:
            lines = (self._text, self._note, self.toolTip())
            QToolTip.showText(event.globalPos(), wrapped("\n".join(filter(None, lines))), self)
            return True
        return super().event(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        used = 0
        if self._text:
            painter.setFont(self._font(TEXT))
            painter.setPen(QColor(self._theme.text))
            used = painter.fontMetrics().horizontalAdvance(self._text) + GRID
            self._draw(painter, self.rect(), self._text, Qt.AlignmentFlag.AlignLeft)
        painter.setFont(self._font(SMALL))
        painter.setPen(QColor(self._theme.muted))
        side = Qt.AlignmentFlag.AlignRight if used else Qt.AlignmentFlag.AlignHCenter
        room = self.rect().adjusted(used, 0, 0, 0)
        # A range that is cut would be another one; the tooltip has the whole.
        if not used or painter.fontMetrics().horizontalAdvance(self._note) <= room.width():
            self._draw(painter, room, self._note, side)

    def _show(self, text: str, note: str) -> None:
        if (text, note) != (self._text, self._note):
            self._text, self._note = text, note
            self.setAccessibleName(" · ".join(filter(None, (text, note))))
            self.update()

    def _font(self, pixels: int) -> QFont:
        return sized(self.font(), pixels)

    def _draw(self, painter: QPainter, room: QRect, text: str, side: Qt.AlignmentFlag) -> None:
        shown = painter.fontMetrics().elidedText(
            text, Qt.TextElideMode.ElideRight, max(0, room.width())
        )
        painter.drawText(room, side | Qt.AlignmentFlag.AlignVCenter, shown)
