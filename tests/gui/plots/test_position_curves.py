"""The base of the plots: what mouse, wheel and keys mean, and what is drawn where."""

import gc
import weakref

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PySide6.QtCore import QEvent, QPoint, QPointF, QRectF, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QMenu

from gui.plots.plot_axis import PlotAxis
from gui.plots.position_curves import PositionCurves
from gui.plots.spec import Curve
from gui.plots.thinning import envelope
from gui.style.theme import DARK, LIGHT
from tests.gui.on_screen import put_on_screen, turn_wheel
from tests.gui.result_stage import drag
from tests.gui.result_stage import hover as move

SHIFT = Qt.KeyboardModifier.ShiftModifier
LEFT = Qt.MouseButton.LeftButton
NONE = Qt.KeyboardModifier.NoModifier
N = 400


@pytest.fixture
def plot(qtbot):
    """A plot of a wave."""
    made = PositionCurves(LIGHT, "position (tokens)", "norm (units of P)")
    draw(made, 3 + np.sin(np.arange(N) / 40), (0.0, 5.0))
    put_on_screen(qtbot, made, 900, 220)
    QApplication.processEvents()
    return made


def draw(plot, values, y):
    """Draw values by position."""
    margin = 0.015 * len(values)
    curve = Curve(np.arange(float(len(values))), values, LIGHT.muted)
    plot.set_curves([curve], (-margin, len(values) - 1 + margin), y)


def label_geometry(plot):
    """Where the hover label stands in the plot; empty when there is none."""
    return QRectF() if plot._label.isHidden() else QRectF(plot._label.geometry())


def at(plot, position, value=None):
    """Return where a position is drawn, in pixels of the plot."""
    value = plot.curves[0].y[position] if value is None else value
    return plot.view.mapViewToScene(QPointF(position, value)).toPoint()


def span(plot, axis=0):
    low, high = plot.view.spans()[axis]
    return high - low


def test_click_names_the_position_and_the_modifiers(plot, qtbot):
    with qtbot.waitSignal(plot.clicked) as caught:
        qtbot.mouseClick(plot.viewport(), LEFT, SHIFT, at(plot, 123))
    assert caught.args[0] == 123
    assert caught.args[1] & SHIFT
    with qtbot.waitSignal(plot.clicked) as caught:  # far from the line
        qtbot.mouseClick(plot.viewport(), LEFT, NONE, at(plot, 200, 0.2))
    assert caught.args[0] == 200
    with qtbot.waitSignal(plot.clicked) as caught:  # the hand trembles
        drag(plot.viewport(), at(plot, 50), at(plot, 50) + QPoint(2, 2))
    assert caught.args[0] == 50


def test_drag_pans_to_the_end_of_the_data_and_never_picks(plot, qtbot):
    home = plot.view.spans()
    plot.view.zoom_x(0.25)
    before = plot.view.spans()[0]
    with qtbot.assertNotEmitted(plot.clicked), qtbot.assertNotEmitted(plot.swept):
        drag(plot.viewport(), QPoint(600, 100), QPoint(500, 100))
    after = plot.view.spans()[0]
    per_pixel = (before[1] - before[0]) / plot.view.rect().width()
    assert after[0] - before[0] == pytest.approx(100 * per_pixel, rel=0.02)
    assert span(plot) == pytest.approx(before[1] - before[0])
    for _ in range(5):
        drag(plot.viewport(), QPoint(200, 100), QPoint(800, 160))
    assert plot.view.spans()[0][0] == pytest.approx(home[0][0])
    assert plot.view.spans()[1] == pytest.approx(home[1])


def test_drag_with_shift_sweeps_a_range_at_most_to_the_last_position(plot, qtbot):
    start = at(plot, 300)
    for end, last in ((at(plot, 100), 100), (QPoint(plot.width() - 1, 60), N - 1)):
        with qtbot.waitSignal(plot.swept) as caught, qtbot.assertNotEmitted(plot.clicked):
            drag(plot.viewport(), start, end, SHIFT)
        assert caught.args == [300, last]
    plot.setFocus()
    with qtbot.assertNotEmitted(plot.swept), qtbot.assertNotEmitted(plot.clicked):
        QTest.mousePress(plot.viewport(), LEFT, SHIFT, start)
        move(plot.viewport(), at(plot, 100))
        QTest.keyClick(plot, Qt.Key.Key_Escape)
        QTest.mouseRelease(plot.viewport(), LEFT, SHIFT, at(plot, 100))


def test_hover_tells_each_position_once_and_none_on_leaving(plot, qtbot):
    heard = []
    plot.hovered.connect(heard.append)
    point = at(plot, 210)
    move(plot.viewport(), point)
    move(plot.viewport(), point + QPoint(0, 9))
    move(plot.viewport(), QPoint(3, 100))
    assert heard == [210, None]
    move(plot.viewport(), point + QPoint(0, 5))
    QApplication.sendEvent(plot, QEvent(QEvent.Type.Leave))
    assert heard == [210, None, 210, None]


def test_double_click_shows_everything_and_takes_the_click_back(plot, qtbot):
    home = plot.view.spans()
    plot.view.zoom_x(0.1)
    with qtbot.waitSignal(plot.clickRepeated):
        QTest.mouseDClick(plot.window().windowHandle(), LEFT, NONE, QPoint(400, 100))
    assert plot.view.spans()[0] == pytest.approx(home[0])


def test_wheel_zooms_within_the_data(plot):
    home, y_before = plot.view.spans()
    point = at(plot, 300)
    x = plot.to_data(QPointF(point)).x()
    before = span(plot)
    turn_wheel(plot.viewport(), point, up=1)
    assert span(plot) == pytest.approx(0.8 * before)
    assert plot.to_data(QPointF(point)).x() == pytest.approx(x)
    assert plot.view.spans()[1] == y_before
    for _ in range(60):
        turn_wheel(plot.viewport(), at(plot, 200), up=1)
    assert span(plot) == pytest.approx(8)
    for _ in range(60):
        turn_wheel(plot.viewport(), QPoint(400, 90), up=-1)
    assert plot.view.spans()[0] == pytest.approx(home)


def test_wheel_over_the_y_axis_zooms_y_and_sideways_pans(plot):
    x_before = plot.view.spans()[0]
    turn_wheel(plot.viewport(), QPoint(10, 90), up=1)
    assert span(plot, 1) == pytest.approx(4.0)
    assert plot.view.spans()[0] == x_before
    plot.view.zoom_x(0.5)
    x_before = plot.view.spans()[0]
    turn_wheel(plot.viewport(), QPoint(400, 90), right=-1)
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
    f, o, escape = Qt.Key.Key_F, Qt.Key.Key_O, Qt.Key.Key_Escape
    cases = ((f, NONE, True), (f, control, False), (o, NONE, False), (escape, NONE, False))
    for key, modifier, ours in cases:
        event = QKeyEvent(QEvent.Type.ShortcutOverride, key, modifier)
        event.ignore()
        QApplication.sendEvent(plot, event)
        assert event.isAccepted() == ours


def test_ticks_have_real_minus_signs_and_thin_spaces(qapp):
    axis = PlotAxis("left", "value (unit)")
    thin = "\N{THIN SPACE}"
    assert axis.tickStrings([-0.5, 0.0, 12_000.5], 1.0, 0.5) == ["−0.5", "0.0", f"12{thin}000.5"]
    positions = PlotAxis("bottom", "position (tokens)", whole=True)
    assert positions.tickStrings([0, 1000, 100_000], 1.0, 1000) == ["0", "1000", f"100{thin}000"]


@pytest.mark.usefixtures("qapp")
@settings(max_examples=60, deadline=None)
@given(st.floats(-1e6, 1e6), st.floats(1e-4, 1e6), st.floats(60, 3000), st.booleans())
def test_ticks_are_round_and_far_enough_apart(low, width, size, whole):
    axis = PlotAxis("bottom", "position (tokens)", whole=whole)
    ((step, offset),) = axis.tickSpacing(low, low + width, size)
    assert offset == 0
    digit = float(f"{step:e}".split("e")[0])
    assert digit in (1, 2, 5)
    assert step >= 1 or not whole
    gap = step / width * size
    if gap < 72 * (1 - 1e-6):  # only where there would be no tick at all
        larger = step * {1: 2, 2: 2.5, 5: 2}[digit]
        assert np.floor((low + width) / larger) * larger <= low
        assert gap >= 28


@settings(max_examples=60, deadline=None)
@given(n=st.integers(1, 5000), columns=st.integers(1, 200), data=st.data())
def test_envelope_keeps_every_extreme_and_the_last_position(n, columns, data):
    first = data.draw(st.integers(0, n - 1))
    stop = data.draw(st.integers(first + 1, n))
    values = np.random.default_rng(n).normal(size=n)
    x, y = envelope(values, first, stop, columns)
    assert len(x) == len(y) <= 6 * columns + 4
    assert (np.diff(x) >= 0).all()
    assert y.max() >= values[first:stop].max()
    assert y.min() <= values[first:stop].min()
    assert y[-2:].min() <= values[stop - 1] <= y[-2:].max()
    if stop - first <= columns:  # few are drawn as they are
        np.testing.assert_array_equal(x, np.arange(first, stop))
        np.testing.assert_array_equal(y, values[first:stop])


def labels_are_apart_and_inside(plot):
    placed = [rect for _, rect in plot.marks.labels()]
    area = plot.view.rect()
    inside = all(area.contains(rect) for rect in placed)
    return inside and not any(a.intersects(b) for i, a in enumerate(placed) for b in placed[:i])


def test_numbers_of_marked_positions_neither_overlap_nor_are_cut(plot):
    plot.marks.set_ringed((0, 1, 2, 100, 102, 250, N - 2, N - 1))
    plot.marks.set_current(101)
    for size in ((240, 120), (1900, 500), (900, 220)):
        plot.resize(*size)
        QApplication.processEvents()
        shown = [position for position, _ in plot.marks.labels()]
        assert 101 in shown
        assert {0, N - 1} & set(shown)
        assert labels_are_apart_and_inside(plot)
    plot.view.setRange(xRange=(90, 110), yRange=(4.5, 5.0), padding=0)
    assert labels_are_apart_and_inside(plot)


def test_numbers_keep_off_the_line_where_they_can(plot):
    plot.marks.set_ringed((200,))
    ((_, rect),) = plot.marks.labels()
    scene = plot.view.mapToScene(rect.center())
    x = plot.to_data(scene).x()
    line = plot.view.mapFromScene(plot.view.mapViewToScene(QPointF(x, plot.curves[0].y[round(x)])))
    assert not rect.top() <= line.y() <= rect.bottom()


def test_a_marked_position_beyond_the_view_is_marked_at_its_edge(plot):
    values = np.full(N, 3.0)
    values[0] = 10.0
    draw(plot, values, (0.0, 11.0))
    plot.marks.set_ringed((0,))
    plot.view.set_home_y((2.0, 4.0))
    ((position, rect),) = plot.marks.labels()
    assert position == 0
    assert plot.view.rect().contains(rect)
    assert plot.marks.ring_near(QPointF(at(plot, 0, 4.0)) - plot.view.scenePos(), 8) == 0


def test_a_marked_position_is_easy_to_hit_in_a_crowd(plot):
    values = np.full(100_000, 3.0)
    values[50_000] = 9.0
    draw(plot, values, (0.0, 10.0))
    plot.marks.set_ringed((50_000,))
    point = at(plot, 50_000)
    assert plot.index_at(QPointF(point + QPoint(5, 2))) == 50_000
    assert plot.index_at(QPointF(point + QPoint(5, 60))) != 50_000
    plot.ring_tooltip = "the rule"
    assert plot.tooltip_at(QPointF(point)) == "the rule"
    assert plot.tooltip_at(QPointF(point + QPoint(40, 60))) == ""
    assert "Wheel" in plot.tooltip_at(QPointF(5, 5))


@pytest.mark.parametrize("text", ["position 300 · norm 3.312", "position 300 · " + "w" * 40])
def test_hover_label_stays_inside(plot, text):
    for size in ((900, 220), (420, 120)):
        plot.resize(*size)
        QApplication.processEvents()
        for position in (N - 1, N - 2, N // 2, 57, 1, 0):
            plot.set_hover((0, position), text)
            assert plot.view.sceneBoundingRect().contains(label_geometry(plot))
            assert not label_geometry(plot).isEmpty()
    plot.view.setRange(xRange=(100, 200), padding=0)
    assert label_geometry(plot).isEmpty()
    plot.set_hover(None)
    assert label_geometry(plot).isEmpty()


def test_unknown_positions_and_an_empty_plot(plot, qtbot):
    plot.set_selected((3, N + 5, -1))
    plot.marks.set_ringed((N,))
    plot.marks.set_current(N + 5)
    plot.grab()
    assert plot.marked() == (3,)
    assert plot.marks.labels() == []
    plot.set_curves([])
    plot.grab()
    with qtbot.assertNotEmitted(plot.clicked):
        qtbot.mouseClick(plot.viewport(), LEFT, NONE, QPoint(400, 100))


def test_another_measure_of_the_same_table_and_a_resize_keep_the_view(plot):
    plot.view.zoom_x(0.25)
    before = plot.view.spans()[0]
    draw(plot, np.full(N, 1.0), (0.0, 2.0))
    assert plot.y_axis.label.isVisible()
    plot.resize(400, 100)
    QApplication.processEvents()
    assert not plot.y_axis.label.isVisible()  # its title has no room
    assert plot.view.spans()[0] == pytest.approx(before)
    draw(plot, np.full(2 * N, 1.0), (0.0, 2.0))
    assert span(plot) > 2 * N - 1


def color_at(plot, position, value):
    return plot.grab().toImage().pixelColor(at(plot, position, value))


def test_selection_hover_and_theme_have_their_colours(plot):
    plot.set_selected((100,))
    plot.set_hover((0, 300))
    y = plot.curves[0].y
    for theme in (LIGHT, DARK):
        plot.set_theme(theme)
        assert color_at(plot, 100, y[100]).name() == theme.accent
        assert color_at(plot, 300, y[300]).name() == theme.hover
        assert color_at(plot, 200, 0.2).name() == theme.viewport


def test_the_line_outside_the_shown_range_is_paler(plot):
    draw(plot, np.full(N, 2.5), (0.0, 5.0))
    plot.marks.set_shown((0, 199))

    def darkest(position):
        point = at(plot, position)
        image = plot.grab().toImage()
        return min(image.pixelColor(point + QPoint(0, d)).lightness() for d in (-1, 0, 1))

    assert darkest(100) + 40 < darkest(300) < 255


def test_a_closed_plot_is_freed(qtbot):
    plot = PositionCurves(LIGHT, "position (tokens)", "norm (units of P)")
    draw(plot, np.ones(50), (0.0, 2.0))
    plot.show()
    QApplication.processEvents()
    gone = weakref.ref(plot)
    plot.close()
    plot.deleteLater()
    del plot
    QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    gc.collect()
    assert gone() is None
