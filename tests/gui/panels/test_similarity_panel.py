"""The similarity panel: against its definition and the real GPT-2, linked with the session."""

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QPointF
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from geometry.measures import similarity as module
from geometry.pca.pca import fit_pca
from gui.panels.kit.panel import DRAWING
from gui.panels.similarity import SimilarityOf, chosen
from gui.services.questions import QuestionContext, resolve
from gui.style.theme import format_number
from tests.gui.open_models import add_beside
from tests.gui.result_stage import LEFT, NONE, SHIFT, ResultStage, double_click, hover, named
from tests.scripts import run_script


@pytest.fixture
def stage(stage_of, helix_table):
    """The panel with the helix of 200 positions, 20–119 of them shown."""
    return stage_of("similarity", helix_table, (20, 119), size=(900, 320))


def heatmap(panel):
    return named(panel, "Cosine of every two positions")


def lags(panel):
    return named(panel, "Mean cosine by lag")


def bar(panel):
    return panel.content.painted[0].bar


def cell(panel, row, column):
    return heatmap(panel).point_of(row, column).toPoint()


def test_projected_rows_use_chosen_components(model):
    found = resolve(SimilarityOf((20, 119), (1, 3)), QuestionContext(model))
    pca = fit_pca(model.W_pos, (20, 119), 3)
    basis = pca.components[[0, 2]]
    rows = pca.mean + (model.W_pos[20:120] - pca.mean) @ basis.T @ basis
    units = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    np.testing.assert_allclose(found.cosines, units @ units.T, atol=1e-10)
    pca = fit_pca(model.W_pos, (0, 1), 9)
    assert chosen(pca, (1, 9)).components.shape[0] == 1


def test_of_many_positions_blocks_are_compared(stage, write_table, helix, monkeypatch):
    monkeypatch.setattr(module, "MOST", 50)
    monkeypatch.setattr(module, "BLOCKS", 20)
    table = helix(200, 24, 3)
    stage.open(write_table(table, "long"), positions=(20, 118))
    panel, shown = stage.panel, heatmap(stage.panel)
    assert panel.result.block == 5
    assert "each cell the mean of 5 × 5 pairs" in panel.header.caption.text()
    units = table[20:119] / np.linalg.norm(table[20:119], axis=1, keepdims=True)
    assert shown.value_at(42, 118) == pytest.approx((units[20:25] @ units[95:].T).mean())
    assert shown.view.spans() == ((19.5, 119.5), (19.5, 119.5))
    hover(shown.viewport(), cell(panel, 42, 118))
    assert shown.hover_text().startswith("40–44 and 115–118\nmean cosine ")
    QTest.mouseClick(shown.viewport(), LEFT, NONE, cell(panel, 42, 91))
    assert stage.session.selection == (40, 90)
    numbers = panel.numbers()
    assert numbers["position"].tolist() == list(range(20, 119, 5))
    assert numbers["cosine"].shape == (20, 20)
    assert len(numbers["mean_cosine_at_lag"]) == 99
    axes = panel.figure()().axes[0]
    assert axes.images[0].get_extent() == [19.5, 119.5, 119.5, 19.5]
    assert any("5 × 5 pairs" in text.get_text() for text in axes.texts)


def test_heatmap_and_lags_beside_it_cover_the_range_as_numbers_do(panel):
    shown = heatmap(panel)
    assert shown.values is panel.result.cosines
    assert shown.first == (20, 20)
    (x0, x1), (y0, y1) = shown.view.spans()
    assert (x0, x1, y0, y1) == (19.5, 119.5, 19.5, 119.5)
    area = shown.view.sceneBoundingRect()
    assert area.width() == pytest.approx(area.height(), abs=3)
    assert cell(panel, 30, 50).y() < cell(panel, 90, 50).y(), "the first row is at the top"
    assert (lags(panel).curves[0].y == panel.result.by_lag).all()
    assert lags(panel).mapTo(panel, QPoint()).x() > heatmap(panel).mapTo(panel, QPoint()).x()
    numbers = panel.numbers()
    assert (numbers["cosine"] == panel.result.cosines).all()
    assert (numbers["position"] == np.arange(20, 120)).all()
    assert (numbers["mean_cosine_at_lag"] == panel.result.by_lag).all()


def test_pixels_are_the_values_colours_which_can_be_dragged_and_reset(panel):
    bar(panel).levelsRequested.emit(-1.0, 1.0)
    picture = heatmap(panel).grab().toImage()
    table = heatmap(panel).image.lut
    for row, column in ((25, 25), (30, 100), (110, 40)):
        value = heatmap(panel).value_at(row, column)
        expected = table[min(255, int((value + 1) / 2 * 256))][:3]
        shown = picture.pixelColor(cell(panel, row, column)).getRgb()[:3]
        assert np.abs(np.subtract(shown, expected.astype(int))).max() < 25, (row, column)
    scale = bar(panel)
    QTest.mousePress(scale, LEFT, NONE, QPoint(6, 10))
    QTest.mouseMove(scale, QPoint(6, 60))
    QTest.mouseRelease(scale, LEFT, NONE, QPoint(6, 60))
    low, high = scale.levels
    assert low == -1.0
    assert -1.0 < high < 1.0
    assert tuple(heatmap(panel).image.levels) == pytest.approx((low, high))
    double_click(scale, QPoint(6, 60))
    assert scale.levels == (-1.0, 1.0)


def test_the_switch_and_the_components_ask_anew_and_the_caption_names_them(panel, stage):
    text = panel.header.caption.text()
    assert text.startswith("helix · shown positions 20–119 · raw rows, uncentred · mean cosine at ")
    assert f"Δ 1: {panel.result.by_lag[1]:.3f}" in text
    QTest.mouseClick(panel.controls.widgets["rows"].buttons["projected"], LEFT)
    assert "rows projected on PC 1, 2, 3" in panel.header.caption.text()
    QTest.mouseClick(panel.controls.widgets["rows"].buttons["projected"], LEFT)
    assert panel.view().question == SimilarityOf((20, 119), (1, 2, 3))
    stage.session.components = (4, 2, 1)
    assert panel.view().question == SimilarityOf((20, 119), (1, 2, 4))
    QTest.mouseClick(panel.controls.widgets["rows"].buttons["raw"], LEFT)
    assert panel.view().question == SimilarityOf((20, 119))


def test_a_range_of_one_position_is_shown(stage, write_table):
    stage.open(write_table(), positions=(5, 5))
    assert stage.panel.result.cosines.shape == (1, 1)


def test_hovering_elsewhere_marks_the_row_and_the_column(panel, stage):
    before = heatmap(panel).grab().toImage()
    stage.session.hover = 60
    after = heatmap(panel).grab().toImage()
    on_row, on_column = cell(panel, 60, 100), cell(panel, 100, 60)
    for point in (on_row, on_column):
        assert any(
            before.pixel(point + QPoint(dx, dy)) != after.pixel(point + QPoint(dx, dy))
            for dx in (-1, 0, 1)
            for dy in (-1, 0, 1)
        )
    stage.session.hover = 5  # outside the range
    assert heatmap(panel).grab().toImage() == before


def test_hovering_a_lag_says_its_mean_and_a_cell_is_told_to_everybody(panel, stage):
    point = lags(panel).view.mapViewToScene(QPointF(33, panel.result.by_lag[33])).toPoint()
    hover(lags(panel).viewport(), point)
    value = f"{panel.result.by_lag[33]:.3f}".replace("-", "\N{MINUS SIGN}")
    assert lags(panel).hover_text() == f"Δ = 33 · mean cosine {value}"
    hover(heatmap(panel).viewport(), cell(panel, 40, 90))
    assert stage.session.hover == 90
    value = heatmap(panel).value_at(40, 90)
    said = heatmap(panel).hover_text().replace("\N{MINUS SIGN}", "-")
    assert said == f"40 and 90\ncosine {value:.3f} · Δ = 50"
    assert lags(panel).hover_text().startswith("Δ = 50 · mean cosine ")
    hover(panel, QPoint(2, 2))
    assert stage.session.hover is None
    assert heatmap(panel).hover_text() == ""
    assert lags(panel).hover_text() == ""


def test_selected_positions_are_marked_and_clicks_select_both(panel, stage):
    before = heatmap(panel).grab().toImage()
    stage.session.selection = (60, 5)
    assert heatmap(panel).grab().toImage() != before
    stage.session.selection = (5,)
    assert heatmap(panel).grab().toImage() == before
    QTest.mouseClick(heatmap(panel).viewport(), LEFT, NONE, cell(panel, 40, 90))
    assert stage.session.selection == (40, 90)
    QTest.mouseClick(heatmap(panel).viewport(), LEFT, SHIFT, cell(panel, 30, 30))
    assert stage.session.selection == (40, 90, 30)


def test_at_a_lag_all_models_values_are_there(panel, stage, write_table, helix):
    add_beside(stage.controller, write_table(helix(60, 24, 3), "other"), (0, 49))
    shown = lags(panel)
    point = shown.view.mapViewToScene(QPointF(33, panel.result.by_lag[33])).toPoint()
    hover(shown.viewport(), point)
    other = stage.session.others[0].session.answers["similarity"].result
    assert shown.hover_text().startswith("Δ = 33 · mean cosine ")
    assert shown.hover_text().endswith(f" · other {format_number(other.by_lag[33])}")


def bands(panel):
    """The bands that are drawn, and what the line below the caption says."""
    return lags(panel).bands, panel.header.finding.text()


def test_random_curves_come_after_the_answer_and_never_during_a_drag(qtbot, hand_jobs, helix_table):
    stage = ResultStage(qtbot, "similarity", hand_jobs, size=(900, 320))
    stage.open(helix_table, (20, 119))
    panel, session = stage.panel, stage.session
    assert len(hand_jobs.waiting) == 1
    hand_jobs.deliver(*hand_jobs.waiting)
    assert panel.result is not None
    assert bands(panel) == ((), "")
    hand_jobs.drag_on(*hand_jobs.waiting)
    assert bands(panel) == ((), DRAWING)
    assert panel.header.finding.isVisible()
    hand_jobs.deliver_all()
    (band,), said = bands(panel)
    assert (band.low <= band.high).all()
    assert said == str(panel.spec.finding(panel.view()))
    assert "similarity_nulls" in panel.python()
    numbers = panel.numbers()
    assert (numbers["process_p95"] == band.high).all()

    session.dragging = True
    session.positions = (30, 119)
    panel.ask()
    hand_jobs.deliver_all()
    assert panel.result.positions == (30, 119)
    assert bands(panel) == ((), "")
    assert not any(key.startswith("process") for key in panel.numbers())
    session.positions = (20, 119)
    panel.ask()
    hand_jobs.deliver_all()
    assert panel.result.positions == (20, 119)
    assert bands(panel)[0] == ()
    session.dragging = False
    # Those of this range are kept.
    assert bands(panel) == ((band,), said) or np.array_equal(bands(panel)[0][0].low, band.low)
    assert not hand_jobs.waiting

    session.positions = (40, 119)
    panel.ask()
    hand_jobs.deliver(*hand_jobs.waiting)
    assert len(hand_jobs.waiting) == 1
    session.dragging = True
    session.positions = (41, 119)
    panel.ask()
    # Random curves for a range that has gone are given up.
    assert len(hand_jobs.waiting) == 1
    hand_jobs.deliver_all()
    assert panel.result.positions == (41, 119)
    assert bands(panel)[0] == ()


def test_a_hidden_panel_draws_no_random_curves(qtbot, hand_jobs, helix_table):
    stage = ResultStage(qtbot, "similarity", hand_jobs, size=(900, 320))
    stage.open(helix_table, (20, 119))
    hand_jobs.deliver(*hand_jobs.waiting)
    (drawing,) = hand_jobs.waiting
    stage.panel.set_in_front(False)
    assert drawing in hand_jobs.held
    stage.panel.set_in_front(True)
    assert drawing not in hand_jobs.held
    hand_jobs.deliver_all()
    assert bands(stage.panel)[0]


def test_esc_passes_random_curves_by(qtbot, hand_jobs, helix_table):
    stage = ResultStage(qtbot, "similarity", hand_jobs)
    stage.open(helix_table, (20, 119))
    hand_jobs.deliver(*hand_jobs.waiting)
    hand_jobs.drag_on(*hand_jobs.waiting)
    assert not stage.answers.cancel_newest()
    hand_jobs.deliver_all()
    assert bands(stage.panel)[0]


def test_a_helix_rises_again_and_a_line_does_not(stage, panel, write_table):
    found = panel.spec.finding(panel.view())
    assert found.outcome == "holds"
    assert panel.header.finding.text().startswith("✓ holds: rises again by ")
    t = np.linspace(0.0, 1.0, 120)[:, None]
    direction = np.random.default_rng(1).standard_normal(24)
    stage.open(write_table(1.0 + t * direction, "line"))
    assert stage.panel.spec.finding(stage.panel.view()).outcome == "does not hold"
    QTest.mouseClick(stage.panel.controls.widgets["random"].buttons["none"], LEFT)
    assert stage.panel.header.finding.isVisible()
    assert lags(stage.panel).bands == ()


@pytest.mark.parametrize("rows", ["raw", "projected"])
def test_the_script_prints_lags_and_the_outcome(panel, stage, rows):
    panel.configure(rows=rows)
    printed = run_script(stage.python())
    assert printed.startswith("(100, 100)")
    numbers = printed.partition("[")[2].partition("]")[0].split()
    np.testing.assert_allclose([float(n) for n in numbers], panel.result.by_lag, atol=1e-6)
    *_, first, second, last = printed.splitlines()
    view = panel.view()
    assert last.partition(" ")[2] == panel.spec.finding(view).outcome
    for line, (kind, null) in zip((first, second), view.nulls.items(), strict=True):
        name, draws, *numbers = line.split()
        assert (name, draws) == (kind, "100")
        np.testing.assert_allclose([float(n) for n in numbers], null.rise.band)


def test_the_printed_figure_has_the_band_and_the_finding(panel):
    figure = panel.figure()()
    assert any(axes.collections for axes in figure.axes)
    texts = " ".join(text.get_text() for axes in figure.axes for text in axes.texts)
    assert "rises again by" in texts.replace("\n", " ")


def test_patches_are_arranged_as_a_picture_of_pictures(stage, picture):
    stage.open(picture)
    panel, session = stage.panel, stage.session
    shown = named(panel, "Cosine of every two patches")
    cosines = panel.result.cosines
    for _ in range(4):  # it is laid out anew
        QApplication.processEvents()
    assert shown.values.shape == (4, 9)
    assert (shown.y_axis.tile, shown.x_axis.tile) == (2, 3)
    assert shown.value_at(3, 7) == cosines[5, 4], "the tile of patch 5, in it patch 4"
    hover(shown.viewport(), shown.point_of(3, 7).toPoint())
    assert session.hover == 4
    assert shown.hover_text().startswith("row 1, column 2 and row 1, column 1\ncosine ")
    QTest.mouseClick(shown.viewport(), LEFT, NONE, shown.point_of(3, 7).toPoint())
    assert session.selection == (5, 4)
    before = shown.grab().toImage()
    session.hover = 2
    assert shown.grab().toImage() != before, "its tile is framed"
    offsets = named(panel, "Mean cosine by offset")
    assert (offsets.values == panel.result.by_offset).all()
    assert offsets.first == (-1, -2)
    numbers = panel.numbers()
    at = (numbers["row_offset"] == -1) & (numbers["column_offset"] == 2)
    assert numbers["mean_cosine_at_offset"][at] == offsets.value_at(-1, 2)
    figure = panel.figure()()
    assert [label.get_text() for label in figure.axes[0].get_xticklabels()] == ["0", "1", "2"]


def test_a_mosaic_can_be_had_as_a_matrix_and_needs_the_whole_picture(stage, picture):
    stage.open(picture)
    box = stage.panel.controls.widgets["mosaic"]
    assert box.isVisible()
    QTest.mouseClick(box, LEFT, NONE, QPoint(8, box.height() // 2))
    assert heatmap(stage.panel).values.shape == (6, 6)
    QTest.mouseClick(box, LEFT, NONE, QPoint(8, box.height() // 2))
    stage.session.positions = (0, 4)
    assert heatmap(stage.panel).values.shape == (5, 5)
    names = [one.part.name for one in stage.panel.content.painted]
    assert names == ["Cosine of every two positions", "Mean cosine by lag"]
    assert not box.isEnabled()


def test_a_model_of_text_has_no_mosaic(panel):
    assert not panel.controls.widgets["mosaic"].isVisible()


def test_the_script_makes_the_mosaic(stage, picture):
    stage.open(picture)
    printed = run_script(stage.python())
    assert "(4, 9)" in printed
