"""A start after one that failed, and what is damaged among what a start reads."""

import os
import signal
import subprocess
import sys

import pytest

from geometry.checkpoints.plain_text import MAX_SENTENCE_LENGTH
from geometry.models.sources.source import Source
from gui.commands.start_mark import FOLDER
from gui.services.work_files.work_file import read_work, write_work
from gui.state.session import Session
from gui.state.work import Work
from gui.window.settings.settings import Settings
from gui.window.work.unsaved_work import TRIED
from tests.gui.services.work_files.test_work_file import DAMAGES, damaged_work


@pytest.fixture
def model(write_gpt2):
    return write_gpt2()


@pytest.fixture
def before(start_application, settings, model):
    """Settings with a last model and an arrangement, and unsaved work of a crash."""
    application = start_application(model)
    application.window.docks["inspector"].hide()
    application.close()
    settings.unsaved.mkdir(exist_ok=True)
    write_work(Work(Source.parse(str(model)), (30, 90), {}), settings.unsaved / "a.helix")
    return Settings(settings._file)


@pytest.mark.slow
def test_safe_start_leaves_out_and_keeps(start_application, before, model, settings):
    kept = settings.unsaved / TRIED / "a.helix"
    for _ in range(2):  # the second time it fails too, and nothing is lost either
        application = start_application(settings=Settings(settings._file), safely=True)
        assert application.session.model is None
        assert application.window.empty_state.isVisible()
        assert application.window.docks["inspector"].isVisible()
        notice = application.session.notice
        assert notice.text == (
            "The last start failed, so this start omits the arrangement of the window, the last"
            " model and unsaved work."
        )
        assert str(kept) in notice.advice
        assert read_work(kept).positions == (30, 90)
        application.close()
    application = start_application(settings=Settings(settings._file), safely=True)
    assert application.session.recent == (Source.parse(str(model)),)
    application.controller.open(str(kept))
    for slot in ("first", "open"):
        application.jobs.deliver(slot, 20_000)
    assert application.session.positions == (30, 90)


@pytest.mark.slow
def test_what_is_asked_for_is_opened_all_the_same(start_application, before, model, settings):
    application = start_application(model, settings=before, safely=True)
    assert application.session.model is not None
    assert application.session.notice.text == (
        "The last start failed, so this start omits the arrangement of the window."
    )
    assert (settings.unsaved / "a.helix").exists()


@pytest.mark.slow
def test_a_picture_shows_the_last_work_all_the_same(start_application, before, model):
    application = start_application(settings=before, safely=True, pictured=True)
    assert application.session.model.name == model.name
    assert application.session.positions == (30, 90)
    assert application.session.notice.text.endswith(
        "The last start failed, so this start omits the arrangement of the window."
    )


def test_the_end_of_a_start_is_announced_once(start_application, model):
    """Of a first start that was killed, and of another one."""
    announced = []
    for source in (None, model):
        application = start_application(source, wait=False, safely=source is None)
        application.ready.connect(lambda: announced.append(True))
        while not application.idle or not announced:
            application._qt.processEvents()
        assert announced == [True]
        assert application.session.notice is None
        assert application.window.built_panels
        application.close()
        announced.clear()


def test_damaged_settings_and_work_are_reported(start_application, settings, model):
    settings.save_session(Session(recent=(Source.parse(str(model)),)))
    settings.sync()
    settings._file.write_bytes(b"\xff\x00")
    settings.unsaved.mkdir()
    (settings.unsaved / "a.helix").write_bytes(b"PK\x03\x04")
    os.mkfifo(settings.unsaved / "b.helix")
    application = start_application(settings=Settings(settings._file))
    notice = application.session.notice
    assert "settings cannot be read" in notice.text
    assert "The unsaved work of the last session is damaged" in notice.text
    for name in ("settings.json.broken", "unsaved/a.broken", "unsaved/b.broken"):
        assert str(settings.folder / name) in notice.advice
        assert (settings.folder / name).exists()


@pytest.mark.slow
@pytest.mark.parametrize("name", DAMAGES)
def test_unsaved_work_with_any_damage_inside_stops_no_start(start_application, settings, name):
    settings.unsaved.mkdir()
    damaged = damaged_work(name)
    (settings.unsaved / "a.helix").write_bytes(damaged)
    application = start_application()
    assert "The unsaved work of the last session is damaged" in application.session.notice.text
    kept = settings.unsaved / "a.broken"
    assert kept.read_bytes() == damaged
    assert str(kept) in application.session.notice.advice


RUN = """
import os, signal, sys
from gui.commands import application, run_window
from PySide6.QtCore import QTimer
end = sys.argv[1]
class Ending(application.Application):
    def __init__(self, *arguments, **how):
        super().__init__(*arguments, **how)
        print("safely", how["safely"], flush=True)
        if end == "signal":
            os.kill(os.getpid(), signal.SIGTERM)
        if end == "error":
            raise ValueError("in the start")
        if end == "hang":
            print("hangs", flush=True)
            sys.stdin.read()
        self.ready.connect(lambda: QTimer.singleShot(0, self.window.close))
application.Application = Ending
print(run_window.run_window("sample", offline=True), flush=True)
"""


@pytest.mark.slow
def test_failed_start_leads_to_a_safe_one(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    marks = tmp_path / "helixscope" / FOLDER

    def start(end, *, kill=False):
        pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        child = subprocess.Popen([sys.executable, "-c", RUN, end], text=True, **pipes)
        if kill:
            first = child.stdout.readline()
            assert child.stdout.readline() == "hangs\n"
            child.send_signal(signal.SIGKILL)
            child.communicate()
            return [first.strip()]
        return child.communicate(timeout=120)[0].splitlines()

    assert start("signal") == ["safely False", "143"]
    assert not marks.exists()
    assert start("error") == ["safely False"]
    assert start("hang", kill=True) == ["safely True"]
    assert len([*marks.iterdir()]) == 1
    assert start("window") == ["safely True", "0"]
    assert not marks.exists()


STRANGE = ["\0", "a" * 100_000, "\udcff/x", "~nobody/x", "/" * 9_999, "a\nb", "x.helix\0", "@" * 99]


def test_recent_sources_that_make_no_sense_stop_no_start(start_application, settings, model):
    settings.save_session(Session(recent=tuple(map(Source.parse, (*STRANGE, str(model))))))
    settings.sync()
    application = start_application(settings=Settings(settings._file))
    for last in STRANGE:  # as if the start had found it at the head of the list
        application.controller.open_first(None, last, None)
        application.jobs.deliver("open", 20_000)
        notice = application.session.notice
        assert notice is None or "error in Helixscope" not in notice.advice
    application.controller.open(str(model))
    application.jobs.deliver("open", 20_000)
    assert application.session.model is not None


@pytest.fixture
def lessons(settings):
    """A folder of lessons with strange things in it, and a good one."""
    settings.lessons.mkdir(parents=True)
    (settings.lessons / "binary.md").write_bytes(bytes(range(256)))
    (settings.lessons / "folder.md").mkdir()
    (settings.lessons / "long.md").write_bytes(b"# a\n" * 5_000_000)
    (settings.lessons / "gone.md").symlink_to("nowhere")
    os.mkfifo(settings.lessons / "pipe.md")
    os.symlink(b"x", os.fsencode(settings.lessons) + b"/\xff.md")


@pytest.mark.slow
def test_damaged_lessons_are_harmless(start_application, settings, model, lessons, wait_until_idle):
    application = start_application(model)
    application.window.lesson_player.open()
    wait_until_idle(application)
    assert application.session.lessons
    assert application.session.lesson is not None


@pytest.mark.slow
def test_many_damaged_lessons_are_one_sentence_and_a_list(start_application, settings, model):
    settings.lessons.mkdir(parents=True)
    for n in range(30):
        (settings.lessons / f"{n}.md").write_bytes(b"\xff")
    application = start_application(model)
    application.window.lesson_player.open()
    notice = application.session.notice
    assert len(notice.text) <= MAX_SENTENCE_LENGTH
    assert notice.advice == "29 more cannot be read."
    assert len(notice.details.splitlines()) == 30


def test_damaged_bookmarks_are_reported(start_application, settings, model, wait_until_idle):
    damaged = b"PK\x05\x06" + bytes(99)
    settings.bookmarks.write_bytes(damaged)
    application = start_application(model)
    application.window.bookmarks.show()
    wait_until_idle(application)
    notice = application.session.notice
    kept = settings.folder / "bookmarks.broken"
    assert "damaged" in notice.text
    assert str(kept) in notice.advice
    assert kept.read_bytes() == damaged
