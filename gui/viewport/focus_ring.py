"""Keyboard-focus ring around the 3D view."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QFocusEvent

from gui.scene.hud import Lines2D

if TYPE_CHECKING:
    from gui.viewport.interactor import Interactor

LINE_WIDTH = 2.0
_BY_KEY = (
    Qt.FocusReason.TabFocusReason,
    Qt.FocusReason.BacktabFocusReason,
    Qt.FocusReason.ShortcutFocusReason,
)
_KEPT = (Qt.FocusReason.ActiveWindowFocusReason, Qt.FocusReason.PopupFocusReason)
"""Reasons for which a returning focus keeps the ring as it was."""


class FocusRing(QObject):
    """Ring around the view with the keyboard focus, drawn on top of the scene."""

    def __init__(self, interactor: Interactor) -> None:
        super().__init__(interactor)
        self._interactor = interactor
        self._lines: Lines2D | None = None
        self._style = ("#000000", 1.0)
        self._wanted = False
        interactor.installEventFilter(self)

    @property
    def shown(self) -> bool:
        """Whether the ring is drawn."""
        return self._wanted and bool(self._interactor.hasFocus())

    def style(self, color: str, scale: float) -> None:
        """Set the colour (``#rrggbb``), and the number of pixels per logical pixel."""
        if (color, scale) != self._style:
            self._style = (color, scale)
            self._show()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        kind = event.type()
        if isinstance(event, QFocusEvent):
            if event.reason() not in _KEPT and kind == QEvent.Type.FocusIn:
                self._wanted = event.reason() in _BY_KEY
            self._show(focused=kind == QEvent.Type.FocusIn)
        elif kind == QEvent.Type.MouseButtonPress and self._wanted:
            self._wanted = False
            self._show()
        elif kind == QEvent.Type.Resize and self.shown:
            self._show()
        return False

    def _show(self, *, focused: bool | None = None) -> None:
        shown = self._wanted and (self._interactor.hasFocus() if focused is None else focused)
        if self._lines is None:
            if not shown:
                return
            self._lines = Lines2D(self._interactor.renderer)
        color, scale = self._style
        width, height = (scale * v for v in (self._interactor.width(), self._interactor.height()))
        self._lines.style(color, LINE_WIDTH * scale)
        low, right, top = LINE_WIDTH / 2 * scale, width - scale, height - scale
        corners = [(low, low), (right, low), (right, top), (low, top), (low, low)]
        self._lines.draw([np.array(corners)] if shown else [])
        self._interactor.update()
