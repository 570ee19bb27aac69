"""The GUI thread asks no disk for the user's files: one on the network may take minutes to answer.

Recorded is what Python code asks, and what C code asks through Python. Qt's own calls are out of
reach: apart from its dialogs for files, it is given no path of a user's file.
"""

import os
import re
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest
import typer
from PySide6.QtCore import QTimer
from PySide6.QtTest import QTest

import main
from geometry.models.sources.source import Source
from gui.commands import run_window
from gui.commands.application import Application
from gui.export.save_picture import PictureOptions
from gui.window import exports
from gui.window.arrangement.docks import DOCKS
from gui.window.arrangement.side_by_side import models_at_hand
from gui.window.palette import AddPalette, Palette
from gui.window.work.unsaved_work import UnsavedWork
from tests.command_line import ROOT
from tests.gui.dialogs import answer_file
from tests.gui.file_calls import OnGuiThread, SlowDisk, heard
from tests.gui.on_screen import drop
from tests.gui.training_stage import write_trained
from tests.gui.window.survey.survey_table import write_survey
from tests.marks import slow_but

BEATS = 20
"""How often the event loop turns while a disk is silent."""


@dataclass
class Drive:
    """A window, what can be opened in it, and where it may write."""

    application: Application
    settle: object
    answer: object
    folder: Path
    table: Path
    other: Path
    disk: Path

    def __post_init__(self):
        self.window, self.session = self.application.window, self.application.session
        self.controller = self.application.controller

    def open(self, source):
        self.controller.open(str(source))
        self.settle()


@pytest.fixture
def files(tmp_path, write_gpt2, write_table, helix):
    """A disk with models, a survey and a table of the user's own; the models."""
    disk = tmp_path / "disk"
    disk.mkdir()
    write_survey(disk / "own.parquet")
    rows = "".join(f"{i},{i}\n" for i in range(200))
    (disk / "own.csv").write_text(f"position,loss\n{rows}", "utf-8")
    write_trained(disk / "trained")
    made = write_gpt2(), write_table(), write_gpt2("other", helix(seed=4))
    return [disk, *(path.rename(disk / path.name) for path in made)]


@pytest.fixture
def driven(files, wait_until_idle, monkeypatch):
    """Make a drive of an application."""

    def make(application):
        disk, folder, table, other = files
        settle, answer = partial(wait_until_idle, application), partial(answer_file, monkeypatch)
        return Drive(application, settle, answer, folder, table, other, disk)

    return make


def type_in(palette, text):
    palette.popup()
    QTest.keyClicks(palette.field, text)
    palette.close()


def opening(drive):
    drive.open(drive.folder)
    drive.open(drive.disk / "gone")
    drive.open(drive.disk / "gone.helix")
    drop(drive.window, drive.table)
    drive.settle()
    type_in(Palette(drive.window, drive.window.bookmarks.items()), str(drive.other))
    type_in(AddPalette(drive.window, drive.window.add_beside), "disk/other")
    menu = drive.window.recent_menu
    menu.aboutToShow.emit()
    drive.settle()
    next(one for one in menu.actions() if one.statusTip() == str(drive.folder)).trigger()
    drive.settle()
    assert drive.session.model.home == drive.folder
    drive.open("sinusoidal:64x16")
    drive.open("sample")
    drive.window.undo.undo()
    drive.settle()


def looking(drive):
    drive.open(drive.folder)
    drive.controller.request_positions(3, 100)
    drive.session.change(components=(2, 3, 4), selection=(4, 9), prompt="hello my name")
    drive.settle()
    drive.controller.color_by_file(drive.disk / "own.csv")
    drive.settle()
    os.utime(drive.folder / "model.safetensors")
    drive.controller.changed_files.look()
    drive.settle()
    assert drive.session.notice is not None
    drive.controller.retry()
    drive.settle()


def comparing(drive):
    drive.open(drive.folder)
    drive.controller.comparing.add_source(str(drive.table))
    drive.settle()
    drive.window.add_beside(str(drive.other))
    drive.settle()
    assert len(drive.session.others) == 2
    models_at_hand(drive.session)
    drive.session.ranges_linked = True
    drive.controller.request_positions(5, 90)
    drive.settle()
    drive.window.side_by_side.go_on(1)
    drive.settle()
    drive.controller.comparing.clear()
    drive.settle()


def saving(drive):
    drive.open(drive.folder)
    drive.controller.comparing.add(str(drive.table))
    drive.answer(drive.disk / "mine.helix")
    drive.window.work.save_as()
    drive.settle()
    drive.controller.request_positions(6, 90)
    drive.window.work.save()
    drive.settle()
    assert not drive.window.work.changes.any
    drive.application.findChild(UnsavedWork).keep()
    drive.window.bookmarks.add()
    drive.settle()
    key = drive.session.bookmarks[-1].key
    drive.window.bookmarks.bookmarks.change(key, note="seen")
    drive.window.bookmarks.go_to(key)
    drive.settle()
    drive.open(drive.disk / "mine.helix")
    assert drive.session.work_file == str(drive.disk / "mine.helix")
    assert drive.session.bookmarks[-1].note == "seen"
    drive.window.bookmarks.bookmarks.remove(key)
    drive.settle()


def exporting(drive):
    drive.open(drive.folder)
    window = drive.window
    window.pictures.save(drive.disk / "a.png", PictureOptions(scale=1))
    window.pictures.copy()
    drive.settle()
    for name in ("data.npz", "data.csv"):
        drive.answer(drive.disk / name)
        exports.export_data(window)
        drive.settle()
    drive.answer(drive.disk / "scene.glb")
    exports.export_scene(window)
    drive.settle()
    for name in ("a.png", "data.npz", "data.csv", "scene.glb"):
        assert (drive.disk / name).exists()


def surveying(drive):
    drive.open(drive.disk / "own.parquet")
    surveys = drive.window.surveys
    assert surveys.shown.isVisible()
    surveys.look()
    drive.settle()
    surveys.close()


def each_panel(drive):
    for model in (drive.folder, drive.disk / "trained"):
        drive.open(model)
        for dock in DOCKS:
            drive.window.bring(dock.name)
            drive.settle()


GESTURES = (opening, looking, comparing, saving, exporting, surveying)


@pytest.mark.parametrize(
    "gestures", slow_but([opening, looking, exporting], [*GESTURES, each_panel])
)
def test_the_gui_thread_asks_no_disk(application, driven, gestures):
    drive, asked = driven(application), OnGuiThread()
    with heard(asked):
        gestures(drive)
    assert not asked.calls, "\n\n".join(asked.calls)


@pytest.mark.slow
def test_nor_at_the_end(start_application, driven, files):
    drive, asked = driven(start_application(files[1])), OnGuiThread()
    drive.answer(drive.disk / "mine.helix")
    drive.window.work.save_as()
    drive.application.findChild(UnsavedWork).keep()
    drive.settle()
    drive.session.selection = (5,)
    with heard(asked):
        drive.application.interrupt()
        drive.application.close()
    assert not asked.calls, "\n\n".join(asked.calls)
    assert len([*drive.application.settings.unsaved.glob("*.helix")]) == 1


def open_model(drive):
    drive.controller.open(str(drive.other))
    return lambda: drive.session.model.home == drive.other


def open_missing(drive):
    drive.controller.open(str(drive.disk / "gone"))
    return lambda: drive.session.notice is not None


def drop_table(drive):
    drop(drive.window, drive.table)
    return lambda: drive.session.model.name == "helix"


def open_project(drive):
    drive.controller.open(str(drive.disk / "mine.helix"))
    return lambda: drive.session.work_file == str(drive.disk / "mine.helix")


def save_project(drive):
    drive.window.work._write(drive.disk / "saved.helix")
    return lambda: drive.session.work_file == str(drive.disk / "saved.helix")


def add_beside(drive):
    drive.window.add_beside(str(drive.table))
    return lambda: [one.name for one in drive.session.others] == ["helix"]


def open_recent_menu(drive):
    drive.session.recent = (*drive.session.recent, Source.parse(str(drive.disk / "gone")))
    drive.window.recent_menu.aboutToShow.emit()
    return lambda: str(drive.disk / "gone") in drive.session.missing


OPENING = (open_model, open_missing, drop_table, open_project)


@pytest.fixture
def go_round(qtbot):
    """Let the event loop turn while a disk is silent that has been asked."""

    def turn(disk):
        beats, heart = [], QTimer(interval=0)
        heart.timeout.connect(lambda: beats.append(disk.asked.is_set()))
        heart.start()
        qtbot.waitUntil(lambda: beats.count(True) > BEATS)
        heart.stop()

    return turn


@pytest.mark.parametrize(
    "gesture",
    slow_but([OPENING[0], save_project], [*OPENING, save_project, add_beside, open_recent_menu]),
)
def test_a_slow_disk_stops_no_window(application, driven, go_round, gesture):
    drive = driven(application)
    drive.open(drive.folder)
    drive.answer(drive.disk / "mine.helix")
    drive.window.work.save_as()
    drive.settle()
    drive.open(drive.other if gesture is open_project else drive.folder)
    disk = SlowDisk(drive.disk)
    with heard(disk):
        with disk.silent():
            done = gesture(drive)
            go_round(disk)
            assert not done()
        drive.settle()
    assert done()
    assert not disk.on_gui_thread, "\n\n".join(disk.on_gui_thread)


def test_esc_gives_up_a_project_on_a_slow_disk(application, driven, qtbot):
    drive = driven(application)
    drive.open(drive.folder)
    disk = SlowDisk(drive.disk)
    with heard(disk):
        with disk.silent():
            drive.controller.open(str(drive.disk / "mine.helix"))
            qtbot.waitUntil(lambda: bool(drive.session.opening))
            assert drive.controller.cancel()
            assert not drive.session.opening
        drive.settle()
    assert drive.session.notice is None


@pytest.mark.parametrize("how", slow_but(["argument"], ["argument", "last model", "last project"]))
def test_a_slow_disk_stops_no_start(
    start_application, driven, files, settings, qtbot, go_round, how
):
    folder = files[1]
    if how == "last project":
        drive = driven(start_application(folder))
        drive.window.work._write(drive.disk / "mine.helix")
        drive.settle()
        drive.application.close()
    elif how == "last model":
        settings._set("model/last", str(folder))
    disk = SlowDisk(files[0])
    with heard(disk):
        with disk.silent():
            application = start_application(folder if how == "argument" else None, wait=False)
            assert application.window.isVisible()
            go_round(disk)
            assert application.session.model is None
        qtbot.waitUntil(lambda: application.session.model is not None)
        driven(application).settle()
    assert application.session.model.home == folder
    assert bool(application.session.work_file) == (how == "last project")
    assert not disk.on_gui_thread, "\n\n".join(disk.on_gui_thread)


def test_the_command_line_does_not_wait_for_a_slow_disk(monkeypatch, files, capsys):
    opened, disk = [], SlowDisk(files[0])
    monkeypatch.setattr(main, "CHECK_S", 0.01)
    monkeypatch.setattr(
        run_window, "run_window", lambda source, *_, **__: opened.append(source.text)
    )
    with heard(disk), disk.silent():
        with pytest.raises(typer.Exit):
            main.open_command(str(files[1]))
        assert opened == [str(files[1])]
    assert not disk.on_gui_thread
    monkeypatch.setattr(main, "CHECK_S", 60)
    with pytest.raises(typer.Exit):  # one that answers
        main.open_command(str(files[0] / "gone"))
    assert len(opened) == 1
    assert "does not exist" in capsys.readouterr().err


OF_FILES = {"QDir", "QFile", "QFileInfo", "QSaveFile", "QFileSystemWatcher", "QDirIterator"}


def test_no_code_of_ours_uses_the_files_of_qt():
    """Their calls are not recorded."""
    for path in (ROOT / "gui").rglob("*.py"):
        assert not OF_FILES & {*re.findall(r"\w+", path.read_text("utf-8"))}, path
