"""The content of a dock: a panel, which scrolls if the dock is lower than its minimum height."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, QSize, Qt
from PySide6.QtGui import QAccessible, QResizeEvent
from PySide6.QtWidgets import QFrame, QScrollArea, QScrollBar

from gui.style.theme import GRID
from gui.widgets.panel import Panel

MIN_SCROLLED_HEIGHT = 8 * GRID
"""Minimum height of a panel that scrolls."""


class DockPanel(QScrollArea):
    """Holds a panel as wide as the dock, and at least as high as its minimum height.

    Qt's own resizing would use the preferred height of wrapped texts. The bar covers the panel's
    margin, so that it takes no width, which could change the height.

    Attributes
    ----------
    panel, scrolls
        The panel, and whether this may be lower than the panel's minimum height.
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
        """Set whether this may be lower than the panel's minimum height."""
        if on != self.scrolls:
            self.scrolls = on
            self.updateGeometry()

    @property
    def needed(self) -> QSize:
        """The minimum size of the panel."""
        return self.panel.minimumSizeHint().expandedTo(self.panel.minimumSize())

    def minimumSizeHint(self) -> QSize:
        needed = self.needed
        return (
            QSize(needed.width(), min(needed.height(), MIN_SCROLLED_HEIGHT))
            if self.scrolls
            else needed
        )

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
        self.panel.resize(room.width(), self.panel.height())  # wraps its rows to this width
        self.panel.resize(room.width(), max(room.height(), self.panel.min_height_for(room.width())))
        self.bar.setGeometry(self.width() - width, 0, width, self.height())

    def _on_range_changed(self, low: int, high: int) -> None:
        self.bar.setRange(low, high)
        self.bar.setPageStep(self.viewport().height())
        self.bar.setSingleStep(2 * GRID)
        self.bar.setVisible(high > low)
        self.bar.raise_()
