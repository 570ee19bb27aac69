"""A drop-down list with a plain chevron."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QSize, Qt
from PySide6.QtGui import (
    QIcon,
    QImage,
    QKeyEvent,
    QPainter,
    QPaintEvent,
    QPalette,
    QPen,
    QPixmap,
    QWheelEvent,
)
from PySide6.QtWidgets import QComboBox

from gui.state.colors import lookup_table

SWATCH = QSize(32, 12)
_CHEVRON = [QPointF(-3.5, -1.5), QPointF(0.0, 2.0), QPointF(3.5, -1.5)]


class DropDown(QComboBox):
    """A combo box in the theme's colours.

    A style sheet cannot draw a combo box's arrow in the theme's colours without images, so this
    class draws it in the text's colour. The wheel changes it only with the focus.
    """

    def __init__(self) -> None:
        super().__init__()
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)

    def add_colormap(self, text: str, colormap: str) -> None:
        """Append a colour map with an icon of its colours."""
        table = lookup_table(colormap)
        line = QImage(table.tobytes(), len(table), 1, 4 * len(table), QImage.Format.Format_RGBA8888)
        self.setIconSize(SWATCH)
        self.addItem(QIcon(QPixmap.fromImage(line).scaled(SWATCH)), text, colormap)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Leave letters to the window's commands; they search the list only while it is open."""
        held = event.modifiers() & ~Qt.KeyboardModifier.ShiftModifier
        if event.text().isprintable() and event.text().strip() and not held:
            event.ignore()
        else:
            super().keyPressEvent(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(self.palette().color(QPalette.ColorRole.Text), 1.3))
        painter.translate(self.width() - 11.5, self.height() / 2)
        painter.drawPolyline(_CHEVRON)

    def showPopup(self) -> None:
        super().showPopup()
        # With a style sheet Qt ignores the margins of the popup's frame and cuts off the last row.
        view, last = self.view(), self.model().index(self.count() - 1, 0)
        lacking = view.visualRect(last).bottom() + 1 - view.viewport().height()
        if 0 < lacking < view.sizeHintForRow(0):
            view.window().resize(view.window().width(), view.window().height() + lacking)

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Step through the list, but only with the focus; otherwise the wheel scrolls the panel."""
        if self.hasFocus():
            super().wheelEvent(event)
        else:
            event.ignore()
