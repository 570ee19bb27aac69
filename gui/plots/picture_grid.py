"""Base of grids of small pictures under titles, with a hover label."""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import QEvent, QPointF, QRectF, Qt
from PySide6.QtGui import QAccessible, QFont, QFontMetrics, QImage, QMouseEvent
from PySide6.QtWidgets import QWidget

from gui.plots.hover_label import HoverLabel
from gui.style.theme import SMALL, Theme


class PictureGrid(QWidget):
    """Pictures with hover and focus; subclasses place and paint them."""

    accessible_role = QAccessible.Role.Graphic

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.theme = theme
        self._images: dict[int, QImage] = {}
        self._label = HoverLabel(self)
        self._text = ""
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)

    def hover_text(self) -> str:
        """Return the text of the hover label; "" while it is hidden."""
        return "" if self._label.isHidden() else self._text

    def set_theme(self, theme: Theme) -> None:
        """Set the colours."""
        self.theme = theme
        self._images.clear()
        self.update()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        self._hover(event.position())

    def leaveEvent(self, event: QEvent) -> None:
        self._hover(None)

    def _hover(self, point: QPointF | None) -> None:
        raise NotImplementedError

    def _show_label(
        self, text: str, point: QPointF | None, area: QRectF, *, clickable: bool
    ) -> None:
        self._text = text
        shape = Qt.CursorShape.PointingHandCursor if clickable else Qt.CursorShape.ArrowCursor
        self.setCursor(shape)
        self._label.show_text(text, point if text else None, area)

    def _title(self) -> int:
        """Return the height of a title."""
        return QFontMetrics(self._font()).height() + 2

    def _font(self) -> QFont:
        font = QFont(self.font())
        font.setPixelSize(self.theme.px(SMALL))
        return font


def as_image(colors: np.ndarray) -> QImage:
    """Return (rows, columns, 3 or 4) uint8 colours as an image."""
    table = np.ascontiguousarray(colors)
    rows, columns, channels = table.shape
    kind = QImage.Format.Format_RGBA8888 if channels == 4 else QImage.Format.Format_RGB888
    # copy() owns its pixels, so the array may be freed.
    return QImage(table.data, columns, rows, channels * columns, kind).copy()
