"""The dialog for token embeddings."""

import pytest
from PySide6.QtCore import Qt, QTimer
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QDialogButtonBox, QFileDialog

from gui.window.token_dialog import TokenDialog
from tests.gui.on_screen import put_on_screen

LEFT = Qt.MouseButton.LeftButton


@pytest.fixture
def dialog(qtbot):
    return put_on_screen(qtbot, TokenDialog(None, "sample"))


def opens(dialog):
    return dialog.buttons.button(QDialogButtonBox.StandardButton.Open)


def test_a_list_and_a_model_make_a_source(dialog):
    assert dialog.source == "tokens:numbers,sample"
    QTest.keyClick(dialog.words, Qt.Key.Key_Down)
    assert dialog.source == "tokens:weekdays,sample"
    assert not dialog.file.isEnabled()
    dialog.model.selectAll()
    QTest.keyClicks(dialog.model, "openai-community/gpt2")
    assert dialog.source == "tokens:weekdays,openai-community/gpt2"
    dialog.model.clear()
    assert not opens(dialog).isEnabled()


def test_a_list_of_ones_own_needs_its_file(dialog, monkeypatch):
    QTest.keyClick(dialog.words, Qt.Key.Key_End)
    assert not opens(dialog).isEnabled()
    monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *_: ("/a/words.txt", ""))
    QTest.mouseClick(dialog.browse, LEFT)
    assert dialog.source == "tokens:/a/words.txt,sample"
    assert opens(dialog).isEnabled()


@pytest.mark.slow
def test_the_window_opens_what_was_chosen(application, wait_until_idle, minilm_folder):
    def answer():
        dialog = QApplication.activeModalWidget()
        dialog.words.setCurrentIndex(dialog.words.findData("months"))
        dialog.model.setText(str(minilm_folder))
        QTest.mouseClick(opens(dialog), LEFT)

    QTimer.singleShot(0, answer)
    application.window.commands.by_name["open_tokens"].trigger()
    wait_until_idle(application)
    assert application.session.model.rows.labels[:2] == ("January", "February")
    assert application.session.recent[0].id == f"tokens:months,{minilm_folder.resolve()}"
