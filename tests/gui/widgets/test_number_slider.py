"""A number that is dragged or typed: one value, told once."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from gui.style.theme import DARK
from gui.widgets.number_slider import NumberSlider
from tests.gui.on_screen import put_on_screen, turn_wheel


@pytest.fixture
def number(qtbot):
    made = put_on_screen(qtbot, NumberSlider("k", 1, 40, 30, "How many"))
    made.told = []
    made.changed.connect(made.told.append)
    return made


def test_slider_and_field_agree_and_say_what_they_are(number, dress):
    assert number.slider.accessibleName() == number.field.accessibleName() == "k"
    assert number.slider.toolTip() == "How many"
    dress(DARK)
    image = number.slider.grab().toImage()
    left = image.pixelColor(round(3 * image.devicePixelRatio()), image.height() // 2)
    assert left.name() == DARK.muted
    QTest.keyClick(number.slider, Qt.Key.Key_Right)
    assert (number.slider.value(), number.field.value(), number.value) == (31, 31, 31)
    QTest.keyClick(number.field, Qt.Key.Key_Down)
    assert (number.slider.value(), number.value) == (30, 30)
    number.field.setFocus()
    number.field.selectAll()
    QTest.keyClicks(number.field, "12")
    assert number.told == [31, 30]
    QTest.keyClick(number.field, Qt.Key.Key_Return)
    assert number.told == [31, 30, 12]


def test_showing_tells_nobody_and_keeps_within_bounds(number):
    number.show_value(99)
    assert number.value == 40
    number.set_bounds(1, 8)
    assert (number.slider.value(), number.value) == (8, 8)
    assert number.told == []


def test_the_wheel_is_the_panels_until_it_has_the_focus(number, qtbot):
    number.field.setFocus()
    turn_wheel(number.slider, up=1)
    assert number.told == []
    number.activateWindow()
    number.slider.setFocus()
    qtbot.waitUntil(number.slider.hasFocus)
    turn_wheel(number.slider, up=1)
    assert number.told


def test_numbers_further_apart_are_stepped_over(number):
    number.set_stops([1, 2, 10, 30])
    assert number.value == 30
    QTest.keyClick(number.slider, Qt.Key.Key_Left)
    assert (number.value, number.slider.value()) == (10, 10)
    number.slider.setValue(13)
    number.slider.setValue(27)
    QTest.keyClick(number.field, Qt.Key.Key_Up)
    number.step(-1)
    number.step(-3)
    number.step(-1)
    assert number.told == [10, 30, 10, 1]
