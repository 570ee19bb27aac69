"""Saving pictures of the viewport and the window, and copying them."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint
from PySide6.QtGui import QColor, QGuiApplication, QImage
from PySide6.QtWidgets import QDialog, QFileDialog
from pytestqt.qtbot import QtBot

from gui.commands.application import Application
from gui.export import save_picture
from gui.export.pictures import PictureError
from gui.export.save_picture import PictureDialog, PictureOptions, write_picture
from gui.style.theme import LIGHT
from gui.window.main_window import MainWindow

Save = Callable[[Path, PictureOptions], None]


@pytest.fixture
def window(application: Application, qtbot: QtBot) -> MainWindow:
    """The window, with the keyboard."""
    application.window.activateWindow()
    qtbot.waitUntil(application.window.isActiveWindow)
    return application.window


@pytest.fixture
def save(application: Application, wait_until_idle: Callable[[Application], None]) -> Save:
    """Save a picture, and wait until it is written."""

    def saved(out: Path, options: PictureOptions) -> None:
        application.window.pictures.save(out, options)
        wait_until_idle(application)

    return saved


@pytest.mark.parametrize("scale", [1, 3])
def test_save_viewport(window: MainWindow, save: Save, tmp_path: Path, scale: int) -> None:
    out = tmp_path / "helix.png"
    save(out, PictureOptions(scale=scale))
    picture, viewport = QImage(str(out)), window.viewport.interactor
    assert picture.size() == viewport.size() * scale
    assert picture.pixelColor(2, 2) == QColor(LIGHT.viewport)
    at = window.viewport.pixel_of(100) * scale
    assert picture.pixelColor(at) != QColor(LIGHT.viewport)


def test_a_picture_that_is_being_written_outlasts_the_window(
    application: Application, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, closing = tmp_path / "late.png", threading.Event()

    def write(image: QImage, path: Path) -> None:
        assert closing.wait(30)
        write_picture(image, path)

    monkeypatch.setattr(save_picture, "write_picture", write)
    application.window.pictures.save(out, PictureOptions(scale=1))
    threading.Timer(0.1, closing.set).start()
    application.close()
    assert not QImage(str(out)).isNull()


def test_save_transparent(window: MainWindow, save: Save, tmp_path: Path) -> None:
    out = tmp_path / "helix.png"
    save(out, PictureOptions(scale=1, background="transparent"))
    picture = QImage(str(out))
    assert picture.pixelColor(2, 2).alpha() == 0
    assert picture.pixelColor(window.viewport.pixel_of(100)).alpha() > 200


def test_save_whole_window(window: MainWindow, save: Save, tmp_path: Path) -> None:
    out = tmp_path / "window.png"
    save(out, PictureOptions(whole_window=True, scale=2))
    picture = QImage(str(out))
    assert picture.size() == window.size() * 2
    viewport = window.viewport.interactor
    at = viewport.mapTo(window, window.viewport.pixel_of(100)) * 2
    assert picture.pixelColor(at) != QColor(LIGHT.viewport)
    assert picture.pixelColor(2 * viewport.mapTo(window, QPoint(4, 4))) == QColor(LIGHT.viewport)


def test_a_picture_has_the_ending_of_its_format(
    window: MainWindow, save: Save, tmp_path: Path
) -> None:
    save(tmp_path / "gpt2-1.5", PictureOptions(scale=1))
    assert not QImage(str(tmp_path / "gpt2-1.5.png")).isNull()


def test_a_dialog_that_is_cancelled_changes_nothing(
    window: MainWindow, monkeypatch: pytest.MonkeyPatch
) -> None:
    def cancelled(dialog: PictureDialog) -> int:
        dialog.scale.buttons["4"].click()
        return QDialog.DialogCode.Rejected

    monkeypatch.setattr(PictureDialog, "exec", cancelled)
    window.pictures.ask()
    window.commands.by_name["copy_picture"].trigger()
    size = window.viewport.interactor.size()
    assert QGuiApplication.clipboard().image().size() == 2 * size


def test_unwritable_picture_says_why(window: MainWindow, save: Save, tmp_path: Path) -> None:
    save(tmp_path / "no such folder" / "a.png", PictureOptions())
    assert "could not be written" in window.notice_bar.text
    assert "No such file or directory" in window.notice_bar.text


def test_copy_puts_the_viewport_on_the_clipboard(window: MainWindow, qtbot: QtBot) -> None:
    QGuiApplication.clipboard().clear()
    window.commands.by_name["copy_picture"].trigger()
    assert not QGuiApplication.clipboard().image().isNull()


def test_picture_is_asked_for_and_saved_with_its_ending(
    application: Application,
    window: MainWindow,
    wait_until_idle: Callable[[Application], None],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def choose(dialog: QFileDialog) -> int:
        dialog.selectFile(str(tmp_path / "curve"))
        return QDialog.DialogCode.Accepted

    monkeypatch.setattr(PictureDialog, "exec", lambda _: QDialog.DialogCode.Accepted)
    monkeypatch.setattr(QFileDialog, "exec", choose)
    window.commands.by_name["save_picture"].trigger()
    wait_until_idle(application)
    assert not QImage(str(tmp_path / "curve.png")).isNull()
    assert window.session.status.endswith("curve.png")


def test_the_window_can_be_used_while_a_picture_is_written(
    application: Application, qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, go_on = threading.Event(), threading.Event()

    def slowly(image: QImage, out: Path) -> None:
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


def test_a_picture_of_the_window_is_there_at_once(window: MainWindow, tmp_path: Path) -> None:
    assert window.pictures.save_window(tmp_path / "a.png")
    assert QImage(str(tmp_path / "a.png")).size() == window.size()
    assert not window.pictures.save_window(tmp_path / "no such folder" / "a.png")
    assert "No such file or directory" in window.notice_bar.text


def test_an_image_that_cannot_be_packed_leaves_what_was_there(tmp_path: Path) -> None:
    out = tmp_path / "a.png"
    out.write_bytes(b"before")
    with pytest.raises(PictureError, match=r"could not be written to .*: Image is empty"):
        write_picture(QImage(), out)
    assert out.read_bytes() == b"before"


def test_a_window_too_large_for_a_picture_is_a_sentence(
    window: MainWindow, tmp_path: Path, save: Save
) -> None:
    save(tmp_path / "a.png", PictureOptions(whole_window=True, scale=20_000))
    assert "too large" in window.notice_bar.text
    assert not (tmp_path / "a.png").exists()
