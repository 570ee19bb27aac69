"""The look-back panel through real events: choosing N, playing, heads, what it gives away."""

import subprocess
import sys
import time

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtTest import QTest
from safetensors.numpy import load_file, save_file

from geometry.lookback_range import look_back_range
from gui.panels.lookback import LookBackPanel
from gui.panels.lookback_controls import FIRST_LAG, NOT_SHOWN
from gui.panels.lookback_play import DURATION_MS
from gui.panels.lookback_question import HeadsLookBackOf, LookBackOf
from gui.theme import DARK, format_number
from tests.gui.result_stage import ResultStage, drag, write_small_gpt2

LEFT = Qt.MouseButton.LeftButton
NONE = Qt.KeyboardModifier.NoModifier


@pytest.fixture
def stage(qtbot) -> ResultStage:
    return ResultStage(qtbot, LookBackPanel, size=(1000, 280))


@pytest.fixture
def panel(stage, write_table):
    """The panel with the helix of 200 positions, 1–198 of them shown."""
    stage.open(write_table(), positions=(1, 198))
    return stage.panel


@pytest.fixture
def gpt2(tmp_path):
    """A small GPT-2 of random numbers with all that its heads need."""
    folder = write_small_gpt2(tmp_path / "small")
    tensors = load_file(folder / "model.safetensors")
    rng = np.random.default_rng(1)
    for layer in (0, 1):
        tensors[f"h.{layer}.attn.c_attn.bias"] = rng.normal(size=48).astype(np.float32)
    save_file(tensors, folder / "model.safetensors")
    return folder


@pytest.fixture
def noisy(stage, write_table, helix):
    """The panel with a helix that needs more than six components, 900 positions."""
    table = helix(900)
    stage.open(write_table(table + 0.05 * np.random.default_rng(0).standard_normal(table.shape)))
    return stage.panel


@pytest.fixture
def heads(stage, gpt2):
    """The panel with the heads of a small GPT-2."""
    stage.open(gpt2)
    QTest.mouseClick(stage.panel.space.buttons["heads"], LEFT)
    return stage.panel


def press(widget, key):
    widget.setFocus()
    QTest.keyClick(widget, key)


def lag_point(plot, lag: float) -> QPoint:
    middle = sum(plot.view.spans()[1]) / 2
    return plot.view.mapViewToScene(QPointF(lag, middle)).toPoint()


def guide(stage):
    return stage.session.guides.get("lookback")


def cursors(panel):
    return [plot.cursor_place().x() for plot in panel.plots.plots if plot.cursor_place()]


# What is shown.


def test_it_is_answered_for_the_shown_range_in_three_components(panel, model):
    assert panel.answered == LookBackOf((1, 198), "3", "even_odd")
    found = look_back_range(model.W_pos, (1, 198)).found
    at = found.index(FIRST_LAG)
    fits = {line.name: line.values for line in panel.plots._lines[panel.plots.fits]}
    assert list(fits) == ["rotation + shift", "shift alone", "rotation alone"]
    np.testing.assert_allclose(fits["rotation + shift"], found.r2["screw"])
    np.testing.assert_allclose(fits["shift alone"], found.r2["translation"])
    assert f"N = {FIRST_LAG}: R² {found.r2['screw'][at]:.3f}" in panel.header.caption.text()
    legend = panel.plots.legends[panel.plots.fits].text()
    assert legend.startswith(f"rotation + shift {found.r2['screw'][at]:.3f} · shift alone ")


def test_the_angle_grows_with_the_lag(panel):
    """The helix makes three turns over 200 positions."""
    angle, fitted = panel.plots._lines[panel.plots.angles]
    known = np.isfinite(angle.values)
    assert known.sum() > 100
    np.testing.assert_allclose(angle.values[known], fitted.values[known], atol=12)
    assert panel.result.turned.degrees_per_token == pytest.approx(360 * 3 / 199, rel=0.02)
    assert "° a token" in panel.plots.legends[panel.plots.angles].text()


def test_the_empty_state_says_what_it_will_show(stage):
    assert stage.panel.message.text().startswith("Open a model to see")
    for key in (Qt.Key.Key_Right, Qt.Key.Key_Space):
        QTest.keyClick(stage.panel, key)
    assert guide(stage) is None


def test_a_range_that_is_too_short(stage, write_table):
    stage.open(write_table(), positions=(5, 12))
    assert "9 positions or more" in stage.panel.message.text()
    assert "Show a longer range." in stage.panel.advice.text()
    assert guide(stage) is None


# Choosing N.


def test_slider_and_field_choose_a_lag(panel):
    before = cursors(panel)
    press(panel.lag.slider, Qt.Key.Key_Right)
    assert (panel.lag.value, panel.lag.slider.value()) == (51, 51)
    assert all(now > then for now, then in zip(cursors(panel), before, strict=True))
    panel.lag.field.setFocus()
    panel.lag.field.selectAll()
    QTest.keyClicks(panel.lag.field, "20")
    QTest.keyClick(panel.lag.field, Qt.Key.Key_Return)
    assert (panel.lag.value, panel.lag.slider.value()) == (20, 20)


def test_arrows_step_from_the_plots_too(panel):
    press(panel.plots.fits, Qt.Key.Key_Right)
    press(panel.plots.fits, Qt.Key.Key_Right)
    press(panel.plots.fits, Qt.Key.Key_Left)
    assert panel.lag.value == 51
    press(panel.plots.fits, Qt.Key.Key_Home)
    assert panel.lag.value == 1
    press(panel.plots.fits, Qt.Key.Key_Left)
    assert panel.lag.value == 1
    press(panel.plots.fits, Qt.Key.Key_End)
    assert panel.lag.value == panel.result.lags[-1]


@pytest.mark.parametrize("which", ["fits", "angles"])
def test_pressing_or_dragging_in_a_plot_goes_to_a_lag(panel, which):
    plot = getattr(panel.plots, which)
    QTest.mouseClick(plot.viewport(), LEFT, NONE, lag_point(plot, 30))
    assert panel.lag.value == pytest.approx(30, abs=1)
    drag(plot.viewport(), lag_point(plot, 30), lag_point(plot, 80))
    assert panel.lag.value == pytest.approx(80, abs=1)
    assert all(abs(x - lag_point(plot, 80).x()) <= 2 for x in cursors(panel)[:1]) or which != "fits"


def test_another_lag_asks_nothing(panel, stage):
    asked = []
    panel.asked.connect(lambda *question: asked.append(question))
    panel.lag.slider.setValue(10)
    panel.lag.slider.setValue(90)
    assert not asked


def test_numbers_follow_soon(panel, qtbot):
    panel.lag.slider.setValue(10)
    qtbot.waitUntil(lambda: "N = 10: " in panel.header.caption.text())
    r2 = panel.result.turned.found.r2["rotation"][9]
    assert panel.plots.legends[panel.plots.fits].text().endswith(f"rotation alone {r2:.3f}")


def test_a_shorter_range_holds_the_lag_only_while_it_is_shown(panel, stage):
    panel.lag.slider.setValue(100)
    stage.controller.request_positions(1, 40)
    assert panel.lag.value == panel.result.lags[-1] < 40
    stage.controller.request_positions(1, 198)
    assert panel.lag.value == 100


def test_the_range_is_asked_for_when_the_drag_is_over(panel, stage):
    stage.session.dragging = True
    stage.controller.request_positions(30, 150)
    assert panel.answered.positions == (1, 198)
    stage.session.dragging = False
    assert panel.answered.positions == (30, 150)


# Other spaces and scorings.


def test_scoring_and_space_are_part_of_the_question(panel):
    QTest.mouseClick(panel.scoring.buttons["halves"], LEFT)
    assert panel.answered == LookBackOf((1, 198), "3", "halves")
    assert "fitted on the first half" in panel.header.caption.text()
    QTest.mouseClick(panel.space.buttons["6"], LEFT)
    assert panel.answered == LookBackOf((1, 198), "6", "halves")
    assert panel.plots.legends[panel.plots.angles].text().startswith("plane 1 ")
    assert len(panel.plots._lines[panel.plots.angles]) == 3


def test_in_all_dimensions_there_are_no_angles(noisy):
    panel = noisy
    QTest.mouseClick(panel.space.buttons["all"], LEFT)
    k = panel.result.back.coordinates.shape[1]
    assert k > 6
    assert panel.result.back.variance_share >= 0.999
    assert panel.plots.legends[panel.plots.angles].text() == (
        f"in {k} dimensions there are {k // 2} angles"
    )
    assert "turns" not in panel.header.caption.text()


def test_where_lags_are_spread_a_step_goes_to_the_next(noisy):
    panel = noisy
    QTest.mouseClick(panel.space.buttons["all"], LEFT)
    lags = panel.result.lags
    wide = int(lags[-10])
    panel.go_to(wide + 1)
    assert panel.lag.value == wide
    press(panel.lag.slider, Qt.Key.Key_Right)
    assert panel.lag.value == lags[-9] > wide + 1
    press(panel.lag.slider, Qt.Key.Key_Left)
    assert panel.lag.value == wide


# The view.


def test_every_position_is_carried_next_to_where_it_should_land(panel, stage):
    points = panel.result.back.coordinates
    motion = panel.result.back.found.motion(FIRST_LAG)
    shown = guide(stage)
    np.testing.assert_allclose(shown.points, motion.carry(points[FIRST_LAG:]))
    np.testing.assert_allclose(shown.segments[:, 0], shown.points)
    np.testing.assert_allclose(shown.segments[:, 1], points[:-FIRST_LAG])
    apart = np.linalg.norm(shown.segments[:, 0] - shown.segments[:, 1], axis=1)
    assert np.median(apart) < 0.3 * np.abs(points).max()
    assert f"carried {FIRST_LAG} back" in shown.caption
    (axis,) = shown.dashed
    screw = motion.screw
    along = (axis[1] - axis[0]) / np.linalg.norm(axis[1] - axis[0])
    assert abs(along @ screw.axis) == pytest.approx(1)
    panel.lag.slider.setValue(20)
    assert len(guide(stage).points) == 198 - 20


def test_the_check_box_takes_it_out_of_the_view(panel, stage):
    QTest.mouseClick(panel.in_view, LEFT, pos=QPoint(8, panel.in_view.height() // 2))
    assert guide(stage) is None
    panel.lag.slider.setValue(20)
    assert guide(stage) is None
    QTest.mouseClick(panel.in_view, LEFT, pos=QPoint(8, panel.in_view.height() // 2))
    assert len(guide(stage).points) == 178


def test_components_that_are_not_moved_are_not_drawn(panel, stage):
    stage.session.components = (1, 2, 4)
    assert guide(stage) is None
    assert not panel.play.isEnabled()
    assert NOT_SHOWN in panel.header.caption.text()
    QTest.mouseClick(panel.space.buttons["6"], LEFT)
    assert guide(stage).components == (1, 2, 4)
    moved = panel.result.back.found.motion(FIRST_LAG).carry(panel.result.back.coordinates[50:])
    np.testing.assert_allclose(guide(stage).points, moved[:, [0, 1, 3]])
    assert guide(stage).dashed == ()
    assert NOT_SHOWN not in panel.header.caption.text()


def test_it_is_in_the_view_only_while_the_panel_is_in_front(panel, stage):
    panel.set_in_front(False)
    assert guide(stage) is None
    panel.set_in_front(True)
    assert guide(stage) is not None


@pytest.mark.parametrize("space", ["3", "6", "all"])
def test_playing_moves_the_positions_from_where_they_are(panel, stage, qtbot, space):
    QTest.mouseClick(panel.space.buttons[space], LEFT)
    start = panel.result.back.coordinates[FIRST_LAG:, :3]
    end = panel.result.back.found.motion(FIRST_LAG).carry(panel.result.back.coordinates[50:])
    shown = []
    panel.guideRequested.connect(lambda one: shown.append(one.points))
    began = time.monotonic()
    press(panel.lag.slider, Qt.Key.Key_Space)
    assert panel.way.is_playing
    assert panel.play.sign == "pause"
    qtbot.waitUntil(lambda: not panel.way.is_playing, timeout=20_000)
    assert time.monotonic() - began >= DURATION_MS / 1000
    assert panel.play.sign == "play"
    np.testing.assert_allclose(shown[0], start, atol=1e-9)
    np.testing.assert_allclose(shown[-1], end[:, :3], atol=1e-9)
    way = np.array([np.linalg.norm(points - start, axis=1).mean() for points in shown])
    assert len(way) > 3
    assert (way[1:-1] > 0).all()


def test_playing_ends_at_once_by_another_press_or_escape(panel, stage):
    end = guide(stage).points
    QTest.mouseClick(panel.play, LEFT)
    assert np.abs(guide(stage).points - end).max() > 0.1
    QTest.mouseClick(panel.play, LEFT)
    np.testing.assert_allclose(guide(stage).points, end)
    QTest.mouseClick(panel.play, LEFT)
    press(panel.lag.slider, Qt.Key.Key_Escape)
    assert not panel.way.is_playing
    np.testing.assert_allclose(guide(stage).points, end)


def test_playing_shows_it_and_ends_when_nobody_looks(panel, stage):
    panel.in_view.setChecked(False)
    QTest.mouseClick(panel.play, LEFT)
    assert panel.in_view.isChecked()
    assert guide(stage) is not None
    panel.set_in_front(False)
    assert not panel.way.is_playing
    assert guide(stage) is None


def test_another_model_ends_the_movement(panel, stage, write_table):
    QTest.mouseClick(panel.play, LEFT)
    stage.open(write_table(np.eye(5), "short"))
    assert not panel.way.is_playing
    assert guide(stage) is None


# Heads.


def test_heads_are_listed_with_the_lag_they_prefer(heads, stage):
    assert heads.answered == HeadsLookBackOf((1, 63), "even_odd")
    back = heads.result.back
    assert [row.position for row in heads.heads.rows] == [0, 1]
    lag = heads.lag.value
    for head, row in enumerate(heads.heads.rows):
        r2 = [side[head].r2["screw"][lag - 1] for side in (back.queries, back.keys)]
        assert row.cells == (str(head), str(back.preferred[head]), *map(format_number, r2))
    assert guide(stage) is None
    assert not heads.play.isEnabled()
    assert "head 0, N = " in heads.header.caption.text()


def test_a_click_shows_a_head(heads):
    table = heads.heads
    at = table.visualRect(table.model().index(1, 0)).center()
    QTest.mouseClick(table.viewport(), LEFT, NONE, at)
    queries, keys = heads.plots._lines[heads.plots.fits]
    np.testing.assert_allclose(queries.values, heads.result.back.queries[1].r2["screw"])
    np.testing.assert_allclose(keys.values, heads.result.back.keys[1].r2["screw"])
    assert "head 1, N = " in heads.header.caption.text()


def test_the_list_of_heads_follows_the_lag(heads, qtbot):
    before = heads.heads.rows
    heads.lag.slider.setValue(2)
    qtbot.waitUntil(lambda: heads.heads.rows != before)
    assert heads.heads.rows[0].cells[2] == format_number(
        heads.result.back.queries[0].r2["screw"][1]
    )


def test_a_bare_table_has_no_heads_but_positions(panel):
    QTest.mouseClick(panel.space.buttons["heads"], LEFT)
    assert "bare table" in panel.message.text()
    QTest.mouseClick(panel.space.buttons["3"], LEFT)
    assert panel.result is not None


# What can be taken away.


@pytest.mark.parametrize("space", ["3", "6", "all"])
def test_numbers_and_figure(noisy, stage, tmp_path, monkeypatch, space):
    panel = noisy
    QTest.mouseClick(panel.space.buttons[space], LEFT)
    numbers = np.load(stage.save(monkeypatch, "Save numbers…", tmp_path / "numbers.npz"))
    np.testing.assert_allclose(numbers["lag"], panel.result.lags)
    np.testing.assert_allclose(numbers["r2_screw"], panel.result.back.found.r2["screw"])
    angles = [name for name in numbers if name.endswith("_deg")]
    assert len(angles) == {"3": 2, "6": 3, "all": 0}[space]
    figure = panel.figure(panel.result)()
    assert len(figure.axes) == (1 if space == "all" else 2)
    assert figure.axes[0].get_ylim()[0] >= -0.6


def test_figure_and_numbers_of_heads(heads, stage, tmp_path, monkeypatch):
    numbers = np.load(stage.save(monkeypatch, "Save numbers…", tmp_path / "numbers.npz"))
    assert numbers["query_r2"].shape == (len(heads.result.lags), 2)
    np.testing.assert_array_equal(numbers["preferred_lag"], heads.result.back.preferred)
    labels = [text.get_text() for text in heads.figure(heads.result)().axes[0].get_legend().texts]
    assert labels == ["queries", "keys"]


@pytest.mark.parametrize("space", ["3", "all", "heads"])
def test_python_prints_what_is_shown(stage, gpt2, space):
    stage.open(gpt2)
    panel = stage.panel
    QTest.mouseClick(panel.space.buttons[space], LEFT)
    done = subprocess.run(
        [sys.executable, "-c", stage.python()], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    lag = panel.lag.value
    back = panel.result.back
    found = back.queries[1] if space == "heads" else back.found
    assert str(found.r2["screw"][found.index(lag)])[:9] in done.stdout


def test_themes_and_options(panel, stage):
    panel.set_theme(DARK)
    assert panel.plots.fits.curves[0].color == DARK.text
    panel.configure(lag=33, scoring="halves", play=True)
    assert panel.answered.scoring == "halves"
    assert panel.lag.value == 33
    assert panel.way.is_playing
    panel.configure(in_view=False)
    assert guide(stage) is None
    with pytest.raises(TypeError, match="no options"):
        panel.configure(wrong=1)


def test_gpt2(stage, gpt2_folder, qtbot):
    stage.open(gpt2_folder, positions=(100, 1022))
    panel = stage.panel
    assert "N = 50: R² 0.983, turns 33.5°" in panel.header.caption.text()
    QTest.mouseClick(panel.scoring.buttons["halves"], LEFT)
    assert "R² 0.942" in panel.header.caption.text()
    QTest.mouseClick(panel.space.buttons["heads"], LEFT)
    assert len(panel.heads.rows) == 12
    assert not panel.heads.isHidden()
