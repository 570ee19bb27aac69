"""The training panel through real events: player, keys, plots, what it says and gives away."""

from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from geometry.models.sources.opening import open_model
from gui.panels.table import PANELS
from gui.panels.training.by_snapshot import places_of
from gui.panels.training.player import Player
from gui.plots.qt_painter import PaintedPlot
from gui.plots.spec import MAX_DOTS, Curve, Line
from gui.window.arrangement.result_docks import carry_out
from tests.geometry.history_stage import history_of, write_record
from tests.gui.gather_stage import write_checkpoints
from tests.gui.result_stage import LEFT, ResultStage, drag
from tests.gui.training_stage import LAST, STEPS, write_trained
from tests.scripts import run_script

MASS = "mass of 40 entries"


class TrainingStage(ResultStage):
    """The panel, which moves the session along the training."""

    def __init__(self, *of, **options) -> None:
        super().__init__(*of, **options)
        self.panel.intended.connect(lambda wanted: carry_out(wanted, self.controller))


@pytest.fixture(scope="module")
def trained(tmp_path_factory) -> Path:
    return write_trained(tmp_path_factory.mktemp("trained") / "tiny")


@pytest.fixture
def stage(stage_of, trained) -> TrainingStage:
    made = stage_of("training", trained, kind=TrainingStage, size=(1000, 300))
    made.panel.content.player.loop.setChecked(False)
    made.panel.setFocus()
    return made


def press(stage, key) -> None:
    QTest.keyClick(QApplication.focusWidget() or stage.panel, key)


def snapshot(stage) -> int | None:
    return stage.session.snapshot


def player_of(stage) -> Player:
    return stage.panel.content.player


def painted(stage, name) -> PaintedPlot:
    """The "share, R²", "norm", "turns" or "loss (nats)" against the step."""
    plots = stage.panel.content.plots.painted
    (found,) = [one for one in plots if one.widget.accessibleName() == f"{name} by step"]
    return found


def curves(stage, name) -> tuple[Curve, ...]:
    return painted(stage, name).widget.curves


def test_it_begins_with_the_model_as_it_is_and_keys_and_buttons_step(stage):
    player = player_of(stage)
    assert snapshot(stage) is None
    assert player.slider.value() == LAST
    assert player.readout.text() == "final model"
    assert not player.now.isEnabled()
    assert (player.first.text(), player.last.text()) == ("0", "3\N{THIN SPACE}000")
    keys = (("Left", LAST - 1), ("Right", LAST), ("Home", 0), ("Left", 0), ("End", LAST))
    for key, at in (*keys, ("Escape", None)):
        press(stage, Qt.Key[f"Key_{key}"])
        assert snapshot(stage) == at
    QTest.mouseClick(player.back, LEFT)
    QTest.mouseClick(player.back, LEFT)
    assert snapshot(stage) == LAST - 2
    QTest.mouseClick(player.on, LEFT)
    assert snapshot(stage) == LAST - 1
    assert player.readout.text().startswith("step 1\N{THIN SPACE}000 · loss ")
    QTest.mouseClick(player.now, LEFT)
    assert snapshot(stage) is None


def test_slider_scrubs_and_jumps(stage):
    slider = player_of(stage).slider
    middle = slider.rect().center()
    seen = []
    stage.session.events.snapshot.connect(seen.append)
    drag(slider, QPoint(slider.width() - 6, middle.y()), QPoint(6, middle.y()))
    assert snapshot(stage) == 0
    assert len(seen) > 1
    QTest.mouseClick(slider, LEFT, pos=QPoint(slider.width() // 2, slider.height() // 2))
    assert snapshot(stage) == LAST // 2
    QTest.mouseClick(slider, LEFT, pos=QPoint(2, slider.height() // 2))
    assert snapshot(stage) == 0


def test_space_plays_to_the_end_or_in_a_loop(stage, qtbot):
    player, seen = player_of(stage), []
    player.speed.setCurrentIndex(player.speed.count() - 1)
    stage.session.events.snapshot.connect(seen.append)
    press(stage, Qt.Key.Key_Space)
    assert player.playing
    assert player.play.sign == "pause"
    qtbot.waitUntil(lambda: not player.playing, timeout=20_000)
    assert seen == list(range(LAST + 1))
    assert player.play.sign == "play"
    assert snapshot(stage) == LAST
    # In a loop it begins again.
    seen.clear()
    QTest.mouseClick(player.loop, LEFT, pos=QPoint(8, player.loop.height() // 2))
    QTest.mouseClick(player.play, LEFT)
    qtbot.waitUntil(lambda: seen.count(0) == 2, timeout=20_000)
    assert seen[: LAST + 2] == [*range(LAST + 1), 0]
    QTest.mouseClick(player.play, LEFT)
    assert not player.playing


def test_escape_and_leaving_end_playing(stage, qtbot):
    press(stage, Qt.Key.Key_Space)
    press(stage, Qt.Key.Key_Escape)
    assert not player_of(stage).playing
    assert snapshot(stage) is None
    press(stage, Qt.Key.Key_Space)
    stage.panel.set_in_front(False)
    assert snapshot(stage) is None
    assert not player_of(stage).playing


def test_scrubbing_asks_nothing_and_arrow_keys_in_a_plot_step(stage):
    asked = []
    stage.panel.asked.connect(lambda *what: asked.append(what))
    for _ in range(4):
        press(stage, Qt.Key.Key_Left)
    assert snapshot(stage) == LAST - 4
    assert asked == []
    plot = painted(stage, "norm").widget
    plot.setFocus()
    QTest.keyClick(plot, Qt.Key.Key_Left)
    assert snapshot(stage) == LAST - 5


def marked(stage, plot, qtbot, step):
    """Go to a step; the place of the cursor that follows, a few frames later."""
    before = plot.cursor_place()
    stage.session.snapshot = step
    qtbot.waitUntil(lambda: plot.cursor_place() not in (None, before))
    return plot.marker_point().toPoint()


def test_a_press_and_a_drag_in_a_plot_scrub_and_the_cursor_follows(stage, qtbot):
    plot = painted(stage, "share, R²").widget
    at = marked(stage, plot, qtbot, 2)
    to = marked(stage, plot, qtbot, 5)
    assert plot.cursor_place().x() == pytest.approx(to.x(), abs=1)
    QTest.mouseClick(plot.viewport(), LEFT, pos=at)
    assert snapshot(stage) == 2
    qtbot.waitUntil(lambda: abs(plot.cursor_place().x() - at.x()) <= 1)
    for other in ("norm", "turns"):
        assert painted(stage, other).widget.cursor_place() is not None
    drag(plot.viewport(), at, to)
    assert snapshot(stage) == 5
    stage.session.snapshot = None
    qtbot.waitUntil(lambda: plot.cursor_place() is None)


def test_the_first_step_can_be_gone_to_in_a_plot(stage, qtbot, tmp_path):
    """Step 0 stands at less than 1 on the axis."""
    stage.open(write_trained(tmp_path / "early", [0, 1, 10, 100, 3000]))
    plot = painted(stage, "share, R²").widget
    at = marked(stage, plot, qtbot, 0)
    marked(stage, plot, qtbot, 3)
    QTest.mouseClick(plot.viewport(), LEFT, pos=at)
    assert snapshot(stage) == 0


def test_plots_and_helices_only_where_there_are(stage):
    timeline = stage.session.timeline.timelapse
    top3, frozen, r2 = curves(stage, "share, R²")
    np.testing.assert_array_equal(top3.y, timeline.top3)
    np.testing.assert_array_equal(frozen.y, timeline.frozen_variance_ratio)
    np.testing.assert_array_equal(r2.y, stage.panel.result.helices.r2)
    assert r2.y[-1] > 0.9 > r2.y[0]
    np.testing.assert_array_equal(top3.x, places_of(np.array(STEPS)))
    assert top3.x[0] == 5.0  # step 0, left of step 10
    helices = stage.panel.result.helices
    shaped = helices.r2 >= 0.5
    assert shaped[-1]
    assert not shaped[0]
    drawn = np.concatenate([curve.y for curve in curves(stage, "turns")])
    np.testing.assert_array_equal(drawn, helices.turns[shaped])
    riddle = stage.panel.result.riddle
    assert riddle.supports
    said = stage.panel.content.verdict.text().replace("\n", " ")
    assert said == f"The last position never learns: supported. {riddle.why}"


def test_selected_norms_and_legend_at_the_cursor(stage, qtbot):
    norms, before = stage.session.timeline.timelapse.norms, len(curves(stage, "norm"))
    stage.session.selection = (3, 20)
    assert len(curves(stage, "norm")) == before + 2
    np.testing.assert_array_equal(curves(stage, "norm")[2].y, norms[:, 20])
    assert curves(stage, "norm")[2].color == stage.panel.theme.accent
    assert "20" in painted(stage, "norm").readings.text()
    legend = painted(stage, "norm").readings
    stage.session.snapshot = 1
    norm = stage.panel.result.riddle.norms[1]
    qtbot.waitUntil(lambda: f"47 {norm:.2f}" in legend.text())
    qtbot.waitUntil(lambda: legend.accessibleName() == legend.text(), timeout=20_000)


def test_words_stand_in_place_of_axes_without_a_curve(stage):
    for name, drawn in ((MASS, False), ("norm", True)):
        plot = painted(stage, name)
        assert bool(plot.part.curves) is drawn
        assert plot.widget.isVisibleTo(plot) is drawn
        assert plot.readings.isVisibleTo(plot) is drawn
        assert plot.nothing.isVisibleTo(plot) is not drawn
        assert bool(plot.nothing.text()) is not drawn


def test_plots_share_the_room_or_a_place(stage, qtbot):
    panel, third = stage.panel, stage.panel.controls.widgets["third"]
    panel.resize(1500, 300)
    qtbot.waitUntil(painted(stage, "loss (nats)").isVisible, timeout=20_000)
    assert painted(stage, "turns").isVisible()
    assert painted(stage, MASS).isVisible()
    assert not third.isVisible()
    panel.resize(900, 300)
    qtbot.waitUntil(third.isVisible, timeout=20_000)
    assert not painted(stage, "loss (nats)").isVisible()
    turns, loss = painted(stage, "turns"), painted(stage, "loss (nats)")
    assert turns.isVisible()
    QTest.mouseClick(stage.panel.controls.widgets["third"].buttons["loss"], LEFT)
    assert loss.isVisible()
    assert not turns.isVisible()
    np.testing.assert_allclose(loss.widget.curves[0].y, np.linspace(7, 3, len(STEPS)), atol=1e-6)


def test_sparsity_beside_random_directions(stage, tmp_path, qtbot):
    assert painted(stage, MASS).readings.text() == "its rows have at most 40 entries"
    wide = [np.zeros((48, 80), "f4") for _ in STEPS]
    for k, table in enumerate(wide):
        # Three directions of equal entries: in all 80 at first, in 40 from the middle on.
        held = 80 if k < 3 else 40
        for row, strength in enumerate((3.0, 2.0, 1.0)):
            signs = np.where((np.arange(held) >> row) % 2, -1.0, 1.0)
            table[row, :held] = strength * signs / np.sqrt(held)
    stage.open(write_trained(tmp_path / "sparse", d=80, positions=np.array(wide, np.float32)))
    QTest.mouseClick(stage.panel.controls.widgets["third"].buttons["sparsity"], LEFT)
    plot = painted(stage, MASS)
    qtbot.waitUntil(plot.isVisible, timeout=20_000)
    (mass,) = plot.widget.curves
    np.testing.assert_allclose(mass.y, [0.5] * 3 + [1.0] * 4, atol=1e-6)
    (band,) = plot.widget.bands
    low, _, high = stage.panel.result.sparse.turned.band
    assert 0.5 < low < high < 1.0
    assert (band.low[0], band.high[0]) == (low, high)
    assert plot.readings.text().startswith("first 3 directions 100")
    assert "90 % of random" in plot.readings.text()


def test_a_line_does_not_cross_what_is_unknown():
    line = Line("x", np.array([np.nan, 1.0, 2.0, np.nan, 3.0]), "#000000")
    assert [curve.y.tolist() for curve in line.curves(np.arange(5))] == [[1, 2], [3]]
    assert (line.text_at(0), line.text_at(1)) == ("–", "1.00")


def test_a_line_crosses_what_was_not_measured():
    values = np.array([np.nan, 1.0, np.nan, 2.0, np.nan, 3.0])
    line = Line("x", values, "#000000", measured=np.array([1, 1, 0, 1, 1, 1], np.bool_))
    first, second = line.curves(np.arange(6.0), dots=True)
    assert (first.x.tolist(), first.y.tolist()) == ([1, 3], [1, 2])
    assert (second.x.tolist(), second.y.tolist()) == ([5], [3])
    assert first.dots
    many = np.arange(MAX_DOTS + 1.0)
    assert not any(curve.dots for curve in Line("x", many, "#000000").curves(many, dots=True))


def test_a_model_without_a_history_says_what_has_one(stage, write_table):
    press(stage, Qt.Key.Key_Left)
    stage.open(write_table())
    assert stage.panel.words.isVisible()
    assert "no training history" in stage.panel.words.message.text()
    assert not stage.panel.words.button.isVisible()  # to try again would not help
    assert stage.session.timeline is None
    assert "sample" in stage.panel.words.advice.text()
    assert not stage.panel.content.checkpoints.isVisible()
    assert snapshot(stage) is None
    press(stage, Qt.Key.Key_Space)
    assert not player_of(stage).playing


def test_another_range_is_asked_for_with_the_same_history(stage):
    asked, history, before = [], stage.session.history, stage.panel.result
    stage.panel.asked.connect(lambda question, _: asked.append(question))
    stage.session.positions = (5, 40)
    assert [(one.positions, one.given) for one in asked] == [((5, 40), None)]
    assert stage.session.history is history
    assert stage.session.timeline.positions == (5, 40)
    assert stage.panel.result is not before
    assert stage.panel.result.sparse is before.sparse, "it is measured once for all ranges"


def test_a_history_that_grows_is_read_anew_as_a_whole(stage, tmp_path):
    """A training run writes a longer one while the panel shows the old one."""
    folder = write_trained(tmp_path / "growing")
    stage.open(folder)
    assert stage.session.history.steps.tolist() == STEPS
    player_of(stage).slider.setValue(LAST - 1)
    grown = [*STEPS, 4000, 5000]
    write_record(folder / "new", grown).replace(folder / "history.safetensors")
    assert stage.session.timeline.history.steps.tolist() == STEPS
    stage.session.positions = (5, 40)
    assert stage.session.notice is None
    assert stage.session.history.steps.tolist() == grown
    assert stage.session.timeline.timelapse.steps.tolist() == grown
    assert stage.session.snapshot == LAST - 1
    assert player_of(stage).slider.maximum() == len(grown) - 1


def test_a_gathered_history_takes_the_place_of_the_one_that_is_here(stage):
    steps = [0, 500, 1000, 1500, 2000, 2500, 3000, 3500]
    stage.session.gathered = gathered = history_of(steps)
    assert stage.answer.question.given is gathered
    assert "that were fetched" in stage.panel.python()
    assert stage.session.timeline.history is gathered
    assert player_of(stage).slider.maximum() == len(steps) - 1


def test_checkpoints_of_a_folder_play_and_others_can_be_chosen(stage, tmp_path):
    stage.open(write_checkpoints(tmp_path / "run", [0, 100, 200, 400]))
    body = stage.panel.content
    assert stage.session.history.steps.tolist() == [0, 100, 200, 400]
    assert body.plots.isVisible()
    assert body.checkpoints.isVisible()
    QTest.mouseClick(body.checkpoints, LEFT)
    assert body.download.isVisible()
    assert not body.plots.isVisible()
    QTest.mouseClick(body.checkpoints, LEFT)
    assert body.plots.isVisible()


def test_figure_and_numbers_of_snapshots(stage, monkeypatch, tmp_path):
    stage.session.selection = (20,)
    stage.session.snapshot = 3
    figure = stage.panel.figure()()
    assert len(figure.axes) == 4  # its rows are too short for sparsity
    names = [text.get_text() for text in figure.axes[1].get_legend().get_texts()]
    assert names == ["47", "39–46", "20", "decay only"]
    assert len({axes.get_xlim() for axes in figure.axes}) == 1  # turns are known late
    assert "supported" in figure.axes[0].texts[0].get_text()
    path = stage.save(monkeypatch, "Save numbers…", tmp_path / "numbers.csv")
    lines = path.read_text("utf-8").splitlines()
    rows = [line for line in lines if not line.startswith("#")]
    assert len(rows) == len(STEPS) + 1
    wanted = {"step", "tokens", "loss", "variance_top3", "last_norm", "norm_20", "helix_r2"}
    assert wanted | {"mass_top40", "turned_mass_top40_p5"} <= set(rows[0].split(","))


def test_the_python_prints_the_same_and_the_basis_is_chosen(stage):
    first, *_, last, random = run_script(stage.python()).splitlines()
    assert float(first.split()[1]) == pytest.approx(
        stage.session.timeline.timelapse.top3[0], abs=1e-9
    )
    assert "True" in last
    assert random == "mass at random: " + " ".join(map(str, stage.panel.result.sparse.turned.band))
    QTest.mouseClick(stage.panel.controls.widgets["basis"].buttons["aligned"], LEFT)
    assert stage.session.basis == "aligned"
    assert stage.session.timeline.basis == "aligned"


def test_the_switches_are_of_use_only_where_there_may_be_a_history():
    spec = PANELS["training"].spec
    assert spec.concerns(open_model("sample"))
    assert not spec.concerns(open_model("sinusoidal"))
