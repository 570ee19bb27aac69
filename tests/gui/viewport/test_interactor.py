"""What VTK has rendered comes to the screen whole, by the short way as by pyvistaqt's."""

import numpy as np
import pytest
import pyvista as pv
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QMainWindow

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
