"""The overlaps panel on real checkpoints, through real clicks, drags, keys and hover."""

from types import SimpleNamespace

import numpy as np
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest

from geometry.checkpoints.errors import TensorUnavailable
from geometry.measures.overlaps import corner_contrast, squared_overlaps, top3
from geometry.models.residual_stream import ResidualStream, Subject
from geometry.models.sources.opening import open_model
from gui.panels.kit.saved_choices import usable
from gui.panels.overlaps.question import OverlapsOf, in_one_space, plain
from gui.services.questions import QuestionContext, resolve
from gui.style.theme import DARK, LIGHT
from tests.gui.panels.overlaps.overlaps_stage import pair_of
from tests.gui.result_stage import LEFT, ResultStage, choose, enter
from tests.scripts import run_script


def test_gpt2s_queries_and_positions_are_measured_drawn_and_printed(gpt2):
    assert gpt2.result.rows == Subject("W_Q")
    assert gpt2.result.columns == Subject("P")
    contrast = gpt2.result.contrast
    found = [round(value, 1) for value in (contrast.TL, contrast.TR, contrast.BL, contrast.BR)]
    assert found == [2.5, 2.4, 1.9, 0.6]
    values = gpt2.result.values.astype(float)
    assert pytest.approx(contrast.TL, rel=1e-5) == corner_contrast(values, 1 / 768).TL
    assert round(gpt2.result.top3, 2) == 1.65
    assert gpt2.caption() == (
        "gpt2 · W_Q layer 0 input, gain not folded × P uncentred, all rows · "
        "TL 2.53 TR 2.39 BL 1.94 BR 0.57 × chance · 3×3 sum 1.65 · blur 1 px, display only"
    )
    figure = gpt2.figure()()
    axes = figure.axes[0]
    assert axes.get_xlabel() == "P direction j"
    assert axes.get_ylabel() == "W_Q direction i"
    assert axes.get_title(loc="left") == "W_Q × P"
    assert axes.images[0].get_array().shape == (768, 768)
    assert axes.images[0].get_clim() == pytest.approx(pair_of(gpt2).bar.levels)
    words = " ".join(figure.get_supxlabel().split())
    assert words == gpt2.caption()
    box = gpt2.form.rows.name
    role = Qt.ItemDataRole
    at = {box.itemText(i): i for i in range(box.count())}
    assert "No token embeddings" in box.itemData(at["E"], role.ToolTipRole)
    assert box.itemData(at["E"], role.ForegroundRole).name() == LIGHT.muted
    assert box.itemData(at["W_Q"], role.ForegroundRole) is None
    gpt2.set_theme(DARK)
    assert pair_of(gpt2).widget.theme is DARK
    color = gpt2.form.rows.name.itemData(1, Qt.ItemDataRole.ForegroundRole)
    assert color.name() == DARK.muted


def test_folding_the_gain_is_labelled_and_in_the_script(gpt2):
    QTest.mouseClick(gpt2.form.fold, LEFT, pos=QPoint(8, gpt2.form.fold.height() // 2))
    assert gpt2.result.rows.fold_ln
    assert not gpt2.result.columns.fold_ln
    assert round(gpt2.result.top3, 4) == 0.0004
    assert "W_Q layer 0 input, gain folded × P" in gpt2.caption()
    assert "3×3 sum 0.0004" in gpt2.caption()
    printed = run_script(gpt2.python())
    assert "fold_ln=True" in gpt2.python()
    assert f"{gpt2.result.contrast.TL:.12f}"[:-2] in printed


def test_positions_can_be_centred_and_matrices_named_by_panels_and_lessons(gpt2):
    before = gpt2.result
    QTest.mouseClick(gpt2.form.centre, LEFT, pos=QPoint(8, gpt2.form.centre.height() // 2))
    assert gpt2.result.columns == Subject("P", centred=True)
    assert "P centred, all rows" in gpt2.caption()
    assert abs(gpt2.result.values - before.values).max() > 0.01
    gpt2.configure(rows=Subject("W_K", fold_ln=True), columns=Subject("P", centred=True))
    assert gpt2.result.rows == Subject("W_K", fold_ln=True)
    assert gpt2.result.columns == Subject("P", centred=True)
    assert gpt2.form.fold.isChecked()
    gpt2.configure(rows="W_K", columns="P")
    assert gpt2.result.rows == Subject("W_K")
    with pytest.raises(ValueError, match="rows"):
        gpt2.configure(rows="W_X")


def test_one_head_has_so_many_directions(gpt2):
    enter(gpt2.form.rows.head, "3")
    assert gpt2.result.values.shape == (64, 768)
    assert "W_Q layer 0 head 3 input" in gpt2.caption()
    stream = ResidualStream(open_model(str(gpt2.session.model.source.text)))
    expected = stream.overlaps(Subject("W_Q", head=3), Subject("P"))
    np.testing.assert_allclose(gpt2.result.values, expected, atol=1e-6)
    QTest.keyClick(gpt2.form.rows.head, Qt.Key.Key_Down)
    assert "head 2" in gpt2.caption()
    enter(gpt2.form.rows.head, "-1")
    assert gpt2.form.rows.head.text() == "all heads"
    assert gpt2.result.values.shape == (768, 768)


def test_the_side_is_explicit(gpt2):
    choose(gpt2.form.rows.name, "W_O")
    assert gpt2.form.rows.side.currentText() == "output side"
    assert gpt2.result.rows == Subject("W_O")
    assert "W_O layer 0 output ×" in gpt2.caption()
    written = gpt2.result
    choose(gpt2.form.rows.side, "input side")
    assert gpt2.result.rows == Subject("W_O", side="input")
    assert "W_O layer 0 input ×" in gpt2.caption()
    assert "two different spaces" in gpt2.caption()
    assert abs(gpt2.result.values - written.values).max() > 0.01
    choose(gpt2.form.columns.name, "W_V")
    choose(gpt2.form.columns.side, "output side")
    assert "two different spaces" not in gpt2.caption(), "both are values"


@pytest.mark.slow
def test_any_two_matrices_also_of_different_layers(minilm):
    choose(minilm.form.rows.name, "W_in")
    choose(minilm.form.columns.name, "W_O")
    enter(minilm.form.columns.layer, "2")
    assert minilm.form.rows.layer.maximum() == 5
    enter(minilm.form.rows.layer, "5")
    rows, columns = Subject("W_in", layer=5), Subject("W_O", layer=2)
    assert (minilm.result.rows, minilm.result.columns) == (rows, columns)
    assert "W_in layer 5" in minilm.caption()
    stream = ResidualStream(minilm.session.model)
    expected = stream.overlaps(rows, columns)
    np.testing.assert_allclose(minilm.result.values, expected, atol=1e-6)
    assert "all rows" not in minilm.caption()


def test_plain_subjects_and_their_spaces():
    assert plain(Subject("P", layer=3, head=1, fold_ln=True)) == Subject("P")
    assert plain(Subject("W_O", side="output", fold_ln=True)) == Subject("W_O")
    assert plain(Subject("W_in", head=2, side="output")) == Subject("W_in", side="output")
    assert plain(Subject("W_Q", centred=True, side="input")) == Subject("W_Q")
    assert in_one_space(Subject("P"), Subject("W_O", layer=4))
    assert in_one_space(Subject("W_Q", side="output"), Subject("W_K", side="output"))
    assert not in_one_space(Subject("W_Q", side="output"), Subject("W_K", layer=1, side="output"))
    assert not in_one_space(Subject("W_Q", side="output"), Subject("W_V", side="output"))
    assert in_one_space(Subject("W_V", side="output"), Subject("W_O", side="input"))
    weights = np.eye(4)
    tiny = SimpleNamespace(
        W_pos=weights, weight=lambda name, layer: weights, missing={}, n_heads=2, name="tiny"
    )
    with pytest.raises(TensorUnavailable, match="no heads"):
        resolve(OverlapsOf(Subject("W_in", head=1), Subject("P")), QuestionContext(tiny))


def test_gpt2_part_says_what_it_lacks(gpt2):
    choose(gpt2.form.columns.name, "E")
    assert gpt2.words.message.isVisible()
    assert "No token embeddings in this checkpoint" in gpt2.words.message.text()
    assert "P, W_Q, W_K, W_V and W_O" in gpt2.words.advice.text()
    assert gpt2.form.isVisible(), "the way out of it"
    choose(gpt2.form.columns.name, "P")
    assert pair_of(gpt2).isVisible()
    enter(gpt2.form.rows.layer, "7")
    assert "h.7.attn.c_attn.weight is not in this checkpoint" in gpt2.words.message.text()
    enter(gpt2.form.rows.layer, "0")
    assert pair_of(gpt2).isVisible()
    model = gpt2.session.model
    for options in (
        {"rows": {**MATRIX, "side": "left"}},
        {"columns": "P"},
        {"rows": [MATRIX]},
        {"look": {**LOOK, "blur": float("nan")}},
        {"look": {**LOOK, "blur": 9}},
        {"look": {**LOOK, "blur": True}},
        {"look": {**LOOK, "colormap": "pink"}},
        {"look": {**LOOK, "log": 1}},
        {"look": {"blur": 1.0}},
        {"ends": {"levels": [0, 1], "view": "pair", "log": False}},
    ):
        assert usable(gpt2.spec, options, model) == {}, options
    for lacking in ({"layer": 12}, {"head": 12}):
        options = {"rows": {**MATRIX, **lacking}, "columns": MATRIX}
        assert usable(gpt2.spec, options, model) == {"columns": MATRIX}


def test_a_bare_table_says_so(stage_of, helix_table):
    words = stage_of("overlaps", helix_table).panel.words
    assert "no layers" in words.message.text()
    assert "Only its matrix P is available" in words.advice.text()


def test_another_model_has_fewer_layers(stage_of, gpt2_folder, minilm_folder):
    stage = stage_of("overlaps", gpt2_folder)
    gpt2 = stage.panel
    enter(gpt2.form.rows.layer, "11")
    enter(gpt2.form.rows.head, "11")
    stage.open(minilm_folder)
    assert gpt2.result.rows == Subject("W_Q", layer=5, head=11)
    assert "layer 5 head 11" in gpt2.caption()


MATRIX = {"name": "W_Q", "layer": 1, "head": None, "side": None, "fold_ln": False, "centred": False}
LOOK = {"blur": 1.0, "colormap": "viridis", "log": False}


def test_a_figure_is_saved_with_its_layer_head_and_switches(gpt2):
    gpt2.configure(view="attention")
    enter(gpt2.form.rows.head, "1")
    QTest.mouseClick(gpt2.form.centre, LEFT, pos=QPoint(8, gpt2.form.centre.height() // 2))
    options = gpt2.options()
    assert options["rows"] == {**MATRIX, "layer": 0, "head": 1, "side": "input", "centred": True}
    cells = gpt2.result.cells
    gpt2.configure(view="pair")
    gpt2.configure(**options)
    assert [(cell.rows, cell.columns) for cell in gpt2.result.cells] == [
        (cell.rows, cell.columns) for cell in cells
    ]
    assert gpt2.form.centre.isChecked()
    assert "ends" not in options


def test_the_null_is_the_corner_of_random_matrices(small):
    nulls, d = small.view().nulls, 40
    rng, corners, sums = np.random.default_rng(0), [], []
    for _ in range(300):
        one, other = (np.linalg.qr(rng.standard_normal((d, d)))[0] for _ in range(2))
        overlaps = (one @ other.T) ** 2
        corners.append(overlaps[:30, :30].mean() * d)
        sums.append(overlaps[:3, :3].sum())
    np.testing.assert_allclose(nulls.corner.band, np.percentile(corners, (5, 50, 95)), atol=0.01)
    np.testing.assert_allclose(nulls.top3.band, np.percentile(sums, (5, 50, 95)), atol=0.06)
    assert not nulls.layers


def test_random_weights_do_not_coincide_and_the_script_agrees(small):
    found = small.spec.finding(small.view())
    assert found.outcome in ("does not hold", "as any smooth curve")
    assert small.header.finding.text() == str(found)
    lines = run_script(small.python()).splitlines()
    assert lines[-1] == found.outcome
    numbers = [float(n) for n in lines[-2].split()[2:]]
    np.testing.assert_allclose(numbers, small.view().nulls.corner.band)


def test_gpt2s_queries_read_positions(gpt2):
    assert gpt2.spec.finding(gpt2.view()).outcome == "holds"
    assert gpt2.header.finding.text().startswith("✓ holds: TL 2.53 × chance (expected > 1); ")


@pytest.mark.slow
def test_tokens_and_positions_keep_apart_where_the_articles_say_so(stage_of, minilm_folder):
    panel = stage_of("overlaps", minilm_folder, size=(1000, 420)).panel
    panel.configure(rows="P", columns="E")
    found = panel.spec.finding(panel.view())
    assert found.outcome == "holds"
    text = panel.header.finding.text()
    assert text.startswith("✓ holds: TL 0.")
    assert " × chance (expected < 1); " in text
    assert run_script(panel.python()).splitlines()[-1] == "holds"


def test_other_layers_are_compared_where_they_are_asked_for(small):
    QTest.mouseClick(small.controls.widgets["layers"], LEFT)
    (other,) = small.view().nulls.layers
    stream = ResidualStream(small.session.model)
    one, P = stream.pair(Subject("W_Q", layer=1), Subject("P"))
    overlaps = squared_overlaps(one, P)
    assert (other.layer, other.top3) == (1, pytest.approx(top3(overlaps)))
    assert pytest.approx(corner_contrast(overlaps, 1 / 40).TL) == other.TL
    # The configuration promises a layer that the file lacks.
    text = small.header.finding.text()
    assert f"; TL of 1 other layer {other.TL:.2f}–{other.TL:.2f}" in text
    assert text.endswith("; 1 layer not on this machine")
    assert small.numbers()["layer_TL"].tolist() == [other.TL]
    number, corner, sums = run_script(small.python()).splitlines()[-1].split()
    assert (int(number), float(corner), float(sums)) == (
        1,
        pytest.approx(other.TL),
        pytest.approx(other.top3),
    )


def test_other_layers_come_one_by_one_after_the_random_matrices(qtbot, hand_jobs, small_gpt2):
    stage = ResultStage(qtbot, "overlaps", hand_jobs, size=(1000, 420))
    stage.open(small_gpt2(d_model=40))
    stage.panel.configure(layers=True)
    hand_jobs.deliver(*hand_jobs.waiting)
    (job,) = hand_jobs.waiting
    question = stage.panel.spec.nulls_question(stage.panel.view().scope, stage.panel.choices)
    steps = list(question.steps(QuestionContext(stage.session.model)))
    assert [step.message for step in steps[:-1]] == ["Comparing layer 1", "Comparing layer 2"]
    assert all(step.so_far.corner.draws for step in steps[:-1])
    hand_jobs.drag_on(job)
    hand_jobs.tell(job, steps[0])
    assert "random corners" in stage.panel.header.finding.text()
    assert "other layer" not in stage.panel.header.finding.text()
    hand_jobs.deliver(job)
    assert "1 other layer" in stage.panel.header.finding.text()


def test_tables_have_no_layers_and_figures_no_null(minilm):
    minilm.configure(rows=Subject("P"), columns=Subject("E"))
    assert not minilm.controls.widgets["layers"].isVisible()
    assert minilm.header.finding.isVisible()
    minilm.configure(view="mlp")
    assert not minilm.header.finding.isVisible()
