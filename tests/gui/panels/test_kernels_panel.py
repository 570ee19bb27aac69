"""The kernels panel through real events: heads, curves, the map, what lights up on the curve."""

from __future__ import annotations

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from geometry.measures.kernels import attention_map, average_blocks, head_kernels
from geometry.models.head_projections import project_heads
from geometry.models.sources import open_source
from gui.panels.head_wall import SHADES
from gui.panels.kernels import KernelsPanel
from gui.panels.kernels_question import LEAST, HeadsOf
from gui.panels.kernels_text import order_of
from gui.style.theme import DARK, LIGHT
from tests.gui.result_stage import ResultStage, hover, write_small_gpt2
from tests.scripts import run_script

LEFT = Qt.MouseButton.LeftButton
NONE = Qt.KeyboardModifier.NoModifier
RANGE = (4, 60)


@pytest.fixture
def source(tmp_path):
    return write_small_gpt2(tmp_path / "small")


@pytest.fixture
def stage(qtbot, source):
    """The panel with 57 positions of a small GPT-2 of two heads, two of its three layers there."""
    stage = ResultStage(qtbot, KernelsPanel, size=(1000, 300))
    stage.open(source, positions=RANGE)
    return stage


@pytest.fixture
def panel(stage):
    return stage.panel


def click(widget, point, button=LEFT):
    QTest.mouseClick(widget, button, NONE, point)


def click_box(box):
    QTest.mouseClick(box, LEFT, NONE, box.rect().topLeft() + box.rect().center() / 8)


def click_head(panel, head):
    click(panel.view.wall, panel.view.wall.area_of(head).center().toPoint())


def expected(source, **options):
    return head_kernels(project_heads(open_source(source), **options), RANGE)


# Heads.


def test_the_head_that_looks_nearest_is_shown_first(panel, source):
    nearest = int(expected(source).mean_lag.argmin())
    assert panel.result.head == nearest
    assert panel.view.wall.cards[0].head == nearest
    assert panel.view.wall.head == nearest


def test_a_click_on_the_wall_shows_that_head(panel, source):
    for head in (1, 0):
        click_head(panel, head)
        assert panel.result.head == head
        heads = project_heads(open_source(source))
        np.testing.assert_allclose(
            panel.result.weights, attention_map(heads, head, RANGE), atol=2e-5
        )
        assert f"head {head} " in panel.header.caption.text()


def test_arrow_keys_go_through_the_wall(panel):
    first, second = (card.head for card in panel.view.wall.cards)
    panel.view.wall.setFocus()
    QTest.keyClick(panel.view.wall, Qt.Key.Key_Right)
    assert panel.result.head == second
    QTest.keyClick(panel.view.wall, Qt.Key.Key_Right)
    assert panel.result.head == second
    QTest.keyClick(panel.view.wall, Qt.Key.Key_Home)
    assert panel.result.head == first


def test_heads_are_sorted_as_chosen(panel):
    found = panel.result.found
    panel.sort.setFocus()
    for _ in range(panel.sort.count() - 1):
        QTest.keyClick(panel.sort, Qt.Key.Key_Down)
        order = order_of(found, panel.sort.currentData())
        assert [card.head for card in panel.view.wall.cards] == order.tolist()
    assert panel.sort.currentData() == "number"
    assert order.tolist() == [0, 1]
    assert panel.view.wall.cards[1].score == f"{found.previous_token[1]:.3f}"


def test_the_wall_says_what_is_under_the_mouse(panel):
    area = panel.view.wall.area_of(1)
    hover(panel.view.wall, area.center().toPoint())
    found = panel.result.found
    assert panel.view.wall.hover_text().startswith("head 1\nprevious token ")
    assert f"self {found.own[1]:.3f}" in panel.view.wall.hover_text()
    hover(panel, panel.rect().topLeft())
    assert panel.view.wall.hover_text() == ""


def test_all_heads_of_a_large_model_can_be_scrolled_to(panel):
    card = panel.view.wall.cards[0]
    many = [type(card)(head, card.picture, "0.1", "") for head in range(40)]
    panel.view.wall.show_heads(many)
    assert panel.view.wall.height() > panel.view.area.viewport().height()
    panel.view.area.show_head(39)
    area = panel.view.wall.area_of(39)
    seen = panel.view.wall.visibleRegion().boundingRect()
    assert seen.contains(area.toRect())


# Curves.


def test_attention_and_score_by_lag(panel, source):
    kernels, head = expected(source), panel.result.head
    assert panel.view.plots.currentWidget() is panel.view.attention
    (curve,) = panel.view.attention.curves
    np.testing.assert_allclose(curve.y, kernels.attention[head], rtol=2e-4, atol=1e-5)
    assert curve.x[0] == 0
    click(panel.curves.buttons["score"], panel.curves.buttons["score"].rect().center())
    assert panel.view.plots.currentWidget() is panel.view.score
    (curve,) = panel.view.score.curves
    np.testing.assert_allclose(curve.y, kernels.scores[head], rtol=2e-4, atol=1e-5)


def test_hovering_a_curve_says_the_lag_and_the_value(panel):
    plot = panel.view.attention
    hover(plot.viewport(), plot.point_of(0, 1).toPoint())
    value = panel.result.found.attention[panel.result.head, 1]
    assert plot.hover_text() == f"head {panel.result.head} · Δ = 1 · {value:.3f}"


# Switches.


def test_averaged_positions_are_compared_with_those_as_they_are(panel, source):
    before = panel.result.found
    click_box(panel.averaged)
    assert panel.averaged.isChecked()
    result = panel.result
    np.testing.assert_array_equal(result.before.attention, before.attention)
    averaged = expected(source, rows=average_blocks(open_source(source).W_pos))
    np.testing.assert_allclose(result.found.own, averaged.own, rtol=1e-3)
    dashed, solid = panel.view.attention.curves
    assert (dashed.style, solid.style) == ("dashed", "solid")
    np.testing.assert_array_equal(dashed.y, before.attention[result.head])
    text = panel.header.caption.text()
    assert "P averaged in blocks of 10" in text
    assert f"self {before.own[result.head]:.3f} → {averaged.own[result.head]:.3f}" in text


def test_tokens_in_the_denominator(panel, source):
    click_box(panel.content_box)
    kernels = expected(source, content=True)
    np.testing.assert_allclose(panel.result.found.own, kernels.own, rtol=1e-3)
    assert "a token in LayerNorm's denominator" in panel.header.caption.text()


def test_without_tokens_the_switch_says_why(stage, tmp_path):
    click_box(stage.panel.content_box)
    stage.open(write_small_gpt2(tmp_path / "bare", tokens=0), positions=RANGE)
    box = stage.panel.content_box
    assert not box.isEnabled()
    assert not box.isChecked()
    assert "no token embeddings in this checkpoint" in box.toolTip().replace("\n", " ")
    assert stage.answer.state == "ready"


def test_deeper_layers_are_an_extrapolation(stage):
    panel = stage.panel
    assert panel.layer.count() == 3
    assert "extrapolation" not in panel.header.caption.text()
    panel.layer.setFocus()
    QTest.keyClick(panel.layer, Qt.Key.Key_Down)
    assert panel.result.of.layer == 1
    said = "an extrapolation: layer 1 reads more than positions"
    assert said in panel.header.caption.text()
    assert panel.layer.itemData(1, Qt.ItemDataRole.ToolTipRole) == said.capitalize()
    QTest.keyClick(panel.layer, Qt.Key.Key_Down)
    assert stage.answer.state == "impossible"
    assert panel.message.text() == "h.2.ln_1.weight is not in this checkpoint."
    assert "Another layer may be chosen above." in panel.advice.text()


# The map, and the curve in the viewport.


def test_selecting_a_query_lights_up_what_it_attends_to(stage):
    panel, session = stage.panel, stage.session
    session.selection = (30,)
    assert panel.view.map.marks._rows.tolist() == [30]
    row = panel.result.weights[30 - RANGE[0]]
    guide = session.guides["kernels"]
    assert guide.pca is session.pca
    assert guide.components == session.components
    weights = np.zeros(len(row))
    weights[guide.positions - RANGE[0]] = guide.weights
    np.testing.assert_allclose(weights, np.where(row >= 0.01 * row.max(), row / row.max(), 0.0))
    assert guide.positions.max() <= 30
    assert guide.weights.max() == pytest.approx(1.0)
    assert guide.caption.startswith("larger points: what position 30 attends to")
    query = next(c for c in panel.view.attention.curves if c.color == LIGHT.accent)
    lags = {int(x): y for x, y in zip(query.x, query.y, strict=True)}
    assert lags[2] == pytest.approx(row[28 - RANGE[0]])


def test_another_head_lights_up_other_positions(stage):
    panel, session = stage.panel, stage.session
    session.selection = (30,)
    before = session.guides["kernels"]
    click_head(panel, 1 - panel.result.head)
    after = session.guides["kernels"]
    assert after is not before
    assert f"head {panel.result.head}" in after.caption


@pytest.mark.parametrize("how", ["nothing selected", "outside the range", "switched off", "behind"])
def test_nothing_lights_up(stage, how):
    panel, session = stage.panel, stage.session
    session.selection = (30,)
    assert "kernels" in session.guides
    if how == "nothing selected":
        session.selection = ()
    elif how == "outside the range":
        session.selection = (2,)
    elif how == "switched off":
        click_box(panel.in_view)
    else:
        panel.set_in_front(False)
    assert "kernels" not in session.guides


def test_a_click_on_the_map_selects_the_query(stage):
    panel = stage.panel
    click(panel.view.map.viewport(), panel.view.map.point_of(50, 20).toPoint())
    assert stage.session.selection == (20, 50)
    assert stage.session.current == 50
    click(panel.view.map.viewport(), panel.view.map.point_of(40, 40).toPoint())
    assert stage.session.selection == (40,)


def test_hovering_the_map_says_who_attends_to_whom(stage):
    panel = stage.panel
    hover(panel.view.map.viewport(), panel.view.map.point_of(50, 20).toPoint())
    assert stage.session.hover == 20
    value = panel.result.weights[50 - RANGE[0], 20 - RANGE[0]]
    assert panel.view.map.hover_text() == f"50 → 20\nattention {value:.3f} · Δ = 30"
    hover(panel.view.map.viewport(), panel.view.map.point_of(20, 50).toPoint())
    assert panel.view.map.hover_text().endswith("attention 0.000 · Δ = \N{MINUS SIGN}30 (ahead)")


def test_the_map_is_drawn_in_the_themes_shades(panel):
    assert panel.view.map._colormap == SHADES["light"]
    panel.set_theme(DARK)
    assert panel.view.map._colormap == SHADES["dark"]
    picture = panel.view.map.grab().toImage()
    nothing = picture.pixelColor(panel.view.map.point_of(10, 55).toPoint())
    itself = picture.pixelColor(panel.view.map.point_of(5, 5).toPoint())
    assert nothing.lightness() < 20 < itself.lightness()


def test_levels_follow_the_colour_bar(panel):
    panel.view.bar.levelsRequested.emit(1e-3, 0.5)
    assert panel.view.levels == (1e-3, 0.5)
    panel.view.bar.levelsRequested.emit(1e-9, 7.0)
    assert panel.view.levels == (LEAST, 1.0)


# Models and options.


def test_what_another_panel_refers_to_is_shown(panel):
    panel.configure(layer=1, head=1, sort="self", curve="score", averaged=True)
    result = panel.result
    assert (result.of, result.head) == (HeadsOf(1, averaged=True), 1)
    assert panel.sort.currentData() == "self"
    assert panel.view.plots.currentWidget() is panel.view.score
    with pytest.raises(TypeError, match="takes no options"):
        panel.configure(nonsense=1)


def test_another_model_begins_with_its_nearest_head(stage, tmp_path):
    click_head(stage.panel, 1 - stage.panel.result.head)
    stage.panel.configure(layer=1)
    stage.open(write_small_gpt2(tmp_path / "other", n_positions=40, n_layers=1))
    result = stage.panel.result
    assert result.of.layer == 0
    assert result.positions == (1, 39)
    assert result.head == int(result.found.mean_lag.argmin())
    assert stage.panel.layer.count() == 2


def test_a_bare_table_has_no_heads(stage, tmp_path):
    np.save(tmp_path / "table.npy", np.random.default_rng(0).normal(size=(50, 6)))
    stage.open(tmp_path / "table.npy")
    assert stage.answer.state == "impossible"
    assert "bare table" in stage.panel.message.text()


def test_it_asks_when_the_drag_of_a_range_ends(stage):
    before = stage.panel.result
    stage.session.dragging = True
    stage.session.positions = (10, 50)
    assert stage.panel.result is before
    stage.session.dragging = False
    assert stage.panel.result.positions == (10, 50)


# What can be taken away.


def test_numbers_of_all_heads(panel, stage, tmp_path, monkeypatch):
    path = stage.save(monkeypatch, "Save numbers…", tmp_path / "kernels.npz")
    with np.load(path) as saved:
        found = panel.result.found
        np.testing.assert_array_equal(saved["previous_token"], found.previous_token)
        np.testing.assert_array_equal(saved["attention_of_head_1"], found.attention[1])
        np.testing.assert_array_equal(saved["score_of_head_0"], found.scores[0])
        drawn = saved[f"map_of_head_{panel.result.head}"]
    np.testing.assert_array_equal(drawn, panel.result.weights)


def test_the_figure_names_model_layer_head_and_scope(stage, tmp_path, monkeypatch):
    click_box(stage.panel.averaged)
    drawn = stage.save(monkeypatch, "Save figure…", tmp_path / "kernels.svg").read_text("utf-8")
    head = stage.panel.result.head
    assert f"small · layer 0, head {head}: attention by position alone" in drawn
    assert "P averaged in blocks of 10 · queries 4–60, keys of all positions" in drawn
    assert f"head {1 - head}" in drawn


@pytest.mark.parametrize("options", [{}, {"layer": 1}, {"content": True}, {"averaged": True}])
def test_the_python_prints_the_same_scores(stage, options):
    stage.panel.configure(**options)
    *lines, shape = run_script(stage.python()).splitlines()
    assert shape == "(57, 57)"
    found = stage.panel.result.found
    for head, line in enumerate(lines):
        number, *scores = line.split()
        assert int(number) == head
        shown = (found.previous_token, found.own, found.mass_lag_0_10, found.mean_lag)
        np.testing.assert_allclose(
            [float(score) for score in scores], [values[head] for values in shown], rtol=1e-3
        )
