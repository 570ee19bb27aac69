"""Buttons with a text, or a drawn symbol, and a tooltip."""

from __future__ import annotations

from typing import Literal

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPolygonF
from PySide6.QtWidgets import QPushButton, QSizePolicy, QToolButton

from gui.style.theme import Theme
from gui.widgets.tooltips import wrapped


def push_button(text: str, tip: str = "") -> QPushButton:
    """Create a button that is never the default one: Enter belongs to the focused field."""
    button = QPushButton(text)
    button.setAutoDefault(False)
    button.setToolTip(wrapped(tip))
    return button


Sign = Literal["play", "pause", "back", "on"]


class SignButton(QToolButton):
    """A button with a drawn symbol in the theme's colour, independent of fonts."""

    def __init__(self, sign: Sign, tip: str) -> None:
        super().__init__()
        self._color, self._muted = QColor(), QColor()
        self.show_sign(sign, tip)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)

    def show_sign(self, sign: Sign, tip: str) -> None:
        """Set the symbol and the tooltip."""
        self.sign: Sign = sign
        self.setToolTip(wrapped(tip))
        self.setAccessibleName(tip)
        self.update()

    def set_theme(self, theme: Theme) -> None:
        """Set the colours."""
        self._color, self._muted = QColor(theme.text), QColor(theme.muted)
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(26, 24)

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(self._color if self.isEnabled() else self._muted)
        painter.translate(self.width() / 2, self.height() / 2)
        if self.sign == "pause":
            painter.drawRect(QRectF(-4.5, -5, 3.2, 10))
            painter.drawRect(QRectF(1.3, -5, 3.2, 10))
            return
        if self.sign == "back":
            painter.scale(-1, 1)
        if self.sign == "play":
            painter.drawPolygon(QPolygonF([QPointF(-4, -6), QPointF(6, 0), QPointF(-4, 6)]))
        else:
            painter.drawPolygon(QPolygonF([QPointF(-5, -5), QPointF(2.5, 0), QPointF(-5, 5)]))
            painter.drawRect(QRectF(3, -5, 2, 10))
