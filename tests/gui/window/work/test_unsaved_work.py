"""What nobody saved: kept while the window is open, and shown again after a crash."""

import errno
import os
from dataclasses import replace
from pathlib import Path

import pytest
from filelock import UnixFileLock

from geometry.checkpoints.whole_files import part_of
from geometry.models.sources.source import Source
from gui.services.work_files import work_file
from gui.services.work_files.reopening import RESUMED
from gui.services.work_files.work_file import pack_work, read_work, write_work
from gui.state.work import Work
from gui.window.settings.settings import Settings
from gui.window.work.unsaved_work import SLOT, TRIED, UnsavedWork, left_over
from tests.gui.alone import killed


def keep(application):
    application.findChild(UnsavedWork).keep()
    application.jobs.deliver(SLOT, 60_000)


def test_work_is_kept_until_the_window_closes(start_application, write_gpt2, monkeypatch, caplog):
    monkeypatch.setattr("gui.window.work.unsaved_work.KEEP_MS", 600_000)  # a slow start is no work
    application, packed = start_application(write_gpt2()), []
    folder, unsaved = application.settings.unsaved, application.findChild(UnsavedWork)
    folder.parent.mkdir(exist_ok=True)
    folder.write_text("in the way")
    keep(application)
    assert "cannot be saved" in caplog.text
    assert application.session.notice.text.startswith("Unsaved work cannot be backed up: ")
    application.session.notice = None
    keep(application)
    assert application.session.notice is None  # once
    assert unsaved.timer.isActive()
    folder.unlink()

    def pack(work):
        packed.append(pack_work(work))
        return packed[-1]

    monkeypatch.setattr("gui.services.work_files.work_file.pack_work", pack)
    keep(application)
    (work,) = folder.glob("*.helix")
    assert packed == [work.read_bytes()]  # once
    assert len([*folder.glob("*")]) == 2  # it and who holds it
    written = work.stat().st_mtime_ns
    keep(application)
    assert work.stat().st_mtime_ns == written  # nothing has changed
    application.session.selection = (5,)
    keep(application)
    assert read_work(work).fields["selection"] == (5,)
    assert left_over(folder) is None  # this process holds it
    application.close()
    assert list(folder.glob("*")) == []


def test_failing_disk_is_reported_again(start_application, write_gpt2, monkeypatch):
    application = start_application(write_gpt2())
    session = application.session
    for position in (5, 6):
        with monkeypatch.context() as full:
            full.setattr("gui.window.work.unsaved_work.write_bytes", refusing(errno.ENOSPC))
            session.selection = (position,)
            session.notice = None
            keep(application)
            text = "Unsaved work cannot be backed up: no space is left on the disk."
            assert session.notice.text == text
        keep(application)
        (work,) = application.settings.unsaved.glob("*.helix")
        assert read_work(work).fields["selection"] == (position,)


def test_name_that_is_not_utf_8_is_kept(start_application, write_gpt2, tmp_path, wait_until_idle):
    folder = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9"))
    write_gpt2().rename(folder)
    application = start_application(folder)
    application.session.selection = (5,)
    keep(application)
    (kept,) = application.settings.unsaved.glob("*.helix")
    assert read_work(kept).source.id == str(folder)
    work = tmp_path / "talk.helix"
    application.window.work._write(work)
    wait_until_idle(application)
    application.session.selection = ()
    application.controller.open(str(work))
    wait_until_idle(application)
    assert application.session.selection == (5,)


KEEPER = """
import sys, time
from gui.window.work.unsaved_work import SLOT, UnsavedWork
from tests.gui.alone import start
application = start(*sys.argv[1:3], (30, 90), offline=True)
application.findChild(UnsavedWork).keep()
application.jobs.deliver(SLOT, 60_000)
print("kept", flush=True)
time.sleep(600)
"""


@pytest.mark.slow
def test_after_a_crash_the_next_start_shows_what_was_shown(
    start_application, write_gpt2, settings, tmp_path, wait_until_idle, qtbot, monkeypatch
):
    monkeypatch.setattr("gui.window.work.unsaved_work.KEEP_MS", 600_000)
    ini = tmp_path / "crashed" / "settings.json"
    with killed(KEEPER, ini, write_gpt2()) as line:
        assert line == "kept\n"
        assert left_over(Settings(ini).unsaved) is None  # it is alive
    application = start_application(settings=Settings(ini))
    assert application.session.positions == (30, 90)
    assert application.session.model.name == "tiny-gpt2"
    assert application.session.notice.text == RESUMED
    # Kept again as soon as it is shown: a second crash at once would not lose it.
    qtbot.waitUntil(lambda: not (Settings(ini).unsaved / TRIED).exists())
    (kept,) = Settings(ini).unsaved.glob("*.helix")
    assert read_work(kept).positions == (30, 90)
    application.close()
    assert list(Settings(ini).unsaved.glob("*")) == []


@pytest.fixture
def crashed(write_gpt2, tmp_path):
    """Work that a process left when it ended, by a name; the folder where it is kept."""
    folder = tmp_path / "crashed" / "unsaved"
    folder.mkdir(parents=True)
    work = Work(Source.parse(str(write_gpt2())), (1, 199), {})

    def leave(name, *, age=0, **changes):
        file = folder / f"{name}.helix"
        write_work(replace(work, **changes), file)
        os.utime(file, (1e9 - age, 1e9 - age))
        return file

    return leave


def refusing(number):
    def refuse(*_, **__):
        raise OSError(number, os.strerror(number))

    return refuse


def everything(folder):
    return sorted(str(one.relative_to(folder)) for one in folder.rglob("*"))


@pytest.fixture
def restart(start_application, tmp_path):
    return lambda **how: start_application(
        settings=Settings(tmp_path / "crashed" / "settings.json"), **how
    )


def test_unusable_folder_stops_no_start(restart, crashed, monkeypatch, caplog):
    folder = crashed("a").parent
    with monkeypatch.context() as read_only:
        read_only.setattr(UnixFileLock, "_acquire", refusing(errno.EROFS))
        restart().close()
    assert "cannot be accessed" in caplog.text
    assert everything(folder) == ["a.helix"]
    for owner, name in ((work_file, "open_regular"), (os, "replace")):
        with monkeypatch.context() as broken:
            broken.setattr(owner, name, refusing(errno.EIO))
            assert left_over(folder) is None
        assert "a.helix" in everything(folder)
    assert left_over(folder).work.positions == (1, 199)


@pytest.mark.slow
def test_of_several_windows_each_start_shows_one(restart, crashed, qtbot):
    folder = crashed("older", age=60, positions=(3, 60)).parent
    crashed("newer", positions=(2, 70))
    first = restart()
    assert first.session.positions == (2, 70)
    # Until it is shown without harm it is where no start looks for it; then it is kept anew.
    qtbot.waitUntil(lambda: TRIED not in everything(folder))
    assert "older.helix" in everything(folder)
    second = restart()
    assert second.session.positions == (3, 60)
    assert left_over(folder) is None
    qtbot.waitUntil(lambda: TRIED not in everything(folder))
    assert len([*folder.glob("*.helix")]) == 2
    for one in (first, second):
        one.close()
    assert everything(folder) == []


@pytest.mark.slow
def test_unopenable_model_is_retried(restart, crashed, tmp_path, write_table, wait_until_idle):
    away = tmp_path / "tiny-gpt2"
    file = crashed("a", positions=(30, 90))
    away.rename(away.with_name("unmounted"))

    def start_and_keep(other=""):
        application = restart(wait=False)
        application.jobs.deliver("open", 20_000)
        assert application.session.model is None
        if other:
            application.controller.open(other)
            wait_until_idle(application)
        keep(application)
        application.close()
        return everything(file.parent)

    assert start_and_keep() == ["a.helix"]
    away.with_name("unmounted").rename(away)
    application = restart()
    assert application.session.positions == (30, 90)
    application.close()
    crashed("b", source=Source.parse(str(tmp_path / "gone")))
    assert start_and_keep(str(write_table())) == [TRIED, f"{TRIED}/b.helix"]


def test_work_of_a_later_version_waits_for_that(crashed, monkeypatch):
    file = crashed("newer")
    older = crashed("older", age=60)
    damaged = crashed("damaged")
    damaged.write_bytes(b"")
    with monkeypatch.context() as older_version:
        older_version.setattr("gui.services.work_files.work_file.VERSION", 0)
        assert left_over(file.parent) is None
    assert everything(file.parent) == ["damaged.broken", "newer.helix", "older.helix"]
    assert older.exists()


def test_what_a_process_was_writing_when_it_ended_is_taken_away(crashed):
    file = crashed("later")
    for one in (file, file.with_name("first.helix")):
        part_of(one).write_bytes(b"half")
    assert left_over(file.parent) is not None
    assert left_over(file.parent) is None
    assert everything(file.parent) == [TRIED, f"{TRIED}/later.helix"]
