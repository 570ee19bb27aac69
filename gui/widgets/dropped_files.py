"""Files dropped from other programs: always copied.

A file manager deletes a moved file once the move is accepted, and text fields accept any proposed
action.
"""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QDragEnterEvent, QDragMoveEvent, QDropEvent, QGuiApplication, QWindow
from PySide6.QtWidgets import QApplication

COPY = Qt.DropAction.CopyAction


class CopiesOnly(QObject):
    """Offers dropped files to the widgets of all windows as copies only.

    It filters events of windows, not those of all widgets, which would take time.
    """

    def __init__(self, qt: QGuiApplication) -> None:
        super().__init__(qt)
        qt.focusWindowChanged.connect(self.watch)

    def watch(self, window: QWindow | None) -> None:
        """Filter the events of a window; idempotent."""
        if window is not None:
            window.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if not isinstance(event, QDropEvent) or not event.mimeData().hasUrls():
            return False
        if event.possibleActions() == COPY:
            return False
        event.setDropAction(COPY)
        event.setAccepted(
            bool(event.possibleActions() & COPY) and self._is_accepted(watched, event)
        )
        return True

    @staticmethod
    def _is_accepted(window: QObject, event: QDropEvent) -> bool:
        """Return whether a window accepts the data of an event, offered as a copy."""
        arguments = COPY, event.mimeData(), event.buttons(), event.modifiers()
        offered: QDropEvent
        if isinstance(event, QDragMoveEvent):
            kind = QDragEnterEvent if isinstance(event, QDragEnterEvent) else QDragMoveEvent
            offered = kind(event.position().toPoint(), *arguments)
        else:
            offered = QDropEvent(event.position(), *arguments)
        offered.setAccepted(event.isAccepted())  # Qt accepts moves if the entering was accepted
        QApplication.sendEvent(window, offered)
        return offered.isAccepted()
