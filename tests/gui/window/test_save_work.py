"""Saving work from the window, and opening it in a fresh one."""

import threading
from dataclasses import replace

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QFileDialog

from geometry.models import sources
from gui.export.save_picture import PictureOptions
from gui.services.work_files.work_file import read_work, write_work
from gui.state.aligned_curve import CurveAlignment, OfCompared
from gui.window.settings.settings import LAYOUT_VERSION, Settings
from gui.window.unsaved_work import UnsavedWork
from tests.gui.services.work_files.test_work_file import same

CONTROL_ALT = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.AltModifier


@pytest.fixture
def answer(monkeypatch):
    """Answer the file dialog with a path."""

    def answer_with(path):
        def execute(dialog: QFileDialog) -> int:
            dialog.selectFile(str(path))
            return QFileDialog.DialogCode.Accepted

        monkeypatch.setattr(QFileDialog, "exec", execute)

    return answer_with


@pytest.fixture
def press(qtbot):
    def press_key(application, key, modifiers=CONTROL_ALT):
        window = application.window
        window.activateWindow()
        qtbot.waitUntil(window.isActiveWindow)
        QTest.keyClick(window, key, modifiers)

    return press_key


def pixels(application) -> np.ndarray:
    """The viewport as it would be saved."""
    image = application.window.pictures.picture(PictureOptions(scale=1))
    image = image.convertToFormat(image.Format.Format_RGB888)
    lines = np.frombuffer(image.constBits(), np.uint8).reshape(image.height(), -1)
    return lines[:, : 3 * image.width()].reshape(image.height(), image.width(), 3).astype(int)


def look_around(application, wait_until_idle) -> None:
    session, window = application.session, application.window
    session.change(selection=(20, 21), color_by="norm", outside="faint", prompt="hello my name")
    session.positions = (4, 120)
    wait_until_idle(application)
    window.viewport.camera.view("isometric")
    wait_until_idle(application)
    window.viewport.camera.zoom(1.6)
    window.bring("spectra")
    wait_until_idle(application)


def test_a_fresh_window_shows_the_same_pixels(
    start_application, write_gpt2, answer, press, tmp_path, wait_until_idle
):
    application = start_application(write_gpt2())
    look_around(application, wait_until_idle)
    before = pixels(application)
    path = tmp_path / "mine.helix"
    answer(path)
    press(application, Qt.Key.Key_S)
    assert application.session.status == f"Saved {path}"
    application.close()
    fresh = start_application(path, settings=Settings(tmp_path / "fresh" / "settings.ini"))
    after = pixels(fresh)
    assert after.shape == before.shape
    assert np.abs(after - before).max() <= 3
    assert fresh.window.panels["spectra"].isVisible()
    assert fresh.session.notice is None


@pytest.mark.parametrize("linked", [True, False])
def test_models_side_by_side_are_there_again(
    start_application, write_gpt2, write_table, helix, tmp_path, wait_until_idle, linked
):
    application = start_application(write_gpt2())
    session, comparing = application.session, application.controller.comparing
    long = comparing.add(str(write_table(helix(300, 20, seed=11), "long")), (20, 250), (2, 1, 3))
    comparing.add(str(write_table(helix(120, 16, seed=9), "short")))
    wait_until_idle(application)
    comparing.move(0, 1)
    session.cameras_linked = linked
    application.window.grid.cells[long].viewport.camera.zoom(1.4)
    wait_until_idle(application)
    before = pixels(application)
    path = tmp_path / "three.helix"
    application.window.work._write(path)
    application.close()
    fresh = start_application(path, settings=Settings(tmp_path / "fresh" / "settings.ini"))
    wait_until_idle(fresh)
    names = [cell.name.text() for cell in fresh.window.grid.shown_cells]
    assert names == ["long", "tiny-gpt2", "short"]
    other = fresh.session.compared[0].session
    assert (other.positions, other.components) == ((20, 250), (2, 1, 3))
    assert fresh.session.cameras_linked is linked
    after = pixels(fresh)
    assert after.shape == before.shape
    assert np.abs(after - before).max() <= 3


def test_saving_again_asks_no_more(application, answer, press, tmp_path, monkeypatch):
    path = tmp_path / "mine.helix"
    answer(path)
    press(application, Qt.Key.Key_S)
    assert read_work(path).fields["selection"] == ()
    monkeypatch.setattr(QFileDialog, "exec", lambda _: pytest.fail("it asked"))
    application.session.selection = (9,)
    press(application, Qt.Key.Key_S)
    assert read_work(path).fields["selection"] == (9,)


@pytest.mark.parametrize("version", [LAYOUT_VERSION, LAYOUT_VERSION + 1])
def test_a_layout_of_other_docks_is_not_forced_on_the_window(
    application, tmp_path, wait_until_idle, version
):
    window, path = application.window, tmp_path / "mine.helix"
    window.docks["inspector"].hide()
    write_work(replace(window.work.take(path), layout_version=version), path)
    window.docks["inspector"].show()
    application.controller.open(str(path))
    wait_until_idle(application)
    assert window.work.file == path
    assert window.docks["inspector"].isHidden() is (version == LAYOUT_VERSION)


def test_another_model_is_other_work(application, answer, press, tmp_path, write_table):
    path = tmp_path / "mine.helix"
    answer(path)
    press(application, Qt.Key.Key_S)
    application.controller.open(str(write_table()))
    application.jobs.deliver("open", 20_000)
    assert application.window.work.file is None


def test_open_work_asks_and_opens(application, answer, press, tmp_path, wait_until_idle):
    path = tmp_path / "mine.helix"
    answer(path)
    application.session.selection = (7,)
    press(application, Qt.Key.Key_S)
    application.session.selection = ()
    press(application, Qt.Key.Key_O)
    wait_until_idle(application)
    assert application.session.selection == (7,)
    assert application.window.work.file == path
    assert str(path) in application.session.recent


def test_a_folder_that_is_not_there_becomes_a_notice(application, answer, press, tmp_path):
    answer(tmp_path / "nowhere" / "mine.helix")
    press(application, Qt.Key.Key_S)
    assert "cannot be written" in application.session.notice.text
    assert application.window.work.file is None


@pytest.fixture
def slow(monkeypatch):
    """Let every model but tiny-gpt2 wait until this is set."""
    gate, open_source = threading.Event(), sources.open_source

    def open_later(source, **how):
        assert "tiny-gpt2" in source or gate.wait(60)
        return open_source(source, **how)

    monkeypatch.setattr(sources, "open_source", open_later)
    yield gate
    gate.set()


def test_saving_while_models_are_still_being_read_forgets_none(
    start_application, write_gpt2, write_table, helix, tmp_path, wait_until_idle, slow, qtbot
):
    slow.set()
    application = start_application(write_gpt2())
    session, comparing = application.session, application.controller.comparing
    first = comparing.add(str(write_table(helix(300, 20, seed=11), "long")), (20, 250), (2, 1, 3))
    comparing.add(str(write_table(helix(120, 16, seed=9), "short")))
    wait_until_idle(application)
    comparing.move(0, 1)
    session.alignment = CurveAlignment(OfCompared(first))
    wait_until_idle(application)
    path = tmp_path / "three.helix"
    application.window.work._write(path)
    before = read_work(path)
    assert len(before.others) == 2
    application.close()
    slow.clear()
    fresh = start_application(path, settings=Settings(tmp_path / "a" / "settings.ini"), wait=False)
    qtbot.waitUntil(lambda: fresh.session.work is not None)
    assert fresh.controller.comparing.opened == ()
    fresh.window.work.save()
    fresh.findChild(UnsavedWork).keep()
    assert fresh.session.notice is None
    (kept,) = fresh.settings.unsaved.glob("*.helix")
    for file in (path, kept):
        work = read_work(file)
        assert (work.alignment, work.main_at) == (before.alignment, before.main_at)
        where = [one.beside for one in before.others] if file == path else ["", ""]
        for one, other, there in zip(work.others, before.others, where, strict=True):
            assert same(one, replace(other, beside=there))
    slow.set()
    wait_until_idle(fresh)
    fresh.window.work.save()
    for one, other in zip(read_work(path).others, before.others, strict=True):
        assert (one.source, one.positions) == (other.source, other.positions)
        np.testing.assert_allclose(one.place.pose.position, other.place.pose.position)


def test_what_is_saved_without_a_model_that_comes_is_said(
    application, write_table, tmp_path, wait_until_idle, slow
):
    application.controller.comparing.add(str(write_table()))
    path = tmp_path / "mine.helix"
    application.window.work._write(path)
    assert application.session.notice.text == (
        "mine.helix was saved without one model that is still being read."
    )
    application.session.notice = None
    slow.set()
    wait_until_idle(application)
    application.window.work.save()
    assert len(read_work(path).others) == 1
    assert application.session.notice is None
