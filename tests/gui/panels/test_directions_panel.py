"""The directions panel on real checkpoints, through real clicks and hover."""

from types import SimpleNamespace

import numpy as np
import pytest
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from geometry.checkpoints.errors import TensorUnavailable
from geometry.measures.overlaps import random_directions, sparsity
from gui.panels.directions import (
    RANDOM,
    DirectionsOf,
    _colors,
    _home,
    _summary,
    _union,
    column_energy,
)
from gui.panels.kit.intents import ShowPanel
from gui.services.questions import QuestionContext, resolve
from gui.style.theme import SERIES
from tests.gui.result_stage import LEFT, NONE, SHIFT, ResultStage, click_row, hover, named
from tests.scripts import run_script

ALL = (1, 2, 3, 4, 5)


@pytest.fixture
def stage(stage_of, gpt2_folder):
    return stage_of("directions", gpt2_folder, size=(1100, 420))


@pytest.fixture
def minilm(stage_of, minilm_folder):
    return stage_of("directions", minilm_folder).panel


def drawn(panel):
    return tuple(_colors(panel.view()))


def over_index(panel):
    return named(panel, "Directions over embedding index")


def over_position(panel):
    return named(panel, "Directions over position")


def table(panel):
    return named(panel, "Directions")


def test_gpt2_and_random_directions_and_what_lacks(panel):
    result = panel.result
    assert result.sparsity.above_0_1 == (20, 25, 22, 20, 27)
    assert len(_union(result, ALL)) == 58
    cells = [row.cells for row in table(panel).rows]
    assert [row[2] for row in cells] == ["20", "25", "22", "20", "27", "4.4"]
    assert cells[0][1] == "61.95"
    assert "58 of 768 entries above 0.1 in directions 1–5" in panel.caption()
    random = sparsity(random_directions(5, 768))
    assert panel.result.random.participation_ratio == random.participation_ratio
    assert min(random.participation_ratio) > 200 > max(panel.result.sparsity.participation_ratio)
    mean = np.mean(random.participation_ratio)
    assert table(panel).rows[-1].cells[:4] == ("random", "", "4.4", f"{mean:.1f}")
    assert panel.result.E_energy is None
    assert "no token embeddings in this checkpoint" in panel.caption()
    assert over_index(panel).isVisible()
    lines = run_script(panel.python()).splitlines()
    assert lines[0].startswith("above 0.1 20 25 22 20 27 union 58 random ")
    assert len(lines) == 6


@pytest.mark.slow
def test_minilm_tokens_and_when_e_is_read(minilm, qtbot):
    E, result = minilm.session.model.W_E.astype(float), minilm.result
    np.testing.assert_allclose(result.E_energy, (E**2).sum(axis=0))
    union = _union(result, ALL)
    share = (E[:, union] ** 2).sum() / (E**2).sum()
    said = f"{len(union)} of 384 entries above 0.1 in directions 1–5, with {100 * share:.1f}"
    assert said in minilm.caption()
    said = run_script(minilm.python()).splitlines()[-1].split()
    share = minilm.result.E_energy[_union(minilm.result, ALL)].sum()
    assert float(said[3]) == pytest.approx(share / minilm.result.E_energy.sum(), rel=1e-4)
    assert minilm.view().question.tensors() == (("W_E", 0),)
    QTest.mouseClick(
        minilm.controls.widgets["E"], LEFT, NONE, minilm.controls.widgets["E"].rect().center()
    )
    assert not minilm.controls.widgets["E"].isChecked()
    assert minilm.view().question.tensors() == ()
    assert minilm.result.E_energy is None
    assert "‖E‖²" not in minilm.caption()


def _about(E, d, through):
    return SimpleNamespace(
        model=SimpleNamespace(
            d_model=d, layers=SimpleNamespace(embedding_map=lambda what: through)
        ),
        stream=SimpleNamespace(matrix=lambda subject: E),
        raise_if_cancelled=lambda: None,
    )


def test_E_of_another_size_goes_through_the_models_map():
    rng = np.random.default_rng(1)
    E, through = rng.normal(size=(5000, 3)), rng.normal(size=(7, 3))
    energy, mapped = column_energy(_about(E, 7, through))
    assert mapped
    np.testing.assert_allclose(energy, ((E @ through.T) ** 2).sum(axis=0))
    with pytest.raises(TensorUnavailable, match="E lies in 3 dimensions and P in 7"):
        column_energy(_about(E, 7, None))


def test_a_table_of_low_rank_has_nothing_in_what_is_none(open_table):
    rng = np.random.default_rng(3)
    rank_two = rng.normal(size=(50, 2)) @ rng.normal(size=(2, 9))
    found = resolve(DirectionsOf(with_E=False), QuestionContext(open_table(rank_two)))
    assert (found.over_position[2:] == 0.0).all()
    np.testing.assert_allclose(np.linalg.norm(found.over_position[:2], axis=1), 1.0)


def test_clicks_choose_what_is_drawn_and_numbers_hold_it(panel):
    assert drawn(panel) == ALL
    click_row(table(panel), 3)
    assert drawn(panel) == (3,)
    assert "22 of 768 entries above 0.1 in direction 3" in panel.caption()
    click_row(table(panel), 1, SHIFT)
    assert drawn(panel) == (3, 1)
    assert "in directions 1, 3" in panel.caption()
    curve = over_index(panel).curves[1]
    np.testing.assert_array_equal(curve.y, panel.result.over_index[0])
    assert curve.color == SERIES["light"][1]
    click_row(table(panel), RANDOM)
    assert drawn(panel) == (3, 1)
    click_row(table(panel), 4)
    numbers = panel.numbers()
    np.testing.assert_array_equal(numbers["right_4"], panel.result.over_index[3])
    assert "right_1" not in numbers
    assert len(numbers["union_of_large_entries"]) == 20
    left, right = (over_position(panel).curves, over_index(panel).curves)
    np.testing.assert_array_equal(left[0].y, panel.result.over_position[3])
    np.testing.assert_array_equal(right[0].y, panel.result.over_index[3])
    assert "in directions 2–4" in _summary(panel.result, (4, 2, 3))
    assert "in directions 2, 4" in _summary(panel.result, (4, 2))


def test_a_small_table_has_fewer(stage_of, write_table):
    panel = stage_of("directions", write_table(np.random.default_rng(0).normal(size=(30, 3)))).panel
    assert drawn(panel) == (1, 2, 3)
    assert len(table(panel).rows) == 4


def test_bulk_leaves_out_what_stands_out(panel, qtbot):
    view = over_position(panel).view
    assert view.spans()[1] == pytest.approx(_home(panel.result, ALL))
    assert view.spans()[1][1] < panel.result.over_position.max()
    QTest.mouseClick(
        panel.controls.widgets["bulk"], LEFT, NONE, panel.controls.widgets["bulk"].rect().center()
    )
    assert view.spans()[1][1] > panel.result.over_position.max()


def test_hover_and_click_open_the_entry(panel, stage):
    click_row(table(panel), 1)
    index = int(np.abs(panel.result.over_index[0]).argmax())
    hover(over_index(panel).viewport(), over_index(panel).point_of(0, index).toPoint())
    value = panel.result.over_index[0, index]
    assert (
        over_index(panel).hover_text()
        == f"entry {index} · v₁ {value:.3f} · click to open in Dimensions"
    )
    index = int(np.abs(panel.result.over_index[0]).argmax())
    click_row(table(panel), 1)
    point = over_index(panel).point_of(0, index).toPoint()
    QTest.mouseClick(over_index(panel).viewport(), LEFT, NONE, point)
    assert stage.intents == [ShowPanel("dimensions", {"dimensions": (index,)})]
    click_row(table(panel), 2)
    panel.session.hover = 300
    assert over_position(panel).hover_text().startswith("300 · u₂ ")


def test_what_was_hovered_before_is_told_beside_its_point(qtbot, gpt2_folder):
    stage = ResultStage(qtbot, "directions", size=(1100, 420), show=False)
    stage.open(gpt2_folder)
    stage.session.hover = 400
    with qtbot.waitExposed(stage.panel):
        stage.panel.show()
    plot = over_position(stage.panel)
    assert plot.hover_text().startswith("400 · u₁ ")
    assert plot._label.text().startswith("400 ")
    assert plot.view.sceneBoundingRect().contains(plot._label.geometry().toRectF())


def test_a_narrow_panel_leaves_its_room_to_the_plots(panel):
    panel.resize(420, 300)
    QApplication.processEvents()
    assert [i for i in range(5) if not table(panel).isColumnHidden(i)] == [0, 2]
    assert panel.content.minimumSizeHint().width() <= panel.content.width()
    panel.resize(260, 300)
    QApplication.processEvents()
    assert not table(panel).isVisible()
    assert panel.content.minimumSizeHint().width() <= panel.content.width()
    panel.resize(1100, 420)
    QApplication.processEvents()
    assert table(panel).isVisible()
    assert not any(table(panel).isColumnHidden(i) for i in range(5))


def test_the_null_is_that_of_turned_directions(panel):
    null = panel.view().nulls
    d = panel.result.over_index.shape[1]
    single = np.array(
        [np.sort(np.square(random_directions(1, d, seed))[0])[::-1] for seed in range(300)]
    )
    masses = single[:, :40].sum(axis=1)
    np.testing.assert_allclose(null.mass_top40.band, np.percentile(masses, (5, 50, 95)), atol=0.02)
    counts = (np.cumsum(single, axis=1) < 0.9).sum(axis=1) + 1
    np.testing.assert_allclose(null.entries_90.band, np.percentile(counts, (5, 50, 95)), rtol=0.05)
    assert null.mean_mass_top40.band[2] < null.mass_top40.band[2]
    cells = table(panel).rows[-1].cells
    assert cells[4] == f"{null.mass_top40.band[0]:.2f}–{null.mass_top40.band[2]:.2f}"
    assert cells[5] == f"{null.entries_90.band[0]:.0f}–{null.entries_90.band[2]:.0f}"


@pytest.mark.slow
def test_gpt2_is_sparse_beside_random_directions(panel, stage, stage_of, write_table):
    found = panel.spec.finding(panel.view())
    assert found.outcome == "holds"
    assert found.outcome in run_script(stage.python()).splitlines()
    dense = write_table(np.random.default_rng(0).normal(size=(500, 400)))
    stage = stage_of("directions", dense)
    assert stage.panel.spec.finding(stage.panel.view()).outcome == "does not hold"
    assert run_script(stage.python()).splitlines()[-1] == "does not hold"
    narrow = write_table(np.random.default_rng(0).normal(size=(300, 50)), "narrow")
    stage.open(narrow)
    # Forty of fifty entries hold most of anything.
    assert stage.panel.spec.finding(stage.panel.view()).outcome == "as any smooth curve"
    assert stage.panel.header.finding.text().startswith("≈ ")


def test_entries_are_sorted_by_use_beside_those_of_tokens(stage_of, gpt2_with_tokens):
    stage = stage_of("directions", gpt2_with_tokens, size=(1100, 420))
    panel = stage.panel
    if not panel.choices.E:
        panel.configure(E=True)
    QTest.mouseClick(panel.controls.widgets["entries"].buttons["use"], LEFT)
    plot = next(p for p in panel.spec.plots(panel.view()) if p.name == "Entries by use")
    tokens, own = plot.curves
    vectors = panel.result.over_index[[number - 1 for number in drawn(panel)]]
    used = np.square(vectors).mean(axis=0) * vectors.shape[1]
    order = np.argsort(-used, kind="stable")
    np.testing.assert_allclose(own.y, used[order])
    energy = panel.result.E_energy
    np.testing.assert_allclose(tokens.y, (energy / energy.mean())[order])
    (band,) = plot.bands
    assert (np.diff(band.middle) <= 0).all()
    assert own.y.mean() == pytest.approx(1.0)
    assert plot.hover(1, 0).startswith(f"entry {order[0]} · ")
    assert plot.click(1, 0) == ShowPanel("dimensions", {"dimensions": (int(order[0]),)})
    np.testing.assert_allclose(panel.numbers()["use"], used)


def test_directions_have_cycles_and_a_marked_edge(stage_of, write_table):
    n = 202
    t = np.arange(n) - 1.0
    three, slow = np.cos(2 * np.pi * 3 * t / 200), t / 200
    rng = np.random.default_rng(0)
    one, other = np.linalg.qr(rng.standard_normal((20, 2)))[0].T
    centred = slow - slow.mean()
    panel = stage_of(
        "directions", write_table(5 * np.outer(three, one) + np.outer(centred, other), "waves")
    ).panel
    first, second = table(panel).rows[:2]
    assert first.cells[6] == "3.00"
    assert first.cells[7] == "1.00"
    assert second.cells[6] == "≤ ½"
    assert panel.numbers()["cycles"][0] == pytest.approx(3.0, abs=0.02)
