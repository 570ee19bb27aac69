"""The last part of the ledger: published numbers of the open model, beside ours."""

from __future__ import annotations

from collections.abc import Mapping

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QAbstractItemView, QSizePolicy

from geometry.claims.published import Compared
from gui.panels.claims.words import published_cells, within
from gui.style.outcomes import outcome_color
from gui.style.theme import Theme
from gui.widgets.fitted_table import FittedTable
from gui.widgets.position_rows import Index, TextRows
from gui.widgets.table_text import Column

Role = Qt.ItemDataRole

ROW_HEIGHT = 22
QUANTITY, PUBLISHED, OURS, WITHIN, SOURCE = range(5)
_COLUMNS = (
    Column(
        "Published numbers",
        "The quantity that a paper reports for this model and that is measured again here",
        left=True,
    ),
    Column("Published", "The value reported in the paper"),
    Column("Measured", "The value measured here"),
    Column("Tolerance", "Whether the two values agree within the tolerance", left=True),
    Column("Source", "The paper that reports it", left=True),
)
_WIDTHS = {PUBLISHED: 13, OURS: 13, WITHIN: 19, SOURCE: 24}
_ROOM = {SOURCE: 760, WITHIN: 520}
"""Minimum width of the table at which a column is shown, in pixels."""


class PublishedRows(TextRows):
    """Compared numbers as rows."""

    compared: tuple[Compared, ...] = ()
    colors: Mapping[bool, QColor] = {}

    def replace(self, compared: tuple[Compared, ...]) -> None:
        self.beginResetModel()
        self.compared = compared
        self.cells, self.tips = tuple(map(published_cells, compared)), tuple(map(_tip, compared))
        self.endResetModel()

    def data(self, index: Index, role: int = Role.DisplayRole) -> object:
        row, column = index.row(), index.column()
        match role:
            case Role.ForegroundRole if column == WITHIN:
                return self.colors.get(self.compared[row].within)
            case Role.AccessibleTextRole:
                return f"{self.cells[row][column]}. {self.tips[row]}"
        return super().data(index, role)


def _tip(compared: Compared) -> str:
    quantity, published, ours, _, source = published_cells(compared)
    numbers = f"Published {published}, measured {ours}: {within(compared)}"
    return "\n".join((f"{quantity}.", numbers, compared.published.reason, source))


class PublishedTable(FittedTable):
    """Compared numbers, a line for each; hidden where there are none."""

    def __init__(self, theme: Theme) -> None:
        self.rows = PublishedRows(_COLUMNS)
        super().__init__(self.rows, "Published numbers", ROW_HEIGHT, QUANTITY, _WIDTHS, _ROOM)
        self.setSelectionMode(QAbstractItemView.SelectionMode.NoSelection)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Maximum)
        self.set_theme(theme)
        self.hide()

    def show_compared(self, compared: tuple[Compared, ...]) -> None:
        """Set the numbers."""
        if compared != self.rows.compared:
            self.rows.replace(compared)
            self.updateGeometry()
        self.setVisible(bool(compared))

    def set_theme(self, theme: Theme) -> None:
        self.rows.colors = {
            True: QColor(outcome_color("holds", theme)),
            False: QColor(outcome_color("does not hold", theme)),
        }
        self.viewport().update()

    def sizeHint(self) -> QSize:
        """Return the size of all rows; in a short panel the table scrolls."""
        titles = self.horizontalHeader().sizeHint().height()
        return QSize(super().sizeHint().width(), titles + self._height(len(self.rows.compared)))

    def minimumSizeHint(self) -> QSize:
        titles = self.horizontalHeader().sizeHint().height()
        return QSize(super().minimumSizeHint().width(), titles + self._height(1))

    def _height(self, rows: int) -> int:
        return ROW_HEIGHT * rows + 2 * self.frameWidth()
