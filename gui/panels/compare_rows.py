"""The lines of the table of models, as Qt's views want them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import QModelIndex, Qt
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QWidget

from gui.panels.compare_question import Line
from gui.panels.compare_text import COLUMNS, FIXED, cells, in_order, named
from gui.style.theme import Theme
from gui.widgets.titled_rows import Index, TitledRows
from gui.widgets.tooltips import wrapped

Role = Qt.ItemDataRole

ARROWS = {False: " ▴", True: " ▾"}
"""On the title of the column that is sorted by: rising, falling."""


class CompareRows(TitledRows):
    """The lines in the order that was chosen."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(COLUMNS, parent)
        self.lines: tuple[Line, ...] = ()
        self.sorted_by: tuple[int, bool] | None = None
        self.muted = QColor(theme.muted)
        self._given: tuple[Line, ...] = ()

    def replace(self, lines: Sequence[Line]) -> None:
        """Show other lines."""
        self._given = tuple(lines)
        self._arrange()

    def sort_by(self, column: int | None, falling: bool = False) -> None:
        """Sort by a column; None for the order that the models have beside each other."""
        self.sorted_by = None if column is None else (column, falling)
        self._arrange()
        self.headerDataChanged.emit(Qt.Orientation.Horizontal, 0, len(COLUMNS) - 1)

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008, Qt's signature
        """Return the number of models."""
        return 0 if parent.isValid() else len(self.lines)

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Role.DisplayRole
    ) -> Any:
        """Return a title, with an arrow on that of the column that is sorted by."""
        found = super().headerData(section, orientation, role)
        if role == Role.DisplayRole and self.sorted_by is not None and section:
            column, falling = self.sorted_by
            if column == section:
                title, _, unit = found.partition("\n")
                return f"{title}{ARROWS[falling]}\n{unit}"
        if role == Role.ToolTipRole and section:
            return f"{found}\nClick sorts by it"
        return found

    def data(self, index: Index, role: int = Role.DisplayRole) -> Any:
        """Return a cell's text, colour, tip or alignment."""
        line, column = self.lines[index.row()], index.column()
        match role:
            case Role.DisplayRole:
                return cells(line)[column]
            case Role.TextAlignmentRole:
                return self.alignment(column)
            case Role.ForegroundRole if line.scalars is None:
                return self.muted
            case Role.ToolTipRole:
                return wrapped(self._tip(line, column))
            case Role.AccessibleTextRole:
                title = self.columns[column].title.replace("\n", " ")
                return f"{line.row.name}: {title} {cells(line)[column]}".replace("  ", " ")
        return None

    def _tip(self, line: Line, column: int) -> str:
        if line.why:
            return f"{line.row.name}: {line.why}"
        if column <= FIXED or line.scalars is None:
            return f"{line.row.name}\n{self.columns[max(column, 1)].tip}"
        scalar = line.scalars[column - FIXED - 1]
        if scalar.value is None:
            return f"{scalar.quantity.title}: {scalar.why}"
        value = scalar.value if isinstance(scalar.value, str) else f"{scalar.value:.6g}"
        if scalar.quantity.kind == "share":
            value = f"{100 * float(scalar.value):.6g}"
        return f"{line.row.name} · {named(scalar.quantity)}: {value}"

    def _arrange(self) -> None:
        lines = self._given
        if self.sorted_by is not None:
            lines = in_order(lines, self.sorted_by[0], falling=self.sorted_by[1])
        if [line.row.key for line in lines] == [line.row.key for line in self.lines]:
            self.lines = lines
            if lines:
                last = self.index(len(lines) - 1, len(COLUMNS) - 1)
                self.dataChanged.emit(self.index(0, 0), last)
            return
        self.beginResetModel()
        self.lines = lines
        self.endResetModel()
