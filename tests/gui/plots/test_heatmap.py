"""Heatmaps and their colour bars: what is where, zoom, colours, through real events."""

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QColor
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QWidget

from gui.plots.color_bar import ColorBar
from gui.plots.heatmap import ZOOMING, Heatmap, averaged
from gui.state.colors import lookup_table
from gui.style.theme import DARK, LIGHT, format_level
from gui.widgets.boxes import hbox
from tests.gui.on_screen import ask_menu, put_on_screen, turn_wheel
from tests.gui.result_stage import double_click, drag, hover

LEFT = Qt.MouseButton.LeftButton
NONE = Qt.KeyboardModifier.NoModifier
SHIFT = Qt.KeyboardModifier.ShiftModifier


@pytest.fixture
def heatmap(qtbot):
    made, holder = Heatmap(LIGHT, "across", "down"), QWidget()
    hbox(made, QWidget(), parent=holder, margins=(9, 9, 9, 9))
    made.holder = put_on_screen(qtbot, holder, 700, 400)  # or Qt would delete it
    values = np.zeros((20, 30))
    values[3, 25] = 1.0
    made.set_colors("gray", (0.0, 1.0))
    made.set_image(values)
    QApplication.processEvents()
    return made


def colour(heatmap, row, column):
    return heatmap.grab().toImage().pixelColor(heatmap.point_of(row, column).toPoint())


def aspect(heatmap):
    """Pixels of a cell, across by down."""
    (x0, x1), (y0, y1) = heatmap.view.spans()
    area = heatmap.view.sceneBoundingRect()
    return area.width() / (x1 - x0) / (area.height() / (y1 - y0))


def test_cells_are_square_in_any_window(heatmap):
    """The room left below square cells kept the axes where they had been."""
    area = heatmap.view.sceneBoundingRect()
    assert heatmap.width() - area.right() < 40  # no room is taken that it cannot use
    for size in ((240, 700), (240, 160), (700, 160), (400, 700), (300, 300), (700, 400)):
        heatmap.holder.resize(*size)
        QApplication.processEvents()
        assert aspect(heatmap) == pytest.approx(1.0, abs=0.03)
        assert heatmap.x_axis.sceneBoundingRect().bottom() <= heatmap.viewport().height()
        assert heatmap.centralWidget.geometry() == heatmap.range


@pytest.mark.parametrize("titled", [False, True])
def test_cells_stay_square_when_matrices_of_other_shapes_follow(heatmap, titled):
    if titled:
        heatmap.y_axis.set_title("a title of some length", LIGHT)
    heatmap.holder.resize(420, 300)
    shapes = [(384, 384), (32, 384), (384, 32)]
    for shape in (*shapes, *reversed(shapes), *shapes):
        heatmap.set_image(np.zeros(shape, np.float32))
        for _ in range(4):
            QApplication.processEvents()
        assert aspect(heatmap) == pytest.approx(1.0, abs=0.05), shape
        assert heatmap.centralWidget.geometry() == heatmap.range
        # A title beside so few rows would be cut off.
        assert heatmap.y_axis.label.isVisible() == (shape[0] > 32)


def test_hover_and_click_tell_the_cell(heatmap):
    seen, clicked = [], []
    heatmap.cellHovered.connect(seen.append)
    heatmap.cellClicked.connect(lambda *cell: clicked.append(cell))
    point = heatmap.point_of(3, 25).toPoint()
    hover(heatmap.viewport(), point)
    assert seen[-1] == (3, 25)
    QTest.mouseClick(heatmap.viewport(), LEFT, SHIFT, point)
    assert clicked == [(3, 25, SHIFT)]
    hover(heatmap.viewport(), QPoint(3, 3))
    assert seen[-1] is None
    # Cells are counted from the first.
    heatmap.set_image(np.arange(100.0).reshape(10, 10), first=(40, 7))
    hover(heatmap.viewport(), heatmap.point_of(42, 9).toPoint())
    assert seen[-1] == (42, 9)
    assert heatmap.value_at(42, 9) == 22.0


def test_the_wheel_zooms_about_the_mouse_and_cells_stay_square(heatmap):
    point = heatmap.point_of(3, 25).toPoint()
    before = heatmap.to_data(QPointF(point))
    turn_wheel(heatmap.viewport(), point, 2)
    after = heatmap.to_data(QPointF(point))
    assert (after.x(), after.y()) == pytest.approx((before.x(), before.y()), abs=0.3)
    assert heatmap.view.is_zoomed
    assert aspect(heatmap) == pytest.approx(1.0, abs=0.05)
    double_click(heatmap.viewport(), point)
    assert not heatmap.view.is_zoomed


def test_drag_pans_when_zoomed_and_the_view_stays_while_cells_are_the_same(heatmap):
    heatmap.setFocus()
    QTest.keyClick(heatmap, Qt.Key.Key_Plus)
    before = heatmap.view.spans()
    start = heatmap.point_of(10, 15).toPoint()
    drag(heatmap.viewport(), start, start + QPoint(15, 10))
    after = heatmap.view.spans()
    assert after[0][0] < before[0][0]
    assert after[1][0] < before[1][0]
    heatmap.set_image(np.ones((20, 30)))
    assert heatmap.view.spans() == after
    QTest.keyClick(heatmap, Qt.Key.Key_Minus)
    QTest.keyClick(heatmap, Qt.Key.Key_F)
    assert not heatmap.view.is_zoomed
    heatmap.view.zoom_x(0.5)
    heatmap.set_image(np.ones((20, 31)))
    assert not heatmap.view.is_zoomed


def test_values_levels_and_log_scale(heatmap):
    assert colour(heatmap, 3, 25) == QColor("#ffffff")
    assert colour(heatmap, 16, 4) == QColor("#000000")
    values = np.full((20, 30), 0.01)
    values[3, 25] = 1.0
    values[4, 25] = 0.0
    heatmap.set_image(values)
    assert colour(heatmap, 16, 4).red() < 10
    heatmap.set_colors("gray", (1e-4, 1.0), log=True)
    assert colour(heatmap, 16, 4).red() == pytest.approx(128, abs=3)  # half way, in decades
    assert colour(heatmap, 4, 25) == QColor("#000000")
    heatmap.set_colors("gray", (0.0, 0.02))
    assert colour(heatmap, 16, 4).red() == pytest.approx(128, abs=3)
    heatmap.set_colors("viridis", (0.0, 0.02))
    table = lookup_table("viridis")
    shown = colour(heatmap, 16, 4).getRgb()[:3]
    assert np.abs(np.array(shown) - table[128, :3]).max() <= 4


def test_there_is_a_tick_however_narrow_the_axis_is(heatmap):
    heatmap.holder.resize(360, 190)
    for columns in (384, 30, 1023):
        heatmap.set_image(np.zeros((columns, columns)), first=(1, 1))
        for _ in range(4):
            QApplication.processEvents()
        (low, high), _ = heatmap.view.spans()
        (step, _), *_ = heatmap.x_axis.tickSpacing(low, high, heatmap.view.width())
        assert np.floor(high / step) * step >= low
        assert step / (high - low) * heatmap.view.width() > 25  # and ticks have room


def test_many_cells_are_averaged_and_not_dropped(heatmap):
    values = np.zeros((1024, 1024))
    values[::2] = 1.0
    heatmap.set_image(values)
    assert 60 < colour(heatmap, 500, 500).red() < 200


@pytest.mark.parametrize("shape", [(7, 9), (12, 8), (5, 1), (1, 5)])
@pytest.mark.parametrize("count", [1, 2, 3, 5, 20])
@pytest.mark.parametrize("axis", [0, 1])
def test_averages_are_means_also_of_what_is_left_over(shape, count, axis):
    values = np.random.default_rng(0).random(shape).astype(np.float32)
    before = values.copy()
    cuts = range(count, shape[axis], count)
    parts = np.split(values, cuts, axis=axis)
    expected = np.concatenate([part.mean(axis=axis, keepdims=True) for part in parts], axis=axis)
    found = averaged(values, count, axis)
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    assert found.dtype == np.float32
    np.testing.assert_array_equal(values, before)


def test_marks_are_lines_through_the_cell(heatmap):
    def red(at):
        picture = heatmap.grab().toImage()
        near = (picture.pixelColor(at + QPoint(dx, dy)) for dx in (-1, 0, 1) for dy in (-1, 0, 1))
        return any(pixel.saturation() > 100 for pixel in near)

    row_line = heatmap.point_of(10, 25).toPoint()
    assert not red(row_line)
    heatmap.set_hover(10, 5)
    assert red(row_line)
    assert red(heatmap.point_of(18, 5).toPoint())
    heatmap.set_hover(None, None)
    heatmap.set_selected([10], [])
    assert red(row_line)


def test_right_click_is_left_to_the_panel(heatmap, monkeypatch):
    asked = []
    monkeypatch.setattr(
        heatmap.holder, "contextMenuEvent", lambda event: asked.append(event.pos()), raising=False
    )
    ask_menu(heatmap.viewport(), QPoint(150, 100))
    assert len(asked) == 1


def test_hover_label_and_explained_gestures(heatmap, dress):
    heatmap.set_hover(3, 29, "a rather long text about this cell")
    assert heatmap.hover_text() == "a rather long text about this cell"
    assert heatmap.viewport().rect().contains(heatmap._label.geometry())
    heatmap.set_hover(3, 29, "two\nlines")
    assert heatmap._label.text() == "two\nlines"
    dress(DARK)
    assert heatmap._label.grab().toImage().pixelColor(3, 6).name() == DARK.panel
    heatmap.set_hover(None, None)
    assert heatmap.hover_text() == ""
    said = heatmap.tooltip_at(QPointF(2, 2))
    assert said.endswith(ZOOMING)
    assert "Shift-click" in said
    assert heatmap.tooltip_at(heatmap.point_of(3, 3)) == ""


@pytest.fixture
def bar(qtbot):
    made = ColorBar(LIGHT, "Overlap")
    made.levelsRequested.connect(lambda low, high: made.show_scale("gray", (low, high), (0.0, 1.0)))
    made.show_scale("gray", (0.0, 1.0), (0.0, 1.0))
    return put_on_screen(qtbot, made, made.sizeHint().width(), 200)


def test_the_large_values_are_at_the_top_and_dragging_a_half_moves_its_end(bar):
    picture = bar.grab().toImage()
    assert picture.pixelColor(6, 12).red() > 230
    assert picture.pixelColor(6, 188).red() < 25
    drag(bar, QPoint(6, 60), QPoint(6, 20))
    low, high = bar.levels
    assert low == 0.0
    assert high > 1.05
    double_click(bar, QPoint(6, 60))
    assert bar.levels == (0.0, 1.0)
    drag(bar, QPoint(6, 150), QPoint(6, 120))
    low, high = bar.levels
    assert 0.0 < low < 1.0
    assert high == 1.0


def test_keys_move_the_ends_and_home_goes_back(bar):
    bar.setFocus()
    QTest.keyClick(bar, Qt.Key.Key_Down)
    assert bar.levels == (0.0, pytest.approx(0.8))
    QTest.keyClick(bar, Qt.Key.Key_Up, SHIFT)
    assert bar.levels[0] > 0.0
    QTest.keyClick(bar, Qt.Key.Key_Home)
    assert bar.levels == (0.0, 1.0)
    # On a logarithmic one they stay positive.
    asked = []
    bar.levelsRequested.connect(lambda low, high: asked.append((low, high)))
    bar.show_scale("gray", (1e-4, 1.0), (1e-4, 1.0), log=True)
    QTest.keyClick(bar, Qt.Key.Key_Down, SHIFT)
    low, high = asked[-1]
    assert 0.0 < low < 1e-4
    assert high == pytest.approx(1.0)


def test_levels_are_written_with_three_digits():
    written = [format_level(value) for value in (0.0, 1.0, 0.0215, -1.0, 125.0, 3e-6)]
    assert written == ["0", "1.00", "0.0215", "\N{MINUS SIGN}1.00", "125", "3.0·10⁻⁶"]
