"""The article's figures in the overlaps panel: all their cells at once."""

import numpy as np
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from geometry.models.residual_stream import ResidualStream, Subject
from gui.panels.overlaps.form import arrange
from tests.gui.panels.overlaps.overlaps_stage import figure_of, pair_of, view_of
from tests.gui.result_stage import LEFT, NONE, choose, enter, hover
from tests.scripts import run_script


def show(panel, view):
    QTest.mouseClick(view_of(panel).buttons[view], LEFT)
    QApplication.processEvents()


def middle(panel, number):
    return figure_of(panel).grid.area_of(number).center().toPoint()


@pytest.mark.slow
def test_eight_panels_of_minilm_in_one_click_and_their_figure_for_print(minilm):
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
    assert "input sides, of W_O the output side · gain not folded" in minilm.caption()
    assert "P and E uncentred, all stored rows" in minilm.caption()
    figure = minilm.figure()()
    titles = [axes.get_title(loc="left") for axes in figure.axes[:8]]
    assert titles[0] == "W_Q × P"
    assert titles[7] == "W_O × E"
    assert figure.axes[7].get_xlabel() == "E direction j"
    limits = {axes.images[0].get_clim() for axes in figure.axes[:8]}
    assert limits == {figure_of(minilm).bar.levels}, "all in the same colours"
    numbers = minilm.numbers()
    assert set(numbers) == {f"{w}_{t}" for w in ("W_Q", "W_K", "W_V", "W_O") for t in "PE"}
    for size in ((1000, 420), (720, 208), (500, 900)):
        minilm.resize(*size)
        QApplication.processEvents()
        used = figure_of(minilm).grid.used()
        assert figure_of(minilm).grid.rect().contains(used.toRect()), size
        assert figure_of(minilm).bar.x() >= used.right()
        assert figure_of(minilm).bar.geometry().right() <= figure_of(minilm).width()


@pytest.mark.slow
def test_gpt2_part_has_the_columns_of_p_and_a_reason(gpt2):
    show(gpt2, "attention")
    assert [cell.columns.name for cell in gpt2.result.overlaps] == ["P"] * 4
    assert round(gpt2.result.overlaps[0].contrast.TL, 1) == 2.5
    assert gpt2.result.cells[1].why == "No token embeddings in this checkpoint."
    QApplication.processEvents()  # what has just been drawn is laid out
    hover(figure_of(gpt2).grid, middle(gpt2, 1))
    assert "W_Q × E · No token embeddings" in figure_of(gpt2).grid.hover_text()
    QTest.mouseClick(figure_of(gpt2).grid, LEFT, NONE, middle(gpt2, 1))
    assert view_of(gpt2).value() == "attention", "there is nothing to open"
    grid = figure_of(gpt2).grid
    picture = grid.grab().toImage()
    for number in range(1, 8, 2):
        area = grid.area_of(number)
        x, y = area.center().x(), area.top() + area.height() / 4
        for at in ((area.left(), y), (area.right(), y), (x, area.top()), (x, area.bottom())):
            points = [
                (round(at[0]) - step * (at[1] == y), round(at[1]) - step * (at[0] == x))
                for step in (0, 1)
            ]
            shown = {picture.pixelColor(*p).name() for p in points if picture.rect().contains(*p)}
            assert gpt2.theme.line in shown, (number, at)
    figure = gpt2.figure()()
    words = " ".join(text.get_text() for text in figure.axes[1].texts)
    assert "No token embeddings" in " ".join(words.split())
    assert not figure.axes[1].images
    lines = run_script(gpt2.python()).splitlines()
    assert len(lines) == 8
    assert f"{gpt2.result.cells[6].contrast.TL:.12f}"[:-2] in lines[6]
    assert lines[7].startswith("W_O E no token embeddings")


def test_mlp_panels_and_another_layer_and_head(minilm):
    show(minilm, "mlp")
    names = [(cell.rows.name, cell.columns.name) for cell in minilm.result.cells]
    assert names == [("W_in", "E"), ("W_in", "P")]
    assert "layer 0 · input side · gain not folded" in minilm.caption()
    assert not minilm.form.rows.head.isVisible()
    show(minilm, "attention")
    enter(minilm.form.rows.layer, "3")
    enter(minilm.form.rows.head, "2")
    QTest.mouseClick(minilm.form.fold, LEFT, pos=QPoint(8, minilm.form.fold.height() // 2))
    assert minilm.result.cells[0].rows == Subject("W_Q", layer=3, head=2, fold_ln=True)
    assert minilm.result.cells[6].rows == Subject("W_O", layer=3, head=2)
    assert minilm.result.cells[0].values.shape == (32, 384)
    assert "layer 3, head 2" in minilm.caption()
    assert "gain folded" in minilm.caption()


def test_what_gpt2s_part_lacks_of_the_mlp_and_what_another_panel_refers_to(gpt2):
    show(gpt2, "mlp")
    assert "h.0.mlp.c_fc.weight is not in this checkpoint" in gpt2.words.message.text()
    assert "P, W_Q, W_K, W_V and W_O" in gpt2.words.advice.text()
    show(gpt2, "pair")
    assert pair_of(gpt2).isVisible()
    gpt2.configure(view="attention")
    assert len(gpt2.result.cells) == 8
    gpt2.configure(rows=Subject("W_K"))
    assert gpt2.result.rows == Subject("W_K")
    assert view_of(gpt2).value() == "pair"


def test_a_cell_says_its_value_and_opens_with_a_click_or_the_keyboard(minilm):
    show(minilm, "attention")
    figure_of(minilm).grid.setFocus()
    for _ in range(3):
        QTest.keyClick(figure_of(minilm).grid, Qt.Key.Key_Right)
    QTest.keyClick(figure_of(minilm).grid, Qt.Key.Key_Return)
    assert (minilm.result.rows, minilm.result.columns) == (Subject("W_K"), Subject("P"))
    show(minilm, "attention")
    grid = figure_of(minilm).grid
    area = grid.area_of(3)
    hover(grid, middle(minilm, 3))
    i = 1 + int((middle(minilm, 3).y() - area.top()) / area.height() * 384)
    j = 1 + int((middle(minilm, 3).x() - area.left()) / area.width() * 384)
    times = minilm.result.cells[3].values[i - 1, j - 1] * 384
    assert grid.hover_text().startswith(f"W_K × E · i {i} · j {j} · ")
    assert grid.hover_text().endswith(f"{times:.1f} × chance") or times < 0.1
    QTest.mouseClick(grid, LEFT, NONE, middle(minilm, 3))
    assert view_of(minilm).value() == "pair"
    assert (minilm.result.rows, minilm.result.columns) == (Subject("W_K"), Subject("E"))
    assert minilm.form.columns.name.currentText() == "E"


def test_a_figures_cells_are_painted_in_its_colours(minilm):
    show(minilm, "attention")
    QTest.mouseClick(minilm.form.scale.buttons["log"], LEFT)
    choose(minilm.form.colormap, "viridis")
    image = figure_of(minilm).grid.grab().toImage()
    ratio = image.devicePixelRatio()
    for number in range(8):
        at = middle(minilm, number) * ratio
        color = image.pixelColor(at)
        assert color.saturation() > 60, number
    assert figure_of(minilm).bar.levels[0] == pytest.approx(1 / 3840)


def test_cells_are_as_large_as_they_can_be():
    gap, title = (16.0, 8.0), 15
    assert arrange(8, 2, (1000.0, 90.0), gap, title)[0] == 8
    assert arrange(8, 2, (900.0, 450.0), gap, title)[0] == 4
    assert arrange(8, 2, (400.0, 900.0), gap, title)[0] == 2
    assert arrange(2, 2, (900.0, 450.0), gap, title) == (2, 434)
