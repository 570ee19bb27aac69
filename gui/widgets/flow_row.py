"""A row of controls that wraps."""

from __future__ import annotations

from PySide6.QtCore import QPoint, QRect, QSize, Qt
from PySide6.QtWidgets import QLayout, QLayoutItem, QWidget

from gui.style.theme import GRID


class FlowRow(QLayout):
    """Widgets side by side at their preferred sizes, wrapped, and vertically centred in each row.

    Parameters
    ----------
    parent
        The widget that gets this layout.
    spacing
        Between widgets and between rows, in pixels.
    """

    def __init__(self, parent: QWidget, spacing: int = GRID) -> None:
        super().__init__(parent)
        self._items: list[QLayoutItem] = []
        self.setContentsMargins(0, 0, 0, 0)
        self.setSpacing(spacing)

    # Methods of QLayout.

    def addItem(self, item: QLayoutItem) -> None:
        """Add an item; called by :meth:`addWidget`."""
        self._items.append(item)

    def count(self) -> int:
        return len(self._items)

    def itemAt(self, index: int) -> QLayoutItem | None:
        return self._items[index] if 0 <= index < len(self._items) else None

    def takeAt(self, index: int) -> QLayoutItem | None:
        return self._items.pop(index) if 0 <= index < len(self._items) else None

    def expandingDirections(self) -> Qt.Orientation:
        return Qt.Orientation(0)

    def hasHeightForWidth(self) -> bool:
        return True

    def heightForWidth(self, width: int) -> int:
        return self._arrange(QRect(0, 0, width, 0), place=False)

    def sizeHint(self) -> QSize:
        sizes = [self._size(item, 16777215) for item in self._shown()]
        gaps = self.spacing() * max(len(sizes) - 1, 0)
        height = max((size.height() for size in sizes), default=0)
        return QSize(sum(size.width() for size in sizes) + gaps, height)

    def minimumSize(self) -> QSize:
        size = QSize()
        for item in self._shown():
            size = size.expandedTo(item.minimumSize())
        return size

    def setGeometry(self, rect: QRect) -> None:
        super().setGeometry(rect)
        self._arrange(rect, place=True)

    def _shown(self) -> list[QLayoutItem]:
        return [item for item in self._items if not item.isEmpty()]

    def _size(self, item: QLayoutItem, width: int) -> QSize:
        """Return the size of an item, given the available width."""
        hint = item.sizeHint()
        if hint.width() <= width:
            return hint
        height = item.heightForWidth(width) if item.hasHeightForWidth() else hint.height()
        return QSize(width, height)

    def _arrange(self, rect: QRect, *, place: bool) -> int:
        """Return the height of all rows in a rectangle's width; place them if requested."""
        rows: list[list[tuple[QLayoutItem, QSize]]] = [[]]
        x = 0
        for item in self._shown():
            size = self._size(item, rect.width())
            if rows[-1] and x + size.width() > rect.width():
                rows.append([])
                x = 0
            rows[-1].append((item, size))
            x += size.width() + self.spacing()
        y = rect.y()
        for row in rows:
            height, x = max((size.height() for _, size in row), default=0), rect.x()
            for item, size in row:
                if place:
                    top = y + (height - size.height()) // 2
                    item.setGeometry(QRect(QPoint(x, top), size))
                x += size.width() + self.spacing()
            y += height + self.spacing()
        return y - self.spacing() - rect.y()
