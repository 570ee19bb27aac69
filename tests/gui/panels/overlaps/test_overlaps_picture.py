"""The heatmap of the overlaps panel: hover, blur, colours, zoom."""

import numpy as np
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest

from gui.panels.overlaps.body import colored, shrunk
from gui.panels.overlaps.picture import GREY, Look, blurred
from gui.plots.hover_label import HoverLabel
from gui.style.theme import LIGHT
from tests.gui.on_screen import turn_wheel
from tests.gui.panels.overlaps.overlaps_stage import cell, pair_of
from tests.gui.result_stage import LEFT, NONE, choose, double_click, hover


def test_cells_stay_square_and_the_hover_is_readable_in_a_low_dock(gpt2, qtbot, dress):
    dress(LIGHT)
    gpt2.resize(718, 204)
    heatmap = pair_of(gpt2).widget
    view = heatmap.view
    qtbot.waitUntil(lambda: view.height() < 150 and abs(view.width() - view.height()) < 3)
    hover(gpt2, QPoint(4, 4))
    hover(heatmap.viewport(), cell(gpt2, 400, 700))
    label = pair_of(gpt2).findChild(HoverLabel)
    assert label.text() == heatmap.hover_text()
    assert label.text().endswith("× chance")
    assert pair_of(gpt2).rect().contains(label.geometry())
    for size in ((1000, 420), (720, 208), (400, 700), (740, 500)):
        gpt2.resize(*size)
        qtbot.waitUntil(lambda: abs(view.width() - view.height()) < 3)
        assert view.width() > 72, size


def test_blur_is_for_display_only(gpt2):
    heatmap, values = pair_of(gpt2).widget, gpt2.result.values
    assert not np.array_equal(heatmap.values, values)
    gpt2.form.blur.setFocus()
    for _ in range(2):
        QTest.keyClick(gpt2.form.blur, Qt.Key.Key_Down)
    assert gpt2.form.blur.value() == 0.0
    np.testing.assert_array_equal(heatmap.values, values)
    assert "blur" not in gpt2.caption()
    for _ in range(9):
        QTest.keyClick(gpt2.form.blur, Qt.Key.Key_Up)
    assert gpt2.form.blur.value() == 3.0, "no more than that"
    assert "blur 3 px, display only" in gpt2.caption()
    np.testing.assert_array_equal(heatmap.values, blurred(values, 3.0))
    np.testing.assert_array_equal(gpt2.numbers()["overlap"], values)
    assert gpt2.result.values is values, "nothing was computed again"


def test_blur_colours_and_shrinking():
    spot = np.zeros((41, 41), np.float32)
    spot[20, 20] = 1.0
    spread = blurred(spot, 2.0)
    assert spread.sum() == pytest.approx(1.0, abs=1e-5)
    assert spread[20, 20] == pytest.approx(1 / (2 * np.pi * 4), rel=0.02)
    picture = np.array([[0.0, 0.5], [1.0, 2.0]], np.float32)
    grey = colored(picture, Look(0.0, GREY), (0.0, 1.0))[..., 0]
    np.testing.assert_array_equal(grey, [[255, 127], [0, 0]])
    turned = colored(picture, Look(0.0, GREY, log=True), (0.25, 1.0))[..., 0]
    np.testing.assert_allclose(turned, [[255, 127], [0, 0]], atol=1)
    picture = np.arange(35, dtype=np.float32).reshape(5, 7)
    small = shrunk(picture, 2, 3)
    assert small.shape == (2, 3)
    assert small[0, 0] == picture[:2, :2].mean()
    assert small[1, 2] == pytest.approx(picture[2:, 4:].mean())
    assert shrunk(picture, 9, 9) is picture


def test_the_colour_range_is_dragged_and_comes_back(gpt2):
    bar = pair_of(gpt2).bar
    low, high = bar.levels
    top = QPoint(6, 12)
    QTest.mousePress(bar, LEFT, NONE, top)
    QTest.mouseMove(bar, top + QPoint(0, 60))
    hover(bar, top + QPoint(0, 60))
    QTest.mouseRelease(bar, LEFT, NONE, top + QPoint(0, 60))
    assert bar.levels[0] == low
    assert bar.levels[1] < high
    assert pair_of(gpt2).widget.image.levels[1] == pytest.approx(bar.levels[1])
    dragged = bar.levels
    choose(gpt2.form.rows.name, "W_K")
    assert bar.levels == dragged, "the same colours mean the same value"
    assert gpt2.figure()().axes[0].images[0].get_clim() == pytest.approx(dragged)
    QTest.mouseClick(gpt2.form.scale.buttons["log"], LEFT)
    assert bar.levels[0] == pytest.approx(1 / 7680), "they mean nothing on the other scale"
    QTest.mouseClick(gpt2.form.scale.buttons["linear"], LEFT)
    double_click(bar, top)
    assert bar.levels != dragged


def test_wheel_zoom_hover_and_colour_scales(gpt2):
    heatmap = pair_of(gpt2).widget
    whole = heatmap.view.spans()
    turn_wheel(heatmap.viewport(), cell(gpt2, 1, 768), 3)
    (x0, x1), (y0, y1) = heatmap.view.spans()
    assert x1 - x0 == pytest.approx(0.8**3 * 768, rel=0.01)
    assert y1 - y0 == pytest.approx(x1 - x0, rel=0.01)
    assert x0 > 300, "it zoomed to the top right corner"
    heatmap.setFocus()
    QTest.keyClick(heatmap, Qt.Key.Key_F)
    np.testing.assert_allclose(heatmap.view.spans(), whole)
    for _ in range(12):
        turn_wheel(heatmap.viewport(), cell(gpt2, 1, 1), 1)
    i, j = (int(at) + 1 for at in np.unravel_index(gpt2.result.values.argmax(), (768, 768)))
    hover(heatmap.viewport(), cell(gpt2, i, j))
    value = gpt2.result.values[i - 1, j - 1]
    assert value > 0.7
    assert heatmap.hover_text() == (f"i {i} · j {j} · {value:.3f} · {value * 768:.1f} × chance")
    hover(gpt2, QPoint(4, 4))
    assert heatmap.hover_text() == ""
    heatmap, bar = pair_of(gpt2).widget, pair_of(gpt2).bar
    assert bar.levels[0] == 0.0
    np.testing.assert_array_equal(heatmap.image.lut[[0, -1], 0], [255, 0])
    QTest.mouseClick(gpt2.form.scale.buttons["log"], LEFT)
    assert bar.levels[0] == pytest.approx(1 / 7680)
    shown = heatmap.image.image
    np.testing.assert_allclose(shown, np.log10(np.maximum(heatmap.values, 1e-38)), atol=1e-5)
    choose(gpt2.form.colormap, "viridis")
    assert tuple(heatmap.image.lut[0, :3]) == (68, 1, 84)
