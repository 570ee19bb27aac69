"""Files dropped from other programs: always copied.

A file manager that was asked to move a file removes it once the move is accepted, and text fields
accept whatever is proposed.
"""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QDragEnterEvent, QDragMoveEvent, QDropEvent, QGuiApplication, QWindow
from PySide6.QtWidgets import QApplication

COPY = Qt.DropAction.CopyAction


class CopiesOnly(QObject):
    """Offers files to the widgets of all windows as copies, whatever else their source allows.

    It looks at events of windows, not at those of all widgets, which would take time.
    """

    def __init__(self, qt: QGuiApplication) -> None:
        super().__init__(qt)
        qt.focusWindowChanged.connect(self.watch)

    def watch(self, window: QWindow | None) -> None:
        """Watch a window; again changes nothing."""
        if window is not None:
            window.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if not isinstance(event, QDropEvent) or not event.mimeData().hasUrls():
            return False
        if event.possibleActions() == COPY:
            return False
        event.setDropAction(COPY)
        event.setAccepted(bool(event.possibleActions() & COPY) and self._is_taken(watched, event))
        return True

    @staticmethod
    def _is_taken(window: QObject, event: QDropEvent) -> bool:
        """Return whether a window accepts what an event brings, offered as a copy."""
        rest = COPY, event.mimeData(), event.buttons(), event.modifiers()
        offered: QDropEvent
        if isinstance(event, QDragMoveEvent):
            kind = QDragEnterEvent if isinstance(event, QDragEnterEvent) else QDragMoveEvent
            offered = kind(event.position().toPoint(), *rest)
        else:
            offered = QDropEvent(event.position(), *rest)
        offered.setAccepted(event.isAccepted())  # Qt accepts moves where it was entered
        QApplication.sendEvent(window, offered)
        return offered.isAccepted()
