"""Saving pictures of the viewport and the window, and copying them."""

import threading

import pytest
from PySide6.QtCore import QPoint
from PySide6.QtGui import QColor, QGuiApplication, QImage
from PySide6.QtWidgets import QDialog

from gui.export import save_picture
from gui.export.pictures import PictureError
from gui.export.save_picture import PictureDialog, PictureOptions, write_picture
from gui.style.theme import LIGHT
from tests.gui.dialogs import answer_file


@pytest.fixture
def window(application):
    return application.window


@pytest.fixture
def save(application, wait_until_idle):
    """Save a picture, and wait until it is written."""

    def saved(out, **options):
        application.window.pictures.save(out, PictureOptions(**options))
        wait_until_idle(application)
        return QImage(str(out))

    return saved


@pytest.mark.parametrize("scale", [1, 3])
def test_save_viewport(window, save, tmp_path, scale):
    save(tmp_path / "gpt2-1.5", scale=scale)
    picture = QImage(str(tmp_path / "gpt2-1.5.png"))  # with the ending of its format
    assert picture.size() == window.viewport.interactor.size() * scale
    assert picture.pixelColor(2, 2) == QColor(LIGHT.viewport)
    assert picture.pixelColor(window.viewport.pixel_of(100) * scale) != QColor(LIGHT.viewport)


def test_a_picture_that_is_being_written_outlasts_the_window(application, tmp_path, monkeypatch):
    out, closing = tmp_path / "late.png", threading.Event()

    def write(image, path):
        assert closing.wait(30)
        write_picture(image, path)

    monkeypatch.setattr(save_picture, "write_picture", write)
    application.window.pictures.save(out, PictureOptions(scale=1))
    threading.Timer(0.1, closing.set).start()
    application.close()
    assert not QImage(str(out)).isNull()


def test_save_transparent(window, save, tmp_path):
    picture = save(tmp_path / "helix.png", scale=1, background="transparent")
    assert picture.pixelColor(2, 2).alpha() == 0
    assert picture.pixelColor(window.viewport.pixel_of(100)).alpha() > 200


def test_save_whole_window(window, save, tmp_path):
    picture = save(tmp_path / "window.png", whole_window=True, scale=2)
    assert picture.size() == window.size() * 2
    viewport = window.viewport.interactor
    at = viewport.mapTo(window, window.viewport.pixel_of(100)) * 2
    assert picture.pixelColor(at) != QColor(LIGHT.viewport)
    assert picture.pixelColor(2 * viewport.mapTo(window, QPoint(4, 4))) == QColor(LIGHT.viewport)


def test_a_picture_is_copied_and_a_dialog_that_is_cancelled_changes_nothing(window, monkeypatch):
    def cancelled(dialog):
        dialog.scale.buttons["4"].click()
        return QDialog.DialogCode.Rejected

    monkeypatch.setattr(PictureDialog, "exec", cancelled)
    QGuiApplication.clipboard().clear()
    window.pictures.ask()
    window.commands.by_name["copy_picture"].trigger()
    size = window.viewport.interactor.size()
    assert QGuiApplication.clipboard().image().size() == 2 * size


def test_unwritable_picture_says_why(window, save, tmp_path):
    save(tmp_path / "no such folder" / "a.png")
    assert "could not be written" in window.notice_bar.text
    assert "No such file or directory" in window.notice_bar.text


def test_picture_is_asked_for_and_saved_with_its_ending(
    application, window, wait_until_idle, tmp_path, monkeypatch
):
    monkeypatch.setattr(PictureDialog, "exec", lambda _: QDialog.DialogCode.Accepted)
    answer_file(monkeypatch, tmp_path / "curve")
    window.commands.by_name["save_picture"].trigger()
    wait_until_idle(application)
    assert not QImage(str(tmp_path / "curve.png")).isNull()
    assert window.session.status.endswith("curve.png")


def test_the_window_can_be_used_while_a_picture_is_written(
    application, qtbot, tmp_path, monkeypatch
):
    begun, go_on = threading.Event(), threading.Event()

    def slowly(image, out):
        begun.set()
        assert go_on.wait(10)
        write_picture(image, out)

    monkeypatch.setattr(save_picture, "write_picture", slowly)
    out = tmp_path / "helix.png"
    application.window.pictures.save(out, PictureOptions(scale=1))
    assert begun.wait(10)
    assert application.session.status != f"Saved {out}"
    assert not out.exists()
    go_on.set()
    qtbot.waitUntil(lambda: application.session.status == f"Saved {out}")
    assert not QImage(str(out)).isNull()


def test_a_picture_of_the_window_is_there_at_once(window, tmp_path):
    assert window.pictures.save_window(tmp_path / "a.png")
    assert QImage(str(tmp_path / "a.png")).size() == window.size()
    assert not window.pictures.save_window(tmp_path / "no such folder" / "a.png")
    assert "No such file or directory" in window.notice_bar.text


def test_an_image_that_cannot_be_packed_leaves_what_was_there(tmp_path):
    out = tmp_path / "a.png"
    out.write_bytes(b"before")
    with pytest.raises(PictureError, match=r"could not be written to .*: Image is empty"):
        write_picture(QImage(), out)
    assert out.read_bytes() == b"before"


def test_a_window_too_large_for_a_picture_is_a_sentence(window, tmp_path, save):
    save(tmp_path / "a.png", whole_window=True, scale=20_000)
    assert "too large" in window.notice_bar.text
    assert not (tmp_path / "a.png").exists()
