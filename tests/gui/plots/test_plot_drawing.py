"""The base of the plots: what is drawn where, of the axes, the line and what is over it."""

import gc
import weakref

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PySide6.QtCore import QEvent, QPoint, QPointF
from PySide6.QtWidgets import QApplication

from gui.plots.plot_axis import PlotAxis
from gui.plots.position_curves import PositionCurves, envelope
from gui.style.theme import DARK, LIGHT
from tests.gui.plot_stage import LEFT, NONE, N, at, draw, hover, label_geometry, show_plot, span


@pytest.fixture
def plot(qtbot):
    return show_plot(qtbot)


# The axes.


def test_ticks_have_real_minus_signs_and_thin_spaces(qapp):
    axis = PlotAxis("left", "value (unit)")
    thin = "\N{THIN SPACE}"
    assert axis.tickStrings([-0.5, 0.0, 12_000.5], 1.0, 0.5) == ["−0.5", "0.0", f"12{thin}000.5"]
    positions = PlotAxis("bottom", "position (tokens)", whole=True)
    assert positions.tickStrings([0, 1000, 100_000], 1.0, 1000) == ["0", "1000", f"100{thin}000"]


@settings(max_examples=60, deadline=None)
@given(
    low=st.floats(-1e6, 1e6),
    width=st.floats(1e-4, 1e6),
    size=st.floats(60, 3000),
    whole=st.booleans(),
)
def test_ticks_are_round_and_far_enough_apart(qapp, low, width, size, whole):
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


# The line and what is over it.


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
def test_hover_label_stays_between_the_axes_and_goes_out_of_sight_with_its_position(plot, text):
    for size in ((900, 220), (420, 120)):
        plot.resize(*size)
        QApplication.processEvents()
        for position in (N - 1, N - 2, N // 2, 57, 1, 0):
            hover(plot, position, text)
            assert plot.view.sceneBoundingRect().contains(label_geometry(plot))
            assert not label_geometry(plot).isEmpty()
    plot.view.setRange(xRange=(100, 200), padding=0)
    assert label_geometry(plot).isEmpty()
    plot.set_hover(None)
    assert label_geometry(plot).isEmpty()


def test_positions_that_do_not_exist_are_ignored_and_an_empty_plot_has_nothing_to_hit(plot, qtbot):
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
    hover(plot, 300, "")
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
