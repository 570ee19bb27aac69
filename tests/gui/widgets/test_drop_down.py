"""A drop-down with the keyboard: its own letters choose, all others are the window's."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QWidget

from gui.widgets.drop_down import DropDown


class Window(QWidget):
    """Hears of the keys that are left to it."""

    def __init__(self):
        super().__init__()
        self.heard = []

    def keyPressEvent(self, event):
        self.heard.append(event.key())


@pytest.fixture
def window(qtbot):
    made = Window()
    qtbot.addWidget(made)
    made.choice = DropDown()
    made.choice.setParent(made)
    made.choice.addItems(["jet", "viridis", "volcano"])
    made.show()
    qtbot.waitExposed(made)
    return made


def test_a_letter_with_which_no_option_begins_is_left_to_the_window(window):
    QTest.keyClicks(window.choice, "f")
    assert window.heard == [Qt.Key.Key_F]
    assert window.choice.currentText() == "jet"


def test_letters_choose_an_option_and_go_on_doing_so(window):
    QTest.keyClicks(window.choice, "vo")
    assert window.choice.currentText() == "volcano"
    assert window.heard == []
    QTest.keyClick(window.choice, Qt.Key.Key_Up)
    assert window.choice.currentText() == "viridis"
