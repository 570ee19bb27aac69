"""The base of the plots: what mouse, wheel and keys mean."""

import pytest
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QKeyEvent, QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QMenu

from tests.gui.plot_stage import LEFT, NONE, N, at, show_plot, span

SHIFT = Qt.KeyboardModifier.ShiftModifier


@pytest.fixture
def plot(qtbot):
    return show_plot(qtbot)


def move(plot, point):
    """Move the mouse there; through the window, because a widget's move is only asked of X."""
    window = plot.window()
    QTest.mouseMove(window.windowHandle(), plot.viewport().mapTo(window, point))


def drag(plot, start, end, modifier=NONE):
    window = plot.window()
    first, last = (plot.viewport().mapTo(window, point) for point in (start, end))
    QTest.mousePress(window.windowHandle(), LEFT, modifier, first)
    move(plot, (start + end) / 2)
    move(plot, end)
    QTest.mouseRelease(window.windowHandle(), LEFT, modifier, last)


def wheel(plot, point, up=0, right=0):
    event = QWheelEvent(
        QPointF(point), QPointF(plot.viewport().mapToGlobal(point)), QPoint(),
        QPoint(120 * right, 120 * up), Qt.MouseButton.NoButton, NONE,
        Qt.ScrollPhase.NoScrollPhase, False,
    )  # fmt: skip
    QApplication.sendEvent(plot.viewport(), event)


# The mouse.


def test_click_names_the_position_and_the_modifiers(plot, qtbot):
    with qtbot.waitSignal(plot.clicked) as caught:
        qtbot.mouseClick(plot.viewport(), LEFT, SHIFT, at(plot, 123))
    assert caught.args[0] == 123
    assert caught.args[1] & SHIFT
    with qtbot.waitSignal(plot.clicked) as caught:  # far from the line
        qtbot.mouseClick(plot.viewport(), LEFT, NONE, at(plot, 200, 0.2))
    assert caught.args[0] == 200
    with qtbot.waitSignal(plot.clicked) as caught:  # the hand trembles
        drag(plot, at(plot, 50), at(plot, 50) + QPoint(2, 2))
    assert caught.args[0] == 50


def test_drag_pans_to_the_end_of_the_data_and_never_picks(plot, qtbot):
    home = plot.view.spans()
    plot.view.zoom_x(0.25)
    before = plot.view.spans()[0]
    with qtbot.assertNotEmitted(plot.clicked), qtbot.assertNotEmitted(plot.swept):
        drag(plot, QPoint(600, 100), QPoint(500, 100))
    after = plot.view.spans()[0]
    per_pixel = (before[1] - before[0]) / plot.view.rect().width()
    assert after[0] - before[0] == pytest.approx(100 * per_pixel, rel=0.02)
    assert span(plot) == pytest.approx(before[1] - before[0])
    for _ in range(5):
        drag(plot, QPoint(200, 100), QPoint(800, 160))
    assert plot.view.spans()[0][0] == pytest.approx(home[0][0])
    assert plot.view.spans()[1] == pytest.approx(home[1])


def test_drag_with_shift_sweeps_a_range_at_most_to_the_last_position(plot, qtbot):
    start = at(plot, 300)
    for end, last in ((at(plot, 100), 100), (QPoint(plot.width() - 1, 60), N - 1)):
        with qtbot.waitSignal(plot.swept) as caught, qtbot.assertNotEmitted(plot.clicked):
            drag(plot, start, end, SHIFT)
        assert caught.args == [300, last]
    plot.setFocus()
    with qtbot.assertNotEmitted(plot.swept), qtbot.assertNotEmitted(plot.clicked):
        QTest.mousePress(plot.viewport(), LEFT, SHIFT, start)
        move(plot, at(plot, 100))
        QTest.keyClick(plot, Qt.Key.Key_Escape)
        QTest.mouseRelease(plot.viewport(), LEFT, SHIFT, at(plot, 100))


def test_hover_tells_each_position_once_and_none_on_leaving(plot, qtbot):
    heard = []
    plot.hovered.connect(heard.append)
    point = at(plot, 210)
    move(plot, point)
    move(plot, point + QPoint(0, 9))
    move(plot, QPoint(3, 100))
    assert heard == [210, None]
    move(plot, point + QPoint(0, 5))
    QApplication.sendEvent(plot, QEvent(QEvent.Type.Leave))
    assert heard == [210, None, 210, None]


def test_double_click_shows_everything_and_takes_the_click_back(plot, qtbot):
    home = plot.view.spans()
    plot.view.zoom_x(0.1)
    with qtbot.waitSignal(plot.clickRepeated):
        QTest.mouseDClick(plot.window().windowHandle(), LEFT, NONE, QPoint(400, 100))
    assert plot.view.spans()[0] == pytest.approx(home[0])


def test_wheel_zooms_x_about_the_mouse_but_never_to_nothing_nor_beyond_the_data(plot):
    home, y_before = plot.view.spans()
    point = at(plot, 300)
    x = plot.to_data(QPointF(point)).x()
    before = span(plot)
    wheel(plot, point, up=1)
    assert span(plot) == pytest.approx(0.8 * before)
    assert plot.to_data(QPointF(point)).x() == pytest.approx(x)
    assert plot.view.spans()[1] == y_before
    for _ in range(60):
        wheel(plot, at(plot, 200), up=1)
    assert span(plot) == pytest.approx(8)
    for _ in range(60):
        wheel(plot, QPoint(400, 90), up=-1)
    assert plot.view.spans()[0] == pytest.approx(home)


def test_wheel_over_the_y_axis_zooms_y_and_sideways_pans(plot):
    x_before = plot.view.spans()[0]
    wheel(plot, QPoint(10, 90), up=1)
    assert span(plot, 1) == pytest.approx(4.0)
    assert plot.view.spans()[0] == x_before
    plot.view.zoom_x(0.5)
    x_before = plot.view.spans()[0]
    wheel(plot, QPoint(400, 90), right=-1)
    assert plot.view.spans()[0][0] > x_before[0]


def test_right_button_does_nothing_and_there_is_no_menu(plot, qtbot):
    with qtbot.assertNotEmitted(plot.clicked):
        qtbot.mouseClick(plot.viewport(), Qt.MouseButton.RightButton, NONE, at(plot, 20))
    assert QApplication.activePopupWidget() is None
    assert not plot.findChildren(QMenu)
    assert plot.view.menu is None


def test_cursor_and_signal_say_that_there_is_more_to_see(plot):
    told = []
    plot.view.zoomed.connect(told.append)
    assert plot.viewport().cursor().shape() is Qt.CursorShape.CrossCursor
    plot.view.zoom_x(0.5)
    assert plot.viewport().cursor().shape() is Qt.CursorShape.OpenHandCursor
    plot.view.show_all()
    assert plot.viewport().cursor().shape() is Qt.CursorShape.CrossCursor
    assert told == [True, False]


# The keys.


def test_keys_zoom_reset_and_step(plot, qtbot):
    plot.setFocus()
    home = plot.view.spans()[0]
    QTest.keyClick(plot, Qt.Key.Key_Plus)
    assert span(plot) == pytest.approx(0.8 * (home[1] - home[0]))
    QTest.keyClick(plot, Qt.Key.Key_F)
    assert plot.view.spans()[0] == pytest.approx(home)
    with qtbot.waitSignal(plot.stepped) as caught:
        QTest.keyClick(plot, Qt.Key.Key_Left, SHIFT)
    assert caught.args[0] == -1
    assert caught.args[1] & SHIFT


def test_only_its_own_keys_are_taken_from_the_windows_shortcuts(plot):
    control = Qt.KeyboardModifier.ControlModifier
    for key, modifier, ours in (
        (Qt.Key.Key_F, NONE, True), (Qt.Key.Key_F, control, False),
        (Qt.Key.Key_O, NONE, False), (Qt.Key.Key_Escape, NONE, False),
    ):  # fmt: skip
        event = QKeyEvent(QEvent.Type.ShortcutOverride, key, modifier)
        event.ignore()
        QApplication.sendEvent(plot, event)
        assert event.isAccepted() == ours
