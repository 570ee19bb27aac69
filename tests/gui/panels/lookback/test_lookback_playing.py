"""What the look-back panel shows and plays in the view, through real events."""

import time

import numpy as np
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest

from gui.panels.kit.guiding import DURATION_MS
from gui.panels.kit.saved_choices import usable
from gui.panels.lookback.guide import LINES, MAX_POINTS, Carried
from gui.panels.lookback.question import LookBackOf
from gui.panels.lookback.spec import FIRST_LAG, NOT_SHOWN, TOO_POOR
from gui.services.questions import QuestionContext, resolve
from tests.gui.panels.lookback.lookback_stage import guide, press
from tests.gui.result_stage import LEFT


def test_every_position_is_carried_next_to_where_it_should_land(panel, stage):
    points = panel.result.back.coordinates
    motion = panel.result.back.found.motion(FIRST_LAG)
    shown = guide(stage)
    np.testing.assert_allclose(shown.points, motion.carry(points[FIRST_LAG:]))
    assert 20 < len(shown.segments) <= LINES
    tied = slice(None, None, -(-len(shown.points) // LINES))
    np.testing.assert_allclose(shown.segments[:, 0], shown.points[tied])
    np.testing.assert_allclose(shown.segments[:, 1], points[:-FIRST_LAG][tied])
    apart = np.linalg.norm(shown.segments[:, 0] - shown.segments[:, 1], axis=1)
    assert np.median(apart) < 0.3 * np.abs(points).max()
    assert f"moved {FIRST_LAG} back" in shown.caption
    (axis,) = shown.dashed
    screw = motion.screw
    along = (axis[1] - axis[0]) / np.linalg.norm(axis[1] - axis[0])
    assert abs(along @ screw.axis) == pytest.approx(1)
    panel.controls.number.slider.setValue(20)
    assert len(guide(stage).points) == 198 - 20


def test_components_that_are_not_moved_are_not_drawn(panel, stage):
    stage.session.components = (1, 2, 4)
    assert guide(stage) is None
    assert not panel.controls.play.isEnabled()
    assert NOT_SHOWN in panel.caption()
    QTest.mouseClick(panel.controls.widgets["space"].buttons["6"], LEFT)
    assert guide(stage).components == (1, 2, 4)
    moved = panel.result.back.found.motion(FIRST_LAG).carry(panel.result.back.coordinates[50:])
    np.testing.assert_allclose(guide(stage).points, moved[:, [0, 1, 3]])
    assert guide(stage).dashed == ()
    assert NOT_SHOWN not in panel.caption()


def test_a_poor_motion_is_described_and_drawn_only_while_it_plays(stage_of, write_table):
    rows = np.random.default_rng(0).normal(size=(120, 8))
    stage = stage_of("lookback", write_table(rows, "noise"))
    panel = stage.panel
    assert guide(stage) is None
    assert TOO_POOR in panel.caption()
    QTest.mouseClick(panel.controls.play, LEFT)
    assert len(guide(stage).points) == 119 - FIRST_LAG
    QTest.mouseClick(panel.controls.play, LEFT)
    assert guide(stage) is None


def test_guide_needs_the_front_and_its_box(panel, stage):
    panel.set_in_front(False)
    assert guide(stage) is None
    panel.set_in_front(True)
    assert guide(stage) is not None
    box = panel.controls.widgets["in_view"]
    QTest.mouseClick(box, LEFT, pos=QPoint(8, box.height() // 2))
    panel.controls.number.slider.setValue(20)
    assert guide(stage) is None
    QTest.mouseClick(box, LEFT, pos=QPoint(8, box.height() // 2))
    assert len(guide(stage).points) == 178


@pytest.mark.slow
@pytest.mark.parametrize("space", ["3", "6", "all"])
def test_playing_moves_the_positions_from_where_they_are(panel, stage, qtbot, space):
    QTest.mouseClick(panel.controls.widgets["space"].buttons[space], LEFT)
    start = panel.result.back.coordinates[FIRST_LAG:, :3]
    end = panel.result.back.found.motion(FIRST_LAG).carry(panel.result.back.coordinates[50:])
    shown = []
    watching = panel.guideRequested.connect(lambda one: shown.append(one.points))
    began = time.monotonic()
    press(panel.controls.number.slider, Qt.Key.Key_Space)
    assert panel.playback.is_playing
    assert panel.controls.play.sign == "pause"
    qtbot.waitUntil(lambda: not panel.playback.is_playing, timeout=20_000)
    panel.disconnect(watching)
    assert time.monotonic() - began >= DURATION_MS / 1000
    assert panel.controls.play.sign == "play"
    np.testing.assert_allclose(shown[0], start, atol=1e-9)
    np.testing.assert_allclose(shown[-1], end[:, :3], atol=1e-9)
    way = np.array([np.linalg.norm(points - start, axis=1).mean() for points in shown])
    assert len(way) > 3
    assert (way[1:-1] > 0).all()


def test_playing_ends_by_press_escape_or_hiding(panel, stage):
    end = guide(stage).points
    QTest.mouseClick(panel.controls.play, LEFT)
    assert np.abs(guide(stage).points - end).max() > 0.1
    QTest.mouseClick(panel.controls.play, LEFT)
    np.testing.assert_allclose(guide(stage).points, end)
    QTest.mouseClick(panel.controls.play, LEFT)
    press(panel.controls.number.slider, Qt.Key.Key_Escape)
    assert not panel.playback.is_playing
    np.testing.assert_allclose(guide(stage).points, end)
    QTest.mouseClick(panel.controls.play, LEFT)
    panel.controls.number.slider.setValue(20)
    assert panel.playback.is_playing
    assert len(guide(stage).points) == 178
    panel.configure(play=True)
    assert panel.playback.is_playing
    panel.controls.widgets["in_view"].setChecked(False)
    assert not panel.playback.is_playing
    assert panel.controls.play.sign == "play"
    assert guide(stage) is None
    panel.controls.widgets["in_view"].setChecked(False)
    QTest.mouseClick(panel.controls.play, LEFT)
    assert panel.controls.widgets["in_view"].isChecked()
    assert guide(stage) is not None
    panel.set_in_front(False)
    assert not panel.playback.is_playing
    assert guide(stage) is None


def test_another_model_ends_the_movement(panel, stage, write_table):
    QTest.mouseClick(panel.controls.play, LEFT)
    stage.open(write_table(np.eye(5), "short"))
    assert not panel.playback.is_playing
    assert guide(stage) is None


def test_what_cannot_move_does_not_play_and_whether_it_plays_is_not_saved(panel):
    panel.configure(space="heads")
    panel.configure(play=True)
    panel.configure(space="3")
    assert not panel.playback.is_playing
    assert not panel.choices.play
    panel.configure(play=True)
    assert panel.choices.play
    assert panel.options().keys() == {"lag", "space", "scoring", "head", "in_view"}
    assert usable(panel.spec, {"play": True, "lag": 7}, panel.session.model) == {"lag": 7}
    for wrong in ({"lag": 0}, {"lag": True}, {"head": -1}, {"head": 2}, {"space": ["3"]}):
        assert usable(panel.spec, wrong, panel.session.model) == {}


@pytest.mark.slow
def test_playing_moves_points_in_the_scene(application, qtbot, wait_until_idle):
    application.window.focus_on("lookback")
    wait_until_idle(application)
    panel, scene = application.window.panels["lookback"], application.window.viewport.scene

    def points():
        return np.array(scene.plotter.actors["guide points"].mapper.dataset.points)

    back, end, seen = panel.result.back, points(), []
    np.testing.assert_allclose(end, back.found.motion(50).carry(back.coordinates[50:]), atol=1e-4)
    watching = panel.guideRequested.connect(lambda _: seen.append(points()))
    QTest.mouseClick(panel.controls.play, LEFT)
    qtbot.waitUntil(lambda: not panel.playback.is_playing, timeout=20_000)
    panel.disconnect(watching)
    wait_until_idle(application)
    np.testing.assert_allclose(points(), end, atol=1e-4)
    moved = [np.abs(one - end).max() for one in seen]
    assert max(moved) > 0.5
    assert len({round(float(one), 4) for one in moved}) > 3


def test_of_many_positions_some_are_carried(open_table):
    t = np.linspace(0, 1, 3 * MAX_POINTS)
    model = open_table(np.column_stack([np.cos(20 * t), np.sin(20 * t), t]))
    found = resolve(LookBackOf((0, 3 * MAX_POINTS - 1), "3", "even_odd"), QuestionContext(model))
    guide = Carried(found, 7, (1, 2, 3)).at(1.0)
    assert len(guide.points) == 4094
    assert len(guide.segments) <= LINES
    apart = np.linalg.norm(guide.segments[:, 0] - guide.segments[:, 1], axis=1)
    assert apart.max() < 1e-6
