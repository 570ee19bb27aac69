"""Panels keep their shares of the window when it is resized."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QObject, QTimer

from gui.window.layout import resize_docks, take_layout

if TYPE_CHECKING:
    from gui.state.layout import Layout
    from gui.window.host import HostWindow
    from gui.window.workspaces import Maximized

CHANGES = (QEvent.Type.Resize, QEvent.Type.Show, QEvent.Type.Hide)


class Shares(QObject):
    """Resizes the panels with their window, where Qt would resize the 3D view alone.

    The sizes follow from those that the panels had when they were arranged last, so they come back
    after a window too small for them.
    """

    def __init__(self, window: HostWindow, maximized: Maximized) -> None:
        super().__init__(window)
        self._window, self._maximized = window, maximized
        self._arranged: Layout | None = None
        self._seen: Layout | None = None  # As it was last, in a window of whatever size
        # Later: Qt gives panels their places one by one.
        self._soon = QTimer(self, interval=0, singleShot=True)
        self._soon.timeout.connect(self._note)
        for dock in window.docks.values():
            dock.installEventFilter(self)

    def stop(self) -> None:
        """Stop listening, because the window is closing."""
        self._soon.stop()
        for dock in self._window.docks.values():
            dock.removeEventFilter(self)

    def keep(self) -> None:
        """Give the panels their shares of the window, which has been resized."""
        if self._arranged is None or self._maximized.layout is not None:
            return
        resize_docks(self._window, self._arranged)
        self._seen = take_layout(self._window)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() in CHANGES:
            self._soon.start()
        return super().eventFilter(watched, event)

    def _note(self) -> None:
        """Remember how the panels are arranged, unless that is only the window's size."""
        if self._maximized.layout is not None or not self._window.isVisible():
            return
        now = take_layout(self._window)
        if self._seen is None or (now.areas, now.window) != (self._seen.areas, self._seen.window):
            self._arranged = self._seen = now
