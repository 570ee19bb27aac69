"""A row of controls that wraps, and a column that scrolls."""

import pytest
from PySide6.QtWidgets import QApplication, QLabel, QVBoxLayout, QWidget

from gui.widgets.flow_row import FlowRow
from gui.widgets.scroll_column import ScrollColumn
from tests.gui.on_screen import put_on_screen


def box(width, height):
    made = QLabel()
    made.setFixedSize(width, height)
    return made


@pytest.fixture
def row(qtbot):
    """Three boxes of 100 × 20, 8 apart, over a filler; the window's page takes the height."""
    window = QWidget()
    page = QVBoxLayout(window)
    page.setContentsMargins(0, 0, 0, 0)
    page.setSpacing(0)
    page.setSizeConstraint(QVBoxLayout.SizeConstraint.SetNoConstraint)
    holder = QWidget()
    row = FlowRow(holder)
    for _ in range(3):
        row.addWidget(box(100, 20))
    page.addWidget(holder)
    page.addWidget(QWidget(), 1)
    row.window = put_on_screen(qtbot, window, 400, 200)
    return row


def corners(row, width):
    row.window.resize(width, 200)
    QApplication.processEvents()
    return [row.itemAt(i).widget().pos().toTuple() for i in range(row.count())]


def test_wrapped_where_there_is_no_room_and_taken_out(row):
    assert corners(row, 400) == [(0, 0), (108, 0), (216, 0)]
    assert row.parentWidget().height() == 20
    assert corners(row, 230) == [(0, 0), (108, 0), (0, 28)]
    assert row.parentWidget().height() == 48
    assert corners(row, 120) == [(0, 0), (0, 28), (0, 56)]
    row.itemAt(1).widget().hide()  # takes no room
    assert corners(row, 400)[2] == (108, 0)
    assert row.sizeHint().width() == 208
    assert row.takeAt(0) is not None
    assert row.count() == 2
    assert row.takeAt(5) is None
    assert row.itemAt(-1) is None


def test_a_row_within_a_row_wraps_too(qtbot):
    outer = QWidget()
    qtbot.addWidget(outer)
    flow = FlowRow(outer)
    inner = QWidget()
    nested = FlowRow(inner, 4)
    for _ in range(4):
        nested.addWidget(box(50, 10))
    flow.addWidget(inner)
    assert flow.heightForWidth(300) == 10
    assert flow.heightForWidth(110) == 24


def test_the_bar_has_its_place_and_is_drawn_only_where_it_is_needed(application, qtbot):
    text = QLabel("words")
    column = put_on_screen(qtbot, ScrollColumn(text), 200, 100)
    bar, width = column.verticalScrollBar(), column.viewport().width()
    assert bar.isVisible()
    assert not bar.isEnabled()
    assert width == 200 - bar.width()
    empty = bar.grab().toImage()
    corner = empty.pixelColor(0, 0)
    assert all(
        empty.pixelColor(x, y) == corner
        for x in range(empty.width())
        for y in range(empty.height())
    )
    text.setText("many\n" * 40)
    qtbot.waitUntil(bar.isEnabled)
    QApplication.processEvents()
    assert column.viewport().width() == width
    assert bar.grab().toImage() != empty
    text.setText("words")
    qtbot.waitUntil(lambda: not bar.isEnabled())
