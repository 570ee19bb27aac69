"""Asking where to save: the ending that a file gets, and whether one may be replaced."""

import pytest
from PySide6.QtCore import Qt, QTimer
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QFileDialog, QMessageBox, QWidget

from gui.export.save_result import ask_where
from gui.services.save_folders import folder_for
from gui.state.session import Session

KINDS = {"png": "PNG picture (*.png)", "svg": "SVG drawing (*.svg)"}
PNG, SVG = KINDS.values()


@pytest.fixture
def ask(qtbot, monkeypatch):
    """Ask; each answer of the dialog is a path and the kind chosen, None cancels it."""

    def ask_with(*answers, title="Save figure", kinds=KINDS, folders=None, **options):
        parent, left = QWidget(), list(answers)
        qtbot.addWidget(parent)

        def execute(dialog):
            answer = left.pop(0)
            if folders is not None:
                folders.append(dialog.directory().absolutePath())
            if answer is None:
                return QFileDialog.DialogCode.Rejected
            dialog.selectNameFilter(answer[1])
            dialog.selectFile(str(answer[0]))
            return QFileDialog.DialogCode.Accepted

        monkeypatch.setattr(QFileDialog, "exec", execute)
        found = ask_where(parent, title, "sum", kinds, **options)
        assert not left
        return found

    return ask_with


@pytest.fixture
def press(qtbot):
    """Press a button of the question that is asked next; returns what was asked."""
    asked = []
    timer = QTimer(QApplication.instance(), interval=10)

    def press_next(word):
        def press_it():
            box = QApplication.activeModalWidget()
            if not isinstance(box, QMessageBox):
                return
            timer.stop()
            asked.append(box.text())
            (button,) = [b for b in box.buttons() if b.text().replace("&", "") == word]
            QTest.mouseClick(button, Qt.MouseButton.LeftButton)

        timer.timeout.connect(press_it)
        timer.start()
        return asked

    yield press_next
    timer.stop()
    timer.deleteLater()


@pytest.mark.parametrize(
    ("written", "kind", "saved"),
    [
        ("sum.png", PNG, "sum.png"),
        ("sum.SVG", PNG, "sum.SVG"),
        ("opt-1.3b", PNG, "opt-1.3b.png"),
        ("opt-1.3b", SVG, "opt-1.3b.svg"),
        ("sum.docx", SVG, "sum.docx.svg"),
    ],
)
def test_ending_is_typed_or_of_the_chosen_kind(ask, tmp_path, written, kind, saved):
    assert ask((tmp_path / written, kind)) == tmp_path / saved


def test_a_name_with_a_dot_replaces_nothing_unasked(ask, press, tmp_path):
    assert ask(None) is None
    there, other = (tmp_path / name for name in ("opt-1.3b", "opt-2.7b"))
    (tmp_path / "opt-1.3b.svg").write_text("before")
    # Not to be replaced: the dialog is there again.
    asked = press("Cancel")
    assert ask((there, SVG), (other, SVG)) == tmp_path / "opt-2.7b.svg"
    press("Cancel")
    assert ask((there, SVG), None) is None
    assert asked == 2 * ["opt-1.3b.svg already exists. Replace it?"]


@pytest.mark.parametrize(
    ("name", "asked_for", "times"), [("opt-1.3b.svg", "opt-1.3b", 1), ("sum.svg", "sum.svg", 0)]
)
def test_a_file_is_replaced_if_the_user_says_so_once(ask, press, tmp_path, name, asked_for, times):
    """What the dialog asked itself is not asked again."""
    (tmp_path / name).write_text("before")
    asked = press("Replace")
    assert ask((tmp_path / asked_for, SVG)) == tmp_path / name
    assert len(asked) == times


def test_the_dialog_itself_leaves_a_dotted_name_without_an_ending(qtbot, tmp_path):
    """Why the ending is added afterwards: the dialog takes ".3b" for one."""
    dialog = QFileDialog(None, "", str(tmp_path), ";;".join(KINDS.values()))
    qtbot.addWidget(dialog)
    dialog.setOption(QFileDialog.Option.DontUseNativeDialog)
    dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
    dialog.setDefaultSuffix("png")
    for name, found in (("opt", "opt.png"), ("opt-1.3b", "opt-1.3b")):
        dialog.selectFile(name)
        assert dialog.selectedFiles() == [str(tmp_path / found)]


def test_tables_beside_a_csv_replace_nothing_unasked(ask, press, tmp_path):
    (tmp_path / "sum.csv").write_text("the dialog itself asks about this one")
    (tmp_path / "sum-lags.csv").write_text("before")
    (tmp_path / "sum-map.csv").write_text("before")
    kinds = {"csv": "CSV table (*.csv)", "npz": "NumPy arrays (*.npz)"}
    csv, npz = kinds.values()
    asked = press("Cancel")
    answers = ((tmp_path / "sum.csv", csv), (tmp_path / "sum.npz", npz))
    found = ask(*answers, kinds=kinds, beside=("", "lags", "map", "new"))
    assert found == tmp_path / "sum.npz"  # which has all of them in it
    assert asked == ["sum-lags.csv, sum-map.csv already exist. Replace them?"]


def test_dialogs_open_in_the_folder_of_their_kind_or_the_latest(ask, tmp_path):
    session, folders = Session(), []
    figures, tables = tmp_path / "figures", tmp_path / "tables"
    for folder in (figures, tables):
        folder.mkdir()
    ask((figures / "a.png", PNG), session=session, folders=folders)
    ask((tables / "b.png", PNG), session=session, title="Save numbers", folders=folders)
    ask(None, session=session, folders=folders)
    ask(None, session=session, title="Save numbers", folders=folders)
    ask(None, session=session, title="Save picture", folders=folders)
    # Before it has a folder of its own, a dialog begins in the latest of another.
    assert folders[1:] == [str(one) for one in (figures, figures, tables, tables)]
    # One that is gone falls back to the latest that is there.
    figures.rmdir()
    ask(None, session=session, folders=folders)
    assert folders[5] == str(tables)
    tables.rmdir()
    assert folder_for(session, "Save figure") == ""
