"""A column of widgets that scrolls."""

from __future__ import annotations

from PySide6.QtCore import Qt, Slot
from PySide6.QtGui import QAccessible
from PySide6.QtWidgets import QFrame, QScrollArea, QWidget


class ScrollColumn(QScrollArea):
    """A widget as wide as the area, which scrolls if it is higher.

    Room for the bar is always reserved. Otherwise showing it would change the width, and so the
    height of wrapped texts, and so the bar again: Qt would recurse until the stack overflows.
    """

    accessible_role = QAccessible.Role.Grouping

    def __init__(self, inside: QWidget | None = None) -> None:
        super().__init__()
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setWidgetResizable(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOn)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        bar = self.verticalScrollBar()
        bar.setEnabled(False)  # and so not drawn, while there is nothing to scroll
        bar.rangeChanged.connect(self._on_range_changed)
        if inside is not None:
            self.setWidget(inside)

    @Slot(int, int)
    def _on_range_changed(self, low: int, high: int) -> None:
        self.verticalScrollBar().setEnabled(high > low)
