"""What is kept, in the settings dialog: shown, and removed with real clicks and keys."""

from types import SimpleNamespace

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel, QMessageBox, QPushButton

from geometry.hub.tensor_cache import TensorCache
from gui.style.theme import DARK, LIGHT
from gui.window.settings.kept_page import CHANGING, EMPTY, LISTING, READ_ONLY, WHEN_FULL
from gui.window.settings.kept_table import USED
from tests.gui.window.settings.settings_stage import (
    COMMIT,
    LEFT,
    MB,
    OTHER,
    answer,
    click,
    click_row,
    keep,
    models,
    question,
    rows,
    text,
)

# ---- what is shown -------------------------------------------------------------------------


def test_what_is_kept_is_shown(make, filled):
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


def test_an_empty_cache_is_one_sentence(make, cache):
    dialog = make(cache)
    assert dialog.kept.table.message.isVisible()
    assert dialog.kept.table.message.text() == EMPTY
    assert dialog.kept.table.horizontalHeader().isHidden()
    assert text(dialog.kept.usage) == "0 bytes of at most"
    for button in (dialog.kept.remove, dialog.kept.clear, dialog.kept.open_folder):
        assert not button.isEnabled()


def test_a_folder_that_cannot_be_read_is_said(make, tmp_path, caplog):
    (tmp_path / "hub").write_text("", "utf-8")
    dialog = make(TensorCache(tmp_path / "hub"))
    said = dialog.kept.table.message.text()
    assert said.startswith(f"{tmp_path / 'hub'} cannot be read: Not a directory. ")
    assert said.endswith("not kept.")
    assert dialog.kept.open_folder.isEnabled()
    assert not dialog.kept.clear.isEnabled()
    assert "could not be listed" in caplog.text


def test_a_folder_that_cannot_be_written_is_said(make, filled, monkeypatch):
    # Nobody is denied anything when the tests run as root.
    monkeypatch.setattr("gui.services.kept_models.os.access", lambda *_: False)
    assert make(filled).kept.note.text() == READ_ONLY


def test_looking_takes_its_time_without_flicker(make, filled, hand_jobs):
    dialog = make(filled, hand_jobs)
    assert dialog.kept.table.message.text().strip() == ""
    hand_jobs.drag_on(LISTING)
    assert dialog.kept.table.message.text() == "Looking at what is kept…"
    hand_jobs.deliver(LISTING)
    assert len(rows(dialog)) == 3
    dialog.kept.refresh()
    hand_jobs.drag_on(LISTING)
    assert len(rows(dialog)) == 3
    assert not dialog.kept.table.message.isVisible()


def test_it_looks_again_whenever_it_is_shown(make, filled):
    dialog = make(filled)
    dialog.close()
    keep(filled, "d/new")
    assert "d/new" not in models(dialog)
    dialog.show()
    assert models(dialog)[0] == "d/new"


def test_it_looks_again_when_a_model_was_opened_while_it_is_shown(make, filled, session, hand_jobs):
    dialog = make(filled, hand_jobs)
    hand_jobs.deliver_all()
    keep(filled, "d/new")
    session.model = SimpleNamespace()
    hand_jobs.deliver_all()
    assert models(dialog)[0] == "d/new"
    dialog.close()
    session.model = None
    assert not hand_jobs.waiting


def test_rows_are_sorted_by_what_they_mean(make, filled):
    keep(filled, "d/kilobytes", 900_000, used=1_000_000_000)
    dialog = make(filled)
    assert models(dialog)[0] == "c/middle"
    header = dialog.kept.table.horizontalHeader()

    def click_title(column):
        spot = header.rect().center()
        spot.setX(header.sectionViewportPosition(column) + 20)
        QTest.mouseClick(header.viewport(), LEFT, pos=spot)

    click_title(2)
    up = models(dialog)
    assert up in (
        ["d/kilobytes", "a/small", "c/middle", "b/large"],
        ["b/large", "c/middle", "a/small", "d/kilobytes"],
    )
    click_title(2)
    assert models(dialog) == up[::-1]
    click_title(0)
    assert sorted(models(dialog)) in (models(dialog), models(dialog)[::-1])
    click_title(USED)
    used = models(dialog)
    assert "d/kilobytes" in (used[0], used[-1])


def test_a_row_tells_more_when_pointed_at(make, filled):
    dialog = make(filled)
    index = dialog.kept.table.model().index(0, 0)
    tip = index.data(Qt.ItemDataRole.ToolTipRole)
    assert tip.splitlines()[:3] == ["c/middle", f"Commit {COMMIT}", "Revision main"]


def test_everything_has_something_to_say(make, filled):
    dialog = make(filled)
    for kind in (QPushButton,):
        buttons = [b for b in dialog.findChildren(kind) if b.text() != "Close"]
        assert all(b.toolTip() for b in buttons)
    for widget in (dialog.kept.folder, dialog.kept.limit, dialog.kept.bar, dialog.offline):
        assert widget.toolTip()
    for title in range(4):
        assert dialog.kept.table.model().headerData(
            title, Qt.Orientation.Horizontal, Qt.ItemDataRole.ToolTipRole
        )


@pytest.mark.parametrize("theme", [LIGHT, DARK])
def test_nothing_is_cut_off_and_it_fits_a_small_screen(make, filled, dress, theme):
    keep(filled, "stanford-crfm/alias-gpt2-small-x21", revision="checkpoint-400000")
    dress(theme)
    dialog = make(filled)
    assert dialog.width() <= 800
    assert dialog.height() <= 600
    metrics = dialog.kept.table.fontMetrics()
    for column in range(4):
        room = dialog.kept.table.columnWidth(column) - 16
        assert all(metrics.horizontalAdvance(row[column]) <= room for row in rows(dialog))
    for label in dialog.findChildren(QLabel):
        if label.isVisible() and not label.wordWrap():
            assert label.width() >= label.sizeHint().width(), label.text()


# ---- removing --------------------------------------------------------------------------------


def test_a_selected_model_is_removed(make, filled):
    dialog = make(filled)
    assert not dialog.kept.remove.isEnabled()
    click_row(dialog, 1)
    assert dialog.kept.remove.isEnabled()
    click(dialog.kept.remove)
    assert models(dialog) == ["c/middle", "a/small"]
    assert not filled.has("b/large", COMMIT, "wpe")
    assert text(dialog.kept.said) == "Removed 5.0 MB."
    assert text(dialog.kept.usage) == "3.0 MB of at most"
    assert dialog.heard == [("removed",)]
    assert not dialog.kept.remove.isEnabled()


def test_delete_removes_several(make, filled):
    dialog = make(filled)
    click_row(dialog, 0)
    click_row(dialog, 2, Qt.KeyboardModifier.ControlModifier)
    QTest.keyClick(dialog.kept.table, Qt.Key.Key_Delete)
    assert models(dialog) == ["b/large"]
    QTest.keyClick(dialog.kept.table, Qt.Key.Key_Delete)
    assert models(dialog) == ["b/large"]
    assert dialog.heard == [("removed",)]


def test_the_selection_outlives_a_new_list(make, filled):
    dialog = make(filled)
    click_row(dialog, 2)
    keep(filled, "d/new")
    dialog.kept.refresh()
    assert [one.repo for one in dialog.kept.table.selected()] == ["a/small"]
    assert dialog.kept.remove.isEnabled()


def test_selected_ids_are_copied(make, filled):
    dialog = make(filled)
    QTest.keyClick(dialog.kept.table, Qt.Key.Key_A, Qt.KeyboardModifier.ControlModifier)
    QTest.keyClick(dialog.kept.table, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    assert sorted(QGuiApplication.clipboard().text().splitlines()) == [
        f"{name}@{COMMIT}" for name in ("a/small", "b/large", "c/middle")
    ]


def test_clearing_asks_first(make, filled):
    dialog = make(filled)
    click(dialog.kept.clear)
    assert "all 3 models" in question(dialog).text()
    assert "8.0" in question(dialog).text()
    assert question(dialog).defaultButton().text().replace("&", "") == "Cancel"
    assert len(rows(dialog)) == 3
    answer(dialog, "Remove all")
    assert rows(dialog) == []
    assert dialog.kept.table.message.text() == EMPTY
    assert filled.usage() == 0
    assert dialog.heard == [("removed",)]


def test_clearing_can_be_thought_better_of(make, filled, qtbot):
    dialog = make(filled)
    click(dialog.kept.clear)
    answer(dialog, "Cancel")
    qtbot.waitUntil(lambda: not dialog.findChildren(QMessageBox))
    click(dialog.kept.clear)
    QTest.keyClick(question(dialog), Qt.Key.Key_Escape)
    qtbot.waitUntil(lambda: not dialog.findChildren(QMessageBox))
    assert len(rows(dialog)) == 3
    assert dialog.heard == []


def test_one_model_is_asked_about_in_the_singular(make, cache):
    keep(cache, "a/small")
    dialog = make(cache)
    click(dialog.kept.clear)
    assert "the one model" in question(dialog).text()
    answer(dialog, "Cancel")


def test_nothing_else_can_be_changed_while_something_is_removed(make, filled, hand_jobs):
    dialog = make(filled, hand_jobs)
    hand_jobs.deliver_all()
    click_row(dialog, 0)
    click(dialog.kept.remove)
    assert hand_jobs.started.count(CHANGING) == 1
    click_row(dialog, 1)
    for widget in (dialog.kept.remove, dialog.kept.clear, dialog.kept.limit):
        assert not widget.isEnabled()
    QTest.keyClick(dialog.kept.table, Qt.Key.Key_Delete)
    dialog.kept.refresh()
    assert list(hand_jobs.waiting) == [CHANGING]
    hand_jobs.drag_on(CHANGING)
    assert dialog.kept.said.text() == "Removing…"
    hand_jobs.deliver(CHANGING)
    assert text(dialog.kept.said) == "Removed 2.0 MB."
    assert dialog.kept.remove.isEnabled()  # for the row selected meanwhile
    assert models(dialog) == ["b/large", "a/small"]


def test_a_list_that_was_being_made_does_not_bring_back_what_was_removed(make, filled, hand_jobs):
    dialog = make(filled, hand_jobs)
    hand_jobs.deliver_all()
    dialog.kept.refresh()
    hand_jobs.compute(LISTING)
    click_row(dialog, 0)
    click(dialog.kept.remove)
    hand_jobs.deliver(CHANGING)
    hand_jobs.deliver_all()
    assert models(dialog) == ["b/large", "a/small"]


def test_a_removal_that_fails_is_said(make, filled, monkeypatch, caplog):
    dialog = make(filled)
    monkeypatch.setattr(filled, "remove", lambda repo, commit: 0)
    click_row(dialog, 0)
    click(dialog.kept.remove)
    assert dialog.kept.said.text() == "c/middle@607a30d could not be removed: the log says why."
    assert len(rows(dialog)) == 3

    def fault(repo, commit):
        raise RuntimeError("a fault")

    monkeypatch.setattr(filled, "remove", fault)
    click(dialog.kept.remove)
    assert dialog.kept.said.text() == "a fault"
    assert "could not be changed" in caplog.text
    assert dialog.kept.clear.isEnabled()
