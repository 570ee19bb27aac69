"""The native window of the viewport, on the real screen."""

import gc
import sys

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication, QImage, QSurface
from PySide6.QtWidgets import QDialog


def screen():
    """Return what is on the screen, (height, width, 3), windows of all kinds included."""
    shot = QGuiApplication.primaryScreen().grabWindow(0).toImage()
    shot = shot.convertToFormat(QImage.Format.Format_RGB32)
    pixels = np.frombuffer(shot.constBits(), np.uint8)
    return pixels.reshape(shot.height(), shot.bytesPerLine() // 4, 4)[:, :, :3].copy()


def covered():
    """Count the pixels in the colour of the test's dialog, which nothing of ours has."""
    return int((screen() == (254, 0, 255)).all(axis=2).sum())  # blue, green, red


def test_a_closed_dialog_leaves_no_ghost(application, qtbot):
    window = application.window
    window.move(0, 0)
    dialog = QDialog(window)
    dialog.setStyleSheet("background: #ff00fe")
    # Over a panel, the viewport, and what is between them.
    dialog.setGeometry(100, 100, window.width() // 2, 300)
    dialog.show()
    qtbot.waitUntil(lambda: covered() > 100_000, timeout=20_000)
    dialog.close()
    dialog.deleteLater()
    qtbot.waitUntil(lambda: covered() == 0, timeout=20_000)


@pytest.mark.skipif(sys.platform != "linux", reason="the stage is a native window on X11 only")
def test_only_the_stage_is_drawn_by_opengl(application):
    stage = application.window.grid.parentWidget()
    assert stage.testAttribute(Qt.WidgetAttribute.WA_NativeWindow)
    assert stage.windowHandle().surfaceType() == stage.windowHandle().SurfaceType.OpenGLSurface
    frame = application.window.windowHandle()
    assert frame.surfaceType() == frame.SurfaceType.RasterSurface


@pytest.mark.slow
def test_a_closed_view_refers_to_no_surface(application, write_table, helix, settle):
    def surfaces():
        gc.collect()
        return sum(type(one) is QSurface for one in gc.get_objects())

    before = surfaces()
    key = application.controller.comparing.add(str(write_table(helix(60, 8), "other")))
    settle()
    viewport = application.window.grid.cells[key].viewport
    assert surfaces() == before + 1
    application.controller.comparing.remove(key)
    # What Qt makes next at the address of a surface that is gone would be taken for it.
    assert surfaces() == before
    assert not viewport.isVisible()
