"""Tokens as a wrapping flow of chips, drawn in one widget so that thousands are cheap."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass

from PySide6.QtCore import QEvent, QPoint, QRect, QSize, Qt, Signal
from PySide6.QtGui import (
    QAccessible,
    QColor,
    QFocusEvent,
    QFont,
    QFontMetrics,
    QHelpEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QResizeEvent,
)
from PySide6.QtWidgets import QAbstractScrollArea, QFrame, QToolTip

from gui.style.theme import SMALL, TEXT, Theme
from gui.style.token_text import has_bytes, is_special, token_label, token_runs
from gui.widgets.fonts import sized
from gui.widgets.position_table import translucent
from gui.widgets.tooltips import wrapped

CHIP_HEIGHT = 22
GAP = 4
PADDING = 6


@dataclass(frozen=True, slots=True)
class Chip:
    """A token: its rectangle in content coordinates, and its look."""

    position: int
    box: QRect
    number_width: int
    runs: tuple[tuple[str, bool], ...]
    special: bool


class TokenFlow(QAbstractScrollArea):
    """Chips with position and token."""

    accessible_role = QAccessible.Role.List

    hovered = Signal(object)  # The position under the mouse, or None
    # A chip was clicked, or an arrow key moved to it; with the keyboard modifiers.
    chosen = Signal(int, object)

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._texts: tuple[str, ...] = ()
        self._ids: tuple[int, ...] = ()
        self._chips: tuple[Chip, ...] = ()
        self._tops: list[int] = []
        self._hover: int | None = None
        self._selection: tuple[int, ...] = ()
        self._under_mouse: int | None = None
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.verticalScrollBar().setSingleStep(CHIP_HEIGHT + GAP)
        self.viewport().setMouseTracking(True)
        self.viewport().setAutoFillBackground(False)
        self.setAccessibleName("Tokens of the prompt")

    @property
    def chips(self) -> tuple[Chip, ...]:
        """The chips in content coordinates."""
        return self._chips

    def set_tokens(self, texts: tuple[str, ...], ids: tuple[int, ...]) -> None:
        """Set the tokens; the first is at position 0."""
        if (texts, ids) != (self._texts, self._ids):
            self._texts, self._ids = texts, ids
            self._wrap()

    def set_marks(self, hover: int | None, selection: tuple[int, ...]) -> None:
        """Tint the chips of the hovered and of the selected positions."""
        moved = selection[-1:] != self._selection[-1:]
        if (hover, selection) == (self._hover, self._selection):
            return
        self._hover, self._selection = hover, selection
        if moved and selection:
            self._scroll_to(selection[-1])
        self.viewport().update()

    def set_theme(self, theme: Theme) -> None:
        """Set the colours."""
        self._theme = theme
        self.viewport().update()

    def box_on_screen(self, position: int) -> QRect:
        """Return the rectangle of a position's chip, in the viewport's coordinates."""
        return self._chips[position].box.translated(0, -self.verticalScrollBar().value())

    def minimumSizeHint(self) -> QSize:
        return QSize(120, 2 * (CHIP_HEIGHT + GAP))

    # ---- events ----

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._wrap()

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self.viewport().update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self.viewport().update()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        self._set_under_mouse(self._position_at(event.position().toPoint()))

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        position = self._position_at(event.position().toPoint())
        if position is not None and event.button() is Qt.MouseButton.LeftButton:
            self.chosen.emit(position, event.modifiers())

    def viewportEvent(self, event: QEvent) -> bool:
        if event.type() is QEvent.Type.Leave:
            self._set_under_mouse(None)
        elif event.type() is QEvent.Type.ToolTip and isinstance(event, QHelpEvent):
            position = self._position_at(event.pos())
            QToolTip.showText(event.globalPos(), wrapped(self.tip(position)), self.viewport())
            return True
        return super().viewportEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        last = len(self._texts) - 1
        current = self._selection[-1] if self._selection else -1
        if last < 0 or current > last:
            # Without a starting point, leave the keys to the window.
            event.ignore()
            return
        targets = {
            Qt.Key.Key_Left: current - 1,
            Qt.Key.Key_Right: current + 1,
            Qt.Key.Key_Home: 0,
            Qt.Key.Key_End: last,
        }
        if event.key() in targets:
            target = min(max(targets[Qt.Key(event.key())], 0), last)
            self.chosen.emit(target, Qt.KeyboardModifier.NoModifier)
        else:
            super().keyPressEvent(event)

    def tip(self, position: int | None) -> str:
        """Return the tooltip of a position's token; "" for None."""
        if position is None:
            return ""
        text = self._texts[position]
        tip = f"Position {position} · {token_label(text)}"
        if position < len(self._ids):
            tip += f" · token {self._ids[position]}"
        if has_bytes(text):
            tip += "\nPart of a character: the tokenizer splits rare characters into bytes"
        if self._chips[position].special:
            tip += (
                "\nThe beginning-of-text token, added by the tokenizer"
                if position == 0
                else "\nA control token"
            )
        return wrapped(tip)

    def paintEvent(self, event: QPaintEvent) -> None:
        if not self._chips:
            return
        top = self.verticalScrollBar().value()
        first = max(0, bisect_right(self._tops, top - CHIP_HEIGHT - 1))
        painter = QPainter(self.viewport())
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.translate(0, -top)
        for chip in self._chips[first:]:
            if chip.box.top() > top + self.viewport().height():
                break
            self._draw(painter, chip)
        if self.hasFocus():
            self._draw_focus(painter)
        painter.end()

    # ---- layout and drawing ----

    def _wrap(self) -> None:
        bar = self.verticalScrollBar()
        # Room for the scroll bar is reserved, so that its appearance does not rewrap the chips.
        width = max(self.contentsRect().width() - bar.sizeHint().width() - GAP, 40)
        small, plain = QFontMetrics(self._font(SMALL)), QFontMetrics(self._font(TEXT))
        chips: list[Chip] = []
        x = y = 0
        for position, text in enumerate(self._texts):
            number = small.horizontalAdvance(str(position))
            around = 2 * PADDING + number + GAP
            runs, text_width = _fitted(token_runs(text), plain, width - around)
            if x and x + around + text_width > width:
                x, y = 0, y + CHIP_HEIGHT + GAP
            box = QRect(x, y, around + text_width, CHIP_HEIGHT)
            chips.append(Chip(position, box, number, runs, is_special(text)))
            x += box.width() + GAP
        self._chips = tuple(chips)
        self._tops = [chip.box.top() for chip in chips]
        height = self.viewport().height()
        bar.setRange(0, max(0, y + CHIP_HEIGHT + 1 - height) if chips else 0)
        bar.setPageStep(height)
        self._under_mouse = None
        self.viewport().update()

    def _draw(self, painter: QPainter, chip: Chip) -> None:
        theme = self._theme
        fill, line = QColor(theme.field), QColor(theme.line)
        if chip.position in self._selection:
            fill, line = translucent(theme.accent, 36), QColor(theme.accent)
        if chip.position == self._hover:
            fill = translucent(theme.hover, 72)
        current = self._selection[-1:] == (chip.position,)
        pen = QPen(line, 2 if current else 1)
        if chip.special:
            pen.setStyle(Qt.PenStyle.DashLine)
            pen.setColor(QColor(theme.accent if chip.position in self._selection else theme.muted))
        painter.setPen(pen)
        painter.setBrush(fill)
        inset = 1.0 if current else 0.5
        painter.drawRoundedRect(chip.box.toRectF().adjusted(inset, inset, -inset, -inset), 4, 4)
        room = chip.box.adjusted(PADDING, 0, 0, 0)
        middle = Qt.AlignmentFlag.AlignVCenter
        painter.setFont(self._font(SMALL))
        painter.setPen(QColor(theme.muted))
        painter.drawText(room, middle, str(chip.position))
        room.adjust(chip.number_width + GAP, 0, 0, 0)
        painter.setFont(self._font(TEXT))
        for text, is_mark in chip.runs:
            painter.setPen(QColor(theme.muted if is_mark or chip.special else theme.text))
            painter.drawText(room, middle | Qt.TextFlag.TextDontClip, text)
            room.adjust(painter.fontMetrics().horizontalAdvance(text), 0, 0, 0)

    def _draw_focus(self, painter: QPainter) -> None:
        """Outline the chip from which the keys start."""
        current = self._selection[-1] if self._selection else 0
        box = self._chips[current if current < len(self._chips) else 0].box
        painter.setPen(QPen(QColor(self._theme.text), 1))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawRoundedRect(box.toRectF().adjusted(0.5, 0.5, -0.5, -0.5), 4, 4)

    def _font(self, pixels: int) -> QFont:
        return sized(self.font(), pixels)

    def _position_at(self, spot: QPoint) -> int | None:
        content = spot + QPoint(0, self.verticalScrollBar().value())
        first = max(0, bisect_right(self._tops, content.y() - CHIP_HEIGHT - 1))
        for chip in self._chips[first:]:
            if chip.box.contains(content):
                return chip.position
            if chip.box.top() > content.y():
                break
        return None

    def _set_under_mouse(self, position: int | None) -> None:
        if position != self._under_mouse:
            self._under_mouse = position
            shape = Qt.CursorShape.ArrowCursor
            if position is not None:
                shape = Qt.CursorShape.PointingHandCursor
            self.viewport().setCursor(shape)
            self.hovered.emit(position)

    def _scroll_to(self, position: int) -> None:
        if position >= len(self._chips):
            return
        bar, box = self.verticalScrollBar(), self._chips[position].box
        if box.top() < bar.value():
            bar.setValue(box.top())
        elif box.bottom() >= bar.value() + self.viewport().height():
            bar.setValue(box.bottom() + 2 - self.viewport().height())


def _fitted(
    runs: tuple[tuple[str, bool], ...], metrics: QFontMetrics, room: int
) -> tuple[tuple[tuple[str, bool], ...], int]:
    """Return the runs that fit into a width, elided with "…", and their width."""
    fitted: list[tuple[str, bool]] = []
    used = 0
    for text, is_mark in runs:
        shown = metrics.elidedText(text, Qt.TextElideMode.ElideRight, room - used)
        fitted.append((shown, is_mark))
        used += metrics.horizontalAdvance(shown)
        if shown != text:
            break
    return tuple(fitted), used
