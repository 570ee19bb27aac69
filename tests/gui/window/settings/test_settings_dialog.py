"""The settings dialog, through real clicks and keys: the limit, the folder, the network."""

from types import SimpleNamespace

import pytest
from PySide6.QtCore import QObject, QPoint, Qt, QUrl, Slot
from PySide6.QtGui import QDesktopServices, QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QDialog, QMessageBox, QPushButton

from gui.style.theme import LIGHT
from gui.window.settings.dialog import FORCED_TIP, NO_TOKEN, TOKEN
from gui.window.settings.kept_page import BOUNDS, WHEN_FULL
from tests.gui.window.settings.settings_stage import (
    LEFT,
    MB,
    answer,
    click,
    click_row,
    keep,
    models,
    rows,
    text,
)


def type_limit(dialog, text):
    dialog.kept.limit.setFocus()
    dialog.kept.limit.selectAll()
    QTest.keyClicks(dialog.kept.limit, text)


def colour(label):
    return label.palette().color(label.foregroundRole()).name()


# ---- the limit -------------------------------------------------------------------------------


def test_a_limit_is_typed_and_holds(make, filled):
    dialog = make(filled)
    type_limit(dialog, "500 MB")
    assert filled.max_bytes == 2000 * MB
    QTest.keyClick(dialog.kept.limit, Qt.Key.Key_Return)
    assert filled.max_bytes == 500 * MB
    assert dialog.heard == [("limit", 500 * MB)]
    assert dialog.isVisible()
    assert len(rows(dialog)) == 3
    assert dialog.kept.bar.value() == 16


def test_a_lower_limit_says_what_it_would_remove_before_it_does(make, cache):
    for repo in ("a", "b", "c"):
        keep(cache, repo, 60 * MB)
    dialog = make(cache)
    type_limit(dialog, "130 MB")
    assert text(dialog.kept.note).startswith("This removes at least 50.0 MB: ")
    assert colour(dialog.kept.note) == LIGHT.warning
    assert len(rows(dialog)) == 3
    QTest.keyClick(dialog.kept.limit, Qt.Key.Key_Return)
    assert models(dialog) == ["c", "b"]
    assert text(dialog.kept.said) == "Removed 60.0 MB."
    assert dialog.kept.note.text() == WHEN_FULL
    assert colour(dialog.kept.note) == LIGHT.muted
    assert sorted(dialog.heard) == [("limit", 130 * MB), ("removed",)]


def test_esc_takes_a_limit_back_and_then_closes(make, filled):
    dialog = make(filled)
    type_limit(dialog, "1")
    assert dialog.kept.note.text() == WHEN_FULL
    type_limit(dialog, "1 MB")
    assert dialog.kept.note.text() == BOUNDS
    QTest.keyClick(dialog.kept.limit, Qt.Key.Key_Escape)
    assert dialog.isVisible()
    assert text(dialog.kept.limit) == "2 GB"
    assert dialog.kept.note.text() == WHEN_FULL
    QTest.keyClick(dialog.kept.limit, Qt.Key.Key_Escape)
    assert not dialog.isVisible()
    assert filled.max_bytes == 2000 * MB
    assert dialog.heard == []


# ---- the folder ------------------------------------------------------------------------------


class Opener(QObject):
    """Stands for the desktop's file manager."""

    def __init__(self):
        super().__init__()
        self.opened = []

    @Slot(QUrl)
    def open(self, url):
        self.opened.append(url.toLocalFile())


@pytest.fixture
def opener(qapp):
    made = Opener()
    QDesktopServices.setUrlHandler("file", made, "open")
    yield made
    QDesktopServices.unsetUrlHandler("file")


def test_the_folder_is_opened_and_its_path_can_be_copied(make, filled, opener):
    dialog = make(filled)
    click(dialog.kept.open_folder)
    assert opener.opened == [str(filled.root)]
    dialog.kept.folder.setFocus()
    QTest.keyClick(dialog.kept.folder, Qt.Key.Key_A, Qt.KeyboardModifier.ControlModifier)
    QTest.keyClick(dialog.kept.folder, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    assert QGuiApplication.clipboard().text() == str(filled.root)
    QTest.keyClicks(dialog.kept.folder, "x")
    assert dialog.kept.folder.text() == str(filled.root)


# ---- the network -----------------------------------------------------------------------------


def test_working_offline_is_asked_for_and_shown_once_it_holds(make, cache, session):
    dialog = make(cache)
    QTest.mouseClick(dialog.offline, LEFT, pos=QPoint(40, dialog.offline.height() // 2))
    assert dialog.heard == [("offline", True)]
    assert not dialog.offline.isChecked()  # nobody has answered
    session.offline = True
    assert dialog.offline.isChecked()
    QTest.keyClick(dialog.offline, Qt.Key.Key_Space)
    assert dialog.heard == [("offline", True), ("offline", False)]
    session.offline = False
    assert not dialog.offline.isChecked()


def test_an_environment_that_forbids_the_network_is_said(make, cache, session):
    dialog = make(cache, forced_offline=True)
    assert dialog.offline.isChecked()
    assert not dialog.offline.isEnabled()
    assert dialog.offline.toolTip().replace("\n", " ") == FORCED_TIP
    session.offline = True
    session.offline = False
    assert dialog.offline.isChecked()


@pytest.mark.parametrize(
    ("place", "said"),
    [
        (None, NO_TOKEN),
        ("HF_TOKEN", "An access token was found in the variable HF_TOKEN."),
        ("/x/huggingface/token", "An access token was found in /x/huggingface/token."),
        (r"C:\x\token", r"An access token was found in C:\x\token."),
    ],
)
def test_where_an_access_token_was_found_is_said(make, cache, place, said):
    assert make(cache, find_token=lambda: place).token.text().startswith(said)


def test_the_token_is_looked_for_again_and_off_the_gui_thread(make, cache, hand_jobs):
    places = ["HF_TOKEN", None]
    dialog = make(cache, hand_jobs, lambda: places.pop())
    assert dialog.token.text() == ""
    hand_jobs.deliver(TOKEN)
    assert dialog.token.text() == NO_TOKEN
    dialog.close()
    dialog.show()
    hand_jobs.deliver(TOKEN)
    assert "HF_TOKEN." in dialog.token.text()


def test_a_search_for_the_token_that_fails_is_said(make, cache, caplog):
    def fail():
        raise OSError("hf_secret is broken")

    dialog = make(cache, find_token=fail)
    assert dialog.token.text() == "An access token could not be looked for: the log says why."


# ---- keys, closing ---------------------------------------------------------------------------


def test_tab_goes_through_it_in_reading_order(make, filled):
    dialog = make(filled)
    click_row(dialog, 0)
    page = dialog.kept
    order = [page.folder, page.open_folder, page.limit, page.table, page.remove, page.clear,
             dialog.offline]  # fmt: skip
    page.folder.setFocus()
    seen = []
    for _ in order:
        seen.append(QApplication.focusWidget())
        QTest.keyClick(QApplication.focusWidget(), Qt.Key.Key_Tab)
    assert seen == order
    assert QApplication.focusWidget().text().replace("&", "") == "Close"


def test_close_closes_and_enter_elsewhere_does_nothing(make, filled, opener):
    dialog = make(filled)
    assert dialog.windowModality() == Qt.WindowModality.NonModal
    # Qt makes the first of such buttons the default one, and paints it so.
    assert not any(b.autoDefault() or b.isDefault() for b in dialog.findChildren(QPushButton))
    QTest.keyClick(dialog.kept.folder, Qt.Key.Key_Return)
    QTest.keyClick(dialog.kept.table, Qt.Key.Key_Return)
    assert dialog.isVisible()
    assert opener.opened == []
    assert not dialog.findChildren(QMessageBox)
    click(next(b for b in dialog.findChildren(QPushButton) if b.text().replace("&", "") == "Close"))
    assert not dialog.isVisible()


def test_with_real_jobs(make, filled, session, qtbot, thread_jobs):
    dialog = make(filled, thread_jobs(session))
    qtbot.waitUntil(lambda: session.jobs == 0)
    assert len(rows(dialog)) == 3
    click_row(dialog, 1)
    click(dialog.kept.remove)
    qtbot.waitUntil(lambda: session.jobs == 0)
    assert models(dialog) == ["c/middle", "a/small"]
    click(dialog.kept.clear)
    answer(dialog, "Remove all")
    qtbot.waitUntil(lambda: session.jobs == 0)
    assert rows(dialog) == []
    dialog.kept.refresh()
    dialog.release()


def test_a_released_dialog_hears_nothing(make, filled, session, hand_jobs):
    dialog = make(filled, hand_jobs)
    dialog.release()
    assert not hand_jobs.waiting
    session.offline = True
    session.model = SimpleNamespace()
    assert not dialog.offline.isChecked()
    assert not hand_jobs.waiting
    assert isinstance(dialog, QDialog)
