"""Plots of several curves: places, logarithms, hover, and the line that is dragged."""

from dataclasses import replace

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from gui.plots.curve_plot import CurvePlot
from gui.plots.mpl_painter import paint
from gui.plots.plot_axis import LogAxis
from gui.plots.qt_painter import PaintedPlot
from gui.plots.spec import Axis, Band, Curve, Plot, Rule, level_band
from gui.style.theme import DARK, LIGHT
from tests.gui.on_screen import put_on_screen
from tests.gui.result_stage import drag, hover

LEFT = Qt.MouseButton.LeftButton
NONE = Qt.KeyboardModifier.NoModifier
X = np.arange(1.0, 101.0)


def shown(qtbot, *curves, **options):
    axes = Axis("index", whole=True, **options), Axis("value", **options)
    made = put_on_screen(qtbot, CurvePlot(LIGHT, *axes), 600, 300)
    made.set_curves(curves)
    QApplication.processEvents()
    return made


@pytest.fixture
def plot(qtbot):
    silent = Curve(X, np.full(100, 5.0), "#888888", "dashed", silent=True)
    up, down = Curve(X, np.sqrt(X), "#000000"), Curve(X, 12.0 - X / 10, "#ff0000")
    return shown(qtbot, up, silent, down)


@pytest.fixture
def log(qtbot):
    return shown(qtbot, Curve(X, X**-2.0, "#000000"), Curve(X, X * 0.0, "#000000"), log=True)


def test_everything_is_in_sight(plot, log):
    (x0, x1), (y0, y1) = plot.view.spans()
    assert x0 < 1 < 100 < x1
    assert y0 < 1 < 12 < y1
    (x0, x1), (y0, y1) = log.view.spans()
    assert x0 < 0 < 2 < x1
    assert y0 < -4 < 0 < y1


def test_unknown_numbers_leave_the_rest_in_sight(qtbot):
    values = np.where(X < 50, X, np.nan)
    plot = shown(qtbot, Curve(X, values, "#000000"))
    for ends in (values, np.full(100, np.nan)):
        plot.set_curves(plot.curves, bands=[Band(X, ends, ends + 1, "#000000")])
        (x0, x1), (y0, y1) = plot.view.spans()
        assert x0 < 1 < 100 < x1
        assert 0 < y1 - 50 < 20
        assert y0 < 1


def test_hover_and_clicks_tell_curve_and_index_and_pass_silent_ones_by(plot, log):
    seen, clicked = [], []
    plot.pointHovered.connect(seen.append)
    plot.pointClicked.connect(lambda *point: clicked.append(point))
    for point in ((0, 40), (2, 10)):
        hover(plot.viewport(), plot.point_of(*point).toPoint())
        assert seen[-1] == point
    QTest.mouseClick(plot.viewport(), LEFT, NONE, plot.point_of(2, 10).toPoint())
    assert clicked == [(2, 10, NONE)]
    hover(plot.viewport(), plot.point_of(1, 97).toPoint())
    assert seen[-1] != (1, 97)
    hover(plot.viewport(), QPoint(1, 1))
    assert seen[-1] is None
    # Points that a logarithm leaves out are counted.
    log.set_curves([Curve(X, np.where(np.arange(100) < 50, 0.0, X), "#000000")])
    log.pointHovered.connect(seen.append)
    hover(log.viewport(), log.point_of(0, 80).toPoint())
    assert seen[-1] == (0, 80)


def test_the_label_is_where_the_point_is_while_that_is_in_sight(plot):
    plot.set_hover((0, 40), "here")
    assert plot.hover_text() == "here"
    plot.view.zoom_x(0.1, 90.0)
    assert plot.hover_text() == ""
    plot.view.show_all()
    assert plot.hover_text() == "here"
    plot.set_hover(None)
    assert plot.hover_text() == ""
    plot.set_hover((0, 40), "here")
    plot.set_curves(plot.curves[:1])  # other ones
    assert plot.hover_text() == ""
    # The view stays when curves of the same span are set, unless one is given.
    plot.view.zoom_x(0.5)
    before = plot.view.spans()
    plot.set_curves(plot.curves)
    assert plot.view.spans() == before
    plot.set_curves(plot.curves, y=(0.0, 50.0))
    assert plot.view.spans()[1] == (0.0, 50.0)


@pytest.mark.parametrize("logarithmic", [False, True])
def test_the_upright_line_is_dragged_in_the_units_of_x(qtbot, plot, log, logarithmic):
    made = log if logarithmic else plot
    dragged = []
    made.markerDragged.connect(dragged.append)
    made.set_marker(Rule(30.0, "x", tip="explained"))
    x = np.log10(50.0) if logarithmic else 50.0
    start = made.marker_point().toPoint()
    assert made.tooltip_at(QPointF(start)) == "explained"
    target = made.view.mapViewToScene(QPointF(x, 0.0)).toPoint()
    drag(made.viewport(), start, target)
    assert dragged[-1] == pytest.approx(50.0, rel=0.02)
    assert not made.view.is_zoomed
    end = 10 ** made.view.home[0][1] if logarithmic else made.view.home[0][1]
    made.set_marker(Rule(dragged[-1], "x"))
    edge = QPoint(made.width() - 1, start.y())
    drag(made.viewport(), made.marker_point().toPoint(), edge)
    assert dragged[-1] == pytest.approx(end)


def test_only_the_line_that_is_shown_is_taken_hold_of_as_the_cursor_says(plot):
    plot.set_marker(Rule(30.0, "x"))
    point, dragged = plot.marker_point().toPoint(), []
    hover(plot.viewport(), point)
    assert plot.viewport().cursor().shape() == Qt.CursorShape.SizeHorCursor
    hover(plot.viewport(), point + QPoint(60, 0))
    assert plot.viewport().cursor().shape() == Qt.CursorShape.CrossCursor
    plot.set_marker(None)
    plot.markerDragged.connect(dragged.append)
    drag(plot.viewport(), point, point + QPoint(30, 0))
    assert dragged == []


def test_no_axis_is_left_where_another_one_stands(log):
    log.set_theme(DARK)
    assert isinstance(log.x_axis, LogAxis)
    axes = [item for item in log.scene().items() if hasattr(item, "tickValues")]
    assert len(axes) == 2
    for curves in ([Curve(X, np.zeros(100), "#000000")], []):  # which is no fault
        log.set_curves(curves)
        hover(log.viewport(), QPoint(300, 100))


@pytest.mark.parametrize(
    ("span", "size", "expected"),
    [
        ((0.0, 3.0), 400, ["1", "2", "5", "10", "20", "50", "100", "200", "500", "1\u2009000"]),
        ((0.0, 3.0), 200, ["1", "10", "100", "1\u2009000"]),
        ((-4.0, 6.0), 150, ["10⁻³", "10⁰", "10³", "10⁶"]),
        ((-3.0, 0.0), 150, ["0.001", "0.01", "0.1", "1"]),
        ((-5.0, -4.0), 400, ["10⁻⁵", "2·10⁻⁵", "5·10⁻⁵", "10⁻⁴"]),
    ],
)
def test_ticks_read_as_numbers_and_have_room(span, size, expected, qapp):
    axis = LogAxis("bottom", "index")
    ((spacing, values),) = axis.tickValues(*span, size)
    assert axis.tickStrings(values, 1.0, spacing) == expected


def test_straight_lines_say_what_they_are_inside_the_axes(plot):
    for at in (1.2, 11.8):  # near the bottom, and near the top
        plot.set_curves(plot.curves, rules=[Rule(at, label="chance")])
        plot.set_marker(Rule(99.0, "x", "held out"))
        QApplication.processEvents()
        area = plot.view.sceneBoundingRect()
        for box, words in ((plot._rules[0].label, "chance"), (plot._marker_label, "held out")):
            assert box.textItem.toPlainText() == words
            assert area.contains(box.mapRectToScene(box.boundingRect()))


def banded(band, *, log=False, **options):
    """A plot of one curve and a band."""
    curve = Curve(X, np.full(100, 9.0), LIGHT.text, label="own")
    return Plot("p", Axis("x", log=log), Axis("y", log=log), [curve], bands=[band], **options)


def test_a_band_is_tinted_behind_the_curves_and_in_sight(qtbot):
    band = Band(X, np.full(100, 2.0), np.full(100, 20.0), LIGHT.muted, "random", np.full(100, 5.0))
    painted = put_on_screen(qtbot, PaintedPlot(banded(band), LIGHT), 600, 300)
    painted.draw(banded(band))
    QApplication.processEvents()
    plot = painted.widget
    (_, _), (y0, y1) = plot.view.spans()
    assert y0 < 2 < 20 < y1

    def color(y):
        point = plot.view.mapViewToScene(QPointF(50.3, y)).toPoint()
        return plot.grab().toImage().pixelColor(point)

    inside, outside = color(15.0), color(1.6)
    line = min(color(9.0 + off).lightness() for off in np.linspace(-0.2, 0.2, 9))
    assert inside.lightness() < outside.lightness()
    assert line < inside.lightness() - 60
    # It does not take the mouse.
    hover(plot.viewport(), plot.view.mapViewToScene(QPointF(50.0, 20.0)).toPoint())
    assert plot.hover_text() == ""
    painted.draw(replace(banded(band), bands=()))
    assert color(9.2) == outside


def test_bands_omit_what_a_logarithmic_axis_cannot_show(log):
    low = np.where(X > 50, -1.0, 1e-3)
    log.set_curves([Curve(X, X**-2.0, "#000000")], bands=[Band(X, low, X, "#5b6370")])
    (x0, x1), (y0, y1) = log.view.spans()
    assert x0 < 0
    assert np.isfinite([x0, x1, y0, y1]).all()
    assert y0 < -4


def test_a_band_is_printed_with_its_label():
    figure = paint([banded(level_band(2.0, 4.0, (1.0, 100.0), LIGHT.muted, "random"))], "t", "d")
    (axes,) = figure.axes
    (filled,) = axes.collections
    low, high = filled.get_paths()[0].get_extents().intervaly
    assert (low, high) == (2.0, 4.0)
    (own,) = [line for line in axes.lines if line.get_label() == "own"]
    assert filled.get_zorder() < own.get_zorder()
    legends = [*figure.legends, *filter(None, [axes.get_legend()])]
    assert {text.get_text() for one in legends for text in one.texts} == {"own", "random"}


def test_a_bands_name_stands_in_the_row_above_with_a_swatch(qtbot):
    from gui.plots.scrub_plot import CurveLegend

    band = level_band(2.0, 4.0, (1.0, 100.0), LIGHT.muted, "random")
    legend = CurveLegend(LIGHT)
    qtbot.addWidget(legend)
    legend.resize(200, 16)
    before = legend.grab().toImage()
    legend.show_readings([band.reading("2–4")])
    qtbot.waitUntil(lambda: legend.accessibleName() == "random 2–4")
    assert legend.grab().toImage() != before
