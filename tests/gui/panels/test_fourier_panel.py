"""The Fourier panel: what it asks, draws and reports."""

import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from geometry.measures.directions import singular_directions
from geometry.measures.fourier import fourier
from geometry.measures.single_dimensions import MIN_CYCLES
from geometry.models.head_projections import project_heads
from geometry.models.sources.opening import open_model
from gui.commands.report_files import ReportFiles, ReportRequest
from gui.panels.table import PANELS
from gui.plots.spec import Plot, Table
from gui.style.theme import SERIES
from tests.gui.result_stage import LEFT, ResultStage
from tests.small_models import write_small_gpt2


@pytest.fixture
def stage(qtbot):
    return ResultStage(qtbot, "fourier", size=(1200, 300))


@pytest.fixture
def folder(tmp_path):
    return write_small_gpt2(tmp_path / "small")


def parts(stage, kind):
    return [p for p in stage.panel.spec.plots(stage.panel.view()) if isinstance(p, kind)]


def test_measured_spectrum_hover_and_click(stage, folder):
    stage.open(folder, (2, 50))
    stage.panel.configure(layer=1)
    model = open_model(folder)
    P = singular_directions(model.W_pos)
    expected = fourier(model.W_pos, P, (2, 50), project_heads(model, 1))
    spectra, directions, heads = parts(stage, Plot)
    np.testing.assert_allclose(spectra.curves[0].y, expected.spectra.mean)
    np.testing.assert_allclose(np.abs(directions.curves[0].y), np.abs(expected.directions[:, 0]))
    degrees = 360 * expected.shifts.tokens * expected.shifts.cycles / 49
    np.testing.assert_allclose(heads.curves[0].y, degrees, atol=1e-5)
    assert not heads.curves[0].joined
    assert np.abs(degrees).max() <= 180.0001
    cycles = f"{expected.waves.cycles[0]:.2f} cycles"
    assert f"positions 2–50 · strongest direction: {cycles}" in stage.panel.caption()
    assert "layer 1" in stage.panel.caption()
    stage.open(folder, (0, 49))
    spectra, directions, heads = parts(stage, Plot)
    assert spectra.hover(0, 4).startswith("5 cycles · every 10.0 tokens · amplitude ")
    assert directions.hover(0, 7).startswith("7 · direction 1 · ")
    assert heads.hover(0, 1).startswith("head 1 · ")
    assert spectra.curves[0].x[-1] == 24  # the 25th of 50 positions is the Nyquist limit
    stage.open(folder)
    rows = next(one for one in stage.panel.content.painted if hasattr(one, "fit")).widget
    point = rows.visualRect(rows.model().index(2, 0)).center()
    QTest.mouseClick(rows.viewport(), LEFT, Qt.KeyboardModifier.NoModifier, point)
    assert stage.panel.choices.directions == (3,)
    (table,) = parts(stage, Table)
    assert list(table.colors) == [3]
    assert len(parts(stage, Plot)[1].curves) == 2  # it and its sinusoid


def test_a_table_alone_has_no_heads_and_says_so(stage, tmp_path):
    np.save(tmp_path / "table.npy", np.random.default_rng(0).normal(size=(40, 6)))
    stage.open(tmp_path / "table.npy")
    assert len(parts(stage, Plot)) == 2
    assert "no phase shifts: " in stage.panel.caption()
    stage.panel.configure(heads=False)
    assert "phase" not in stage.panel.caption()


def test_a_head_at_the_lowest_frequency_is_not_the_most_wavelike(stage, folder):
    stage.open(folder)
    view, n = stage.panel.view(), len(stage.panel.view().result.shifts.r2)
    shifts = replace(
        view.result.shifts, cycles=np.full(n, 2.0), r2=np.array([0.99, 0.5, *np.zeros(n - 2)])
    )

    def caption():
        return stage.panel.spec.caption(replace(view, result=replace(view.result, shifts=shifts)))

    assert "wavelike head of layer 0: 0," in caption()
    shifts.cycles[0] = MIN_CYCLES
    assert "wavelike head of layer 0: 1," in caption()
    shifts.cycles[:] = MIN_CYCLES
    assert "wavelike" not in caption()


def test_of_other_models_no_weights_are_read():
    spec, scope = PANELS["fourier"].spec, SimpleNamespace(positions=(1, 9))
    assert spec.question(scope, spec.defaults).tensors() == (("W_Q", 0), ("W_K", 0))
    assert spec.question_about_other(scope, spec.defaults).tensors() == ()


def test_the_report_has_a_section(tmp_path, folder):
    request = ReportRequest(tmp_path / "report", positions=(1, 40), layer=1, figures=False)
    for _, work in ReportFiles(open_model(folder), request).steps():
        work()
    found = json.loads((tmp_path / "report" / "report.json").read_text("utf-8"))["fourier"]
    assert found["positions"] == [1, 40]
    assert len(found["frequency"]) == len(found["amplitude"]["q25"]) == 20
    assert len(found["directions"]) == 5
    assert len(found["phase_shift_tokens"]) == 2


def test_the_report_says_why_there_is_no_section(tmp_path):
    np.save(tmp_path / "zeros.npy", np.zeros((20, 4)))
    request = ReportRequest(tmp_path / "report", figures=False)
    files = ReportFiles(open_model(tmp_path / "zeros.npy"), request)
    for _, work in files.steps():
        work()
    found = json.loads((tmp_path / "report" / "report.json").read_text("utf-8"))
    assert found["fourier"] is None
    assert "zero" in found["missing"]["fourier"]


@pytest.mark.parametrize("count", [0, 5, 8])
def test_directions_differ_in_colour_beside_any_number_of_models(stage, folder, count):
    stage.open(folder)
    stage.panel.configure(directions=(1, 2, 3, 4, 5))
    view, colors = stage.panel.view(), SERIES["light"]
    others = tuple(replace(view, color=color) for color in colors[1:][:count])
    drawn = stage.panel.spec.plots(replace(view, own_color=colors[0], others=others))[2].colors
    assert len(set(drawn.values())) == 5
    free = set(colors[1:]) - {other.color for other in others}
    assert len(free & set(drawn.values())) == min(len(free), 5)
