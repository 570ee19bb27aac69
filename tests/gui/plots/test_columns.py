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


@pytest.mark.parametrize(("count", "width", "height", "across"), [
    (4, 940, 250, 4),  # the panel below the curve: too low for two rows
    (4, 690, 700, 2), (3, 690, 700, 2), (2, 690, 700, 1), (1, 690, 700, 1),
    (4, 1400, 700, 2), (2, 1400, 700, 2),
    (3, 300, 2 * MIN_ROW_HEIGHT - 1, 3), (0, 690, 700, 1), (3, 0, 0, 3),
])  # fmt: skip
def test_each_part_gets_a_shape_to_be_read(count, width, height, across):
    assert columns(count, QSize(width, height)) == across


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


def heights(row):
    return [one.height() for one in row.painted if not one.isHidden()]


def test_a_part_that_is_hidden_takes_no_room(row):
    row.resize(900, 190)
    row.draw(plots(0, 0, 0, 5000))
    QApplication.processEvents()
    assert [one.isHidden() for one in row.painted] == [False, False, False, True]
    assert all(height > 180 for height in heights(row))
    row.resize(900, 800)
    QApplication.processEvents()
    row.resize(900, 190)
    QApplication.processEvents()
    assert all(height > 180 for height in heights(row))


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
