"""The dimensions panel on real checkpoints, through real clicks, keys and hover."""

from types import SimpleNamespace

import numpy as np
import pytest
from PySide6.QtWidgets import QApplication

from geometry.measures.single_dimensions import best_sinusoids, r2_after_projection
from geometry.pca.pca import fit_pca
from gui.panels.dimensions import MAX_ENTRIES, DimensionsOf, _colors
from gui.services.questions import QuestionContext, resolve
from gui.style.theme import SERIES
from gui.widgets.choice_table import choose
from tests.gui.result_stage import CONTROL, LEFT, SHIFT, click_row, hover, named
from tests.scripts import run_script

SIZE = (1000, 420)


@pytest.fixture
def gpt2(stage_of, gpt2_folder):
    return stage_of("dimensions", gpt2_folder, size=SIZE).panel


@pytest.fixture
def stage(stage_of, helix_table):
    """The panel on the small helix: 200 positions, 24 entries."""
    return stage_of("dimensions", helix_table, size=SIZE)


def plot(panel):
    return named(panel, "Entries over position")


def table(panel):
    return named(panel, "All entries")


def listed(panel):
    return [row.position for row in table(panel).rows]


def drawn(panel):
    return tuple(_colors(panel.view()))


def test_gpt2_entries_and_their_waves(gpt2):
    W_pos, result = gpt2.session.model.W_pos, gpt2.result
    waves = best_sinusoids(W_pos, (1, 1022))
    np.testing.assert_array_equal(result.sinusoids.r2, waves.r2)
    np.testing.assert_allclose(result.variance, W_pos[1:1023].var(axis=0))
    after = r2_after_projection(W_pos, fit_pca(W_pos, (1, 1022), 3))
    np.testing.assert_allclose(result.after_projection_r2, after)
    assert listed(gpt2)[:3] == [724, 361, 459]
    assert "entry 724: sinusoid of 1.73 cycles R² 0.913, projection R² 0.956" in gpt2.caption()
    assert "shown positions 1–1022 · raw entries" in gpt2.caption()
    values, wave = plot(gpt2).curves
    W_pos = gpt2.session.model.W_pos
    np.testing.assert_array_equal(values.x, np.arange(1, 1023))
    np.testing.assert_array_equal(values.y, W_pos[1:1023, 724])
    explained = 1 - ((values.y - wave.y) ** 2).sum() / ((values.y - values.y.mean()) ** 2).sum()
    assert explained == pytest.approx(gpt2.result.sinusoids.r2[724])
    assert (values.style, wave.style, wave.silent) == ("solid", "dashed", True)
    gpt2.configure(dimensions=(138,))
    assert drawn(gpt2) == (138,)
    row = table(gpt2).visualRect(table(gpt2).model().index(listed(gpt2).index(138), 0))
    assert table(gpt2).viewport().rect().contains(row.center())


def test_projected_entries_and_their_limit():
    rng = np.random.default_rng(2)
    table = rng.normal(size=(60, 8))
    found = _resolved(table, DimensionsOf((5, 50), (1, 3), projected=True))
    pca = fit_pca(table, (5, 50), 3)
    basis = pca.components[[0, 2]]
    projected = pca.mean + (table[5:51] - pca.mean) @ basis.T @ basis
    np.testing.assert_allclose(found.projected(4), projected[:, 4])
    assert found.positions == (5, 50)
    np.testing.assert_allclose(found.sinusoids.r2, best_sinusoids(projected, (0, 45)).r2)
    raw = _resolved(table, DimensionsOf((5, 50), (1, 3)))
    np.testing.assert_allclose(raw.variance, table[5:51].var(axis=0))
    assert np.abs(raw.sinusoids.r2 - found.sinusoids.r2).max() > 0.01
    np.testing.assert_array_equal(raw.after_projection_r2, found.after_projection_r2)
    assert choose((4,), 4, SHIFT, MAX_ENTRIES) == (4,)
    assert choose((1, 2, 3, 4, 5, 6), 7, SHIFT, MAX_ENTRIES) == (2, 3, 4, 5, 6, 7)


def _resolved(table, question):
    return resolve(question, QuestionContext(SimpleNamespace(W_pos=table)))


def test_by_fit_the_best_wave_comes_first_and_projection_is_a_switch(panel, qtbot):
    qtbot.mouseClick(panel.controls.widgets["order"].buttons["fit"], LEFT)
    r2 = panel.result.sinusoids.r2[listed(panel)]
    assert (np.diff(r2) <= 0).all()
    assert drawn(panel) == (listed(panel)[0],)
    qtbot.mouseClick(panel.controls.widgets["order"].buttons["size"], LEFT)
    assert (np.diff(panel.result.variance[listed(panel)]) <= 0).all()
    qtbot.mouseClick(panel.controls.widgets["rows"].buttons["projected"], LEFT)
    values, before, _ = plot(panel).curves
    entry = drawn(panel)[0]
    np.testing.assert_allclose(values.y, panel.result.projected(entry))
    np.testing.assert_array_equal(before.y, panel.result.rows[:, entry])
    assert "projected on PC 1, 2, 3" in panel.caption()
    panel.session.components = (1, 2, 2)
    assert "projected on PC 1, 2 ·" in panel.caption()
    qtbot.mouseClick(panel.controls.widgets["rows"].buttons["raw"], LEFT)
    assert len(plot(panel).curves) == 2


def test_click_draws_one_shift_click_several(panel):
    click_row(table(panel), 7)
    assert drawn(panel) == (7,)
    click_row(table(panel), 3, SHIFT)
    click_row(table(panel), 11, CONTROL)
    assert drawn(panel) == (7, 3, 11)
    assert panel.controls.widgets["dimensions"].field.value() == 7
    colors = [curve.color for curve in plot(panel).curves if not curve.silent]
    assert colors == list(SERIES["light"][1:4])
    click_row(table(panel), 7, SHIFT)
    assert drawn(panel) == (3, 11)
    np.testing.assert_array_equal(plot(panel).curves[1].y, panel.result.rows[:, 11])
    click_row(table(panel), 7)
    panel.session.positions = (20, 90)
    assert panel.result.positions == (20, 90)
    assert drawn(panel) == (7,)
    assert len(plot(panel).curves[0].x) == 71


def test_another_model_begins_with_its_own_first_entry(stage, panel, gpt2_folder):
    click_row(table(panel), 7)
    stage.open(gpt2_folder)
    assert drawn(panel) == (724,)


def test_hover_and_numbers_of_drawn_entries(panel, qtbot):
    click_row(table(panel), 7)
    click_row(table(panel), 3, SHIFT)
    hover(plot(panel).viewport(), plot(panel).point_of(1, 49).toPoint())
    value = f"{panel.result.rows[49, 3]:.3f}".replace("-", "\N{MINUS SIGN}")
    assert plot(panel).hover_text().startswith(f"position 50 · entry 3: {value} · wave ")
    click_row(table(panel), 7)
    qtbot.mouseClick(panel.controls.widgets["rows"].buttons["projected"], LEFT)
    numbers = panel.numbers()
    np.testing.assert_array_equal(numbers["entry_7"], panel.result.rows[:, 7])
    np.testing.assert_allclose(numbers["entry_7_projected"], panel.result.projected(7))
    assert len(numbers["sinusoid_r2"]) == 24
    values, before, wave = plot(panel).curves
    np.testing.assert_array_equal(before.y, panel.result.rows[:, 7])
    np.testing.assert_allclose(values.y, panel.result.projected(7))
    np.testing.assert_allclose(wave.y, panel.result.sinusoids.values(7))


@pytest.mark.parametrize("rows", ["raw", "projected"])
def test_python_prints_the_same_numbers(panel, rows, qtbot):
    qtbot.mouseClick(panel.controls.widgets["rows"].buttons[rows], LEFT)
    click_row(table(panel), 7)
    entry, cycles, r2, after = map(float, run_script(panel.python()).split())
    result = panel.result
    assert entry == 7
    assert cycles == pytest.approx(result.sinusoids.cycles[7])
    assert r2 == pytest.approx(result.sinusoids.r2[7])
    assert after == pytest.approx(result.after_projection_r2[7])


def test_narrow_panel_and_few_positions(panel):
    wide = table(panel).width()
    panel.resize(420, 300)
    QApplication.processEvents()
    assert table(panel).width() < wide
    shown = [i for i in range(5) if not table(panel).isColumnHidden(i)]
    assert shown == [0, 3, 4]
    assert plot(panel).width() > table(panel).width()
    panel.resize(1000, 420)
    QApplication.processEvents()
    assert table(panel).width() == wide
    panel.session.positions = (5, 7)
    assert panel.result.positions == (5, 7)
    assert "shown positions 5–7" in panel.caption()
    np.testing.assert_allclose(panel.result.sinusoids.r2, 1.0)
