"""What the look-back panel shows and plays in the view, through real events."""

import time

import numpy as np
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest

from gui.panels.lookback_controls import FIRST_LAG, NOT_SHOWN
from gui.panels.lookback_play import DURATION_MS
from tests.gui.panels.lookback.lookback_stage import LEFT, guide, press


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
