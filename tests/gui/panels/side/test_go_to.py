"""Going to a position by number, with real keys."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from gui.panels.side.go_to import GoTo


@pytest.fixture
def go_to(qtbot):
    widget = GoTo()
    widget.set_table(64, None)
    widget.asked = []
    widget.typed.connect(widget.asked.append)
    qtbot.addWidget(widget)
    with qtbot.waitExposed(widget):
        widget.show()
    return widget


def enter(go_to: GoTo, text: str) -> None:
    go_to.field.selectAll()
    QTest.keyClicks(go_to.field, text)
    QTest.keyClick(go_to.field, Qt.Key.Key_Return)


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("17", (17,)),
        ("10-13", (10, 11, 12, 13)),
        ("13 - 10", (13, 12, 11, 10)),
        ("5, 9 40", (5, 9, 40)),
        ("3, 1-4", (3, 1, 2, 4)),
        ("63", (63,)),
    ],
)
def test_selects_what_is_typed(go_to, typed, expected):
    enter(go_to, typed)
    assert go_to.asked == [expected]
    assert not go_to.message.isVisible()


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("64", "There is no 64: positions 0–63"),
        ("10-99", "There is no 99: positions 0–63"),
        ("-5", "“-5” is no position"),
        ("twelve", "“twelve” is no position"),
    ],
)
def test_says_what_is_wrong_and_keeps_the_text(go_to, typed, said):
    enter(go_to, typed)
    assert said in go_to.message.text()
    assert go_to.message.isVisible()
    assert go_to.field.text() == typed
    assert go_to.asked == []
    QTest.keyClick(go_to.field, Qt.Key.Key_End)
    QTest.keyClick(go_to.field, Qt.Key.Key_Backspace)
    assert not go_to.message.isVisible()


def test_a_range_too_long_is_cut_and_says_so(go_to):
    go_to.set_table(5000, None)
    enter(go_to, "0-2999")
    assert go_to.asked == [tuple(range(2000))]
    assert "1\u2009000 more are not" in go_to.message.text()


def test_enter_on_an_empty_field_changes_nothing_and_escape_clears(go_to):
    enter(go_to, "")
    assert go_to.asked == []
    QTest.keyClicks(go_to.field, "12")
    QTest.keyClick(go_to.field, Qt.Key.Key_Escape)
    assert go_to.field.text() == ""


def test_after_enter_the_field_is_empty_and_the_arrows_walk_on(go_to):
    reached = []
    go_to.stepped.connect(reached.append)
    QTest.keyClicks(go_to.field, "17")
    QTest.keyClick(go_to.field, Qt.Key.Key_Left)
    assert reached == []
    QTest.keyClick(go_to.field, Qt.Key.Key_Return)
    reached.clear()
    QTest.keyClick(go_to.field, Qt.Key.Key_Right)
    assert reached == [1]
    assert go_to.field.text() == ""
    QTest.keyClicks(go_to.field, "99")
    QTest.keyClick(go_to.field, Qt.Key.Key_Return)
    QTest.keyClicks(go_to.field, "5")  # over what was wrong
    assert go_to.field.text() == "5"


def test_another_table_takes_the_message_away(go_to):
    enter(go_to, "64")
    go_to.set_table(100, 7)
    assert not go_to.message.isVisible()
    assert "0–99" in go_to.field.toolTip()
    go_to.set_table(0, None)
    assert not go_to.isEnabled()
