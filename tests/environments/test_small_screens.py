"""Starts on small screens, in other scales and sizes of text: the window is within the screen."""

import pytest
from PySide6.QtGui import QImage

from tests.environments.screens import x_screen
from tests.marks import slow_but

SCREENS = {
    "laptop at 125 %": ("1366x768x24", {"QT_SCALE_FACTOR": "1.25"}),
    "laptop with large text": ("1366x768x24", {"QT_FONT_DPI": "144"}),
    "full HD at 200 %": ("1920x1080x24", {"QT_SCALE_FACTOR": "2"}),
    "smallest": ("800x560x24", {}),
}


@pytest.mark.parametrize("name", slow_but(["smallest"], SCREENS))
def test_the_window_opens_within_the_screen(app, tmp_path, name):
    size, how = SCREENS[name]
    picture = tmp_path / "window.png"
    with x_screen(size) as screen:
        done = app.run("open", "sample", "--picture", picture, environment=screen | how)
    assert done.returncode == 0, done.stderr
    width, height = (int(one) for one in size.split("x")[:2])
    taken = QImage(str(picture))
    assert taken.width() <= width
    assert taken.height() <= height
