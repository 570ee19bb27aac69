"""From checkpoints on a Hub to a curve that moves, in the whole window."""

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from tests.gui.conftest import TIMEOUT_MS
from tests.gui.gather_stage import NAME, STEPS, serve_checkpoints, write_checkpoints

LEFT = Qt.MouseButton.LeftButton


@pytest.fixture
def hub(loopback_hub, tmp_path):
    return serve_checkpoints(loopback_hub, tmp_path / "made")


@pytest.fixture
def show(show_model, wait_until_idle):
    """Open a source in the window, with the training panel in front."""

    def shown(source):
        application = show_model(source)
        application.window.focus_on("training")
        wait_until_idle(application)
        return application

    return shown


def test_twenty_revisions_on_the_hub_become_a_curve_that_moves(hub, show, qtbot, wait_until_idle):
    application = show(NAME)
    session, body = application.session, application.window.panels["training"].content
    assert body.download.isVisible()
    assert not body.checkpoints.isVisible()
    QTest.mouseClick(body.download.button, LEFT)
    qtbot.waitUntil(lambda: session.gathering is not None and session.gathering.plan is not None,
                    timeout=TIMEOUT_MS)  # fmt: skip
    hub.forget_requests()
    QTest.mouseClick(body.download.button, LEFT)
    qtbot.waitUntil(lambda: session.timeline is not None, timeout=TIMEOUT_MS)
    wait_until_idle(application)
    assert session.history.steps.tolist() == STEPS
    assert body.plots.isVisible()
    assert body.checkpoints.isVisible()
    hub.forget_requests()
    for snapshot in (0, 7, 19):
        body.player.go_to(snapshot)
        wait_until_idle(application)
        shown = application.window.viewport.scene.displayed
        np.testing.assert_array_equal(shown, session.timeline.coordinates[snapshot])
    assert hub.requests == []  # scrubbing asks nobody


def test_fewer_checkpoints_of_a_folder_take_the_place_of_all(
    show, tmp_path, qtbot, wait_until_idle
):
    application = show(write_checkpoints(tmp_path / "run", [0, 100, 200, 400, 800]))
    session, body = application.session, application.window.panels["training"].content
    assert session.history.n_snapshots == 5
    QTest.mouseClick(body.checkpoints, LEFT)
    QTest.mouseClick(body.download.button, LEFT)
    qtbot.waitUntil(lambda: session.gathering is not None and session.gathering.plan is not None,
                    timeout=TIMEOUT_MS)  # fmt: skip
    body.download.count.setValue(3)
    QTest.mouseClick(body.download.button, LEFT)
    qtbot.waitUntil(lambda: session.timeline.n_snapshots == 3, timeout=TIMEOUT_MS)
    wait_until_idle(application)
    assert body.plots.isVisible()
    assert not body.checkpoints.isChecked()
    assert body.player.slider.maximum() == 2
