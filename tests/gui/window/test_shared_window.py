"""The window that tests share: each of them finds it as after a start."""

import numpy as np
import pytest
from PySide6.QtCore import QPoint
from PySide6.QtGui import QImage


def picture(window):
    """What the window shows around the curve, whose smooth still may come later, and the jobs."""
    image = window.grab().toImage().convertToFormat(QImage.Format.Format_RGB32)
    pixels = np.frombuffer(image.constBits(), np.uint8).reshape(image.height(), -1, 4).copy()
    room, view = window.viewport.rect(), window.viewport.mapTo(window, QPoint(0, 0))
    pixels[view.y() : view.y() + room.height(), view.x() : view.x() + room.width()] = 0
    return pixels[: window.status_bar.y()]


@pytest.mark.slow
def test_everything_is_undone(shared_window, application, wait_until_idle, write_table, helix):
    window, session, controller = application.window, application.session, application.controller
    wait_until_idle(application)
    before, built = picture(window), set(window.built_panels)
    pose = window.viewport.camera.place.pose
    fields = {name: getattr(session, name) for name in ("positions", "recent", "guides")}
    controller.open(str(write_table(helix(90, 16), "other")))
    wait_until_idle(application)
    controller.comparing.add(str(write_table(helix(120, 16), "beside")))
    application.choose_theme("dark")
    window.resize(1100, 700)
    for name in ("shape", "claims", "bookmarks"):
        window.focus_on(name)
    window.docks["models"].close()
    controller.request_positions(20, 50)
    controller.select((30, 40))
    session.components, session.sphere, session.measure = (2, 1, 3), True, True
    session.prompt = "hello adam"
    window.viewport.camera.view("xy")
    window.viewport.marquee.arm("box")
    window.commands.by_name["spin"].trigger()
    window.lesson_player.open()
    assert window.undo.undoes

    assert shared_window.get(wait_until_idle) is application
    assert not window.undo.undoes
    assert set(window.built_panels) == built
    assert {name: getattr(session, name) for name in fields} == fields
    assert application.settings.theme == "system"
    np.testing.assert_array_equal(picture(window), before)
    np.testing.assert_allclose(window.viewport.camera.place.pose.position, pose.position)
