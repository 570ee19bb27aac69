"""Draws the lines and headings of the model list."""

from __future__ import annotations

from math import ceil

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QPointF, QRect, QSize, Qt
from PySide6.QtGui import QColor, QFont, QFontMetrics, QPainter, QTextLayout, QTextOption
from PySide6.QtWidgets import QListView, QStyle, QStyledItemDelegate, QStyleOptionViewItem

from gui.side_panels.models.model_line import Group, ModelLine
from gui.style.theme import GRID, SMALL, TEXT, Theme
from gui.widgets.fonts import sized

Index = QModelIndex | QPersistentModelIndex
ROLE = Qt.ItemDataRole.UserRole
"""Role of a row's :class:`~.model_line.ModelLine`, or a heading's ``Group``."""

_ROW_HEIGHT, _HEADING_HEIGHT = 24, 22
_MARK = 14
"""Width of the column with the mark of the open model."""
_STATE_SHARE = 0.3
"""Maximum share of the text at the right of a line, with a long title."""


class ModelDelegate(QStyledItemDelegate):
    """Draws a heading, or a line: the mark of the open model, its title, its state."""

    def __init__(self, theme: Theme, view: QListView) -> None:
        super().__init__(view)
        self.theme = theme
        self._view = view

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        row, width = index.data(ROLE), self._view.viewport().width()
        if isinstance(row, Group):
            return QSize(width, _HEADING_HEIGHT if row.title else GRID // 2)
        if not row.wraps:
            return QSize(width, _ROW_HEIGHT)
        words = _wrapped(row, self._view.font(), _room(QRect(0, 0, width, 0)).width())
        return QSize(width, max(_ROW_HEIGHT, ceil(words.boundingRect().height()) + GRID))

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        painter.save()
        row, theme = index.data(ROLE), self.theme
        if isinstance(row, Group):
            room = QRect(option.rect).adjusted(GRID, 0, -GRID, 0)
            used = self._text(painter, room, row.unit, SMALL, theme.muted, right=True)
            room.setRight(room.right() - used - GRID)
            self._text(painter, room, row.title, SMALL, theme.muted, heavy=True)
        else:
            state = QStyle.StateFlag
            pointed_at = bool(option.state & (state.State_Selected | state.State_MouseOver))
            marked = pointed_at and row.kind != "note"
            if marked:
                painter.fillRect(option.rect, QColor(theme.line))
            # Grey text would be too faint on the background of a marked line.
            self._line(painter, _room(option.rect), row, theme.text if marked else theme.muted)
        painter.restore()

    def _line(self, painter: QPainter, room: QRect, line: ModelLine, muted: str) -> None:
        theme = self.theme
        tone = muted if line.refusal or line.kind == "note" else theme.text
        if line.wraps:
            lines = _wrapped(line, self._view.font(), room.width())
            painter.setPen(QColor(tone))
            above = (room.height() - lines.boundingRect().height()) // 2
            lines.draw(painter, QPointF(room.left(), room.top() + above))
            return
        if line.is_open:
            mark = room.adjusted(-_MARK, 0, 0, 0)
            self._text(painter, mark, "●", SMALL, theme.text)
        title = _font(self._view.font(), TEXT, heavy=line.is_open)
        spare = room.width() - QFontMetrics(title).horizontalAdvance(line.title) - GRID
        words = QRect(room)
        words.setLeft(room.right() + 1 - max(spare, int(_STATE_SHARE * room.width())))
        used = self._text(painter, words, line.state, SMALL, muted, right=True)
        room.setRight(room.right() - used - (GRID if used else 0))
        self._text(painter, room, line.title, TEXT, tone, heavy=line.is_open)

    def _text(
        self,
        painter: QPainter,
        room: QRect,
        text: str,
        pixels: int,
        color: str,
        *,
        heavy: bool = False,
        right: bool = False,
    ) -> int:
        """Draw an elided text; return its width."""
        painter.setFont(_font(self._view.font(), pixels, heavy=heavy))
        painter.setPen(QColor(color))
        metrics = painter.fontMetrics()
        # In the middle: the end of an id is more important.
        shown = metrics.elidedText(text, Qt.TextElideMode.ElideMiddle, max(0, room.width()))
        side = Qt.AlignmentFlag.AlignRight if right else Qt.AlignmentFlag.AlignLeft
        painter.drawText(room, side | Qt.AlignmentFlag.AlignVCenter, shown)
        return metrics.horizontalAdvance(shown)


def _room(rect: QRect) -> QRect:
    return rect.adjusted(GRID + _MARK, 0, -GRID, 0)


def _wrapped(line: ModelLine, font: QFont, width: int) -> QTextLayout:
    """Return a title's layout, wrapped between words if possible."""
    layout = QTextLayout(line.title, _font(font, SMALL if line.kind == "note" else TEXT))
    option = QTextOption()
    option.setWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
    layout.setTextOption(option)
    layout.beginLayout()
    top = 0.0
    while (row := layout.createLine()).isValid():
        row.setLineWidth(max(1, width))
        row.setPosition(QPointF(0, top))
        top += row.height()
    layout.endLayout()
    return layout


def _font(font: QFont, pixels: int, *, heavy: bool = False) -> QFont:
    sized_font = sized(font, pixels)
    sized_font.setWeight(QFont.Weight.DemiBold if heavy else QFont.Weight.Normal)
    sized_font.setFeature(QFont.Tag("tnum"), 1)
    return sized_font
