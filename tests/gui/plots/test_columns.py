"""How many parts of a panel stand side by side."""

import numpy as np
import pytest
from PySide6.QtCore import QSize
from PySide6.QtWidgets import QApplication

from gui.plots.qt_painter import MIN_ROW_HEIGHT, PaintedRow, columns
from gui.plots.spec import Axis, Curve, Plot, Table
from gui.state.session import Session
from gui.style.theme import LIGHT
from gui.widgets.table_text import Column, Row


def test_each_part_gets_a_shape_to_be_read():
    assert columns(4, QSize(940, 250)) == 4  # the panel below the curve: too low for two rows
    assert [columns(count, QSize(690, 700)) for count in range(5)] == [1, 1, 1, 2, 2]
    assert [columns(count, QSize(1400, 700)) for count in (2, 4)] == [2, 2]
    assert columns(3, QSize(300, 2 * MIN_ROW_HEIGHT - 1)) == 3
    assert columns(3, QSize(0, 0)) == 3


def plots(*least_widths):
    x = np.arange(5.0)
    return [
        Plot(f"{at}", Axis("x"), Axis("y"), [Curve(x, x, "#000000")], min_width=least)
        for at, least in enumerate(least_widths)
    ]


@pytest.fixture
def row(qtbot):
    made = PaintedRow(Session(), LIGHT)
    qtbot.addWidget(made)
    made.show()
    return made


def test_a_part_that_is_hidden_takes_no_room(row):
    row.draw(plots(0, 0, 0, 5000))
    for height in (190, 800, 190):
        row.resize(900, height)
        QApplication.processEvents()
    assert [one.isHidden() for one in row.painted] == [False, False, False, True]
    assert all(one.height() > 180 for one in row.painted[:3])


def test_in_several_rows_there_is_room_for_what_a_row_alone_leaves_out(row):
    row.resize(500, 190)
    row.draw(plots(0, 600))
    QApplication.processEvents()
    assert [one.isHidden() for one in row.painted] == [False, True]
    row.resize(500, 700)
    QApplication.processEvents()
    assert [one.isHidden() for one in row.painted] == [False, False]
    first, second = row.painted
    assert second.mapTo(row, second.rect().topLeft()).y() >= first.height()


def test_a_few_lines_of_text_leave_the_rest_of_the_height_to_the_plot(row):
    columns_ = (Column("entry", "Its number", 60),)

    def shares(count):
        rows = [Row(at, (str(at),)) for at in range(count)]
        row.draw([*plots(0), Table("Entries", columns_, rows)])
        row.resize(500, 700)
        QApplication.processEvents()
        return [one.height() for one in row.painted]

    plot, few = shares(3)
    assert few < 120 < 500 < plot
    plot, many = shares(100)
    assert abs(plot - many) < 40


def test_a_table_below_the_plots_has_the_columns_that_it_omits_beside_them(row):
    titles = (Column("entry", "Its number", 60), Column("variance", "Its variance", 300))
    table = Table("Entries", titles, [Row(0, ("0", "0.5"))], spare=(1,))

    def shown(size):
        row.resize(*size)
        row.draw([*plots(0), table])
        QApplication.processEvents()
        return not row.painted[1].widget.isColumnHidden(1)

    assert not shown((500, 190))  # beside the plot
    assert shown((500, 700))
    assert row.painted[1].widget.width() <= 500
    assert not shown((500, 190))


def test_a_number_is_never_elided(row):
    titles = (Column("head", "Its number", 44), Column("R²", "Its fit", 44))
    numbers = ("0.957", "−12,345.678")
    row.draw([Table("Heads", titles, [Row(at, (str(at), n)) for at, n in enumerate(numbers)])])
    row.resize(500, 200)
    QApplication.processEvents()
    table = row.painted[0].widget
    assert table.columnWidth(1) >= table.sizeHintForColumn(1) > 44
    assert table.width() >= table.columnWidth(0) + table.columnWidth(1)
