"""The settings dialog, through real clicks and keys: what is kept, its limit, the network."""

import os
from dataclasses import replace
from types import SimpleNamespace

import pytest
from PySide6.QtCore import QObject, QPoint, Qt, QUrl, Slot
from PySide6.QtGui import QDesktopServices, QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel, QMessageBox, QPushButton

from geometry.hub.tensor_cache import TensorCache
from gui.services.jobs.jobs import InlineJobs
from gui.style.theme import DARK, LIGHT, TEXT_SIZES, stylesheet
from gui.window.settings.appearance_page import LAST_MAP, AppearancePage
from gui.window.settings.dialog import FORCED_TIP, NO_TOKEN, TOKEN, SettingsDialog
from gui.window.settings.kept_page import BOUNDS, CHANGING, EMPTY, LISTING, READ_ONLY, WHEN_FULL
from gui.window.settings.kept_table import USED
from gui.window.settings.settings import Settings
from tests.gui.on_screen import put_on_screen

CONTROL = Qt.KeyboardModifier.ControlModifier
LEFT = Qt.MouseButton.LeftButton
COMMIT, OTHER = "607a30d783dfa663caf39e06633721c8d4cfcd7e", "0" * 40
MB = 10**6


def keep(cache, repo, nbytes=MB, commit=COMMIT, revision="main", used=None):
    cache.put(repo, commit, "wpe", bytes(nbytes), core=True)
    cache.remember(repo, revision, commit)
    if used is not None:
        for path in cache.root.glob(f"{repo.replace('/', '_')}-*/{commit}/*"):
            os.utime(path, (used, used))


@pytest.fixture
def cache(tmp_path):
    return TensorCache(tmp_path / "hub")


@pytest.fixture
def filled(cache):
    """A cache with three models, of which "c" was used last."""
    for repo, nbytes in (("a/small", MB), ("b/large", 5 * MB), ("c/middle", 2 * MB)):
        keep(cache, repo, nbytes)
    return cache


@pytest.fixture
def make(qtbot, session, settings, dress):
    """Make dialogs, shown: ``make(cache, jobs, find_token, forced_offline=…)``."""
    dress(LIGHT)

    def build(cache, jobs=None, find_token=lambda: None, **options):
        appearance = AppearancePage(settings, session)
        dialog = SettingsDialog(
            session, jobs or InlineJobs(), cache, find_token, appearance, **options
        )
        put_on_screen(qtbot, dialog, active=True)
        heard = dialog.heard = []
        dialog.offlineRequested.connect(lambda on: heard.append(("offline", on)))
        dialog.limitRequested.connect(lambda nbytes: heard.append(("limit", nbytes)))
        dialog.removed.connect(lambda: heard.append(("removed",)))
        return dialog

    return build


@pytest.fixture
def dialog(make, filled):
    return make(filled)


def rows(dialog):
    model = dialog.kept.table.model()
    cells = [[model.index(r, c).data() for c in range(4)] for r in range(model.rowCount())]
    return [[cell.replace("\N{NO-BREAK SPACE}", " ") for cell in row] for row in cells]


def models(dialog):
    return [row[0].split("@")[0] for row in rows(dialog)]


def click(widget):
    QTest.mouseClick(widget, LEFT)


def click_row(dialog, row, modifiers=Qt.KeyboardModifier.NoModifier):
    table = dialog.kept.table
    spot = table.visualRect(table.model().index(row, 0)).center()
    QTest.mouseClick(table.viewport(), LEFT, modifiers, spot)


def text(label):
    return label.text().replace("\N{NO-BREAK SPACE}", " ")


def question(dialog):
    (box,) = dialog.findChildren(QMessageBox)
    return box


def answer(dialog, word):
    box = question(dialog)
    click(next(b for b in box.buttons() if b.text().replace("&", "") == word))


def type_limit(dialog, text):
    dialog.kept.limit.setFocus()
    dialog.kept.limit.selectAll()
    QTest.keyClicks(dialog.kept.limit, text)


def colour(label):
    return label.palette().color(label.foregroundRole()).name()


def test_what_is_kept_is_shown(make, filled, monkeypatch):
    keep(filled, "a/small", 3 * MB, OTHER, "refs/pr/1")
    dialog = make(filled)
    shown = rows(dialog)
    assert [row[:3] for row in shown] == [
        ["a/small@0000000", "refs/pr/1", "3.0 MB"],
        ["c/middle@607a30d", "main", "2.0 MB"],
        ["b/large@607a30d", "main", "5.0 MB"],
        ["a/small@607a30d", "main", "1.0 MB"],
    ]
    assert all(row[3].startswith(("today, ", "yesterday, ")) for row in shown)
    assert text(dialog.kept.usage) == "11.0 MB of at most"
    assert text(dialog.kept.limit) == "2 GB"
    assert dialog.kept.note.text() == WHEN_FULL
    assert dialog.kept.bar.value() == round(1000 * filled.usage() / filled.max_bytes) == 6
    assert dialog.kept.folder.text() == str(filled.root)
    assert not dialog.kept.table.message.isVisible()
    assert dialog.kept.table.horizontalHeader().isVisible()
    # Nobody is denied anything when the tests run as root.
    monkeypatch.setattr("gui.services.kept_models.os.access", lambda *_: False)
    assert make(filled).kept.note.text() == READ_ONLY


def test_empty_and_unreadable_cache(make, cache, tmp_path, caplog):
    page = make(cache).kept
    assert page.table.message.isVisible()
    assert page.table.message.text() == EMPTY
    assert page.table.horizontalHeader().isHidden()
    assert text(page.usage) == "0 bytes of at most"
    for button in (page.remove, page.clear, page.open_folder):
        assert not button.isEnabled()
    (tmp_path / "file").write_text("", "utf-8")
    page = make(TensorCache(tmp_path / "file")).kept
    said = page.table.message.text()
    assert said.startswith(f"{tmp_path / 'file'} cannot be read: Not a directory. ")
    assert said.endswith("not cached.")
    assert page.open_folder.isEnabled()
    assert not page.clear.isEnabled()
    assert "could not be listed" in caplog.text


def test_looking_takes_its_time_without_flicker(make, filled, hand_jobs):
    dialog = make(filled, hand_jobs)
    assert dialog.kept.table.message.text().strip() == ""
    hand_jobs.drag_on(LISTING)
    assert dialog.kept.table.message.text() == "Reading the cache…"
    hand_jobs.deliver(LISTING)
    assert len(rows(dialog)) == 3
    dialog.kept.refresh()
    hand_jobs.drag_on(LISTING)
    assert len(rows(dialog)) == 3
    assert not dialog.kept.table.message.isVisible()


def test_cache_is_read_again_until_release(make, filled, session, hand_jobs):
    dialog = make(filled, hand_jobs)
    dialog.close()
    keep(filled, "d/new")
    hand_jobs.deliver_all()
    dialog.show()
    hand_jobs.deliver_all()
    assert models(dialog)[0] == "d/new"
    keep(filled, "e/newer")
    session.model = SimpleNamespace()
    hand_jobs.deliver_all()
    assert models(dialog)[0] == "e/newer"
    dialog.close()
    session.model = None
    assert not hand_jobs.waiting
    dialog.show()
    dialog.release()  # it hears nothing any more
    session.change(offline=True, model=SimpleNamespace())
    assert not hand_jobs.waiting
    assert not dialog.offline.isChecked()


def test_rows_are_sorted_by_what_they_mean(make, filled):
    keep(filled, "d/kilobytes", 900_000, used=1_000_000_000)
    dialog = make(filled)
    assert models(dialog)[0] == "c/middle"
    header = dialog.kept.table.horizontalHeader()

    def click_title(column):
        spot = header.rect().center()
        spot.setX(header.sectionViewportPosition(column) + 20)
        QTest.mouseClick(header.viewport(), LEFT, pos=spot)

    by_size = ["d/kilobytes", "a/small", "c/middle", "b/large"]
    click_title(2)
    up = models(dialog)
    assert up in (by_size, by_size[::-1])
    click_title(2)
    assert models(dialog) == up[::-1]
    click_title(0)
    assert sorted(models(dialog)) in (models(dialog), models(dialog)[::-1])
    click_title(USED)
    used = models(dialog)
    assert "d/kilobytes" in (used[0], used[-1])


@pytest.mark.parametrize("theme", [LIGHT, DARK])
def test_nothing_is_cut_off_or_unexplained_and_it_fits_a_small_screen(make, filled, dress, theme):
    keep(filled, "stanford-crfm/alias-gpt2-small-x21", revision="checkpoint-400000")
    dress(theme)
    dialog = make(filled)
    page, tip = dialog.kept, Qt.ItemDataRole.ToolTipRole
    assert dialog.width() <= 800
    assert dialog.height() <= 600
    metrics = page.table.fontMetrics()
    for column in range(4):
        room = page.table.columnWidth(column) - 16
        assert all(metrics.horizontalAdvance(row[column]) <= room for row in rows(dialog))
    for label in dialog.findChildren(QLabel):
        if label.isVisible() and not label.wordWrap():
            assert label.width() >= label.sizeHint().width(), label.text()
    buttons = [b for b in dialog.findChildren(QPushButton) if b.text() != "Close"]
    for widget in (*buttons, page.folder, page.limit, page.bar, dialog.offline):
        assert widget.toolTip()
    row = page.table.model().index(1, 0).data(tip)
    assert row.splitlines()[:3] == ["c/middle", f"Commit {COMMIT}", "Revision main"]
    header = page.table.model().headerData
    assert all(header(title, Qt.Orientation.Horizontal, tip) for title in range(4))


def test_a_selected_model_is_removed(dialog, filled):
    click_row(dialog, 2)
    keep(filled, "d/new")
    dialog.kept.refresh()  # the selection outlives a new list
    assert [one.repo for one in dialog.kept.table.selected()] == ["a/small"]
    assert dialog.kept.remove.isEnabled()
    click(dialog.kept.remove)
    assert models(dialog) == ["d/new", "c/middle", "b/large"]
    assert not filled.has("a/small", COMMIT, "wpe")
    assert text(dialog.kept.message) == "Removed 1.0 MB."
    assert text(dialog.kept.usage) == "8.0 MB of at most"
    assert dialog.heard == [("removed",)]
    assert not dialog.kept.remove.isEnabled()


def test_ids_are_copied_and_delete_removes_several(dialog):
    QTest.keyClick(dialog.kept.table, Qt.Key.Key_A, CONTROL)
    QTest.keyClick(dialog.kept.table, Qt.Key.Key_C, CONTROL)
    assert sorted(QGuiApplication.clipboard().text().splitlines()) == [
        f"{name}@{COMMIT}" for name in ("a/small", "b/large", "c/middle")
    ]
    click_row(dialog, 0)
    click_row(dialog, 2, CONTROL)
    QTest.keyClick(dialog.kept.table, Qt.Key.Key_Delete)
    assert models(dialog) == ["b/large"]
    QTest.keyClick(dialog.kept.table, Qt.Key.Key_Delete)
    assert models(dialog) == ["b/large"]
    assert dialog.heard == [("removed",)]


def test_clearing_asks_first(dialog, filled, qtbot):
    def gone():
        qtbot.waitUntil(lambda: not dialog.findChildren(QMessageBox))

    click(dialog.kept.clear)
    assert "all 3 models" in question(dialog).text()
    assert "8.0" in question(dialog).text()
    assert question(dialog).defaultButton().text().replace("&", "") == "Cancel"
    answer(dialog, "Cancel")
    gone()
    click(dialog.kept.clear)
    QTest.keyClick(question(dialog), Qt.Key.Key_Escape)
    gone()
    assert len(rows(dialog)) == 3
    assert dialog.heard == []
    click(dialog.kept.clear)
    answer(dialog, "Remove all")
    assert rows(dialog) == []
    assert dialog.kept.table.message.text() == EMPTY
    assert filled.usage() == 0
    assert dialog.heard == [("removed",)]
    gone()
    keep(filled, "a/small")
    dialog.kept.refresh()
    click(dialog.kept.clear)
    assert "the one model" in question(dialog).text()
    answer(dialog, "Cancel")


def test_nothing_else_can_be_changed_while_something_is_removed(make, filled, hand_jobs):
    dialog = make(filled, hand_jobs)
    hand_jobs.deliver_all()
    # A list that is being made does not bring back what is removed meanwhile.
    dialog.kept.refresh()
    hand_jobs.compute(LISTING)
    click_row(dialog, 0)
    click(dialog.kept.remove)
    assert hand_jobs.started.count(CHANGING) == 1
    click_row(dialog, 1)
    for widget in (dialog.kept.remove, dialog.kept.clear, dialog.kept.limit):
        assert not widget.isEnabled()
    QTest.keyClick(dialog.kept.table, Qt.Key.Key_Delete)
    dialog.kept.refresh()
    hand_jobs.drag_on(CHANGING)
    assert dialog.kept.message.text() == "Removing…"
    hand_jobs.deliver(CHANGING)
    hand_jobs.deliver_all()
    assert text(dialog.kept.message) == "Removed 2.0 MB."
    assert dialog.kept.remove.isEnabled()  # for the row selected meanwhile
    assert models(dialog) == ["b/large", "a/small"]


def test_a_removal_that_fails_is_said(dialog, filled, monkeypatch, caplog):
    monkeypatch.setattr(filled, "remove", lambda repo, commit: 0)
    click_row(dialog, 0)
    click(dialog.kept.remove)
    said = dialog.kept.message.text()
    assert said == "c/middle@607a30d could not be removed; see the log for details."
    assert len(rows(dialog)) == 3

    def fault(repo, commit):
        raise RuntimeError("a fault")

    monkeypatch.setattr(filled, "remove", fault)
    click(dialog.kept.remove)
    assert dialog.kept.message.text() == "a fault"
    assert "could not be changed" in caplog.text
    assert dialog.kept.clear.isEnabled()


def test_a_limit_is_typed_or_taken_back_with_esc_which_closes_then(dialog, filled):
    type_limit(dialog, "1")
    assert dialog.kept.note.text() == WHEN_FULL
    type_limit(dialog, "1 MB")
    assert dialog.kept.note.text() == BOUNDS
    QTest.keyClick(dialog.kept.limit, Qt.Key.Key_Escape)
    assert dialog.isVisible()
    assert text(dialog.kept.limit) == "2 GB"
    assert dialog.kept.note.text() == WHEN_FULL
    type_limit(dialog, "500 MB")
    assert filled.max_bytes == 2000 * MB
    assert dialog.heard == []
    QTest.keyClick(dialog.kept.limit, Qt.Key.Key_Return)
    assert filled.max_bytes == 500 * MB
    assert dialog.heard == [("limit", 500 * MB)]
    assert len(rows(dialog)) == 3
    assert dialog.kept.bar.value() == 16
    QTest.keyClick(dialog.kept.limit, Qt.Key.Key_Escape)
    assert not dialog.isVisible()


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
    assert text(dialog.kept.message) == "Removed 60.0 MB."
    assert dialog.kept.note.text() == WHEN_FULL
    assert colour(dialog.kept.note) == LIGHT.muted
    assert sorted(dialog.heard) == [("limit", 130 * MB), ("removed",)]


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


def test_the_folder_is_opened_and_its_path_can_be_copied(dialog, filled, opener):
    click(dialog.kept.open_folder)
    assert opener.opened == [str(filled.root)]
    dialog.kept.folder.setFocus()
    QTest.keyClick(dialog.kept.folder, Qt.Key.Key_A, CONTROL)
    QTest.keyClick(dialog.kept.folder, Qt.Key.Key_C, CONTROL)
    assert QGuiApplication.clipboard().text() == str(filled.root)
    QTest.keyClicks(dialog.kept.folder, "x")
    assert dialog.kept.folder.text() == str(filled.root)


def test_working_offline_is_asked_for_and_shown_once_it_holds_or_is_forced(make, cache, session):
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
    forced = make(cache, forced_offline=True).offline
    for session.offline in (True, False):
        assert forced.isChecked()
        assert not forced.isEnabled()
        assert forced.toolTip().replace("\n", " ") == FORCED_TIP


def test_where_an_access_token_was_found_is_said(make, cache):
    for place, said in (
        (None, NO_TOKEN),
        ("HF_TOKEN", "An access token was found in the variable HF_TOKEN."),
        ("/x/huggingface/token", "An access token was found in /x/huggingface/token."),
        (r"C:\x\token", r"An access token was found in C:\x\token."),
    ):
        assert make(cache, find_token=lambda place=place: place).token.text().startswith(said)

    def fail():
        raise OSError("hf_secret is broken")

    dialog = make(cache, find_token=fail)
    assert dialog.token.text() == "The search for an access token failed; see the log for details."


def test_the_token_is_looked_for_again_and_off_the_gui_thread(make, cache, hand_jobs):
    places = ["HF_TOKEN", None]
    dialog = make(cache, hand_jobs, lambda: places.pop())
    assert dialog.token.text() == ""
    hand_jobs.deliver(TOKEN)
    assert dialog.token.text() == NO_TOKEN
    assert "`" not in NO_TOKEN, "Markdown is not rendered there"
    dialog.close()
    dialog.show()
    hand_jobs.deliver(TOKEN)
    assert "HF_TOKEN." in dialog.token.text()


def test_tab_goes_through_it_in_reading_order(dialog):
    click_row(dialog, 0)
    page = dialog.kept
    order = [page.folder, page.open_folder, page.limit, page.table, page.remove, page.clear]
    order += [dialog.offline, dialog.defaults, dialog.keys]
    page.folder.setFocus()
    seen = []
    for _ in order:
        seen.append(QApplication.focusWidget())
        QTest.keyClick(QApplication.focusWidget(), Qt.Key.Key_Tab)
    assert seen == order
    assert QApplication.focusWidget().text().replace("&", "") == "Close"


def test_close_closes_and_enter_elsewhere_does_nothing(dialog, opener):
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


def test_the_appearance_is_chosen_stored_and_reset(dialog, settings, session):
    page = dialog.appearance
    asked = []
    page.themeRequested.connect(lambda choice: asked.append(choice))
    page.textSizeRequested.connect(lambda size: asked.append(size))
    click(page.theme.buttons["dark"])
    click(page.text_size.buttons["15"])
    assert asked == ["dark", 15]
    assert page.colormap.currentText() == LAST_MAP
    page.colormap.setFocus()
    while page.colormap.currentText() != "viridis":
        before = page.colormap.currentIndex()
        QTest.keyClick(page.colormap, Qt.Key.Key_Down)
        assert page.colormap.currentIndex() > before
    assert (settings.colormap, session.colormap) == ("viridis", "viridis")
    click(page.range.buttons["all"])
    assert (settings.first_range, session.first_range) == ("all", "all")
    again = Settings(settings._file).new_session()
    assert (again.colormap, again.first_range) == ("viridis", "all")
    settings.text_size = 15
    assert dialog.defaults.text() == "Reset appearance"
    click(dialog.defaults)
    assert asked == ["dark", 15, 13]
    assert (settings.colormap, settings.first_range) == ("", "typical")
    assert page.colormap.currentText() == LAST_MAP
    assert page.range.value() == "typical"


def test_the_dialog_fits_a_small_screen_with_text_of_any_size(dialog, qapp):
    for size in TEXT_SIZES:
        qapp.setStyleSheet(stylesheet(replace(LIGHT, text_size=size)))
        QApplication.processEvents()
        assert dialog.minimumSizeHint().height() <= 740
        assert dialog.minimumSizeHint().width() <= 1000
