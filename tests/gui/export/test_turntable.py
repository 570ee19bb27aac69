"""A film of one turn: about what it says, seamless, from the window and without it."""

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QSize, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QWidget

from geometry.checkpoints.errors import HelixscopeError
from gui.export.film_dialog import FilmOptions, TurntableDialog
from gui.export.pictures import render_scene, still_session
from gui.export.save_picture import PictureOptions
from gui.export.timelapse_film import FilmLook
from gui.export.turntable import ABOUT, Turn, TurnFrames, export_turntable, turned
from gui.scene.scene_state import resolve_scene
from gui.state.camera import CameraPose, view_pose
from gui.state.session import Session
from gui.style.theme import LIGHT
from tests.films import read_gif, read_mp4
from tests.gui.dialogs import LEFT, answer_file, press_button, press_key, type_number

SMALL = FilmOptions(kind="gif", height=120, fps=10.0)
QUICK = Turn(seconds=1.0)
POSE = CameraPose(*np.array([[3.0, 1.0, 2.0], [0.5, 0.0, 0.1], [0.0, 0.0, 1.0]]), 1.5)


def fill_in(dialog, *buttons):
    """Ask for a GIF of five frames in a second, with more buttons pressed, and go on."""
    for button in (dialog.kind.buttons["gif"], *buttons):
        QTest.mouseClick(button, LEFT)
    type_number(dialog.seconds, "1")
    type_number(dialog.fps, "5")
    assert dialog.frames() == 5
    press_button(dialog, "Save…")
    return dialog.result()


@pytest.mark.parametrize("axis", [(0, 0, 1.0), (0, 2.0, 0), (1.0, -2.0, 0.5)])
def test_a_turn_keeps_distance_and_height(axis):
    axis = np.array(axis)
    for angle in (0.3, 1.7, np.pi, 5.0):
        pose = turned(POSE, axis, angle)
        before, after = POSE.position - POSE.focal_point, pose.position - pose.focal_point
        assert np.linalg.norm(after) == pytest.approx(np.linalg.norm(before))
        assert after @ axis == pytest.approx(before @ axis)
        assert np.linalg.norm(pose.up) == pytest.approx(1.0)
        # What is across the axis is turned by the angle, right-handed.
        unit = axis / np.linalg.norm(axis)
        a, b = before - (before @ unit) * unit, after - (after @ unit) * unit
        turn = np.arctan2(np.cross(a, b) @ unit, a @ b)
        assert np.cos(turn - angle) == pytest.approx(1.0)
    whole = turned(POSE, axis, 2 * np.pi)
    np.testing.assert_allclose(whole.position, POSE.position, atol=1e-12)


@pytest.fixture
def frames_of(model):
    """Make the frames of a turn of the small helix, as pictures."""

    def draw(turn):
        frames = TurnFrames(still_session(model), FilmLook((160, 120), 5.0), turn)
        try:
            return np.stack([frames.draw(i) for i in range(len(frames))]).astype(int)
        finally:
            frames.close()

    return draw


def test_every_axis_gives_another_turn_that_goes_all_the_way(frames_of):
    films = {about: frames_of(Turn(about, 2.0)) for about in ABOUT}
    for film in films.values():
        assert len(film) == 10
        steps = np.abs(film - np.roll(film, -1, axis=0)).mean(axis=(1, 2, 3))
        # The last frame is as far from the first as any from the next.
        assert steps[-1] < 1.5 * steps[:-1].max()
        assert steps.min() > 0.1
    # Upright is the third axis in the article's view.
    np.testing.assert_array_equal(films["up"], films["z"])
    assert (films["up"][1] != films["x"][1]).any()


def test_a_frame_is_the_picture_from_there_with_its_caption(model, frames_of):
    session = still_session(model)
    state = resolve_scene(session)
    pose = view_pose("article", session.curve.coordinates[1:], state.turn, 160 / 120)
    # As large as the usual film draws its texts.
    pose = turned(pose, np.array([0, 0, 1.0]), 2 * np.pi / 5)
    expected = render_scene(state, LIGHT, pose, (720, 540), scale=160 / 720)
    np.testing.assert_array_equal(frames_of(Turn(seconds=1.0))[1], expected)


def test_what_is_under_the_mouse_is_not_marked(model):
    with pytest.raises(HelixscopeError, match="nothing to save"):
        TurnFrames(Session(), FilmLook(), QUICK)
    drawn, session = [], still_session(model)
    for hover in (None, 50):
        session.hover = hover
        frames = TurnFrames(session, FilmLook((160, 120), 5.0), QUICK)
        drawn.append(frames.draw(0))
        frames.close()
        assert session.hover == hover
    np.testing.assert_array_equal(*drawn)


def test_films_in_both_formats(model, tmp_path):
    options = {"turn": QUICK, "size": (161, 120), "fps": 10.0}
    for name in ("a.gif", "a.mp4"):
        export_turntable(model, tmp_path / name, (5, 99), (2, 1, 3), **options)
    film, waits = read_gif(tmp_path / "a.gif")
    assert film.shape == (10, 120, 161, 3)
    assert set(waits) == {100}  # no frame stays: it begins again without a halt
    film, fps = read_mp4(tmp_path / "a.mp4")
    assert film.shape == (10, 120, 162, 3)
    assert fps == 10


@pytest.mark.slow
def test_the_dialog_asks_and_a_film_is_made_while_one_works(
    application, finish, tmp_path, monkeypatch, qtbot, wait_until_idle
):
    window, session = application.window, application.session
    out = tmp_path / "round.gif"
    answer_file(monkeypatch, out)

    def execute(dialog):
        done = fill_in(dialog, dialog.height_.buttons["480"], dialog.about.buttons["x"])
        assert dialog.turn() == Turn("x", 1.0)
        return done

    monkeypatch.setattr(TurntableDialog, "exec", execute)
    pose = CameraPose.of(window.viewport.interactor.camera)
    press_key(qtbot, window, Qt.Key.Key_T)
    assert window.films.busy
    # What changes meanwhile is no part of it.
    session.selection = (7,)
    window.viewport.camera.view("xy")
    finish()
    assert session.notice is None
    assert session.status == f"Saved {out}"
    film, waits = read_gif(out)
    assert len(set(waits)) == 1  # it loops without a halt
    size = FilmOptions(height=480).size(window.viewport.interactor.size())
    assert film.shape == (5, size[1], size[0], 3)
    session.selection = ()
    wait_until_idle(application)
    view = window.viewport
    scale, theme = size[1] / min(480, view.interactor.height()), view.scene.theme
    logical = (size[0] / scale, size[1] / scale)
    expected = render_scene(resolve_scene(session), theme, pose, logical, scale=scale)
    # A GIF has 256 colours.
    assert np.abs(film[0].astype(int) - expected).mean() < 2


@pytest.mark.slow
def test_one_film_at_a_time(application, finish, tmp_path, monkeypatch):
    turntables = application.window.turntables
    monkeypatch.setattr(TurntableDialog, "exec", lambda _: pytest.fail("it asked"))
    turntables.save(tmp_path / "a.gif", SMALL, QUICK)
    turntables.ask()
    finish()
    assert len(read_gif(tmp_path / "a.gif")[0]) == 10


def test_the_dialog_counts_frames_and_offers_the_components(qtbot):
    parent = QWidget()
    qtbot.addWidget(parent)
    options = FilmOptions(fps=25.0)
    dialog = TurntableDialog(options, Turn(), QSize(800, 400), None, (2, 1, 4), parent)
    assert not dialog.all_views
    assert dialog.frames() == 200
    texts = [button.text() for button in dialog.about.buttons.values()]
    assert texts == ["Upright", "PC 2", "PC 1", "PC 4"]
    for field in (dialog.seconds, dialog.fps, dialog.about):
        assert field.accessibleName()
    dialog.close()


@pytest.mark.slow
def test_all_views_turn_in_their_places(
    application, finish, write_table, helix, tmp_path, monkeypatch, qtbot, wait_until_idle
):
    window = application.window
    application.controller.comparing.add(str(write_table(helix(120, 16, 3), "other")))
    wait_until_idle(application)
    out = tmp_path / "both.gif"
    answer_file(monkeypatch, out)

    def execute(dialog):
        assert dialog.all_views
        options = dialog.options()
        assert options.size(window.grid.pictured.size()) == options.size(dialog._viewport)
        return fill_in(dialog)

    monkeypatch.setattr(TurntableDialog, "exec", execute)
    press_key(qtbot, window, Qt.Key.Key_T)
    finish()
    assert application.session.notice is None
    film, _ = read_gif(out)
    area = window.grid.pictured
    width, height = FilmOptions(height=720).size(area.size())
    assert film.shape == (5, height, width, 3)
    scale = height / area.height()
    changed = (film != film[0]).any(axis=(0, 3))
    for viewport in window.grid.viewports:
        corner = viewport.mapTo(window.grid, QPoint(0, 0)) - area.topLeft()
        x, y = round(corner.x() * scale), round(corner.y() * scale)
        part = changed[
            y : y + round(viewport.height() * scale), x : x + round(viewport.width() * scale)
        ]
        assert part.mean() > 0.01
        part[:] = False
    assert not changed.any()  # names and colours stand still
    # The first frame is the picture of all views as it is saved.
    picture = window.pictures.picture(PictureOptions(scale=1))
    small = picture.scaled(width, height, mode=Qt.TransformationMode.SmoothTransformation)
    small = small.convertToFormat(small.Format.Format_RGB888)
    lines = np.frombuffer(small.constBits(), np.uint8).reshape(height, -1)[:, : 3 * width]
    assert np.abs(lines.reshape(height, width, 3) - film[0].astype(int)).mean() < 4
