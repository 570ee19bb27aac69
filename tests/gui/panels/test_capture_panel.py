"""The capture panel: against its definition and both real checkpoints, through real events."""

import numpy as np
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from safetensors.numpy import load_file, save_file
from scipy.stats import beta

from geometry.models.residual_stream import Subject
from gui.panels.capture import CaptureOf
from gui.services.questions import tensors_of
from gui.style.theme import LIGHT, SERIES
from tests.gui.result_stage import ResultStage, hover
from tests.scripts import run_script
from tests.small_models import write_small_gpt2

E = Subject("E")


@pytest.fixture
def stage(stage_of, small_gpt2):
    """The panel with a small GPT-2: 40 dimensions, 64 positions."""
    return stage_of("capture", small_gpt2(d_model=40))


def k(panel):
    return panel.controls.widgets["k"]


def plot(panel):
    return panel.content.painted[0].widget


def parts(panel):
    return panel.spec.plots(panel.view())


def write_tables(folder, P, E):
    """Write a small GPT-2 with these positions and tokens."""
    file = write_small_gpt2(folder, d_model=40) / "model.safetensors"
    tables = {"wpe.weight": P.astype(np.float32), "wte.weight": E.astype(np.float32)}
    save_file(load_file(file) | tables, file)
    return folder


def test_it_says_what_it_reads():
    assert CaptureOf(E).tensors() == tensors_of(E) == (("W_E", 0),)


def test_curve_and_chance_at_k_are_drawn_told_and_saved(panel):
    ((curve,), (chance,)) = plot(panel).curves, parts(panel)[0].rules
    assert (curve.y == panel.result.by_rank[29]).all()
    assert not panel.result.by_rank.flags.writeable
    assert (curve.x[0], curve.x[-1]) == (1, 40)
    assert (chance.at, chance.style) == (30 / 40, "dashed")
    values = panel.result.by_rank[29]
    assert panel.header.caption.text() == (
        "small · E, by P: all 64 positions, uncentred · chance 0.750 · "
        f"mean of the first 30: {values[:30].mean():.3f}, of the last 30: {values[-30:].mean():.3f}"
    )
    drawn = plot(panel)
    hover(drawn.viewport(), drawn.point_of(0, 11).toPoint())
    value = panel.result.by_rank[29, 11]
    said = f"E · j = 12 · captured {value:.3f} · {value / 0.75:.2f} × chance"
    assert drawn.hover_text() == said
    hover(panel, QPoint(2, 2))
    assert drawn.hover_text() == ""
    numbers = panel.numbers()
    assert (numbers["j"] == np.arange(1, 41)).all()
    assert (numbers["captured"] == panel.result.by_rank[29]).all()
    assert (numbers["chance"] == 0.75).all()


def test_moving_k_computes_nothing_new_and_another_panel_can_point_to_it(panel, stage):
    answer = stage.answer
    k(panel).slider.setFocus()
    QTest.keyClick(k(panel).slider, Qt.Key.Key_Left)
    assert k(panel).value == 29
    assert (plot(panel).curves[0].y == panel.result.by_rank[28]).all()
    assert parts(panel)[0].rules[0].at == 29 / 40
    assert stage.answer is answer
    assert "chance 0.725" in panel.header.caption.text()
    panel.configure(name="W_K", layer=1, k=5)
    assert stage.answer.question == CaptureOf(Subject("W_K", 1))
    assert (plot(panel).curves[0].y == panel.result.by_rank[4]).all()
    printed = run_script(stage.python())
    numbers = printed.partition("]")[0].strip("[ \n").split()
    np.testing.assert_allclose([float(n) for n in numbers], panel.result.by_rank[4], rtol=1e-6)
    assert "chance 0.125 random " in printed


def test_k_is_30_again_after_a_model_that_has_not_so_many(stage, small_gpt2):
    for width, value in ((16, 16), (40, 30)):
        stage.open(small_gpt2(d_model=width))
        assert k(stage.panel).value == value


def test_another_matrix_and_layer(panel, stage):
    assert not panel.controls.widgets["layer"].isEnabled()
    panel.controls.widgets["name"].setCurrentText("of W_Q")
    assert panel.controls.widgets["layer"].isEnabled()
    assert stage.answer.question == CaptureOf(Subject("W_Q", 0))
    panel.controls.widgets["layer"].setCurrentIndex(1)
    assert stage.answer.question == CaptureOf(Subject("W_Q", 1))
    assert "W_Q 1, input side, gain not folded" in panel.header.caption.text()
    assert plot(panel).curves[0].color == SERIES[LIGHT.name][2]
    panel.controls.widgets["layer"].setCurrentIndex(2)  # promised, and not there
    assert panel.words.message.isVisible()
    assert "not in this checkpoint" in panel.words.message.text()


def test_gpt2s_part_says_why_and_shows_what_it_has(stage_of, gpt2_folder):
    panel = stage_of("capture", gpt2_folder).panel
    assert panel.words.message.text() == "No token embeddings in this checkpoint."
    assert "Choose another matrix above." in panel.words.advice.text()
    panel.controls.widgets["name"].setCurrentText("of W_Q")
    assert panel.result is not None
    assert plot(panel).isVisible()


def test_the_band_is_that_of_one_random_direction_which_is_known(panel):
    panel.configure(k=10)
    (band,) = parts(panel)[0].bands
    wanted = beta.ppf((0.05, 0.95), 10 / 2, (40 - 10) / 2)
    np.testing.assert_allclose((band.low[0], band.high[0]), wanted, atol=0.025)
    numbers = panel.numbers()
    assert numbers["random_p5"][0] == band.low[0]
    assert "90 % of random directions" in panel.content.painted[0].readings.text()


def test_random_directions_keep_out_of_nobodys_way(panel, stage):
    panel.configure(k=10)
    found = panel.spec.finding(panel.view())
    assert found.outcome in ("does not hold", "as any smooth curve")
    assert panel.header.finding.text() == str(found)
    *_, numbers, outcome = run_script(stage.python()).splitlines()
    assert outcome == found.outcome
    null = panel.view().nulls.first
    mean = panel.result.by_rank[9][:30].mean()
    np.testing.assert_allclose([float(n) for n in numbers.split()], [mean, *null.band])


def test_directions_that_have_nothing_of_p_keep_out_of_its_way(stage, tmp_path):
    rng = np.random.default_rng(0)
    P, E = rng.standard_normal((64, 40)), rng.standard_normal((90, 40))
    P[:, 20:], E[:, :20] = 1e-3 * P[:, 20:], 1e-3 * E[:, :20]
    stage.open(write_tables(tmp_path / "apart", P, E))
    stage.panel.configure(k=15)
    found = stage.panel.spec.finding(stage.panel.view())
    assert found.outcome == "holds"
    assert stage.panel.header.finding.text().startswith("✓ holds: E's first 30 are captured at 0.")


def test_centring_takes_out_what_all_positions_have_in_common(stage, panel, tmp_path):
    rng = np.random.default_rng(0)
    common = rng.standard_normal(40)
    P, E = rng.standard_normal((64, 40)), rng.standard_normal((90, 40))
    stage.open(write_tables(tmp_path / "common", P + 20 * common, E + 20 * common))
    panel.configure(k=1)
    assert panel.result.by_rank[0, 0] > 0.9
    QTest.mouseClick(panel.controls.widgets["centred"], Qt.MouseButton.LeftButton)
    assert panel.result.by_rank[0, 0] < 0.3
    assert ", centred" in panel.header.caption.text()
    assert "Subject('P', centred=True)" in stage.python()
    run_script(stage.python())


def test_random_directions_wait_for_the_end_of_a_drag(qtbot, hand_jobs, small_gpt2):
    stage = ResultStage(qtbot, "capture", hand_jobs)
    stage.open(small_gpt2(d_model=40))
    hand_jobs.deliver(*hand_jobs.waiting)
    assert len(hand_jobs.waiting) == 1
    stage.session.dragging = True
    assert not hand_jobs.waiting
    stage.session.dragging = False
    hand_jobs.deliver(*hand_jobs.waiting)
    assert plot(stage.panel).bands
    stage.session.dragging = True
    assert plot(stage.panel).bands
    assert not hand_jobs.waiting
    stage.session.dragging = False
    assert plot(stage.panel).bands
    assert not hand_jobs.waiting
