"""The common colour bar of all views."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFont, QFontMetrics, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from gui.plots.picture_grid import as_image
from gui.state.colors import (
    EACH_POSITION,
    EACH_VALUE,
    IN_EACH_RANGE,
    ColorScale,
    common_scale,
)
from gui.state.session import DRAWN, Session
from gui.style.listening import Listening
from gui.style.theme import GRID, SMALL, Theme

BAR, MAX_HEIGHT = 8, 240
"""Width of the bar and its maximum height, in logical pixels."""
MAX_CATEGORIES, MAX_NAME_WIDTH = 12, 120
"""Maximum number of listed categories, and width of their names in logical pixels."""


@dataclass(frozen=True, eq=False, slots=True)
class StripDrawing:
    """The drawing of a colour strip, for several painters."""

    # Rectangle, text and colour of each; right-aligned, vertically centred.
    texts: list[tuple[QRectF, str, str]]
    # The bar, or squares of categories, each with (n, 4) uint8 colours, the lowest first.
    bars: list[tuple[QRectF, np.ndarray]]


class ColorStrip(QWidget):
    """A colour bar for several views."""

    def __init__(self, session: Session, theme: Theme) -> None:
        super().__init__()
        self._session, self.theme = session, theme
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Expanding)
        self.setAccessibleName("Colours of all views")
        self._listening = Listening()
        of_colors = [name for name in DRAWN if "color" in name]
        for name in ("model", "curve", "norms", "tokens", *of_colors):
            self._listening.to(session.events[name], self._on_changed)
        self._others = Listening()
        self._listening.to(session.events.open_models, self._listen_to_others)
        self._listen_to_others()

    @property
    def scale(self) -> ColorScale | None:
        """The colour scale; None if no model is open."""
        if self._session.model is None or self._session.curve is None:
            return None
        return common_scale(self._session)

    def set_theme(self, theme: Theme) -> None:
        """Set the colours."""
        self.theme = theme
        self.update()

    def release(self) -> None:
        """Stop listening; called by the owner before deletion."""
        self._listening.stop()
        self._others.stop()

    def sizeHint(self) -> QSize:
        scale, width = self.scale, 0
        if scale is not None:
            metrics = QFontMetrics(self._font())
            texts = [*scale.title.split(", "), *scale.labels]
            # Room for these, too: another width would cause all views to be framed again.
            texts += [IN_EACH_RANGE, *EACH_POSITION, *EACH_VALUE]
            width = max(metrics.horizontalAdvance(text) for text in texts)
            names = (name for name, _ in scale.legend(self.theme.viewport, MAX_CATEGORIES))
            wide = max((metrics.horizontalAdvance(name) for name in names), default=0)
            width = max(width, min(wide, MAX_NAME_WIDTH) + BAR + GRID // 2)
        return QSize(max(width, 4 * GRID) + 2 * GRID, 120)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.fillRect(self.rect(), QColor(self.theme.viewport))
        self.draw(painter, QRectF(self.rect()), self.theme)

    def draw(self, painter: QPainter, area: QRectF, theme: Theme) -> None:
        """Draw bar and labels into an area, vertically centred."""
        drawing = self.drawing(area, theme)
        if drawing is None:
            return
        for bar, table in drawing.bars:
            painter.drawImage(bar, as_image(table[::-1, None]))
        painter.setFont(self._font())
        for room, text, color in drawing.texts:
            painter.setPen(QColor(color))
            painter.drawText(
                room, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, text
            )

    def drawing(self, area: QRectF, theme: Theme) -> StripDrawing | None:
        """Return the drawing for an area; None if no model is open, or there is no room."""
        scale = self.scale
        if scale is None:
            return None
        line = QFontMetrics(self._font()).height()
        title = scale.title.split(", ")
        if scale.categories:
            return self._legend(area, theme, scale)
        above = (len(title) + 1) * line + GRID
        height = min(MAX_HEIGHT, area.height() - above - line - 2 * GRID)
        if height < line:
            return None
        top = area.center().y() - height / 2 + (above - line) / 2
        bar = QRectF(area.right() - GRID - BAR, top, BAR, height)
        room = QRectF(area.left(), top - above + GRID / 2, area.width() - GRID, line)
        texts = [
            (room.translated(0, number * line), text, theme.text)
            for number, text in enumerate(title)
        ]
        texts.append((room.translated(0, len(title) * line), scale.labels[1], theme.muted))
        room.moveTop(bar.bottom() + GRID / 2)
        texts.append((room, scale.labels[0], theme.muted))
        return StripDrawing(texts, [(bar, scale.table(theme.viewport))])

    def _legend(self, area: QRectF, theme: Theme, scale: ColorScale) -> StripDrawing:
        """Return the title, then a name and a square for each category."""
        metrics = QFontMetrics(self._font())
        line = metrics.height()
        rows = scale.legend(
            theme.viewport, max(min(MAX_CATEGORIES, int(area.height() / line) - 2), 2)
        )
        top = area.center().y() - (len(rows) + 1) * line / 2
        room = QRectF(area.left(), top, area.width() - GRID, line)
        texts, squares = [(QRectF(room), scale.title, theme.text)], []
        for name, color in rows:
            room.translate(0, line)
            square = QRectF(area.right() - GRID - BAR, room.center().y() - BAR / 2, BAR, BAR)
            squares.append((square, color[None]))
            beside = room.adjusted(0, 0, -BAR - GRID / 2, 0)
            elided = metrics.elidedText(name, Qt.TextElideMode.ElideRight, int(beside.width()))
            texts.append((beside, elided, theme.muted))
        return StripDrawing(texts, squares)

    def _font(self) -> QFont:
        font = QFont(self.font())
        font.setPixelSize(self.theme.px(SMALL))
        return font

    def _listen_to_others(self) -> None:
        """Listen to the other models, whose ranges the colours may span."""
        self._others.stop()
        for other in self._session.others:
            for name in ("curve", "norms"):
                self._others.to(other.session.events[name], self._on_changed)
        self._on_changed()

    def _on_changed(self) -> None:
        if self.isVisible():
            self.updateGeometry()
            self.update()
