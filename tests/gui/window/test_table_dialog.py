"""The dialog that asks for the position table, and for its row of position 0: keys and mouse."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QImage
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QRadioButton

from geometry.checkpoints.stores import TensorInfo
from geometry.models.recognition.choice import Choice
from gui.style.theme import LIGHT
from gui.window.table_dialog import TableDialog
from tests.gui.on_screen import put_on_screen

LEFT = Qt.MouseButton.LeftButton
PE = TensorInfo("encoder.pe", (1, 514, 48), "F32", 0)
SHORT = TensorInfo("two", (2, 48), "F32", 0)


@pytest.fixture
def ask(qtbot, dress):
    """Show the dialog for candidates and first rows."""
    dress(LIGHT)

    def show(*candidates, first_rows=(), **more):
        return put_on_screen(qtbot, TableDialog(None, candidates, first_rows, **more))

    return show


def row(dialog, first):
    return dialog.rows.button(first)


def test_candidates_have_their_shapes_and_enter_chooses_the_current_one(ask, qtbot):
    dialog = ask(PE, SHORT)
    items = [dialog.list.topLevelItem(at) for at in range(2)]
    shown = [(one.text(0), one.text(1)) for one in items]
    assert shown == [("encoder.pe", "514 × 48"), ("two", "2 × 48")]
    assert dialog.focusWidget() is dialog.list
    QTest.keyClick(dialog.list, Qt.Key.Key_Down)
    with qtbot.waitSignal(dialog.accepted):
        QTest.keyClick(dialog.list, Qt.Key.Key_Return)
    assert dialog.table == "two"


def test_first_rows_that_are_no_positions_are_left_out(ask, qtbot):
    dialog = ask(PE, SHORT)
    assert "513 positions" in row(dialog, 1).text()
    assert "512 positions" in row(dialog, 2).text()
    QTest.mouseClick(row(dialog, 2), LEFT, pos=row(dialog, 2).rect().center() / 4)
    assert row(dialog, 2).isChecked()
    with qtbot.waitSignal(dialog.accepted):
        QTest.mouseClick(dialog.choose, LEFT)
    assert dialog.table == "encoder.pe;first-rows=2"


def test_more_rows_than_the_tensor_has_cannot_be_left_out(ask):
    dialog = ask(PE, SHORT)
    row(dialog, 2).setFocus()
    QTest.keyClick(row(dialog, 2), Qt.Key.Key_Space)
    QTest.keyClick(dialog.list, Qt.Key.Key_Down)
    assert not row(dialog, 2).isEnabled()
    assert not dialog.choose.isEnabled()
    QTest.keyClick(dialog.list, Qt.Key.Key_Return)
    assert dialog.isVisible()
    row(dialog, 1).setFocus()
    QTest.keyClick(row(dialog, 1), Qt.Key.Key_Space)
    assert dialog.choose.isEnabled()
    assert dialog.table == "two;first-rows=1"


def test_where_only_the_rows_are_unknown_nothing_is_chosen_for_the_user(ask, qtbot):
    dialog = ask(PE, first_rows=(0, 2))
    buttons = [one for one in dialog.findChildren(QRadioButton) if one.isEnabled()]
    assert [dialog.rows.id(one) for one in buttons] == [0, 2]
    assert not dialog.choose.isEnabled()
    QTest.keyClick(dialog, Qt.Key.Key_Return)
    assert dialog.isVisible()
    assert dialog.focusWidget() is row(dialog, 0)
    QTest.keyClick(row(dialog, 0), Qt.Key.Key_Space)
    assert dialog.table == "encoder.pe;first-rows=0"  # not the name alone, of which it is asked
    QTest.keyClick(row(dialog, 2), Qt.Key.Key_Space)
    with qtbot.waitSignal(dialog.accepted):
        QTest.keyClick(row(dialog, 2), Qt.Key.Key_Return)
    assert dialog.table == "encoder.pe;first-rows=2"


def test_a_family_is_typed_and_tells_the_first_rows(ask, qtbot):
    dialog = ask(PE, first_rows=(0, 2))
    QTest.mouseClick(dialog.family, LEFT)
    QTest.keyClicks(dialog.family, "gpt")
    assert not dialog.choose.isEnabled()
    assert dialog.problem.isVisible()
    QTest.keyClicks(dialog.family, "-2")
    assert dialog.choose.isEnabled()
    assert not dialog.problem.isVisible()
    assert dialog.table == "encoder.pe;family=gpt2"
    QTest.keyClick(row(dialog, 2), Qt.Key.Key_Space)
    assert dialog.table == "encoder.pe;family=gpt2;first-rows=2"
    dialog.family.clear()
    assert dialog.table == "encoder.pe;first-rows=2"


def test_what_was_chosen_before_is_shown(ask):
    dialog = ask(PE, SHORT, before=Choice("two", "bert", 1))
    assert dialog.table == "two;family=bert;first-rows=1"
    assert "1 position" in row(dialog, 1).text()


def test_each_tensor_in_view_is_drawn_once(ask, qtbot):
    asked = []

    def preview(name, size, use):
        asked.append((name, use))

    many = [TensorInfo(f"t{number}", (9, 4), "F32", 0) for number in range(200)]
    dialog = ask(*many, preview=preview)
    assert [name for name, _ in asked] == ["t0"]  # one after another
    picture = QImage(8, 8, QImage.Format.Format_ARGB32_Premultiplied)
    picture.fill(Qt.GlobalColor.red)
    asked[0][1](picture)
    shown = dialog.list.topLevelItem(0).icon(0).pixmap(8, 8).toImage()
    assert shown.pixelColor(4, 4) == QColor(Qt.GlobalColor.red)
    for at in range(1, 40):
        if at < len(asked):
            asked[at][1](None)
    assert 1 < len(asked) < 40  # those in view, and no others
    dialog.list.scrollToBottom()
    while len(asked) < 60 and asked[-1][0] != "t199":
        asked[-1][1](None)
    names = [name for name, _ in asked]
    assert names[-1] == "t199"
    assert len(set(names)) == len(names)


def test_escape_chooses_nothing(ask, qtbot):
    dialog = ask(PE)
    with qtbot.waitSignal(dialog.rejected):
        QTest.keyClick(dialog, Qt.Key.Key_Escape)
