"""Training in the whole window: the points of the viewport move, and come back."""

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor
from PySide6.QtTest import QTest

from gui.commands.application import Application
from gui.export.save_picture import PictureOptions
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


def test_scrubbing_moves_points_and_pictures_and_now_and_escape_bring_them_back(
    trained, wait_until_idle
):
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
    session.snapshot = LAST - 2
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


def count(picture, color: QColor, within: int = 24) -> int:
    """How many pixels have nearly this colour."""
    image = picture.convertToFormat(picture.Format.Format_RGB888)
    flat = np.frombuffer(image.constBits(), np.uint8).reshape(image.height(), -1)
    pixels = flat[:, : 3 * image.width()].reshape(image.height(), -1, 3).astype(int)
    wanted = np.array([color.red(), color.green(), color.blue()])
    return int((np.abs(pixels - wanted).max(axis=2) <= within).sum())
