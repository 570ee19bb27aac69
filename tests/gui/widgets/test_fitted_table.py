"""Tables whose columns are as wide as their texts."""

import pytest
from PySide6.QtWidgets import QApplication

from gui.widgets.fitted_table import FittedTable
from gui.widgets.position_rows import TextRows
from gui.widgets.table_text import Column
from tests.gui.on_screen import put_on_screen


class Rows(TextRows):
    """Counts how often a cell is asked for."""

    cells = (("what it is", "0.25", "from the first to the last"),) * 30
    tips = ("",) * 30
    asked = 0

    def data(self, index, role=0):
        self.asked += 1
        return super().data(index, role)


@pytest.fixture
def table(qtbot):
    rows = Rows((Column("Name", "", left=True), Column("Value", ""), Column("Range", "")))
    table = FittedTable(rows, "Things", 22, 0, {1: 4, 2: 4}, {2: 300})
    put_on_screen(qtbot, table, 600, 120)
    QApplication.processEvents()
    return table


def test_columns_follow_a_larger_font(table, qtbot):
    before = [table.columnWidth(column) for column in (1, 2)]
    font = table.font()
    font.setPixelSize(2 * table.fontInfo().pixelSize())
    table.setFont(font)
    qtbot.waitUntil(lambda: table.columnWidth(1) > before[0] and table.columnWidth(2) > before[1])
    assert table.columnWidth(2) >= table.sizeHintForColumn(2)


def test_style_and_font_are_fitted_once(table):
    rows = table.model()
    QApplication.processEvents()
    rows.asked = 0
    for size in (15, 16, 17):
        table.setStyleSheet(f"QTableView {{ font-size: {size}px; }}")
    assert rows.asked == 0  # they are asked in the next turn of the event loop
    QApplication.processEvents()
    assert rows.asked


def test_a_column_leaves_where_there_is_no_room(table):
    assert not table.isColumnHidden(2)
    table.resize(250, 120)
    assert table.isColumnHidden(2)
