"""How the lines of the ledger are drawn: two texts, and a mark of its own for each outcome."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QModelIndex, QPointF, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFont, QIcon, QPainter, QPen, QPixmap
from PySide6.QtWidgets import QStyle, QStyledItemDelegate, QStyleOptionViewItem, QWidget

from gui.panels.claims_text import Outcome
from gui.style.theme import GRID, SMALL, TEXT, Theme

MARK = 12
"""Pixels."""


class TwoLines(QStyledItemDelegate):
    """Draws a claim, and below it in small what is measured or why nothing is."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self.muted = QColor(theme.muted)

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | Any
    ) -> None:
        """Draw the line's background, then both texts, elided."""
        self.initStyleOption(option, index)
        option.text = ""
        style, widget = option.widget.style(), option.widget
        style.drawControl(QStyle.ControlElement.CE_ItemViewItem, option, painter, widget)
        left = option.rect.adjusted(GRID, 2, -GRID, -2)
        upper = QRect(left.left(), left.top(), left.width(), 18)
        lower = QRect(left.left(), upper.bottom(), left.width(), 14)
        painter.save()
        for text, rect, pixels, color in (
            (index.data(), upper, TEXT, option.palette.color(option.palette.ColorRole.Text)),
            (index.data(Qt.ItemDataRole.UserRole), lower, SMALL, self.muted),
        ):
            font = QFont(option.font)
            font.setPixelSize(pixels)
            painter.setFont(font)
            painter.setPen(color)
            shown = painter.fontMetrics().elidedText(
                text, Qt.TextElideMode.ElideRight, rect.width()
            )
            painter.drawText(rect, Qt.AlignmentFlag.AlignVCenter, shown)
        painter.restore()


def outcome_mark(how: Outcome, color: str, ratio: float) -> QIcon:
    """Draw a tick, a cross or an open ring: they differ in shape, not only in colour.

    What is not checked yet has no mark.
    """
    pixmap = QPixmap(QSize(MARK, MARK) * ratio)
    pixmap.setDevicePixelRatio(ratio)
    pixmap.fill(Qt.GlobalColor.transparent)
    painter = QPainter(pixmap)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(QPen(QColor(color), 1.6))
    if how == "holds":
        painter.drawPolyline([QPointF(1.5, 6.5), QPointF(4.5, 9.5), QPointF(10.5, 2.5)])
    elif how == "fails":
        painter.drawLine(QPointF(2.5, 2.5), QPointF(9.5, 9.5))
        painter.drawLine(QPointF(9.5, 2.5), QPointF(2.5, 9.5))
    elif how == "unknown":
        painter.drawEllipse(QRectF(2.0, 2.0, 8.0, 8.0))
    painter.end()
    icon = QIcon(pixmap)
    # Selected lines would tint the mark otherwise.
    icon.addPixmap(pixmap, QIcon.Mode.Selected)
    return icon
