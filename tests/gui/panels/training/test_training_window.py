"""Training in the whole window: the points of the viewport move, and come back."""

import threading

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor
from PySide6.QtTest import QTest

from geometry.history.helices import grow_helices
from gui.commands.application import Application
from gui.export.save_picture import PictureOptions
from gui.panels.training import question
from tests.gui.result_stage import LEFT
from tests.gui.training_stage import LAST, write_trained


@pytest.fixture
def trained(show_model, tmp_path, wait_until_idle) -> Application:
    application = show_model(write_trained(tmp_path / "tiny"))
    application.window.focus_on("training")
    wait_until_idle(application)
    assert application.session.timeline is not None
    return application


def points(application: Application) -> np.ndarray:
    return application.window.viewport.scene.displayed.copy()


@pytest.mark.slow
def test_scrubbing_moves_points_and_pictures(trained, wait_until_idle):
    window, session = trained.window, trained.session
    viewport, player = window.viewport, window.panels["training"].content.player
    before, pixel = points(trained), viewport.pixel_of(30)
    QTest.keyClick(player.slider, Qt.Key.Key_Home)
    wait_until_idle(trained)
    assert session.snapshot == 0
    np.testing.assert_array_equal(points(trained), session.timeline.coordinates[0])
    assert (viewport.pixel_of(30) - pixel).manhattanLength() > 20
    assert viewport.position_at(viewport.pixel_of(30)) is not None
    assert "as it was at step 0" in viewport.scene.state.caption[1]
    QTest.mouseClick(player.now, LEFT)
    wait_until_idle(trained)
    np.testing.assert_array_equal(points(trained), before)
    assert viewport.pixel_of(30) == pixel
    session.selection = (30,)
    session.snapshot = 2
    window.viewport.interactor.setFocus()
    QTest.keyClick(window.viewport.interactor, Qt.Key.Key_Escape)
    assert session.snapshot is None
    assert session.selection == (30,)
    QTest.keyClick(window.viewport.interactor, Qt.Key.Key_Escape)
    assert session.selection == ()
    session.snapshot = LAST - 1
    wait_until_idle(trained)
    plain = window.pictures.picture(PictureOptions(scale=1))
    session.selection = (30,)
    wait_until_idle(trained)
    marked = window.pictures.picture(PictureOptions(scale=1))
    session.snapshot = None
    wait_until_idle(trained)
    now = window.pictures.picture(PictureOptions(scale=1))
    accent = QColor(window.viewport.scene.theme.accent)
    assert plain != now
    # The ring alone is one thing, the way from the beginning to it is more.
    assert count(marked, accent) > count(now, accent) > count(plain, accent)


@pytest.mark.slow
def test_leaving_the_panel_shows_the_model_as_it_is(trained, wait_until_idle):
    window, session = trained.window, trained.session
    for leave in (lambda: window.focus_on("norms"), window.docks["training"].close):
        window.focus_on("training")
        wait_until_idle(trained)
        window.panels["training"].content.player.go_to(1)
        assert session.snapshot == 1
        leave()
        wait_until_idle(trained)
        assert session.snapshot is None
        np.testing.assert_array_equal(points(trained), session.curve.coordinates)


def test_escape_keeps_the_history(show_model, tmp_path, qtbot, wait_until_idle, monkeypatch):
    fitted, go_on, ended = [], threading.Semaphore(0), threading.Event()

    def slowly(*given):
        try:
            for helices in grow_helices(*given):
                fitted.append(helices)
                assert go_on.acquire(timeout=60)
                yield helices
        finally:
            ended.set()

    monkeypatch.setattr(question, "grow_helices", slowly)
    monkeypatch.setattr("gui.services.questions.REPORT_INTERVAL_S", 0.0)
    application = show_model(write_trained(tmp_path / "slow"))
    window, session = application.window, application.session
    window.focus_on("training")
    panel = window.panels["training"]
    go_on.release()
    qtbot.waitUntil(lambda: panel.result is not None and panel.strip.isVisible())
    assert panel.strip.message.text() == "Fitting helices…"
    shown = panel.result

    # Behind another tab it waits: the one in front is answered, and counted alone.
    window.focus_on("norms")
    assert session.jobs <= 1
    go_on.release()
    wait_until_idle(application)
    assert session.answers["norms"].state == "ready"
    assert len(fitted) <= 3
    waits_at = len(fitted)

    window.focus_on("training")
    window.viewport.interactor.setFocus()
    go_on.release()
    qtbot.waitUntil(lambda: len(fitted) > waits_at)  # by one, or by one more that was under way
    QTest.keyClick(window.viewport.interactor, Qt.Key.Key_Escape)
    go_on.release(100)
    assert ended.wait(60)
    assert session.answers["training"].state == "cancelled"
    assert panel.content.isVisible()
    assert panel.result.timelapse is shown.timelapse
    assert session.timeline is not None
    assert panel.strip.again.isVisible()
    QTest.mouseClick(panel.strip.again, LEFT)
    wait_until_idle(application)
    assert session.answers["training"].state == "ready"


def count(picture, color: QColor, within: int = 24) -> int:
    """How many pixels have nearly this colour."""
    image = picture.convertToFormat(picture.Format.Format_RGB888)
    flat = np.frombuffer(image.constBits(), np.uint8).reshape(image.height(), -1)
    pixels = flat[:, : 3 * image.width()].reshape(image.height(), -1, 3).astype(int)
    wanted = np.array([color.red(), color.green(), color.blue()])
    return int((np.abs(pixels - wanted).max(axis=2) <= within).sum())
