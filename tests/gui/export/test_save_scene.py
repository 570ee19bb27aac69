"""Exporting the scene from the window, by its key."""

import json

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QFileDialog

CONTROL_SHIFT = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier


@pytest.fixture
def answer(monkeypatch):
    """Answer the file dialog with a path; None cancels it."""

    def answer_with(path):
        def execute(dialog: QFileDialog) -> int:
            assert dialog.windowTitle() == "Export scene"
            if path is None:
                return QFileDialog.DialogCode.Rejected
            dialog.selectFile(str(path))
            return QFileDialog.DialogCode.Accepted

        monkeypatch.setattr(QFileDialog, "exec", execute)

    return answer_with


@pytest.fixture
def press(application, qtbot):
    """Press the command's key; only the active window has shortcuts."""

    def press_key():
        window = application.window
        window.activateWindow()
        qtbot.waitUntil(window.isActiveWindow)
        QTest.keyClick(window, Qt.Key.Key_E, CONTROL_SHIFT)

    return press_key


def test_a_page_has_what_the_viewport_shows(application, answer, press, tmp_path, wait_until_idle):
    application.session.positions = (3, 40)
    wait_until_idle(application)
    application.window.viewport.camera.view("xy")
    wait_until_idle(application)
    out = tmp_path / "scene.html"
    answer(out)
    press()
    wait_until_idle(application)
    assert application.session.status == f"Saved {out}"
    page = out.read_text(encoding="utf-8")
    assert r"positions 3\u201340" in page
    eye = json.loads(page.rpartition('"eye":')[2].partition("}")[0] + "}")
    assert abs(eye["x"]) + abs(eye["y"]) < 1e-6 < eye["z"]


def test_a_body(application, answer, press, tmp_path, wait_until_idle):
    answer(tmp_path / "body.glb")
    press()
    wait_until_idle(application)
    assert (tmp_path / "body.glb").read_bytes().startswith(b"glTF")


def test_nothing_is_written_without_a_file(application, answer, press, tmp_path, wait_until_idle):
    answer(None)
    press()
    wait_until_idle(application)
    assert application.session.status == "Ready"


def test_a_folder_that_is_not_there_becomes_a_notice(
    application, answer, press, tmp_path, wait_until_idle
):
    answer(tmp_path / "nowhere" / "scene.glb")
    press()
    wait_until_idle(application)
    assert "cannot be written" in application.session.notice.text
