"""The body of the kernels panel: all heads of a layer as small maps, beside the plots of one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QImage,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QResizeEvent,
)

from gui.panels.kernels.question import ByOffset, Kernels
from gui.panels.kernels.spec import (
    KernelsView,
    described,
    order_of,
    parts_of,
    query_of,
    score_of,
)
from gui.panels.kit.body import PanelBody
from gui.plots.picture_grid import PictureGrid, as_image
from gui.plots.qt_painter import PaintedRow
from gui.state.colors import lookup_table
from gui.state.session import Session
from gui.style.theme import GRID, SHADES, Theme, format_number
from gui.widgets.boxes import hbox
from gui.widgets.scroll_column import ScrollColumn

SIDE, LARGE = 46, 132
"""Minimum and maximum size of a small map, in pixels."""
STRETCH = 0.4
"""Exponent of the shade, so that thin lines are visible."""


class KernelsBody(PanelBody):
    """The wall of heads, the curves by lag, and the map."""

    def __init__(self, session: Session, theme: Theme) -> None:
        super().__init__(session, theme)
        self._view: KernelsView | None = None
        self._query: int | None = None
        self.wall = HeadWall(theme)
        self.wall.chosen.connect(lambda head: self.chosen.emit("head", head))
        self.area = WallArea(self.wall)
        self.plots = PaintedRow(session, theme, self.area, 5)
        self.plots.hoverRequested.connect(self.hoverRequested)
        self.plots.selectionRequested.connect(self.selectionRequested)
        hbox(self.plots, parent=self)

    def draw(self, view: KernelsView) -> None:
        result, sort = view.result, view.choices.sort
        assert isinstance(result, Kernels | ByOffset)
        if isinstance(result, ByOffset):
            cards = [_card_by_offset(result, at) for at in result.distance.argsort().tolist()]
        else:
            kernels = result.by_head
            cards = [
                HeadCard(at, kernels.maps[at], score_of(kernels, sort, at), described(kernels, at))
                for at in order_of(kernels, sort).tolist()
            ]
        self.wall.show_heads(cards)
        self.area.show_head(result.head)
        self._view, self._query = view, query_of(result, self.session.current)
        self.plots.draw(parts_of(view, self._query))

    def show_marks(self) -> None:
        view = self._view
        if view is None or not isinstance(view.result, Kernels | ByOffset):
            return
        query = query_of(view.result, self.session.current)
        if query == self._query:
            self.plots.show_marks()
        else:
            self._query = query
            self.plots.draw(parts_of(view, query))

    def forget(self) -> None:
        self._view = None
        self.plots.forget()

    def set_theme(self, theme: Theme) -> None:
        super().set_theme(theme)
        self.wall.set_theme(theme)
        self.plots.set_theme(theme)


@dataclass(frozen=True, eq=False, slots=True)
class HeadCard:
    """One head on the wall."""

    head: int  # Its number
    picture: np.ndarray  # (s, s) float32: its small map
    score: str  # The formatted number that heads are sorted by
    text: str  # Text of the hover label


def _card_by_offset(result: ByOffset, head: int) -> HeadCard:
    mean = format_number(float(result.distance[head]), 1)
    text = f"head {head}\nmean distance {mean} patches"
    return HeadCard(head, result.attention[head].astype(np.float32), mean, text)


class HeadWall(PictureGrid):
    """Small maps of all heads with their numbers."""

    chosen = Signal(int)
    """The head that was clicked, or chosen by a key."""

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme)
        self.cards: tuple[HeadCard, ...] = ()
        self.head = 0
        self._hovered: int | None = None
        self._room = 0
        self.setAccessibleName("Heads of the layer")
        self.setAccessibleDescription("Use the arrow keys to move between heads.")

    def show_heads(self, cards: Sequence[HeadCard]) -> None:
        """Set the heads, in order."""
        self.cards = tuple(cards)
        self._images.clear()
        self._fit()
        self.update()

    def show_head(self, head: int) -> None:
        """Mark the chosen head."""
        self.head = head
        self.setAccessibleDescription(
            f"Head {head} is selected. Use the arrow keys to move between heads."
        )
        self.update()

    # Geometry.

    def area_of(self, head: int) -> QRectF:
        """Return the rectangle of a head's small map, in logical pixels."""
        place = next(place for place, card in enumerate(self.cards) if card.head == head)
        across, side = self._arrangement()
        row, column = divmod(place, across)
        step = self._title() + side + GRID
        return QRectF(2 + column * (side + GRID), 2 + row * step + self._title(), side, side)

    def sizeHint(self) -> QSize:
        return QSize(4 * (SIDE + GRID), self._height())

    def set_room(self, height: int) -> None:
        """Set the visible height."""
        self._room = height
        self._fit()
        self.update()

    def _arrangement(self) -> tuple[int, float]:
        """Return the number of columns and the size of a map, as large as possible."""
        width, count = max(self.width() - 4, SIDE), max(len(self.cards), 1)
        max_columns = max(1, min((width + GRID) // (SIDE + GRID), count))
        fitting = [(self._side(across, width), across) for across in range(1, max_columns + 1)]
        side, across = max(fitting)
        if side >= SIDE:
            return across, side
        # Not all fit: as many columns as possible, and scrolling.
        return max_columns, (width + GRID) / max_columns - GRID

    def _side(self, across: int, width: int) -> float:
        high = (self._room - 4) / self._rows(across) - self._title() - GRID
        return min((width + GRID) / across - GRID, high, LARGE)

    def _rows(self, across: int) -> int:
        return max(1, -(-len(self.cards) // across))

    def _height(self) -> int:
        across, side = self._arrangement()
        return round(self._rows(across) * (self._title() + side + GRID)) + 4

    def _fit(self) -> None:
        self.setMinimumHeight(self._height())

    def _head_at(self, point: QPointF) -> int | None:
        grown = (
            (card.head, self.area_of(card.head).adjusted(0, -self._title(), 0, 0))
            for card in self.cards
        )
        return next((head for head, area in grown if area.contains(point)), None)

    # Painting.

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setFont(self._font())
        for card in self.cards:
            area = self.area_of(card.head)
            title = QRectF(area.left(), area.top() - self._title(), area.width(), self._title())
            middle = Qt.AlignmentFlag.AlignVCenter
            painter.setPen(QColor(self.theme.text))
            painter.drawText(title, middle | Qt.AlignmentFlag.AlignLeft, str(card.head))
            painter.setPen(QColor(self.theme.muted))
            painter.drawText(title, middle | Qt.AlignmentFlag.AlignRight, card.score)
            painter.drawImage(area, self._image(card))
            painter.setPen(self._frame(card.head))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRect(area.adjusted(-0.5, -0.5, 0.5, 0.5))
            if self.hasFocus() and card.head == self.head:
                painter.setPen(QPen(QColor(self.theme.text), 1))
                painter.drawRect(area.adjusted(2.0, 2.0, -2.0, -2.0))

    def _frame(self, head: int) -> QPen:
        if head == self.head:
            return QPen(QColor(self.theme.accent), 2)
        return QPen(QColor(self.theme.hover if head == self._hovered else self.theme.line), 1)

    def _image(self, card: HeadCard) -> QImage:
        if card.head not in self._images:
            peak = float(card.picture.max()) or 1.0
            shade = (card.picture / peak) ** STRETCH
            index = np.clip(shade * 255, 0, 255).astype(np.uint8)
            self._images[card.head] = as_image(lookup_table(SHADES[self.theme.name])[index])
        return self._images[card.head]

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    # The mouse and the keys.

    def _hover(self, point: QPointF | None) -> None:
        head = None if point is None else self._head_at(point)
        if head != self._hovered:
            self._hovered = head
            self.update()
        text = "" if head is None else self._card(head).text
        seen = QRectF(self.visibleRegion().boundingRect())
        self._show_label(text, point, seen, clickable=head is not None)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        head = self._head_at(event.position())
        if event.button() is Qt.MouseButton.LeftButton and head is not None:
            self.chosen.emit(head)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        across, _ = self._arrangement()
        last = len(self.cards) - 1
        steps = {
            Qt.Key.Key_Left: -1,
            Qt.Key.Key_Right: 1,
            Qt.Key.Key_Up: -across,
            Qt.Key.Key_Down: across,
            Qt.Key.Key_Home: -last,
            Qt.Key.Key_End: last,
        }
        step = steps.get(Qt.Key(event.key()))
        if step is None or not self.cards:
            super().keyPressEvent(event)
            return
        heads = [card.head for card in self.cards]
        place = heads.index(self.head) if self.head in heads else 0
        wanted = heads[min(max(place + step, 0), last)]
        if wanted != self.head:
            self.chosen.emit(wanted)

    def _card(self, head: int) -> HeadCard:
        return next(card for card in self.cards if card.head == head)


class WallArea(ScrollColumn):
    """The wall in a scroll area that keeps the chosen head visible."""

    def __init__(self, wall: HeadWall) -> None:
        super().__init__(wall)
        self.wall = wall

    def resizeEvent(self, event: QResizeEvent) -> None:
        self.wall.set_room(self.viewport().height())
        super().resizeEvent(event)

    def show_head(self, head: int) -> None:
        """Mark the chosen head, and scroll to it."""
        self.wall.show_head(head)
        if any(card.head == head for card in self.wall.cards):
            area = self.wall.area_of(head).toRect()
            middle = area.center()
            self.ensureVisible(middle.x(), middle.y(), 0, area.height() // 2 + 2 * GRID)
