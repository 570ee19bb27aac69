"""The dialog that asks for the position table, and for its row of position 0: keys and mouse."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel, QRadioButton

from geometry.checkpoints.stores import TensorInfo
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

    def show(*candidates, first_rows=()):
        return put_on_screen(qtbot, TableDialog(None, candidates, first_rows))

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
    assert dialog.table == "encoder.pe[2:]"


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
    assert dialog.table == "two[1:]"


def test_where_only_the_rows_are_unknown_nothing_is_chosen_for_the_user(ask, qtbot):
    dialog = ask(PE, first_rows=(0, 2))
    assert not dialog.list.isVisible()
    assert [dialog.rows.id(one) for one in dialog.findChildren(QRadioButton)] == [0, 2]
    assert any("encoder.pe" in one.text() for one in dialog.findChildren(QLabel))
    assert not dialog.choose.isEnabled()
    QTest.keyClick(dialog, Qt.Key.Key_Return)
    assert dialog.isVisible()
    assert dialog.focusWidget() is row(dialog, 0)
    QTest.keyClick(row(dialog, 0), Qt.Key.Key_Space)
    assert dialog.table == "encoder.pe[0:]"  # not the name alone, of which it is asked
    QTest.keyClick(row(dialog, 2), Qt.Key.Key_Space)
    with qtbot.waitSignal(dialog.accepted):
        QTest.keyClick(row(dialog, 2), Qt.Key.Key_Return)
    assert dialog.table == "encoder.pe[2:]"


def test_escape_chooses_nothing(ask, qtbot):
    dialog = ask(PE)
    with qtbot.waitSignal(dialog.rejected):
        QTest.keyClick(dialog, Qt.Key.Key_Escape)
