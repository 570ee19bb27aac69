"""What is in a dock: a panel, which scrolls where the dock is lower than the panel has to be."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, QSize, Qt
from PySide6.QtGui import QAccessible, QResizeEvent
from PySide6.QtWidgets import QFrame, QScrollArea, QScrollBar

from gui.style.theme import GRID
from gui.widgets.panel import Panel

LEAST_SEEN = 8 * GRID
"""Minimum height of a panel that scrolls."""


class DockPanel(QScrollArea):
    """Holds a panel as wide as there is room, and at least as high as it has to be.

    Not by Qt's way of resizing it, which makes texts that wrap as high as they like to be. The bar
    is over the panel's margin, so that it takes no width: with the width the height could change.

    Attributes
    ----------
    panel, scrolls
        The panel, and whether this may be lower than the panel likes to be.
    """

    accessible_role = QAccessible.Role.Grouping

    def __init__(self, panel: Panel) -> None:
        self.panel, self.scrolls = panel, False
        super().__init__()
        policies = Qt.ScrollBarPolicy
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(policies.ScrollBarAlwaysOff)
        self.setVerticalScrollBarPolicy(policies.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.bar = QScrollBar(Qt.Orientation.Vertical, self)
        self.bar.hide()
        below = self.verticalScrollBar()
        below.rangeChanged.connect(self._on_range_changed)
        below.valueChanged.connect(self.bar.setValue)
        self.bar.valueChanged.connect(below.setValue)
        self.setWidget(panel)

    def set_scrolls(self, on: bool) -> None:
        """Set whether it may be lower than the panel likes to be."""
        if on != self.scrolls:
            self.scrolls = on
            self.updateGeometry()

    @property
    def needed(self) -> QSize:
        """The size that the panel likes to have at least."""
        return self.panel.minimumSizeHint().expandedTo(self.panel.minimumSize())

    def minimumSizeHint(self) -> QSize:
        needed = self.needed
        return QSize(needed.width(), min(needed.height(), LEAST_SEEN)) if self.scrolls else needed

    def sizeHint(self) -> QSize:
        return self.panel.sizeHint()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched is self.panel and event.type() == QEvent.Type.LayoutRequest:
            self.updateGeometry()
            self._fit()
        return super().eventFilter(watched, event)

    def _fit(self) -> None:
        room, width = self.viewport().size(), self.bar.sizeHint().width()
        self.panel.resize(room.width(), self.panel.height())  # its rows are those of this width
        self.panel.resize(room.width(), max(room.height(), self.panel.min_height_for(room.width())))
        self.bar.setGeometry(self.width() - width, 0, width, self.height())

    def _on_range_changed(self, low: int, high: int) -> None:
        self.bar.setRange(low, high)
        self.bar.setPageStep(self.viewport().height())
        self.bar.setSingleStep(2 * GRID)
        self.bar.setVisible(high > low)
        self.bar.raise_()
