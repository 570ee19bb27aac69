"""The offer to search the Hub, visible while its line of the list is not."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QPushButton, QWidget

from gui.side_panels.models.model_line import ModelLine
from gui.style.theme import GRID, Theme
from gui.widgets.label import without_keys
from gui.widgets.tooltips import wrapped

HEIGHT = 25
_INDENT = 22
"""Left edge of the list's titles."""


class StickyOffer(QPushButton):
    """A copy of a line under the list, for the mouse."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self.line: ModelLine | None = None
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setFixedHeight(HEIGHT)
        self.setAccessibleName("Search the Hub")
        self.setToolTip("Search the Hub for the text typed above")
        self.set_theme(theme)
        self.hide()

    def set_theme(self, theme: Theme) -> None:
        self.setStyleSheet(
            f"QPushButton {{ background: {theme.field}; color: {theme.text}; text-align: left;"
            f" border: none; border-top: 1px solid {theme.line}; border-radius: 0;"
            f" padding: 0 {GRID}px 0 {_INDENT}px; min-height: 0; }}"
            f"QPushButton:hover {{ background: {theme.line}; }}"
        )

    def show_line(self, line: ModelLine) -> None:
        """Show a line."""
        self.line = line
        self.setAccessibleName(line.title)
        self.setToolTip(wrapped(f"{line.title}\n{line.tip}"))
        self._elide()
        self.show()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._elide()

    def _elide(self) -> None:
        if self.line is not None:
            room = self.width() - _INDENT - GRID
            metrics = self.fontMetrics()
            text = metrics.elidedText(self.line.title, Qt.TextElideMode.ElideMiddle, room)
            self.setText(without_keys(text))
