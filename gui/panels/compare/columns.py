"""The choice of the table's columns and their order."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QObject, QSignalBlocker, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QDialog,
    QListWidget,
    QListWidgetItem,
    QPushButton,
    QWidget,
)

from gui.panels.compare.words import ALL, COLUMNS, STANDARD, number_of, title_of
from gui.style.theme import GRID
from gui.widgets.boxes import hbox, vbox
from gui.widgets.label import label
from gui.widgets.tooltips import wrapped

KEY = Qt.ItemDataRole.UserRole
HINT = "Space shows or hides a column, Alt+↑ and Alt+↓ move it. Dragging moves it too."


class ColumnChooser(QDialog):
    """All columns with a check mark each; the table follows every change."""

    chosen = Signal(tuple)
    """The keys of the shown columns, in order."""

    def __init__(self, shown: Sequence[str], parent: QWidget) -> None:
        super().__init__(parent)
        self.setWindowTitle("Columns of the table")
        self.list = QListWidget()
        self.list.setAccessibleName("Columns")
        self.list.setDragDropMode(QAbstractItemView.DragDropMode.InternalMove)
        self.list.setDefaultDropAction(Qt.DropAction.MoveAction)
        self.list.installEventFilter(self)
        self.up, self.down = QPushButton("Move up"), QPushButton("Move down")
        self.standard, self.all = QPushButton("Standard"), QPushButton("Show all")
        self.close_button = QPushButton("Close")
        self.close_button.setDefault(True)
        side = vbox(self.up, self.down, self.standard, self.all, 1, self.close_button, spacing=GRID)
        row = hbox((self.list, 1), side, spacing=GRID)
        margins = 2 * GRID
        vbox((row, 1), label(HINT, "muted", wrap=True), parent=self, spacing=GRID, margins=margins)
        self.resize(420, 480)
        self._fill(shown)
        self.up.clicked.connect(lambda: self._move(-1))
        self.down.clicked.connect(lambda: self._move(1))
        self.standard.clicked.connect(lambda: self._set_shown(STANDARD))
        self.all.clicked.connect(lambda: self._set_shown(ALL))
        self.close_button.clicked.connect(self.accept)
        self.list.itemChanged.connect(self._report)
        self.list.model().rowsMoved.connect(self._report)

    @property
    def shown(self) -> tuple[str, ...]:
        """The keys of the columns with a check mark, in order."""
        items = [self.list.item(row) for row in range(self.list.count())]
        return tuple(item.data(KEY) for item in items if item.checkState() is Qt.CheckState.Checked)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Alt and an arrow move the current column."""
        if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress:
            steps = {Qt.Key.Key_Up: -1, Qt.Key.Key_Down: 1}
            alt = event.modifiers() & Qt.KeyboardModifier.AltModifier
            if alt and event.key() in steps:
                self._move(steps[Qt.Key(event.key())])
                return True
        return super().eventFilter(watched, event)

    def _fill(self, shown: Sequence[str]) -> None:
        """List the shown columns in their order, then the others."""
        self.list.clear()
        for key in (*shown, *(other for other in ALL if other not in shown)):
            item = QListWidgetItem(title_of(key))
            item.setData(KEY, key)
            item.setToolTip(wrapped(COLUMNS[number_of(key)].tip))
            item.setFlags(
                Qt.ItemFlag.ItemIsEnabled
                | Qt.ItemFlag.ItemIsSelectable
                | Qt.ItemFlag.ItemIsUserCheckable
                | Qt.ItemFlag.ItemIsDragEnabled
            )
            item.setCheckState(Qt.CheckState.Checked if key in shown else Qt.CheckState.Unchecked)
            self.list.addItem(item)
        self.list.setCurrentRow(0)

    def _set_shown(self, shown: Sequence[str]) -> None:
        with QSignalBlocker(self.list):
            self._fill(shown)
        self._report()

    def _move(self, step: int) -> None:
        row = self.list.currentRow()
        to = row + step
        if row < 0 or not 0 <= to < self.list.count():
            return
        with QSignalBlocker(self.list):
            self.list.insertItem(to, self.list.takeItem(row))
            self.list.setCurrentRow(to)
        self._report()

    def _report(self) -> None:
        if self.shown:  # an empty choice would show the standard columns
            self.chosen.emit(self.shown)
