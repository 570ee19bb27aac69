"""Surveys in the application: how they are opened, followed, and what they open."""

import os

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QFileDialog

from geometry.models.sources.locating import located, path_exists
from geometry.models.sources.opening import open_model
from geometry.models.sources.source import Source
from geometry.survey.parts import SurveyFile
from geometry.survey.populations import Entry
from geometry.survey.rows import RowSettings
from gui.services import foreign_hosts
from gui.services.loading import remember_table
from gui.services.surveys import is_survey
from gui.window.survey import opener
from gui.window.survey.rows import common_folder, value_text
from tests.bare_models import CHOICE, write_bare
from tests.geometry.history_stage import growing, write_record
from tests.gui.dialogs import press_key
from tests.gui.on_screen import drop
from tests.gui.window.survey.survey_table import entries, row, write_survey
from tests.stand_ins import CHECKPOINTS, STANFORD, positions_of, write_stand_in

STEPS = [0, 10, 500]
CONTROL_ALT = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.AltModifier


@pytest.fixture
def checkpoints(write_gpt2, helix):
    """Two checkpoints on the disk, with their rows' sources."""
    return [
        Entry(str(write_gpt2(f"run-{step}", helix(seed=step))), "run", 3, step) for step in (5, 10)
    ]


@pytest.fixture
def path(tmp_path, checkpoints):
    return write_survey(tmp_path / "own.parquet", checkpoints)


@pytest.fixture
def open_survey(application, qtbot):
    """Open a survey, and return its window beside the main window."""
    surveys = application.window.surveys

    def opened(path):
        application.controller.open(str(path))
        qtbot.waitUntil(lambda: surveys.shown is not None and surveys.shown.survey.path == path)
        return surveys.shown

    return opened


@pytest.fixture
def shown(open_survey, path):
    return open_survey(path)


def test_a_survey_is_known_by_its_name():
    for name in ("a.parquet", "/b/A.PARQUET", "a.parquet.parts", "a.parquet.parts/"):
        assert is_survey(name)
    for name in ("a.npy", "parquet", "a.parquet/x", "owner/model"):
        assert not is_survey(name)


def test_command_asks_for_a_file(application, window, path, qtbot, monkeypatch, settle):
    model = application.session.model
    monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *_: (str(path), ""))
    press_key(qtbot, window, Qt.Key.Key_V, CONTROL_ALT)
    qtbot.waitUntil(lambda: window.surveys.shown is not None and window.surveys.shown.isVisible())
    assert window.surveys.shown.windowTitle() == "own.parquet – Survey – Helixscope"
    assert application.session.model is model
    assert Source.parse(str(path)) not in application.session.recent
    assert application.session.surveys == (str(path),)
    settle()


def test_a_dropped_part_of_a_running_survey_opens_it(application, window, tmp_path, qtbot):
    path = tmp_path / "running.parquet"
    with SurveyFile(path, RowSettings()) as file:
        file.add(row(entries()[0], 0))
        file.flush()
        drop(window, next(file.parts.glob("part-*")))
        qtbot.waitUntil(
            lambda: window.surveys.shown is not None and window.surveys.shown.survey.path == path
        )


def test_a_file_that_is_none_is_one_sentence_and_nothing_opens(application, tmp_path, qtbot):
    path = tmp_path / "other.parquet"
    path.write_bytes(b"PAR1 and nothing else")
    before = application.window.surveys.shown
    application.controller.open(str(path))
    qtbot.waitUntil(lambda: application.session.notice is not None)
    assert application.session.notice.text == "other.parquet is damaged."
    assert application.window.surveys.shown is before


@pytest.mark.slow
def test_enter_opens_a_checkpoint_in_the_main_window(application, shown, checkpoints, settle):
    source = checkpoints[1].source
    rows = f"{open_model(source).table}[8:]"  # the survey has measured the default
    remember_table(application.session, located(Source.parse(source)), rows)
    shown.table.select_rows(np.array([1]))
    QTest.keyClick(shown.table, Qt.Key.Key_Return)
    settle()
    model = application.session.model
    assert (model.source.text, model.table_choice) == (source, None)


def test_selected_replace_the_others(application, shown, checkpoints, qtbot, settle):
    session = application.session
    shown.table.select_rows(np.array([0, 1]))
    QTest.mouseClick(shown.beside, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: len(session.others) == 1)
    settle()
    assert session.model.source.text == checkpoints[0].source
    (other,) = session.others
    assert other.session.model.source.text == checkpoints[1].source


def test_checkpoints_open_with_their_tables(
    application, open_survey, write_gpt2, tmp_path, qtbot, settle
):
    session, bare = application.session, write_bare(tmp_path / "bare.safetensors")
    found = [Entry(source, "run", 3, step) for step, source in enumerate((bare, str(write_gpt2())))]
    shown = open_survey(write_survey(tmp_path / "chosen.parquet", found, tables=(CHOICE, None)))
    shown.table.select_rows(np.array([0, 1]))
    QTest.mouseClick(shown.beside, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: len(session.others) == 1)
    settle()
    assert (session.model.source.text, session.model.table_choice) == (bare, CHOICE)
    assert session.others[0].session.model.table_choice is None


def test_steps_of_one_training_side_by_side(application, open_survey, tmp_path, qtbot, settle):
    folder, session = tmp_path / "trained", application.session
    folder.mkdir()
    write_record(folder / "history.safetensors", STEPS)
    steps = [Entry(f"{folder}/step {step}", "trained", 3, step) for step in STEPS]
    shown = open_survey(write_survey(tmp_path / "steps.parquet", steps))
    shown.table.select_rows(np.arange(len(STEPS)))
    QTest.mouseClick(shown.beside, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: len(session.others) == len(STEPS) - 1)
    settle()
    models = [session.model, *(other.session.model for other in session.others)]
    assert [model.name for model in models] == [f"trained · step {step}" for step in STEPS]
    for model, table in zip(models, growing(STEPS), strict=True):
        np.testing.assert_array_equal(model.W_pos, table.astype(np.float16))
    assert models[0].source.id == steps[0].source
    assert path_exists(steps[1].source)
    assert Source.parse(steps[1].source).name == f"trained · step {STEPS[1]}"


def test_a_name_that_is_not_utf_8_is_opened(
    application, open_survey, write_gpt2, helix, tmp_path, qtbot
):
    folder = write_gpt2("run", helix(seed=1)).rename(tmp_path / os.fsdecode(b"caf\xe9"))
    entries = [Entry(str(folder), folder.name, 3, 5)]
    shown = open_survey(write_survey(tmp_path / "odd.parquet", entries))
    shown.table.select_rows(np.array([0]))
    QTest.keyClick(shown.table, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: application.session.model.source.text == str(folder))


def test_hub_checkpoint_opens(loopback_hub, start_application, tmp_path, qtbot, wait_until_idle):
    name, branch = STANFORD[0], CHECKPOINTS[-1]
    loopback_hub.add(name, write_stand_in(tmp_path / "made", name, branch), revision=branch)
    path = write_survey(tmp_path / "hub.parquet", [Entry(f"{name}@{branch}", "hub", 21, 400)])
    application = start_application("sample")
    application.controller.open(str(path))
    surveys = application.window.surveys
    qtbot.waitUntil(lambda: surveys.shown is not None)
    surveys.shown.table.select_rows(np.array([0]))
    QTest.keyClick(surveys.shown.table, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: application.session.model.source.text == f"{name}@{branch}")
    wait_until_idle(application)
    np.testing.assert_array_equal(application.session.model.W_pos, positions_of(name, branch))


def test_running_survey_is_followed(application, open_survey, tmp_path, qtbot, settle):
    surveys, path, found = application.window.surveys, tmp_path / "running.parquet", entries()
    surveys._timer.setInterval(20)
    with SurveyFile(path, RowSettings()) as file:
        file.announce(found)
        file.add(row(found[0], 0))
        file.flush()
        open_survey(path)
        assert surveys.shown.progress.text() == "1 of 15 checkpoints"
        for at, entry in enumerate(found[1:], start=1):
            file.add(row(entry, at))
        file.flush()
        qtbot.waitUntil(lambda: surveys.shown.progress.text() == "15 of 15 checkpoints, 1 failed")
        (part,) = [one for one in file.parts.glob("part-*") if one.name.endswith("2.parquet")]
        whole = part.read_bytes()
        part.write_bytes(whole[:100])
        qtbot.waitUntil(lambda: "is damaged" in surveys.shown.note.text())
        part.write_bytes(whole)
        qtbot.waitUntil(lambda: surveys.shown.note.text() == "")
    qtbot.waitUntil(lambda: surveys.shown.progress.text() == "15 checkpoints, 1 failed")
    qtbot.waitUntil(lambda: not surveys._timer.isActive())
    assert application.session.notice is None
    surveys._timer.setInterval(opener.LOOK_MS)
    settle()


def test_changed_file_is_read_at_activation(application, shown, path, checkpoints, qtbot):
    application.window.activateWindow()
    qtbot.waitUntil(lambda: not shown.isActiveWindow())
    write_survey(path, [Entry("own/new", "own", 1, 2)])
    shown.activateWindow()
    qtbot.waitUntil(lambda: len(shown.survey) == len(checkpoints) + 1)


@pytest.mark.slow
def test_a_start_with_a_survey_shows_it_beside_the_last_model(start_application, path, qtbot):
    application = start_application(path, wait=False)
    surveys = application.window.surveys
    qtbot.waitUntil(lambda: surveys.shown is not None and surveys.shown.isVisible())
    assert surveys.shown.survey.path == path
    assert application.session.notice is None
    application.window.close()
    assert not surveys.shown.isVisible()


@pytest.mark.slow
def test_nothing_of_a_survey_is_imported_before_one_is_opened(tmp_path, path, run_python):
    heavy = "{'pyarrow', 'dask', 'distributed', 'geometry.survey.read'}"
    printed = run_python(
        "import sys\n"
        "from tests.gui.alone import start\n"
        f"application = start({str(tmp_path / 'settings.json')!r}, 'sample')\n"
        f"print(sorted({heavy} & set(sys.modules)))\n"
        f"application.controller.open({str(path)!r})\n"
        "while application.window.surveys.shown is None:\n"
        "    application._qt.processEvents()\n"
        f"print(sorted({heavy} & set(sys.modules)))\n"
        "application.close()\n"
    )
    assert printed.splitlines() == ["[]", "['geometry.survey.read', 'pyarrow']"]


def test_unknown_computer_is_not_asked_on_windows(application, window, shown, monkeypatch):
    monkeypatch.setattr(foreign_hosts, "ON_WINDOWS", True)
    for emit in (
        lambda: shown.openRequested.emit(r"\\nas\models\a"),
        lambda: shown.besideRequested.emit((r"\\nas\models\a", "sample")),
    ):
        application.session.notice, model = None, application.session.model
        emit()
        assert "“nas”" in application.session.notice.text
        assert application.session.model is model
        assert application.session.opening is None
        assert application.session.others == ()


def test_what_a_survey_opens_comes_in_front(window, shown, checkpoints, qtbot):
    qtbot.waitUntil(shown.isActiveWindow)
    assert shown.windowHandle().transientParent() is None
    for emit in (
        lambda: shown.besideRequested.emit(tuple(entry.source for entry in checkpoints)),
        lambda: shown.openRequested.emit(checkpoints[0].source),
    ):
        shown.activateWindow()
        qtbot.waitUntil(shown.isActiveWindow)
        emit()
        qtbot.waitUntil(window.isActiveWindow)
    assert shown.isVisible()


def test_rows_leave_out_the_folder_of_all(shown, checkpoints):
    rows = shown.table.rows
    at = list(shown.survey.columns).index("source")
    cells = [rows.index(row, at).data() for row in range(rows.rowCount())]
    assert cells == ["run-5", "run-10"]
    assert [value_text(rows.columns[at], row) for row in range(2)] == [
        entry.source for entry in checkpoints
    ]


@pytest.mark.parametrize(
    ("sources", "folder"),
    [
        (["/a/run", "/a/run/step 5"], "/a/"),
        (["/a/b/one", "/a/b/two"], "/a/b/"),
        (["/a/one", "org/model"], ""),
        (["org/one", "org/two"], ""),
        (["/a/one"], ""),
        ([], ""),
    ],
)
def test_the_folder_of_all_paths(sources, folder):
    assert common_folder(sources) == folder
