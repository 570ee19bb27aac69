"""The spectra panel: against numpy and the real GPT-2, through real events."""

import numpy as np
import pytest
from PySide6.QtCore import QPointF
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel, QToolButton

from geometry.models.residual_stream import Subject
from geometry.models.sources.opening import open_model
from gui.panels.kit.saved_choices import usable
from gui.panels.spectra import SpectraOf, SpectraPanel
from gui.plots.qt_painter import PaintedLegend
from gui.services.questions import QuestionContext, resolve
from gui.state.colors import model_color
from gui.style.theme import LIGHT, SERIES
from tests.gui.open_models import add_beside
from tests.gui.result_stage import LEFT, drag, hover, named
from tests.scripts import run_script

P = Subject("P")


@pytest.fixture
def stage(stage_of, small_gpt2):
    """The panel with a small GPT-2 that lacks E."""
    return stage_of("spectra", small_gpt2(d_model=40, tokens=0), size=(1000, 260))


def plot_of(panel):
    return named(panel, "Singular values")


def chips_of(panel):
    return panel.controls.widgets["subjects"]


def k_of(panel):
    return panel.controls.widgets["k"]


def legend_of(panel):
    return panel.findChild(PaintedLegend).widget()


def rows(panel):
    """The legend as text, row by row."""
    grid = legend_of(panel).layout()
    found = {}
    for i in range(grid.count()):
        row, _, _, _ = grid.getItemPosition(i)
        widget = grid.itemAt(i).widget()
        if isinstance(widget, QLabel):
            found.setdefault(row, []).append(widget.text())
    return [found[row] for row in sorted(found)]


def removing(panel, row):
    return legend_of(panel).findChildren(QToolButton)[row]


def test_singular_values_are_numpys(model):
    result = resolve(SpectraOf((P,)), QuestionContext(model))
    (found,) = result.spectra
    sigma = np.linalg.svd(model.W_pos, compute_uv=False)
    np.testing.assert_allclose(found.singular_values, sigma, atol=1e-9 * sigma[0])
    np.testing.assert_allclose(found.energy, np.cumsum(sigma**2) / (sigma**2).sum())
    assert found.stable_rank == pytest.approx((sigma**2).sum() / sigma[0] ** 2)
    assert found.shape == model.W_pos.shape
    assert (found.chance**2).sum() == pytest.approx((sigma**2).sum())
    for array in (found.singular_values, found.energy, found.chance):
        assert not array.flags.writeable


def test_what_is_missing_is_told_beside_what_is_there(gpt2_folder):
    result = resolve(SpectraOf((P, Subject("E"))), QuestionContext(open_model(gpt2_folder)))
    assert [found.subject for found in result.spectra] == [P]
    ((subject, why),) = result.missing
    assert subject == Subject("E")
    assert "token embeddings" in why


def test_e_is_shown_or_reported_missing(stage_of, minilm_folder, gpt2_folder):
    stage = stage_of("spectra", minilm_folder)
    assert stage.answer.question == SpectraOf((P, Subject("E")))
    assert chips_of(stage.panel).chips["E"].isChecked()
    stage = stage_of("spectra", gpt2_folder)
    gpt2 = stage.panel
    assert stage.answer.question == SpectraOf((P,))
    assert not chips_of(gpt2).chips["E"].isEnabled()
    assert "no token embeddings" in chips_of(gpt2).chips["E"].toolTip().replace("\n", " ")
    assert "gpt2 · all 1\u2009024 positions" in gpt2.header.caption.text()
    assert rows(gpt2) == [["first 30", "stable rank"], ["P", "99.9\u00a0%", "3.09"]]


def test_log_axes_hover_and_numbers(panel):
    (x0, x1), (y0, y1) = plot_of(panel).view.spans()
    sigma = panel.result.spectra[0].singular_values
    assert x0 < 0 < np.log10(40) < x1
    assert y0 < np.log10(sigma[-1])
    assert y1 > np.log10(sigma[0])
    ticks = plot_of(panel).x_axis.tickValues(x0, x1, 500)
    assert plot_of(panel).x_axis.tickStrings(ticks[0][1], 1, ticks[0][0])[0] == "1"
    plot = plot_of(panel)
    hover(plot.viewport(), plot.point_of(0, 2).toPoint())
    said = plot.hover_text()
    sigma = panel.result.spectra[0].singular_values[2]
    assert said.startswith(f"P · i = 3 · σ {sigma:.3f} · chance ")
    assert "first 3: " in said
    numbers = panel.numbers()
    assert [*numbers] == ["index", "P_singular_value", "P_by_chance", "P_energy_of_first"]
    assert (numbers["P_singular_value"] == panel.result.spectra[0].singular_values).all()
    assert [curve.silent for curve in plot_of(panel).curves if len(curve.x)] == [False, True]
    assert plot_of(panel).curves[1].style == "dashed"
    panel.controls.widgets["chance"].click()
    assert [curve.silent for curve in plot_of(panel).curves] == [False]


def test_a_weight_is_added_and_taken_out_by_click_and_python_prints_it(panel, stage):
    QTest.mouseClick(chips_of(panel).chips["W_Q"], LEFT)
    assert panel.view().question == SpectraOf((P, Subject("W_Q")))
    assert [row[0] for row in rows(panel)[1:]] == ["P", "W_Q 0"]
    QTest.mouseClick(removing(panel, 0), LEFT)
    assert panel.view().question == SpectraOf((Subject("W_Q"),))
    QTest.mouseClick(chips_of(panel).chips["W_Q"], LEFT)
    assert panel.view().question == SpectraOf((P,)), "something is always left to look at"
    printed = run_script(stage.python()).splitlines()
    for line, found in zip(printed, panel.result.spectra, strict=True):
        assert line.startswith(f"{found.subject.name} 0 [{found.singular_values[0]:.3f}"[:-2])
        assert float(line.split()[-2]) == pytest.approx(found.energy[29])
        assert float(line.split()[-1]) == pytest.approx(found.stable_rank)


def test_k_is_dragged_kept_and_missing_parts_named(panel):
    plot = plot_of(panel)
    target = plot.view.mapViewToScene(QPointF(np.log10(4), 0.0)).toPoint()
    drag(plot.viewport(), plot.marker_point().toPoint(), target)
    assert k_of(panel).value == 4
    assert rows(panel)[0][0] == "first 4"
    energy = panel.result.spectra[0].energy[3]
    assert rows(panel)[1][1] == f"{100 * energy:.1f}\u00a0%"
    assert not plot.view.is_zoomed, "the drag moved the line and not the view"
    panel.configure(k=45)
    assert k_of(panel).value == 40
    assert panel.options()["k"] == 45
    chips_of(panel).layer.setCurrentIndex(2)
    QTest.mouseClick(chips_of(panel).chips["W_K"], LEFT)
    assert rows(panel)[-1] == ["W_K 2", "not in this checkpoint"]
    assert chips_of(panel).chips["W_K"].isChecked()
    chips_of(panel).layer.setCurrentIndex(0)
    assert not chips_of(panel).chips["W_K"].isChecked()
    QTest.mouseClick(removing(panel, 1), LEFT)
    assert len(rows(panel)) == 2
    spec, model = SpectraPanel(), panel.session.model
    for subjects in (
        [],
        [{**SAVED, "name": "W_X"}],
        [{"name": "P"}],
        [{**SAVED, "more": 1}],
        ["P"],
        "P",
        3,
        [{**SAVED, "side": "left"}],
        [{**SAVED, "layer": -1}],
        [{**SAVED, "head": True}],
        [{**SAVED, "layer": 9}],
        [{**SAVED, "head": 2}],
    ):
        assert usable(spec, {"subjects": subjects, "k": 2}, model) == {"k": 2}, subjects
    assert usable(spec, {"subjects": [{**SAVED, "layer": 2, "head": 1}]}, model)


def test_beside_other_models_the_rest_have_colours_of_no_model(stage, panel, small_gpt2):
    panel.configure(subjects=(P, Subject("W_Q")))
    add_beside(stage.controller, small_gpt2("other"))
    QApplication.processEvents()
    named_ones = {curve.color for curve in plot_of(panel).curves if curve.name}
    rest = {curve.color for curve in plot_of(panel).curves if not curve.name}
    assert rest == {LIGHT.text, SERIES["light"][2], LIGHT.muted}  # the last of the Gaussian matrix
    assert named_ones == {model_color(1, LIGHT)}
    panel.configure(subjects=(Subject("W_Q"), P))
    sigma = np.linalg.svd(stage.session.others[0].session.model.weight("W_Q", 0))[1]
    at, drawn = next(one for one in enumerate(plot_of(panel).curves) if one[1].name)
    plot = panel.spec.plots(panel.view())[0]
    assert plot.hover(at, 2).startswith("other · i = 3 · σ ")
    np.testing.assert_allclose(drawn.y, sigma, rtol=1e-4)
    assert panel.legend.words.text() == "σᵢ of W_Q 0:"


SAVED = {"name": "W_Q", "layer": 1, "head": None, "side": None, "fold_ln": False, "centred": False}
