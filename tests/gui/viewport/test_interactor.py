"""The native widgets of the viewport: what VTK has rendered comes to the screen whole."""

import gc
import sys

import numpy as np
import pytest
import pyvista as pv
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication, QImage, QSurface
from PySide6.QtWidgets import QDialog, QMainWindow

from gui.viewport.interactor import Interactor

BACKGROUND = (51, 85, 119)


@pytest.fixture
def shown(qtbot):
    window = QMainWindow()
    interactor = Interactor(window)
    interactor.set_background(pv.Color(BACKGROUND))
    interactor.add_mesh(pv.Sphere(), color="red")
    window.setCentralWidget(interactor)
    window.resize(320, 240)
    frames = []
    interactor.frameSwapped.connect(lambda: frames.append(True))
    with qtbot.waitExposed(window):
        window.show()
    qtbot.waitUntil(lambda: bool(frames))
    yield interactor
    interactor.close()
    interactor._forget_context()
    window.close()


def pixels(interactor):
    image = interactor.grabFramebuffer().convertToFormat(QImage.Format.Format_RGB888)
    rows = np.frombuffer(image.constBits(), dtype=np.uint8).reshape(image.height(), -1)
    return rows[:, : 3 * image.width()].reshape(image.height(), image.width(), 3).copy()


def test_the_short_way_shows_what_the_long_one_does_in_each_size(shown, qtbot):
    assert not shown.ren_win.GetSwapBuffers(), "the first frame is there"
    short = pixels(shown)
    assert not shown.ren_win.GetSwapBuffers()
    shown.ren_win.SwapBuffersOn()
    np.testing.assert_array_equal(pixels(shown), short)
    height, width, _ = short.shape
    assert (short[height // 2, width // 2] != BACKGROUND).any()
    for width, height in ((401, 303), (200, 120)):
        shown.window().resize(width, height)
        qtbot.waitUntil(lambda: shown.ren_win.GetSize() == (shown.width(), shown.height()))
        picture = pixels(shown)
        assert picture.shape[:2] == (height, width)
        for edge in (picture[0], picture[-1], picture[:, 0], picture[:, -1]):
            assert (edge == BACKGROUND).all()


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
