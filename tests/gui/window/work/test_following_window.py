"""A training that is watched in the window, through real events: it writes, the window follows."""

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QWidget

from geometry.history.position_log import PositionLog
from gui.commands.application import WATCH_MS
from tests.geometry.history_stage import growing
from tests.gui.on_screen import put_on_screen
from tests.gui.result_stage import LEFT
from tests.gui.viewport_mouse import pose, wheel


def reach(log: PositionLog, step: int) -> None:
    log(step, growing([step])[0], loss=5 - step / 10_000)


@pytest.fixture
def log(tmp_path):
    made = PositionLog(tmp_path / "run")
    for step in (1000, 2000, 3000):
        reach(made, step)
    return made


def test_it_looks_often_enough():
    assert 2 * WATCH_MS < 3000


@pytest.mark.slow
def test_the_view_stays_while_steps_come(log, show_model, qtbot, wait_until_idle):
    application = show_model(log.file.parent)
    window, session = application.window, application.session
    window.focus_on("training")
    wait_until_idle(application)
    panel, viewport = window.panels["training"], window.viewport
    player = panel.content.player
    assert player.readout.text() == "step 3\N{THIN SPACE}000, running"
    session.change(positions=(3, 40))
    session.selection = (20,)
    wheel(viewport)
    wait_until_idle(application)
    there, drawn = pose(viewport), []
    session.events.answers.connect(lambda: drawn.append(panel.result is not None))
    put_on_screen(qtbot, QWidget(), active=True)  # nobody looks at the window
    reach(log, 4000)
    qtbot.waitUntil(lambda: session.model.name == "run · step 4000")
    qtbot.waitUntil(lambda: player.slider.maximum() == 3)
    wait_until_idle(application)
    np.testing.assert_array_equal(pose(viewport), there)
    assert (session.positions, session.selection) == ((3, 40), (20,))
    assert (player.slider.value(), session.snapshot) == (3, None)
    assert panel.result.history.steps.tolist() == [1000, 2000, 3000, 4000]
    assert np.isfinite(panel.result.helices.turns).all()
    assert "4 snapshots" in panel.caption()
    assert drawn  # until there is another one, the former result stays
    assert all(drawn)
    assert window.status_bar.training.text() == "step 4\N{THIN SPACE}000, running"
    # An earlier step stays, and its curve with it.
    QTest.keyClick(player.slider, Qt.Key.Key_Home)
    wait_until_idle(application)
    shown = viewport.scene.displayed.copy()
    reach(log, 5000)
    log.close()
    qtbot.waitUntil(lambda: player.slider.maximum() == 4)
    wait_until_idle(application)
    assert session.snapshot == 0
    np.testing.assert_array_equal(viewport.scene.displayed, shown)
    np.testing.assert_array_equal(pose(viewport), there)
    qtbot.waitUntil(lambda: session.training_state == "step 5\N{THIN SPACE}000, ended")
    QTest.mouseClick(player.now, LEFT)
    wait_until_idle(application)
    assert player.readout.text() == "step 5\N{THIN SPACE}000, ended"
    assert session.notice is None


@pytest.mark.slow
def test_a_curve_that_outgrows_the_view_is_framed_again(log, show_model, qtbot, wait_until_idle):
    application = show_model(log.file.parent)
    viewport = application.window.viewport
    assert viewport.camera.well_framed()
    log(4000, 50 * growing([4000])[0])
    qtbot.waitUntil(lambda: application.session.model.name == "run · step 4000")
    wait_until_idle(application)
    assert viewport.camera.well_framed()


@pytest.mark.slow
def test_the_window_waits_for_the_first_step(tmp_path, start_application, qtbot, wait_until_idle):
    folder = tmp_path / "run"
    folder.mkdir()
    application = start_application(folder)
    window, session = application.window, application.session
    assert window.empty_state.title.text() == "Waiting for the first step of run…"
    assert window.empty_state.isVisible()
    assert not window.notice_bar.isVisible()
    with PositionLog(folder) as log:
        reach(log, 0)
        qtbot.waitUntil(lambda: session.model is not None)
        wait_until_idle(application)
        assert not window.empty_state.isVisible()
        assert window.status_bar.training.text() == "step 0, running"
        reach(log, 1000)
        qtbot.waitUntil(lambda: session.model.name == "run · step 1000")
        wait_until_idle(application)


@pytest.mark.slow
def test_waiting_can_be_cancelled(tmp_path, start_application, wait_until_idle):
    folder = tmp_path / "run"
    folder.mkdir()
    application = start_application(folder)
    QTest.mouseClick(application.window.empty_state.cancel, LEFT)
    wait_until_idle(application)
    assert application.session.opening is None
    reach(PositionLog(folder), 0)
    application.controller.watch()
    wait_until_idle(application)
    assert application.session.model is None
