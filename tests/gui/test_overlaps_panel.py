"""The overlaps panel on real checkpoints, through real clicks, drags, keys and hover."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from geometry.errors import TensorUnavailable
from geometry.overlaps import corner_contrast
from geometry.residual_stream import ResidualStream, Subject
from geometry.sources import open_source
from gui.panels.hover_label import HoverLabel
from gui.panels.overlaps import OverlapsPanel
from gui.panels.overlaps_look import GREY, Look, arrange, blurred, colored, shrunk
from gui.panels.overlaps_question import OverlapsOf, in_one_space, plain
from gui.questions import Subjects, resolve
from gui.theme import DARK, LIGHT
from tests.gui.result_stage import open_in, show_panel

LEFT = Qt.MouseButton.LeftButton
NONE = Qt.KeyboardModifier.NoModifier


@pytest.fixture
def panel(qtbot, controller):
    """A panel whose questions are answered before a click returns."""
    return show_panel(qtbot, OverlapsPanel, controller)


@pytest.fixture
def gpt2(panel, controller, gpt2_folder):
    return open_in(panel, controller, gpt2_folder)


@pytest.fixture
def minilm(panel, controller, minilm_folder):
    return open_in(panel, controller, minilm_folder)


def choose(box, text):
    """Choose from a drop-down list with the keyboard, as one who types what it says."""
    box.setFocus()
    wanted = box.findText(text)
    assert wanted >= 0
    QTest.keyClick(box, Qt.Key.Key_Home)
    for _ in range(wanted):
        QTest.keyClick(box, Qt.Key.Key_Down)
    assert box.currentText() == text


def enter(spin, text):
    """Type into a spin box."""
    spin.setFocus()
    spin.selectAll()
    QTest.keyClicks(spin, text)
    QTest.keyClick(spin, Qt.Key.Key_Return)


def move(widget, point):
    """Move the mouse there; through the window, because a widget's move is only asked of X."""
    window = widget.window()
    QTest.mouseMove(window.windowHandle(), widget.mapTo(window, point))


def cell(panel, i, j):
    return panel.heatmap.heatmap.point_of(i, j).toPoint()


def caption(panel):
    return panel.header.caption.text()


# What it measures.


def test_gpt2s_queries_and_positions(gpt2):
    assert gpt2.result.rows == Subject("W_Q")
    assert gpt2.result.columns == Subject("P")
    contrast = gpt2.result.contrast
    found = [round(value, 1) for value in (contrast.TL, contrast.TR, contrast.BL, contrast.BR)]
    assert found == [2.5, 2.4, 1.9, 0.6]
    assert round(gpt2.result.top3, 2) == 1.65
    assert caption(gpt2) == (
        "gpt2 · W_Q layer 0 input, gain not folded × P uncentred, all rows · "
        "TL 2.5 TR 2.4 BL 1.9 BR 0.6 × chance · 3×3 sum 1.65 · blur 1 px, display only"
    )


def test_keys_hold_the_positions_even_more(gpt2):
    choose(gpt2.controls.rows.name, "W_K")
    assert round(gpt2.result.top3, 2) == 2.76
    assert "W_K layer 0" in caption(gpt2)


def test_folding_the_gain_changes_the_answer_and_is_labelled(gpt2):
    QTest.mouseClick(gpt2.controls.fold, LEFT, pos=QPoint(8, gpt2.controls.fold.height() // 2))
    assert gpt2.result.rows.fold_ln
    assert not gpt2.result.columns.fold_ln
    assert round(gpt2.result.top3, 4) == 0.0004
    assert "W_Q layer 0 input, gain folded × P" in caption(gpt2)
    assert "3×3 sum 0.0004" in caption(gpt2)


def test_positions_can_be_centred(gpt2):
    before = gpt2.result
    QTest.mouseClick(gpt2.controls.centre, LEFT, pos=QPoint(8, gpt2.controls.centre.height() // 2))
    assert gpt2.result.columns == Subject("P", centred=True)
    assert "P centred, all rows" in caption(gpt2)
    assert abs(gpt2.result.values - before.values).max() > 0.01


def test_one_head_has_so_many_directions(gpt2):
    enter(gpt2.controls.rows.head, "3")
    assert gpt2.result.values.shape == (64, 768)
    assert "W_Q layer 0 head 3 input" in caption(gpt2)
    stream = ResidualStream(open_source(str(gpt2.session.model.source)))
    expected = stream.overlaps(Subject("W_Q", head=3), Subject("P"))
    np.testing.assert_allclose(gpt2.result.values, expected, atol=1e-6)
    QTest.keyClick(gpt2.controls.rows.head, Qt.Key.Key_Down)
    assert "head 2" in caption(gpt2)
    enter(gpt2.controls.rows.head, "-1")
    assert gpt2.controls.rows.head.text() == "all heads"
    assert gpt2.result.values.shape == (768, 768)


def test_the_side_is_explicit(gpt2):
    choose(gpt2.controls.rows.name, "W_O")
    assert gpt2.controls.rows.side.currentText() == "output side"
    assert gpt2.result.rows == Subject("W_O")
    assert "W_O layer 0 output ×" in caption(gpt2)
    written = gpt2.result
    choose(gpt2.controls.rows.side, "input side")
    assert gpt2.result.rows == Subject("W_O", side="input")
    assert "W_O layer 0 input ×" in caption(gpt2)
    assert "two different spaces" in caption(gpt2)
    assert abs(gpt2.result.values - written.values).max() > 0.01
    choose(gpt2.controls.columns.name, "W_V")
    choose(gpt2.controls.columns.side, "output side")
    assert "two different spaces" not in caption(gpt2), "both are values"


def test_other_layers(minilm):
    enter(minilm.controls.rows.layer, "5")
    assert minilm.result.rows == Subject("W_Q", layer=5)
    assert "W_Q layer 5" in caption(minilm)
    assert minilm.controls.rows.layer.maximum() == 5


def test_any_two_matrices_also_of_different_layers(minilm):
    choose(minilm.controls.rows.name, "W_in")
    choose(minilm.controls.columns.name, "W_O")
    enter(minilm.controls.columns.layer, "2")
    assert (minilm.result.rows, minilm.result.columns) == (Subject("W_in"), Subject("W_O", layer=2))
    stream = ResidualStream(minilm.session.model)
    expected = stream.overlaps(Subject("W_in"), Subject("W_O", layer=2))
    np.testing.assert_allclose(minilm.result.values, expected, atol=1e-6)
    assert "all rows" not in caption(minilm)


def test_equal_looks_are_one_question():
    assert plain(Subject("P", layer=3, head=1, fold_ln=True)) == Subject("P")
    assert plain(Subject("W_O", side="output", fold_ln=True)) == Subject("W_O")
    assert plain(Subject("W_in", head=2, side="output")) == Subject("W_in", side="output")
    assert plain(Subject("W_Q", centred=True, side="input")) == Subject("W_Q")


def test_spaces():
    assert in_one_space(Subject("P"), Subject("W_O", layer=4))
    assert in_one_space(Subject("W_Q", side="output"), Subject("W_K", side="output"))
    assert not in_one_space(Subject("W_Q", side="output"), Subject("W_K", layer=1, side="output"))
    assert not in_one_space(Subject("W_Q", side="output"), Subject("W_V", side="output"))
    assert in_one_space(Subject("W_V", side="output"), Subject("W_O", side="input"))


# What a checkpoint lacks.


def test_what_gpt2s_part_lacks_is_said_with_what_works(gpt2):
    choose(gpt2.controls.columns.name, "E")
    assert gpt2.message.isVisible()
    assert "No token embeddings in this checkpoint" in gpt2.message.text()
    assert "P, W_Q, W_K, W_V and W_O" in gpt2.advice.text()
    assert gpt2.controls.isVisible(), "the way out of it"
    choose(gpt2.controls.columns.name, "P")
    assert gpt2.heatmap.isVisible()


def test_a_layer_that_is_not_here(gpt2):
    enter(gpt2.controls.rows.layer, "7")
    assert "h.7.attn.c_attn.weight is not in this checkpoint" in gpt2.message.text()
    enter(gpt2.controls.rows.layer, "0")
    assert gpt2.heatmap.isVisible()


def test_what_is_missing_is_grey_and_says_why(gpt2):
    box = gpt2.controls.rows.name
    role = Qt.ItemDataRole
    at = {box.itemText(i): i for i in range(box.count())}
    assert "No token embeddings" in box.itemData(at["E"], role.ToolTipRole)
    assert box.itemData(at["E"], role.ForegroundRole).name() == LIGHT.muted
    assert box.itemData(at["W_Q"], role.ForegroundRole) is None


def test_a_bare_table_says_so(panel, controller, tmp_path):
    np.save(tmp_path / "table.npy", np.random.default_rng(0).standard_normal((40, 8)))
    controller.open(str(tmp_path / "table.npy"))
    assert "no layers" in panel.message.text()
    assert "only P is here" in panel.advice.text()


def test_no_gain_where_no_layernorm_is():
    with pytest.raises(TensorUnavailable, match="no heads"):
        resolve(OverlapsOf(Subject("W_in", head=1), Subject("P")), Subjects(_tiny()))


def _tiny():
    """A model of which only the heads are asked for."""
    weights = np.eye(4)
    return SimpleNamespace(
        W_pos=weights, weight=lambda name, layer: weights, missing={}, n_heads=2, name="tiny"
    )


def test_another_model_has_fewer_layers(gpt2, controller, minilm_folder):
    enter(gpt2.controls.rows.layer, "11")
    enter(gpt2.controls.rows.head, "11")
    controller.open(str(minilm_folder))
    assert gpt2.result.rows == Subject("W_Q", layer=5, head=11)
    assert "layer 5 head 11" in caption(gpt2)


# The picture.


def test_hover_says_where_and_how_much(gpt2, qtbot):
    heatmap = gpt2.heatmap.heatmap
    for _ in range(12):
        _wheel(heatmap, QPointF(cell(gpt2, 1, 1)), 120)
    i, j = (int(at) + 1 for at in np.unravel_index(gpt2.result.values.argmax(), (768, 768)))
    move(heatmap.viewport(), cell(gpt2, i, j))
    qtbot.waitUntil(lambda: heatmap.hover_text() != "")
    value = gpt2.result.values[i - 1, j - 1]
    assert value > 0.7
    assert heatmap.hover_text() == (f"i {i} · j {j} · {value:.3f} · {value * 768:.1f} × chance")
    move(gpt2, QPoint(4, 4))
    qtbot.waitUntil(lambda: heatmap.hover_text() == "")


def test_the_hover_is_readable_in_a_low_dock(gpt2, qtbot):
    gpt2.resize(718, 204)
    heatmap = gpt2.heatmap.heatmap
    view = heatmap.view
    qtbot.waitUntil(lambda: view.height() < 150 and abs(view.width() - view.height()) < 3)
    move(gpt2, QPoint(4, 4))
    move(heatmap.viewport(), cell(gpt2, 400, 700))
    qtbot.waitUntil(lambda: heatmap.hover_text() != "")
    label = gpt2.heatmap.findChild(HoverLabel)
    assert label.text() == heatmap.hover_text()
    assert label.text().endswith("× chance")
    assert gpt2.heatmap.rect().contains(label.geometry())


def test_blur_is_for_display_only(gpt2):
    heatmap, values = gpt2.heatmap.heatmap, gpt2.result.values
    assert not np.array_equal(heatmap.values, values)
    gpt2.controls.blur.setFocus()
    for _ in range(2):
        QTest.keyClick(gpt2.controls.blur, Qt.Key.Key_Down)
    assert gpt2.controls.blur.value() == 0.0
    np.testing.assert_array_equal(heatmap.values, values)
    assert "blur" not in caption(gpt2)
    for _ in range(9):
        QTest.keyClick(gpt2.controls.blur, Qt.Key.Key_Up)
    assert gpt2.controls.blur.value() == 3.0, "no more than that"
    assert "blur 3 px, display only" in caption(gpt2)
    np.testing.assert_array_equal(heatmap.values, blurred(values, 3.0))
    np.testing.assert_array_equal(gpt2.numbers(gpt2.result)["overlap"], values)
    assert gpt2.result.values is values, "nothing was computed again"


def test_a_gaussian_keeps_the_sum_and_spreads():
    spot = np.zeros((41, 41), np.float32)
    spot[20, 20] = 1.0
    spread = blurred(spot, 2.0)
    assert spread.sum() == pytest.approx(1.0, abs=1e-5)
    assert spread[20, 20] == pytest.approx(1 / (2 * np.pi * 4), rel=0.02)


def test_colours_linear_or_log(gpt2):
    heatmap, bar = gpt2.heatmap.heatmap, gpt2.heatmap.bar
    assert bar.levels[0] == 0.0
    np.testing.assert_array_equal(heatmap.image.lut[[0, -1], 0], [255, 0])
    QTest.mouseClick(gpt2.controls.scale.buttons["log"], LEFT)
    assert bar.levels[0] == pytest.approx(1 / 7680)
    shown = heatmap.image.image
    np.testing.assert_allclose(shown, np.log10(np.maximum(heatmap.values, 1e-38)), atol=1e-5)
    choose(gpt2.controls.colormap, "viridis")
    assert tuple(heatmap.image.lut[0, :3]) == (68, 1, 84)


def test_the_colour_range_is_dragged_and_comes_back(gpt2):
    bar = gpt2.heatmap.bar
    low, high = bar.levels
    top = QPoint(6, 12)
    QTest.mousePress(bar, LEFT, NONE, top)
    QTest.mouseMove(bar, top + QPoint(0, 60))
    move(bar, top + QPoint(0, 60))
    QTest.mouseRelease(bar, LEFT, NONE, top + QPoint(0, 60))
    assert bar.levels[0] == low
    assert bar.levels[1] < high
    assert gpt2.heatmap.heatmap.image.levels[1] == pytest.approx(bar.levels[1])
    dragged = bar.levels
    choose(gpt2.controls.rows.name, "W_K")
    assert bar.levels == dragged, "the same colours mean the same value"
    QTest.mouseDClick(bar, LEFT, NONE, top)
    assert bar.levels != dragged


def test_wheel_zooms_and_f_comes_back(gpt2):
    heatmap = gpt2.heatmap.heatmap
    whole = heatmap.view.spans()
    _wheel(heatmap, QPointF(cell(gpt2, 1, 768)), 360)
    (x0, x1), (y0, y1) = heatmap.view.spans()
    assert x1 - x0 == pytest.approx(0.8**3 * 768, rel=0.01)
    assert y1 - y0 == pytest.approx(x1 - x0, rel=0.01)
    assert x0 > 300, "it zoomed to the top right corner"
    heatmap.setFocus()
    QTest.keyClick(heatmap, Qt.Key.Key_F)
    np.testing.assert_allclose(heatmap.view.spans(), whole)


def _wheel(plot, at, turn):
    QApplication.sendEvent(
        plot.viewport(),
        QWheelEvent(
            at, QPointF(plot.viewport().mapToGlobal(at)), QPoint(), QPoint(0, turn),
            Qt.MouseButton.NoButton, NONE, Qt.ScrollPhase.NoScrollPhase, False,
        ),
    )  # fmt: skip


def test_colours_of_a_picture():
    picture = np.array([[0.0, 0.5], [1.0, 2.0]], np.float32)
    grey = colored(picture, Look(0.0, GREY), (0.0, 1.0))[..., 0]
    np.testing.assert_array_equal(grey, [[255, 127], [0, 0]])
    turned = colored(picture, Look(0.0, GREY, log=True), (0.25, 1.0))[..., 0]
    np.testing.assert_allclose(turned, [[255, 127], [0, 0]], atol=1)


def test_shrinking_averages():
    picture = np.arange(35, dtype=np.float32).reshape(5, 7)
    small = shrunk(picture, 2, 3)
    assert small.shape == (2, 3)
    assert small[0, 0] == picture[:2, :2].mean()
    assert small[1, 2] == pytest.approx(picture[2:, 4:].mean())
    assert shrunk(picture, 9, 9) is picture


def test_cells_stay_square(gpt2, qtbot):
    view = gpt2.heatmap.heatmap.view
    for size in ((1000, 420), (720, 208), (400, 700), (740, 500)):
        gpt2.resize(*size)
        qtbot.waitUntil(lambda: abs(view.width() - view.height()) < 3)
        assert view.width() > 80, size


# What can be taken away.


def test_python_prints_the_same_corners(gpt2, run_python):
    QTest.mouseClick(gpt2.controls.fold, LEFT, pos=QPoint(8, gpt2.controls.fold.height() // 2))
    printed = run_python(gpt2.python())
    assert "fold_ln=True" in gpt2.python()
    assert f"{gpt2.result.contrast.TL:.12f}"[:-2] in printed


def test_the_figure_is_for_print(gpt2, tmp_path):
    from gui.figure_base import save_figure

    figure = gpt2.figure(gpt2.result)()
    axes = figure.axes[0]
    assert axes.get_xlabel() == "P direction j"
    assert axes.get_ylabel() == "W_Q direction i"
    assert axes.get_title(loc="left") == "W_Q × P"
    assert axes.images[0].get_array().shape == (768, 768)
    assert axes.images[0].get_clim() == pytest.approx(gpt2.heatmap.bar.levels)
    words = " ".join(figure.get_supxlabel().split())
    assert words == caption(gpt2)
    for ending in ("png", "svg", "pdf"):
        save_figure(figure, tmp_path / f"overlaps.{ending}")
        assert (tmp_path / f"overlaps.{ending}").stat().st_size > 10_000


def test_both_themes(gpt2):
    gpt2.set_theme(DARK)
    assert gpt2.heatmap.heatmap.theme is DARK
    color = gpt2.controls.rows.name.itemData(1, Qt.ItemDataRole.ForegroundRole)
    assert color.name() == DARK.muted


def test_another_panel_may_refer_to_it(gpt2):
    gpt2.configure(rows=Subject("W_K", fold_ln=True), columns=Subject("P", centred=True))
    assert gpt2.result.rows == Subject("W_K", fold_ln=True)
    assert gpt2.result.columns == Subject("P", centred=True)
    assert gpt2.controls.fold.isChecked()
    with pytest.raises(TypeError):
        gpt2.configure(colour="red")


def test_in_the_window(start_application, gpt2_folder, wait_until_idle):
    application = start_application(gpt2_folder)
    window = application.window
    window.docks["overlaps"].raise_()
    wait_until_idle(application)
    panel = window.panels["overlaps"]
    assert panel.heatmap.isVisible()
    assert round(panel.result.contrast.TL, 1) == 2.5
    assert (
        pytest.approx(panel.result.contrast.TL, rel=1e-5)
        == corner_contrast(panel.result.values.astype(float), 1 / 768).TL
    )


# The article's figures.


def show(panel, view):
    QTest.mouseClick(panel.views.buttons[view], LEFT)
    QApplication.processEvents()


def middle(panel, number):
    return panel.grid.grid.area_of(number).center().toPoint()


def test_eight_panels_of_minilm_in_one_click(minilm):
    show(minilm, "attention")
    cells = minilm.result.cells
    names = [(cell.rows.name, cell.columns.name) for cell in cells]
    assert names == [(w, t) for w in ("W_Q", "W_K", "W_V", "W_O") for t in ("P", "E")]
    stream = ResidualStream(minilm.session.model)
    for cell in cells:
        expected = stream.overlaps(cell.rows, cell.columns)
        np.testing.assert_allclose(cell.values, expected, atol=1e-6)
    assert round(cells[0].contrast.TL, 1) == 5.2
    assert round(cells[1].contrast.TR, 1) == 7.1
    assert "input sides, of W_O the output side · gain not folded" in caption(minilm)
    assert "P and E uncentred, all stored rows" in caption(minilm)


def test_gpt2s_part_has_the_column_of_p(gpt2, qtbot):
    show(gpt2, "attention")
    assert [cell.columns.name for cell in gpt2.result.found] == ["P"] * 4
    assert round(gpt2.result.found[0].contrast.TL, 1) == 2.5
    assert gpt2.result.cells[1].why == "No token embeddings in this checkpoint."
    move(gpt2.grid.grid, middle(gpt2, 1))
    qtbot.waitUntil(lambda: "W_Q × E · No token embeddings" in gpt2.grid.grid.hover_text())
    QTest.mouseClick(gpt2.grid.grid, LEFT, NONE, middle(gpt2, 1))
    assert gpt2.views.value() == "attention", "there is nothing to open"


def test_every_cell_has_its_whole_frame(gpt2):
    show(gpt2, "attention")
    grid = gpt2.grid.grid
    picture = grid.grab().toImage()
    for number in range(1, 8, 2):
        area = grid.area_of(number)
        x, y = round(area.center().x()), round(area.top() + area.height() / 4)
        sides = {
            "left": [(round(area.left()) + step, y) for step in (-1, 0)],
            "right": [(round(area.right()) + step, y) for step in (-1, 0)],
            "top": [(x, round(area.top()) + step) for step in (-1, 0)],
            "bottom": [(x, round(area.bottom()) + step) for step in (-1, 0)],
        }
        for side, points in sides.items():
            inside = [picture.rect().contains(*point) for point in points]
            shown = {
                picture.pixelColor(*p).name() for p, ok in zip(points, inside, strict=True) if ok
            }
            assert gpt2.theme.line in shown, (number, side)


def test_two_panels_of_the_mlp(minilm):
    show(minilm, "mlp")
    names = [(cell.rows.name, cell.columns.name) for cell in minilm.result.cells]
    assert names == [("W_in", "E"), ("W_in", "P")]
    assert "layer 0 · input side · gain not folded" in caption(minilm)
    assert not minilm.controls.rows.head.isVisible()


def test_what_gpt2s_part_lacks_of_the_mlp(gpt2):
    show(gpt2, "mlp")
    assert "h.0.mlp.c_fc.weight is not in this checkpoint" in gpt2.message.text()
    assert "P, W_Q, W_K, W_V and W_O" in gpt2.advice.text()
    show(gpt2, "pair")
    assert gpt2.heatmap.isVisible()


def test_a_figure_of_another_layer_and_head_folded(minilm):
    show(minilm, "attention")
    enter(minilm.controls.rows.layer, "3")
    enter(minilm.controls.rows.head, "2")
    QTest.mouseClick(minilm.controls.fold, LEFT, pos=QPoint(8, minilm.controls.fold.height() // 2))
    assert minilm.result.cells[0].rows == Subject("W_Q", layer=3, head=2, fold_ln=True)
    assert minilm.result.cells[6].rows == Subject("W_O", layer=3, head=2)
    assert minilm.result.cells[0].values.shape == (32, 384)
    assert "layer 3, head 2" in caption(minilm)
    assert "gain folded" in caption(minilm)


def test_a_cell_says_its_value_and_opens_with_a_click(minilm, qtbot):
    show(minilm, "attention")
    grid = minilm.grid.grid
    area = grid.area_of(3)
    move(grid, middle(minilm, 3))
    qtbot.waitUntil(lambda: grid.hover_text() != "")
    i = 1 + int((middle(minilm, 3).y() - area.top()) / area.height() * 384)
    j = 1 + int((middle(minilm, 3).x() - area.left()) / area.width() * 384)
    times = minilm.result.cells[3].values[i - 1, j - 1] * 384
    assert grid.hover_text().startswith(f"W_K × E · i {i} · j {j} · ")
    assert grid.hover_text().endswith(f"{times:.1f} × chance") or times < 0.1
    QTest.mouseClick(grid, LEFT, NONE, middle(minilm, 3))
    assert minilm.views.value() == "pair"
    assert (minilm.result.rows, minilm.result.columns) == (Subject("W_K"), Subject("E"))
    assert minilm.controls.columns.name.currentText() == "E"


def test_a_cell_opens_with_the_keyboard(minilm):
    show(minilm, "attention")
    minilm.grid.grid.setFocus()
    for _ in range(3):
        QTest.keyClick(minilm.grid.grid, Qt.Key.Key_Right)
    QTest.keyClick(minilm.grid.grid, Qt.Key.Key_Return)
    assert (minilm.result.rows, minilm.result.columns) == (Subject("W_K"), Subject("P"))


def test_a_figures_cells_are_painted_in_its_colours(minilm):
    show(minilm, "attention")
    QTest.mouseClick(minilm.controls.scale.buttons["log"], LEFT)
    choose(minilm.controls.colormap, "viridis")
    image = minilm.grid.grid.grab().toImage()
    ratio = image.devicePixelRatio()
    for number in range(8):
        at = middle(minilm, number) * ratio
        color = image.pixelColor(at)
        assert color.saturation() > 60, number
    assert minilm.grid.bar.levels[0] == pytest.approx(1 / 3840)


def test_a_figure_stays_inside_and_its_bar_beside(minilm, qtbot):
    show(minilm, "attention")
    for size in ((1000, 420), (720, 208), (500, 900)):
        minilm.resize(*size)
        QApplication.processEvents()
        used = minilm.grid.grid.used()
        assert minilm.grid.grid.rect().contains(used.toRect()), size
        assert minilm.grid.bar.x() >= used.right()
        assert minilm.grid.bar.geometry().right() <= minilm.grid.width()


def test_cells_are_as_large_as_they_can_be():
    gap, title = (16.0, 8.0), 15
    assert arrange(8, 2, (1000.0, 90.0), gap, title)[0] == 8
    assert arrange(8, 2, (900.0, 450.0), gap, title)[0] == 4
    assert arrange(8, 2, (400.0, 900.0), gap, title)[0] == 2
    assert arrange(2, 2, (900.0, 450.0), gap, title) == (2, 434)


def test_the_eight_panel_figure_for_print(minilm, tmp_path):
    from gui.figure_base import save_figure

    show(minilm, "attention")
    figure = minilm.figure(minilm.result)()
    titles = [axes.get_title(loc="left") for axes in figure.axes[:8]]
    assert titles[0] == "W_Q × P"
    assert titles[7] == "W_O × E"
    assert figure.axes[7].get_xlabel() == "E direction j"
    limits = {axes.images[0].get_clim() for axes in figure.axes[:8]}
    assert limits == {minilm.grid.bar.levels}, "all in the same colours"
    for ending in ("png", "svg", "pdf"):
        save_figure(figure, tmp_path / f"figure.{ending}")
        assert (tmp_path / f"figure.{ending}").stat().st_size > 10_000
    numbers = minilm.numbers(minilm.result)
    assert set(numbers) == {f"{w}_{t}" for w in ("W_Q", "W_K", "W_V", "W_O") for t in "PE"}


def test_a_missing_cell_says_why_in_print(gpt2):
    show(gpt2, "attention")
    figure = gpt2.figure(gpt2.result)()
    words = " ".join(text.get_text() for text in figure.axes[1].texts)
    assert "No token embeddings" in " ".join(words.split())
    assert not figure.axes[1].images


def test_python_of_a_figure_prints_all_cells(gpt2, run_python):
    show(gpt2, "attention")
    lines = run_python(gpt2.python()).splitlines()
    assert len(lines) == 8
    assert f"{gpt2.result.cells[6].contrast.TL:.12f}"[:-2] in lines[6]
    assert lines[7].startswith("W_O E no token embeddings")


def test_another_panel_may_refer_to_a_figure(gpt2):
    gpt2.configure(view="attention")
    assert len(gpt2.result.cells) == 8
    gpt2.configure(rows=Subject("W_K"))
    assert gpt2.result.rows == Subject("W_K")
    assert gpt2.views.value() == "pair"
