"""A label that is elided if there is too little room."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent

from gui.widgets.label import PlainLabel

MIN_WIDTH = 40
"""Minimum width in logical pixels: a few letters."""


class ElidedLabel(PlainLabel):
    """A name, elided if there is too little room."""

    @property
    def shown_text(self) -> str:
        """The text as drawn, perhaps elided."""
        return self.fontMetrics().elidedText(
            self.text(), Qt.TextElideMode.ElideRight, self.contentsRect().width()
        )

    def minimumSizeHint(self) -> QSize:
        hint = super().minimumSizeHint()
        return QSize(min(hint.width(), MIN_WIDTH), hint.height())

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setPen(self.palette().color(self.foregroundRole()))
        painter.drawText(self.contentsRect(), self.alignment(), self.shown_text)
