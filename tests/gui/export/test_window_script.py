"""The whole window as Python: the script, run in a fresh interpreter, shows the same."""

import numpy as np
import pytest
from PIL import Image
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest

from gui.export.grid_picture import picture_of_viewport
from gui.export.save_picture import PictureOptions
from gui.export.window_script import SCALE, Sight, script
from gui.services.controller import Controller
from gui.services.jobs.jobs import InlineJobs
from gui.state.camera import CameraPose
from gui.state.session import Compared, Session
from gui.window.copy_window import window_script

SIGHT = Sight(
    CameraPose(np.array([3.0, 3.0, 2.0]), np.zeros(3), np.array([0.0, 0.0, 1.0]), 2.0),
    (320, 240),
    "dark",
)


@pytest.fixture
def run(run_python, tmp_path):
    """Run a script in a fresh interpreter, its pictures into a folder of the test's own."""

    def run_script(text: str) -> list[str]:
        out = repr(str(tmp_path)) + " + '/' + "
        return run_python(text.replace("Path('", f"Path({out}'")).splitlines()

    return run_script


def pixels(image) -> np.ndarray:
    image = image.convertToFormat(image.Format.Format_RGB888)
    lines = np.frombuffer(image.constBits(), np.uint8).reshape(image.height(), -1)
    return lines[:, : 3 * image.width()].reshape(image.height(), image.width(), 3).astype(int)


def read(path) -> np.ndarray:
    with Image.open(path) as picture:
        return np.array(picture.convert("RGB")).astype(int)


def test_the_copied_script_draws_the_same_picture(
    application, qtbot, run, tmp_path, wait_until_idle
):
    window, session = application.window, application.session
    session.change(
        selection=(20, 21), color_by="norm", outside="faint", prompt="hello my name",
        components=(2, 1, 3), sphere=True, colormap="viridis", projection="parallel",
    )  # fmt: skip
    session.positions = (4, 120)
    window.commands.by_name["theme_dark"].trigger()
    wait_until_idle(application)
    window.viewport.camera.view("isometric")
    wait_until_idle(application)
    window.viewport.camera.zoom(1.4)
    wait_until_idle(application)
    window.activateWindow()
    qtbot.waitUntil(window.isActiveWindow)
    QTest.keyClick(
        window,
        Qt.Key.Key_C,
        Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.AltModifier,
    )
    assert session.status == "Copied the window as Python"
    copied = QGuiApplication.clipboard().text()
    printed = run(copied)
    words = printed[0].partition("(")
    assert words[0].strip() == "tiny-gpt2"
    assert "(4, 120) (2, 1, 3)" in printed[0]
    rows = np.array([[float(x) for x in line.split()] for line in printed[1:201]])
    np.testing.assert_allclose(rows[:, 1:4], session.curve.coordinates, atol=1e-9)
    np.testing.assert_allclose(rows[:, 4], session.norms.values, rtol=1e-12)
    expected = pixels(window.pictures.picture(PictureOptions(scale=SCALE)))
    drawn = read(tmp_path / "tiny-gpt2.png")
    assert drawn.shape == expected.shape
    assert np.abs(drawn - expected).max() <= 3


def test_the_panel_in_front_comes_too(application, wait_until_idle):
    application.window.bring("shape")
    wait_until_idle(application)
    text = window_script(application.window)
    assert "\n# Shape\n" in text
    assert text.count("open_model(") == 1
    compile(text, "copied", "exec")


def test_what_is_usual_is_left_out(opened):
    text = script(opened, SIGHT)
    assert "session." not in text
    opened.selection = (5,)
    assert "session.selection = (5,)" in script(opened, SIGHT)


def test_models_beside_it_get_pictures_of_their_own(opened, write_table, helix, run, tmp_path):
    other = Session()
    controller = Controller(other, InlineJobs())
    path = str(write_table(helix(90, 16, 3), "other"))
    controller.open(path, positions=(0, 60))
    opened.compared = (
        Compared(1, path, "other", other), Compared(2, "later", "later", Session()),
    )  # fmt: skip
    printed = run(script(opened, SIGHT))
    controller.close()
    assert len(printed) == 1 + 200 + 1 + 90
    assert "(0, 60)" in printed[201]
    first, second = read(tmp_path / "helix.png"), read(tmp_path / "other 1.png")
    assert first.shape == second.shape == (480, 640, 3)
    assert np.abs(first - second).max() > 100


def test_a_snapshot_of_the_training(session, run, tmp_path):
    from geometry.history.here import history_here
    from geometry.models.sources import open_source
    from gui.export.pictures import render_scene
    from gui.export.timelapse_film import make_lapse
    from gui.scene.scene_state import resolve_scene
    from gui.style.theme import THEMES
    from tests.geometry.history_stage import growing, write_checkpoint, write_record

    steps = [0, 10, 100]
    folder = write_checkpoint(tmp_path / "trained", growing(steps)[-1])
    write_record(folder / "history.safetensors", steps)
    model = open_source(folder)
    shown = make_lapse(model, history_here(model), "aligned")
    shown.snapshot = 1
    text = script(shown, SIGHT)
    assert "index(10)" in text
    run(text)
    expected = render_scene(
        resolve_scene(shown), THEMES["dark"], SIGHT.pose, SIGHT.size, scale=SCALE
    )
    assert np.abs(read(tmp_path / "trained.png") - expected.astype(int)).max() <= 3


def test_views_side_by_side_are_drawn_as_they_are(
    application, run, tmp_path, write_table, helix, wait_until_idle
):
    window, session = application.window, application.session
    path = str(write_table(helix(120, 16, 3), "other"))
    key = application.controller.comparing.add(path)
    session.change(color_by="norm", selection=(20, 30), measure=True)
    wait_until_idle(application)
    window.viewport.camera.view("xy")
    wait_until_idle(application)
    assert session.color_limits is not None
    run(window_script(window))
    theme = window.viewport.scene.theme
    for name, viewport in (
        ("tiny-gpt2", window.viewport), ("other 1", window.grid.cells[key].viewport),
    ):  # fmt: skip
        expected = pixels(
            picture_of_viewport(viewport, theme, SCALE, transparent=False, compact=True)
        )
        drawn = read(tmp_path / f"{name}.png")
        assert drawn.shape == expected.shape
        assert np.abs(drawn - expected).max() <= 3
