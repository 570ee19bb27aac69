"""The kernels panel through real events: heads, curves, the map, what lights up on the curve."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from PySide6.QtCore import QPointF, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from geometry.checkpoints.errors import RangeError
from geometry.measures.kernels import attention_map, average_blocks, head_kernels
from geometry.models.head_projections import project_heads
from geometry.models.sources.opening import open_model
from gui.panels.kernels.question import MAX_POSITIONS, HeadsOf, KernelsOf
from gui.panels.kernels.spec import LEVELS, SHADES, order_of
from gui.panels.kit.saved_choices import usable
from gui.services.questions import QuestionContext, resolve
from gui.style.theme import DARK, LIGHT
from tests.gui.open_models import add_beside
from tests.gui.result_stage import LEFT, NONE, choose, hover, named
from tests.scripts import run_script
from tests.small_models import saved

RANGE = (4, 60)


@pytest.fixture
def source(small_gpt2):
    return small_gpt2()


@pytest.fixture
def stage(stage_of, source):
    """The panel with 57 positions of a small GPT-2 of two heads, two of its three layers there."""
    return stage_of("kernels", source, RANGE, size=(1000, 300))


@pytest.fixture
def panel(stage):
    return stage.panel


def curves_of(panel):
    """The plot on the screen."""
    what = "attention" if panel.choices.curve == "attention" else "score"
    return named(panel, f"Mean {what} by lag")


def map_of(panel):
    return named(panel, "Attention of every query of the range")


def click(widget, point, button=LEFT):
    QTest.mouseClick(widget, button, NONE, point)


def click_box(box):
    QTest.mouseClick(box, LEFT, NONE, box.rect().topLeft() + box.rect().center() / 8)


def click_head(panel, head):
    click(panel.content.wall, panel.content.wall.area_of(head).center().toPoint())


def expected(source, **options):
    return head_kernels(project_heads(open_model(source), **options), RANGE)


@pytest.mark.parametrize(
    "of", [HeadsOf(), HeadsOf(1), HeadsOf(0, content=True), HeadsOf(0, averaged=True)]
)
def test_numbers_are_those_of_geometry(source, of):
    model = open_model(source)
    found = resolve(KernelsOf(of, RANGE, 1), QuestionContext(model))
    rows = average_blocks(model.W_pos) if of.averaged else None
    heads = project_heads(model, of.layer, content=of.content, rows=rows)
    kernels = head_kernels(heads, RANGE)
    for name in ("previous_token", "own", "mass_lag_0_10", "mean_lag", "attention", "scores"):
        np.testing.assert_allclose(
            getattr(found.by_head, name), getattr(kernels, name), rtol=2e-4, atol=1e-5
        )
    np.testing.assert_allclose(found.weights, attention_map(heads, 1, RANGE), atol=2e-5)
    assert (found.before is not None) == of.averaged


def test_another_head_takes_its_map_only(source, monkeypatch):
    projected = []
    project = HeadsOf.project

    def counted(self, model):
        projected.append(self)
        return project(self, model)

    monkeypatch.setattr(HeadsOf, "project", counted)
    about = QuestionContext(open_model(source))
    averaged = HeadsOf(averaged=True)
    first, second = (resolve(KernelsOf(averaged, RANGE, head), about) for head in (0, 1))
    assert projected == [averaged, HeadsOf()]
    assert first.by_head is second.by_head
    assert (first.weights != second.weights).any()


def test_it_tells_which_tensors_it_reads_and_refuses_too_many_positions():
    about = SimpleNamespace(model=SimpleNamespace(lags=None))
    with pytest.raises(RangeError, match="4\u2009097 positions") as caught:
        KernelsOf(HeadsOf(), (0, MAX_POSITIONS)).answer(about)
    assert caught.value.advice == "Choose a shorter range."
    assert KernelsOf(HeadsOf(2), RANGE).tensors() == (("W_Q", 2), ("W_K", 2))
    assert KernelsOf(HeadsOf(0, content=True), RANGE).tensors()[2:] == (("W_E", 0),)


def test_it_can_be_given_up_between_heads(source):
    """The worker's check raises: nothing is computed to the end for nobody."""
    told = []

    def check():
        if len(told) > 1:
            raise InterruptedError

    about = QuestionContext(open_model(source), report=told.append, raise_if_cancelled=check)
    with pytest.raises(InterruptedError):
        resolve(KernelsOf(HeadsOf(), RANGE), about)
    assert len(told) == 2


def test_heads_in_order_and_chosen_by_keys_and_clicks(panel, source):
    wall = panel.content.wall
    first, second = (card.head for card in wall.cards)
    assert panel.result.head == wall.head == first == int(expected(source).mean_lag.argmin())
    wall.setFocus()
    keys = Qt.Key
    for key, head in ((keys.Key_Right, second), (keys.Key_Right, second), (keys.Key_Home, first)):
        QTest.keyClick(wall, key)
        assert panel.result.head == head
    for head in (1, 0):
        click_head(panel, head)
        assert panel.result.head == head
        heads = project_heads(open_model(source))
        np.testing.assert_allclose(
            panel.result.weights, attention_map(heads, head, RANGE), atol=2e-5
        )
        assert f"head {head} " in panel.header.caption.text()


def test_the_wall_says_what_is_under_the_mouse_and_is_sorted_as_chosen(panel):
    area = panel.content.wall.area_of(1)
    for point in (area.topLeft() + QPointF(4, 4), area.center()):
        hover(panel.content.wall, point.toPoint())
    found = panel.result.by_head
    assert panel.content.wall.hover_text().startswith("head 1\nprevious token ")
    assert f"self {found.own[1]:.3f}" in panel.content.wall.hover_text()
    hover(panel, panel.rect().topLeft())
    assert panel.content.wall.hover_text() == ""
    box, wall = panel.controls.widgets["sort"], panel.content.wall
    for at in range(1, box.count()):
        choose(box, box.itemData(at))
        assert [card.head for card in wall.cards] == order_of(found, box.currentData()).tolist()
    assert box.currentData() == "number"
    assert [card.head for card in wall.cards] == [0, 1]
    assert wall.cards[1].score == f"{found.previous_token[1]:.3f}"


def test_attention_and_score_by_lag_are_drawn_and_told(panel, source):
    plot = curves_of(panel)
    hover(plot.viewport(), plot.point_of(0, 1).toPoint())
    value = panel.result.by_head.attention[panel.result.head, 1]
    assert plot.hover_text() == f"head {panel.result.head} · Δ = 1 · {value:.3f}"
    kernels, head = expected(source), panel.result.head
    shown = map_of(panel)
    (curve,) = curves_of(panel).curves
    np.testing.assert_allclose(curve.y, kernels.attention[head], rtol=2e-4, atol=1e-5)
    assert curve.x[0] == 0
    score = panel.controls.widgets["curve"].buttons["score"]
    click(score, score.rect().center())
    (curve,) = curves_of(panel).curves
    np.testing.assert_allclose(curve.y, kernels.scores[head], rtol=2e-4, atol=1e-5)
    assert map_of(panel) is shown, "with its zoom and its colours"


def test_averaged_positions_are_compared_with_those_as_they_are(panel, source):
    before = panel.result.by_head
    click_box(panel.controls.widgets["averaged"])
    assert panel.controls.widgets["averaged"].isChecked()
    result = panel.result
    np.testing.assert_array_equal(result.before.attention, before.attention)
    averaged = expected(source, rows=average_blocks(open_model(source).W_pos))
    np.testing.assert_allclose(result.by_head.own, averaged.own, rtol=1e-3)
    dashed, solid = curves_of(panel).curves
    assert (dashed.style, solid.style) == ("dashed", "solid")
    np.testing.assert_array_equal(dashed.y, before.attention[result.head])
    text = panel.header.caption.text()
    assert "P averaged in blocks of 10" in text
    assert f"self {before.own[result.head]:.3f} → {averaged.own[result.head]:.3f}" in text


def test_tokens_in_the_denominator_and_why_there_are_none(panel, source, stage, small_gpt2):
    box = panel.controls.widgets["content"]
    click_box(box)
    kernels = expected(source, content=True)
    np.testing.assert_allclose(panel.result.by_head.own, kernels.own, rtol=1e-3)
    assert "a token in LayerNorm's denominator" in panel.header.caption.text()
    stage.open(small_gpt2("bare", tokens=0), positions=RANGE)
    assert not box.isEnabled()
    assert not box.isChecked()
    assert "no token embeddings in this checkpoint" in box.toolTip().replace("\n", " ")
    assert stage.answer.state == "ready"


def test_deeper_layers_are_an_extrapolation(stage):
    panel, layers = stage.panel, stage.panel.controls.widgets["layer"]
    assert layers.count() == 3
    assert "extrapolation" not in panel.header.caption.text()
    choose(layers, 1)
    assert panel.result.of.layer == 1
    said = "extrapolation: layer 1 does not read positions alone"
    assert said in panel.header.caption.text()
    assert layers.itemData(1, Qt.ItemDataRole.ToolTipRole) == said.capitalize()
    choose(layers, 2)
    assert stage.answer.state == "impossible"
    assert panel.words.message.text() == "h.2.ln_1.weight is not in this checkpoint."
    assert "Choose another layer above." in panel.words.advice.text()


def test_without_layers_no_other_is_advised(stage_of):
    words = stage_of("kernels", "sinusoidal:96x24", (1, 95)).panel.words
    assert words.message.text() == "These positions are computed: there are no layers."
    assert words.advice.text().strip() == "Open a model."


def test_selecting_a_query_lights_up_what_it_attends_to(stage):
    panel, session = stage.panel, stage.session
    session.selection = (30,)
    assert map_of(panel).marks._rows.tolist() == [30]
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
    query = next(c for c in curves_of(panel).curves if c.color == LIGHT.accent)
    lags = {int(x): y for x, y in zip(query.x, query.y, strict=True)}
    assert lags[2] == pytest.approx(row[28 - RANGE[0]])
    before = session.guides["kernels"]
    click_head(panel, 1 - panel.result.head)
    after = session.guides["kernels"]
    assert after is not before
    assert f"head {panel.result.head}" in after.caption


def test_nothing_lights_up_without_a_query_or_switched_off(stage):
    session = stage.session
    for selected in ((30,), (), (2,), (30,)):
        session.selection = selected
        assert ("kernels" in session.guides) is (selected == (30,))
    click_box(stage.panel.controls.widgets["in_view"])
    assert "kernels" not in session.guides


def test_the_map_says_who_attends_to_whom_and_a_click_selects_the_query(stage):
    image = map_of(stage.panel)
    hover(image.viewport(), image.point_of(50, 20).toPoint())
    assert stage.session.hover == 20
    value = stage.panel.result.weights[50 - RANGE[0], 20 - RANGE[0]]
    assert image.hover_text() == f"50 → 20\nattention {value:.3f} · Δ = 30"
    hover(image.viewport(), image.point_of(20, 50).toPoint())
    assert image.hover_text().endswith("attention 0.000 · Δ = \N{MINUS SIGN}30 (ahead)")
    click(image.viewport(), image.point_of(50, 20).toPoint())
    assert stage.session.selection == (20, 50)
    assert stage.session.current == 50
    click(image.viewport(), image.point_of(40, 40).toPoint())
    assert stage.session.selection == (40,)


def test_map_follows_theme_and_room(panel):
    assert map_of(panel)._colormap == SHADES["light"]
    panel.set_theme(DARK)
    assert map_of(panel)._colormap == SHADES["dark"]
    picture = map_of(panel).grab().toImage()
    nothing = picture.pixelColor(map_of(panel).point_of(10, 55).toPoint())
    itself = picture.pixelColor(map_of(panel).point_of(5, 5).toPoint())
    assert nothing.lightness() < 20 < itself.lightness()
    _, image = panel.content.plots.painted
    image.bar.levelsRequested.emit(1e-3, 0.5)
    assert image.levels == (1e-3, 0.5)
    image.bar.levelsRequested.emit(1e-9, 7.0)
    assert image.levels == LEVELS
    assert curves_of(panel).isVisible()
    panel.resize(600, 300)
    assert not curves_of(panel).isVisible()
    assert map_of(panel).isVisible()
    wall = panel.content.wall
    assert wall.isVisible()
    wall.show_heads([replace(wall.cards[0], head=head) for head in range(40)])
    assert wall.height() > panel.content.area.viewport().height()
    panel.content.area.show_head(39)
    assert wall.visibleRegion().boundingRect().contains(wall.area_of(39).toRect())


def test_referred_head_until_another_model(panel, stage, small_gpt2):
    panel.configure(layer=1, head=1, sort="self", curve="score", averaged=True)
    assert (panel.result.of, panel.result.head) == (HeadsOf(1, averaged=True), 1)
    assert panel.controls.widgets["sort"].currentData() == "self"
    assert curves_of(panel).isVisible()
    click_head(panel, 0)
    stage.open(small_gpt2("other", n_positions=40, n_layers=1))
    result = panel.result
    assert result.of.layer == 0
    assert result.positions == stage.session.positions
    assert result.head == int(result.by_head.mean_lag.argmin())
    assert panel.controls.widgets["layer"].count() == 2


def test_what_a_model_lacks_is_left_out_of_a_file(panel, open_table):
    model, spec = panel.session.model, panel.spec
    assert (model.n_layers, model.n_heads) == (3, 2)
    options = {"layer": 3, "head": 2, "sort": "self", "content": True}
    assert usable(spec, options, model) == {"sort": "self", "content": True}
    assert usable(spec, {"layer": 2, "head": 1}, model) == {"layer": 2, "head": 1}
    table = open_table(np.random.default_rng(0).normal(size=(20, 8)))
    assert usable(spec, {"content": True, "averaged": True}, table) == {"averaged": True}
    assert usable(spec, {"content": False, "head": None}, table) == {"content": False, "head": None}
    assert usable(spec, {"head": -1, "sort": ["self"]}, model) == {}


def test_of_compared_models_the_nearest_head_is_drawn(stage, small_gpt2):
    source = small_gpt2("long", n_positions=80, d_model=24)
    other = add_beside(stage.controller, source, (2, 70))
    QApplication.processEvents()
    found = head_kernels(project_heads(other.session.model), (2, 70))
    nearest = int(found.mean_lag.argmin())
    for curve, values in (("attention", found.attention), ("score", found.scores)):
        stage.panel.configure(curve=curve)
        (line,) = [one for one in curves_of(stage.panel).curves if one.name]
        np.testing.assert_allclose(line.y, values[nearest], rtol=1e-3, atol=1e-4)
        assert stage.panel.legend.words.text() == (
            f"{curve.capitalize()} of the head with the shortest mean lag:"
        )
        assert f"long: {curve}_of_head_{nearest}" in stage.panel.numbers()
    assert f"Head {nearest}: previous token " in stage.panel.legend.chips[1].toolTip()


@pytest.mark.slow
def test_numbers_of_all_heads_and_figure_titles(panel, stage, tmp_path, monkeypatch):
    numbers, found, head = panel.numbers(), panel.result.by_head, panel.result.head
    np.testing.assert_array_equal(numbers["previous_token"], found.previous_token)
    np.testing.assert_array_equal(numbers["attention_of_head_1"], found.attention[1])
    np.testing.assert_array_equal(numbers["score_of_head_0"], found.scores[0])
    np.testing.assert_array_equal(numbers[f"map_of_head_{head}"], panel.result.weights)
    click_box(panel.controls.widgets["averaged"])
    drawn = stage.save(monkeypatch, "Save figure…", tmp_path / "kernels.svg").read_text("utf-8")
    head = panel.result.head
    assert f"small · layer 0, head {head}: attention by position alone" in drawn
    assert "P averaged in blocks of 10 · queries 4–60, keys of all positions" in drawn
    assert f"head {1 - head}" in drawn


@pytest.mark.parametrize("options", [{}, {"layer": 1}, {"content": True}, {"averaged": True}])
def test_the_python_prints_the_same_scores(stage, options):
    stage.panel.configure(**options)
    *lines, shape, null, outcome = run_script(stage.python()).splitlines()
    assert shape == "(57, 57)"
    found, head, view = stage.panel.result.by_head, stage.panel.result.head, stage.panel.view()
    assert outcome == stage.panel.spec.finding(view).outcome
    random = view.nulls.mass_lag_0_10[head]
    near, draws, *band = map(float, null.split())
    assert draws == random.draws == 19
    np.testing.assert_allclose((near, *band), (found.mass_lag_0_10[head], *random.band), rtol=1e-3)
    names = ("previous_token", "own", "mass_lag_0_10", "mean_lag", "by_lag_alone")
    shown = np.stack([np.arange(found.n_heads), *(getattr(found, name) for name in names)], axis=1)
    np.testing.assert_allclose(np.loadtxt(lines), shown, rtol=1e-3)


def test_the_null_is_that_of_the_turned_table_through_the_same_weights(stage, panel):
    nulls, model = panel.view().nulls, stage.session.model
    rng, found = np.random.default_rng(8), []
    for _ in range(60):
        turn, _ = np.linalg.qr(rng.standard_normal((model.d_model, model.d_model)))
        heads = project_heads(model, 0, rows=model.W_pos @ turn)
        found.append(head_kernels(heads, RANGE).mass_lag_0_10)
    for head in range(2):
        middle, spread = np.mean(found, axis=0)[head], np.std(found, axis=0)[head]
        assert nulls.mass_lag_0_10[head].values.mean() == pytest.approx(middle, abs=spread)
    (band,) = next(p for p in panel.spec.plots(panel.view()) if "lag" in p.name).bands
    assert (band.x == panel.result.by_head.lags).all()
    click(panel.controls.widgets["curve"].buttons["score"], QPointF(4, 4).toPoint())
    (scores,) = next(p for p in panel.spec.plots(panel.view()) if "lag" in p.name).bands
    assert not np.array_equal(scores.low, band.low)
    numbers = panel.numbers()
    assert len(numbers["random_previous_token_p95"]) == 2
    assert len(numbers["by_lag_alone"]) == 2


@pytest.mark.slow
def test_gpt2s_local_heads_are_no_accident(stage_of, gpt2_folder):
    panel = stage_of("kernels", gpt2_folder, (1, 300), size=(1000, 300)).panel
    found = panel.spec.finding(panel.view())
    assert found.outcome == "holds"
    assert panel.header.finding.text().startswith(
        f"✓ holds: head {panel.result.head} has 100.0\N{NO-BREAK SPACE}% at lags 0–10 "
        "(expected ≥ 0.9); 19 random rotations"
    )
    others = [h for h in range(12) if panel.result.by_head.mass_lag_0_10[h] < 0.9]
    panel.configure(head=others[0])
    assert panel.spec.finding(panel.view()).outcome == "does not hold"
    panel.configure(sort="lag")
    shown = order_of(panel.result.by_head, "lag")
    assert (np.diff(panel.result.by_head.by_lag_alone[shown]) <= 0).all()
    assert "lag alone " in panel.caption()


@pytest.fixture
def biased(stage_of, tmp_path):
    """T5's encoder, with a text of 25 positions."""
    saved("t5", tmp_path, d_model=16, d_kv=4, d_ff=16, num_layers=2, num_heads=4, vocab_size=30,
          relative_attention_num_buckets=16, relative_attention_max_distance=24)  # fmt: skip
    return stage_of("kernels", tmp_path, (3, 7), size=(1000, 300)).panel


def test_a_bias_by_lag_is_shown_over_a_text_whatever_rows_are_shown(biased):
    result = biased.result
    model = open_model(biased.session.model.source.text)
    assert (result.by_lag, result.positions) == (True, (0, 24))
    head = result.head
    np.testing.assert_allclose(result.by_head.scores[head], model.W_pos[:, head], atol=1e-6)
    assert curves_of(biased).curves[0].x.tolist() == list(range(-24, 25))
    assert "head" in biased.header.caption.text()
    assert "layer" not in biased.header.caption.text()
    widgets = biased.controls.widgets
    assert not widgets["layer"].isVisible()
    assert not widgets["in_view"].isVisible()
    assert not widgets["averaged"].isEnabled()
    assert biased.view().nulls is None
    assert biased.spec.guide(biased.view(), 5) is None


def test_python_prints_the_heads_of_a_bias(biased):
    lines = run_script(biased.python()).splitlines()
    found = biased.result.by_head
    assert [float(line.split()[1]) for line in lines[:4]] == pytest.approx(found.previous_token)
    assert lines[4] == "(25, 25)"


def test_that_of_a_picture_is_a_map_of_offsets(stage_of, written):
    table = np.random.default_rng(3).standard_normal((9, 2)).astype("f4")
    folder = written(
        {"a.relative_position_bias_table": table}, {"model_type": "swin", "window_size": 2}
    )
    panel = stage_of("kernels", folder, size=(1000, 300)).panel
    head = panel.result.head
    weights = np.exp(table[:, head].astype(float))
    shown = named(panel, "Attention by offset")
    np.testing.assert_allclose(shown.values.ravel(), weights / weights.sum(), rtol=1e-6)
    assert len(panel.content.wall.cards) == 2
    QTest.mouseClick(panel.controls.widgets["curve"].buttons["score"], LEFT)
    shown = named(panel, "Bias by offset")
    np.testing.assert_allclose(shown.values.ravel(), table[:, head], rtol=1e-6)
    other = 1 - head
    click_head(panel, other)
    assert panel.result.head == other
    assert f"head {other} of 2" in panel.header.caption.text()
    assert not panel.controls.widgets["sort"].isVisible()
    assert run_script(panel.python()).splitlines()[0] == "(2, 3, 3)"
    assert panel.numbers()[f"bias_of_head_{other}"].shape == (3, 3)
    assert panel.spec.guide(panel.view(), 1) is None


def test_the_legend_names_the_selected_positions_line(stage, panel):
    stage.controller.select((20,))
    (drawn,) = [curve for curve in curves_of(panel).curves if curve.style == "dotted"]
    plot = next(part for part in panel.content.plots.painted if part.part.name.startswith("Mean"))
    readings = {reading.name: (reading.color, reading.style) for reading in plot.part.readings}
    assert readings["position 20"] == (drawn.color, "dotted")
    stage.controller.select(())
    assert "position 20" not in {reading.name for reading in plot.part.readings}
