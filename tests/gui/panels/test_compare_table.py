"""The table of models by mouse and keys: sorting, choosing, copying, scrolling, its look."""

import csv
import io

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from geometry.claims.scalar_results import scalar_results
from gui.style.theme import DARK, LIGHT
from tests.gui.compare_stage import TITLES

Key = Qt.Key


def title(stage, name):
    return stage.table.rows.headerData(TITLES.index(name), Qt.Orientation.Horizontal)


# ---- sorting -------------------------------------------------------------------------------------


def test_a_click_on_a_title_sorts_falling_then_rising_then_not(three):
    assert three.column("Positions") == ["200", "120", "150"]
    three.click_title("Positions")
    assert three.column("Model") == ["helix", "walk", "short"]
    assert title(three, "Positions") == "Positions ▾\n"
    three.click_title("Positions")
    assert three.column("Model") == ["short", "walk", "helix"]
    assert title(three, "Positions") == "Positions ▴\n"
    three.click_title("Positions")
    assert three.column("Model") == ["helix", "short", "walk"]
    assert title(three, "Positions") == "Positions\n"


def test_names_sort_by_the_alphabet_first(three, write_table):
    three.beside(write_table(name="Alpha"), "Alpha")
    three.click_title("Model")
    assert three.column("Model") == ["Alpha", "helix", "short", "walk"]


def test_every_column_sorts_by_its_values_and_not_by_its_texts(three):
    sessions = [three.session, *(one.session for one in three.session.compared)]
    for name in ("Stable rank", "Turns", "Norm", "Shaking"):
        three.click_title(name)
        number = TITLES.index(name) - 3
        values = {
            one.model.name: scalar_results(one.model, one.positions)[number].value
            for one in sessions
        }
        falling = sorted(values, key=values.__getitem__, reverse=True)
        assert three.column("Model") == falling, name


@pytest.mark.parametrize("clicks", [1, 2])
def test_what_has_no_number_comes_last_either_way(three, clicks):
    three.session.compared[0].session.positions = (4, 6)
    three.beside(None, "later")
    for _ in range(clicks):
        three.click_title("Loops")
    assert {*three.column("Model")[2:]} == {"short", "later"}


def test_the_order_stays_when_a_model_comes(three, write_table, helix):
    three.click_title("Positions")
    three.beside(write_table(helix(170, 8), "new"), "new")
    assert three.column("Model") == ["helix", "new", "walk", "short"]


def test_the_menu_sorts_too(three):
    menu = three.panel.menu()
    (order,) = [action for action in menu.actions() if action.text() == "Sort by"]
    (by,) = [action for action in order.menu().actions() if action.text() == "Width"]
    by.trigger()
    assert three.column("Width") == ["24", "16", "10"]
    menu.deleteLater()


# ---- choosing ------------------------------------------------------------------------------------


def test_a_double_click_makes_a_model_the_open_one(three):
    three.click_row(2)
    assert three.told == []
    three.click_row(2, twice=True)
    assert three.told == [("main", 2)]
    three.click_row(0, twice=True)
    assert three.told == [("main", 2)]


def test_keys_mark_choose_and_take_away(three):
    view = three.table.values
    view.setFocus()
    three.click_row(0)
    QTest.keyClick(view, Key.Key_Down)
    assert three.table.marked.row.name == "short"
    QTest.keyClick(view, Key.Key_Return)
    QTest.keyClick(view, Key.Key_End)
    QTest.keyClick(view, Key.Key_Delete)
    QTest.keyClick(view, Key.Key_Home)
    QTest.keyClick(view, Key.Key_Delete)
    QTest.keyClick(view, Key.Key_Return)
    assert three.told == [("main", 1), ("remove", 2)]


def test_the_marked_model_stays_marked_when_lines_move(three):
    three.click_row(1)
    three.click_title("Positions")
    assert three.column("Model")[2] == "short"
    assert three.table.marked.row.name == "short"


def test_letters_are_left_to_the_window(three, monkeypatch):
    view = three.table.values
    three.click_row(0)
    heard = []
    monkeypatch.setattr(three.panel, "keyPressEvent", lambda event: heard.append(event.key()))
    QTest.keyClick(view, Key.Key_W)
    QTest.keyClick(view, Key.Key_Right, Qt.KeyboardModifier.ShiftModifier)
    assert three.table.marked.row.name == "helix"
    assert view.horizontalScrollBar().value() == 0


def test_ctrl_c_copies_the_table_as_it_is_sorted_in_full_precision(three):
    three.click_title("Positions")
    QTest.keyClick(three.table.values, Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    assert three.session.status == "Copied the table"
    lines = list(csv.DictReader(io.StringIO(QApplication.clipboard().text()), delimiter="\t"))
    assert [line["model"] for line in lines] == ["helix", "walk", "short"]
    found = {one.quantity.key: one.value for one in scalar_results(three.session.model)}
    assert float(lines[0]["variance_3"]) == found["variance_3"]
    assert lines[0]["verdict"] == found["verdict"]
    assert (lines[2]["first_position"], lines[2]["last_position"]) == ("1", "119")


# ---- looks ---------------------------------------------------------------------------------------


def test_names_stay_in_sight_while_numbers_scroll(three):
    names, values = three.table.names, three.table.values
    bar = values.horizontalScrollBar()
    assert bar.maximum() > 0
    where = names.mapTo(three.panel, names.visualRect(three.table.rows.index(1, 1)).topLeft())
    before = values.visualRect(three.table.rows.index(1, 3)).left()
    QTest.keyClick(values, Key.Key_Right)
    assert bar.value() > 0
    assert values.visualRect(three.table.rows.index(1, 3)).left() < before
    after = names.mapTo(three.panel, names.visualRect(three.table.rows.index(1, 1)).topLeft())
    assert after == where
    QTest.keyClick(values, Key.Key_Left)
    assert bar.value() == 0


def test_both_halves_scroll_down_together(three, write_table, helix):
    for number in range(6):
        three.beside(write_table(helix(60, 8, number), f"m{number}"), f"m{number}")
    three.panel.resize(700, 180)
    QApplication.processEvents()
    one, other = three.table.names.verticalScrollBar(), three.table.values.verticalScrollBar()
    assert other.maximum() > 0
    assert one.maximum() == other.maximum()
    three.click_row(0)
    QTest.keyClick(three.table.values, Key.Key_End)
    assert one.value() == other.value() == other.maximum()
    names = three.table.names
    row = names.visualRect(three.table.rows.index(8, 1))
    assert row.bottom() <= names.viewport().height()


def test_all_texts_fit_into_their_columns(three):
    rows = three.table.rows
    for view, columns in ((three.table.names, range(1, 2)), (three.table.values, range(2, 28))):
        for number in columns:
            hint = view.sizeHintForColumn(number)
            assert view.columnWidth(number) >= hint, TITLES[number]
    assert rows.columnCount() == 28


def test_a_line_without_numbers_is_muted_in_either_theme(three):
    three.beside(None, "later")
    cell = three.table.rows.index(3, 1)
    role = Qt.ItemDataRole.ForegroundRole
    assert cell.data(role).name() == LIGHT.muted
    three.panel.set_theme(DARK)
    assert cell.data(role).name() == DARK.muted
    assert three.table.rows.index(0, 1).data(role) is None


def test_the_halves_touch_and_end_at_the_same_height(three):
    names, values = three.table.names.viewport(), three.table.values.viewport()
    end = names.mapTo(three.panel, names.rect().bottomRight())
    start = values.mapTo(three.panel, values.rect().bottomLeft())
    assert start.x() == end.x() + 1
    assert start.y() == end.y()
    assert three.table.names.horizontalScrollBar().maximum() == 0
