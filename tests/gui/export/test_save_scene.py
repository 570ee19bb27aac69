"""Exporting the scene from the window, by its key."""

import json

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFileDialog

from tests.gui.dialogs import answer_file, press_key


@pytest.fixture
def export(application, qtbot, monkeypatch, wait_until_idle):
    """Press the command's key, and answer the dialog with a path; None cancels it."""

    def export_to(path):
        answer_file(monkeypatch, path)
        answer = QFileDialog.exec

        def execute(dialog):
            assert dialog.windowTitle() == "Export scene"
            return answer(dialog)

        monkeypatch.setattr(QFileDialog, "exec", execute)
        press_key(qtbot, application.window, Qt.Key.Key_E)
        wait_until_idle(application)

    return export_to


@pytest.mark.slow
def test_a_page_has_what_the_viewport_shows(application, export, tmp_path, wait_until_idle):
    application.session.positions = (3, 40)
    wait_until_idle(application)
    application.window.viewport.camera.view("xy")
    wait_until_idle(application)
    out = tmp_path / "scene.html"
    export(out)
    assert application.session.status == f"Saved {out}"
    page = out.read_text(encoding="utf-8")
    assert r"positions 3\u201340" in page
    eye = json.loads(page.rpartition('"eye":')[2].partition("}")[0] + "}")
    assert abs(eye["x"]) + abs(eye["y"]) < 1e-6 < eye["z"]


def test_a_body_where_there_is_a_folder_and_nothing_without_a_file(application, export, tmp_path):
    export(None)
    assert application.session.status == "Ready"
    export(tmp_path / "body.glb")
    assert (tmp_path / "body.glb").read_bytes().startswith(b"glTF")
    export(tmp_path / "nowhere" / "scene.glb")
    assert "cannot be written" in application.session.notice.text
