"""Saving the time-lapse from the window: films drawn while it can be used, and numbers."""

import os

import numpy as np
import pytest
from PySide6.QtCore import QSize
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QDialog, QFileDialog, QWidget

from geometry.pca.curve import place_curve
from geometry.pca.pca import fit_pca
from gui.export.film_dialog import FilmDialog, FilmOptions, FilmProgress
from gui.export.pictures import OffScreen
from gui.widgets.segmented import Segmented
from tests.films import read_gif, read_mp4
from tests.geometry.history_stage import growing, write_checkpoint, write_record
from tests.gui.conftest import TIMEOUT_MS
from tests.gui.dialogs import LEFT, answer_file, press_button, type_number
from tests.gui.on_screen import trigger

STEPS = [0, 10, 100, 300, 1000, 3000]
SMALL = FilmOptions(kind="gif", height=120, fps=10.0)


@pytest.fixture
def application(show_model, wait_until_idle, tmp_path):
    """The application, with a training ready to be played."""
    folder = write_checkpoint(tmp_path / "trained", growing(STEPS)[-1])
    write_record(folder / "history.safetensors", STEPS)
    made = show_model(folder)
    made.window.focus_on("training")
    wait_until_idle(made)
    assert made.session.timeline is not None
    return made


@pytest.fixture
def films(application):
    return application.window.films


def shown_progress(window):
    return [one for one in window.findChildren(FilmProgress) if one.isVisible()]


@pytest.mark.slow
def test_a_film_is_drawn_while_the_window_can_be_used(application, films, finish, tmp_path):
    window, session = application.window, application.session
    out = tmp_path / "a.gif"
    films.save(out, SMALL)
    assert films.busy
    (progress,) = shown_progress(window)
    assert not progress.isModal()
    # What changes meanwhile is no part of it.
    session.snapshot = 2
    session.selection = (7,)
    finish()
    film, waits = read_gif(out)
    width, height = SMALL.size(window.viewport.interactor.size())
    assert film.shape == (6, height, width, 3)
    assert waits[0] == 100
    assert all((film[i] != film[i + 1]).any() for i in range(5))
    assert session.status == f"Saved {out}"
    assert session.notice is None
    assert session.snapshot == 2
    assert not shown_progress(window)


@pytest.mark.slow
def test_camera_is_the_viewports_and_unchanged(application, films, finish, settle, tmp_path):
    """Two scenes take turns with the graphics."""
    taken, interactor = [], application.window.viewport.interactor
    for view in ("view_xy", "view_xz"):
        application.window.commands.by_name[view].trigger()
        settle()
        before = np.array(interactor.screenshot())
        out = tmp_path / f"{view}.gif"
        films.save(out, SMALL)
        finish()
        interactor.render()
        np.testing.assert_array_equal(np.array(interactor.screenshot()), before)
        taken.append(read_gif(out)[0])
    assert taken[0].shape == taken[1].shape
    assert (taken[0][-1] != taken[1][-1]).any()


@pytest.mark.slow
def test_texts_are_never_smaller_than_in_the_window(films, tmp_path, finish, monkeypatch):
    scales = []
    make = OffScreen.__init__

    def noted(stage, theme, canvas, **options):
        scales.append(canvas.scale)
        make(stage, theme, canvas, **options)

    monkeypatch.setattr(OffScreen, "__init__", noted)
    height = films._viewport.interactor.height()
    for lines in (height // 2, 2 * height):
        films.save(tmp_path / "a.gif", FilmOptions("gif", lines, 10.0))
        finish()
    assert scales == [1, 2]


def test_cancelled_film_and_closed_window_leave_no_file(application, films, finish, tmp_path):
    out = tmp_path / "a.mp4"
    out.write_bytes(b"before")
    films.save(out, FilmOptions(height=480))
    (progress,) = shown_progress(application.window)
    press_button(progress, "Cancel")
    assert not films.busy
    finish()
    application.jobs._alone[-1].join(TIMEOUT_MS / 1000)
    assert out.read_bytes() == b"before"
    assert not [name for name in os.listdir(tmp_path) if "part" in name]
    assert application.session.status == "Saving the time-lapse was cancelled"
    assert application.session.notice is None
    films.save(tmp_path / "b.mp4", FilmOptions(height=720))
    application.close()
    assert not films.busy
    assert not (tmp_path / "b.mp4").exists()


@pytest.mark.slow
def test_film_is_replaced_and_failure_is_a_notice(application, films, finish, tmp_path):
    films.save(tmp_path / "a.gif", FilmOptions("gif", 480))
    films.save(tmp_path / "b.gif", SMALL)
    finish()
    assert not (tmp_path / "a.gif").exists()
    assert len(read_gif(tmp_path / "b.gif")[0]) == 6
    films.save(tmp_path / "none" / "a.mp4", SMALL)
    finish()
    assert "cannot be written" in application.session.notice.text
    assert "No such file" in application.session.notice.text
    assert not shown_progress(application.window)


@pytest.mark.slow
def test_menu_saves_film_and_coordinates(application, finish, tmp_path, monkeypatch):
    def execute(dialog):
        QTest.mouseClick(dialog.kind.buttons["mp4"], LEFT)
        QTest.mouseClick(dialog.height_.buttons["480"], LEFT)
        press_button(dialog, "Save…")
        return dialog.result()

    monkeypatch.setattr(FilmDialog, "exec", execute)
    answer_file(monkeypatch, tmp_path / "film")
    trigger(application.window.panels["training"].menu(), "Save time-lapse…")
    finish()
    film, fps = read_mp4(tmp_path / "film.mp4")
    assert film.shape[:2] == (6, 480)
    assert fps == 6
    answer_file(monkeypatch, None)
    trigger(application.window.panels["training"].menu(), "Save time-lapse…")
    assert not application.window.films.busy
    answer_file(monkeypatch, tmp_path / "c.npz")
    application.session.basis = "aligned"
    trigger(application.window.panels["training"].menu(), "Save coordinates…")
    finish()
    with np.load(tmp_path / "c.npz") as file:
        assert file["steps"].tolist() == STEPS
        assert str(file["basis"]) == "aligned"
    assert application.session.status == f"Saved {tmp_path / 'c.npz'}"


def test_model_opened_during_the_dialog_is_a_notice(application, films, tmp_path, monkeypatch):
    """Not a film of something else."""
    session = application.session

    def show_another_range():
        pca = fit_pca(session.model.W_pos, (5, 30))
        session.curve = place_curve(session.model.W_pos, pca, (1, 2, 3))

    def show_another_model():
        session.timeline = None

    for change in (show_another_range, show_another_model):

        def execute(dialog, change=change):
            change()
            dialog.selectFile(str(tmp_path / "film.mp4"))
            return QDialog.DialogCode.Accepted

        monkeypatch.setattr(FilmDialog, "exec", lambda _: QDialog.DialogCode.Accepted)
        monkeypatch.setattr(QFileDialog, "exec", execute)
        session.notice = None
        trigger(application.window.panels["training"].menu(), "Save time-lapse…")
        assert not films.busy
        assert "no time-lapse of the current view" in session.notice.text
        assert not (tmp_path / "film.mp4").exists()


def test_without_a_time_lapse_there_is_nothing_to_save(show_model, write_table):
    application = show_model(write_table())
    application.window.focus_on("training")
    assert not application.window.panels["training"].header.more.isEnabled()


@pytest.fixture
def dialog(qtbot):
    parent = QWidget()
    qtbot.addWidget(parent)
    made = FilmDialog(FilmOptions(), QSize(800, 400), 30, parent)
    with qtbot.waitExposed(made):
        made.show()
    yield made
    made.close()


def test_speed_and_length_are_one_thing(dialog):
    assert (dialog.fps.value(), dialog.seconds.value()) == (6.0, 5.0)
    type_number(dialog.seconds, "10")
    assert dialog.fps.value() == 3.0
    type_number(dialog.fps, "15")
    assert dialog.seconds.value() == 2.0
    assert dialog.options().fps == 15.0


def test_the_size_follows_the_viewport_and_everything_is_named(dialog):
    said = [label.text() for label in dialog.findChildren(QWidget) if hasattr(label, "text")]
    assert any("30 frames of 1\N{THIN SPACE}440 × 720 pixels" in one for one in said)
    QTest.mouseClick(dialog.height_.buttons["1080"], LEFT)
    QTest.mouseClick(dialog.background.buttons["white"], LEFT)
    options = dialog.options()
    assert options == FilmOptions("mp4", 1080, 6.0, "white")
    assert options.size(QSize(800, 400)) == (2160, 1080)
    assert options.size(QSize(333, 400))[0] % 2 == 0
    assert all(choice.accessibleName() for choice in dialog.findChildren(Segmented))
    assert dialog.fps.accessibleName() == "Steps per second"
    assert dialog.seconds.accessibleName() == "Seconds"
