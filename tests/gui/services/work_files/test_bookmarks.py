"""Bookmarks without a window: kept at once, whatever else happens to their file."""

import errno
import os
import zipfile
from dataclasses import replace

import numpy as np
import pytest
from filelock import FileLock

from geometry.checkpoints.stores import open_regular
from geometry.models.sources.source import Source
from gui.services.jobs.jobs import InlineJobs
from gui.services.work_files import bookmarks as module
from gui.services.work_files import work_file as bookmark_file
from gui.services.work_files.bookmarks import Bookmarks, free_name
from gui.services.work_files.reopening import take_work
from gui.services.work_files.work_file import WorkError, read_bookmarks, write_bookmarks
from gui.state.camera import CameraPose, Place
from gui.state.session import Session
from tests.gui.services.work_files.test_work_file import (
    DAMAGES,
    WORK,
    archive_of,
    damaged_work,
    run_until_killed,
)

PLACE = Place(CameraPose(np.ones(3), np.zeros(3), np.array([0.0, 0.0, 1.0]), 1.0), follows=False)


@pytest.fixture
def file(tmp_path):
    return tmp_path / "settings" / "bookmarks.zip"


@pytest.fixture
def bookmarks(session, file):
    return Bookmarks(session, file, InlineJobs())


@pytest.fixture
def three(bookmarks):
    """Three bookmarks; their keys."""
    return [bookmarks.add(f"View {n}", "gpt2", WORK, b"png") for n in (1, 2, 3)]


def fail(number):
    raise OSError(number, os.strerror(number))


def names(session_or_file):
    if isinstance(session_or_file, Session):
        return [one.name for one in session_or_file.bookmarks]
    return [one.name for one in read_bookmarks(session_or_file)[0]]


def test_each_change_is_kept_at_once(session, bookmarks, file, three):
    first, second, third = three
    assert names(session) == names(file) == ["View 1", "View 2", "View 3"]
    bookmarks.change(second, name="  Coil ", note="seen from the side")
    assert names(file) == ["View 1", "Coil", "View 3"]
    assert read_bookmarks(file)[0][1].note == "seen from the side"
    bookmarks.change(second, name="  ")
    assert names(file)[1] == "Coil"
    assert session.bookmarks[1].note == "seen from the side"
    bookmarks.move(third, -1)
    assert names(file) == ["View 1", "View 3", "Coil"]
    bookmarks.move(first, -1)
    bookmarks.move(second, 9)
    assert names(session) == names(file) == ["View 1", "View 3", "Coil"]


def test_what_is_removed_comes_back_where_it_was_unless_it_is_there_again(
    session, bookmarks, file, three
):
    bookmarks.remove(three[1])
    bookmarks.remove(three[0])
    assert names(file) == ["View 3"]
    bookmarks.bring_back()
    bookmarks.bring_back()
    assert names(session) == names(file) == ["View 1", "View 2", "View 3"]
    bookmarks.bring_back()
    assert names(file) == ["View 1", "View 2", "View 3"]
    last = session.bookmarks[2]
    bookmarks.remove(three[0])
    bookmarks.remove(three[2])
    bookmarks.merge((last,))
    bookmarks.bring_back()
    assert names(file) == ["View 1", "View 2", "View 3"]


def test_a_removal_that_fails_leaves_nothing_to_bring_back(
    session, bookmarks, file, three, monkeypatch
):
    bookmarks.remove(three[0])
    with monkeypatch.context() as full:
        full.setattr(bookmark_file, "write_bytes", lambda *_: fail(errno.ENOSPC))
        bookmarks.remove(three[1])
        assert "cannot be written" in session.notice.text
        assert names(file) == ["View 2", "View 3"]
    bookmarks.bring_back()
    assert names(file) == ["View 1", "View 2", "View 3"]


def test_names_that_are_free(session, bookmarks, three):
    assert free_name(session.bookmarks) == "View 4"
    bookmarks.change(three[1], name="Coil")
    bookmarks.add("", "gpt2", WORK, b"")
    assert names(session)[-1] == "View 2"


def test_two_windows_take_nothing_from_each_other(session, bookmarks, file, three):
    other_session = Session()
    other = Bookmarks(other_session, file, InlineJobs())
    other.load()
    other.add("Other", "bert", WORK, b"")
    bookmarks.change(three[0], name="Mine")
    other.remove(three[2])
    assert names(file) == names(other_session) == ["Mine", "View 2", "Other"]
    bookmarks.move(three[1], 0)
    assert names(session) == ["Mine", "View 2", "Other"]


def test_a_change_reads_and_packs_only_what_is_new(session, bookmarks, file, three, monkeypatch):
    done = []

    def watch(name):
        function = getattr(bookmark_file, name)
        monkeypatch.setattr(
            bookmark_file, name, lambda *what, **how: done.append(name) or function(*what, **how)
        )

    watch("pack_work")
    watch("_unpack_view")
    bookmarks.move(three[2], -1)
    bookmarks.change(three[0], name="Coil")
    assert done == []
    bookmarks.add("View 4", "gpt2", replace(WORK), b"")
    assert done == ["pack_work"]
    Bookmarks(Session(), file, InlineJobs()).move(three[2], -1)
    done.clear()
    bookmarks.remove(three[1])
    assert done == ["_unpack_view"] * 4 + ["pack_work"] * 3  # another window wrote
    assert names(file) == ["View 3", "Coil", "View 4"]


def test_those_of_a_file_are_added_once(session, bookmarks, file, three):
    carried = tuple(replace(one, name="Carried") for one in session.bookmarks[1:])
    bookmarks.remove(three[2])
    bookmarks.merge(carried)
    assert names(file) == ["View 1", "View 2", "Carried"]
    written = file.stat().st_mtime_ns
    bookmarks.merge(carried)
    assert file.stat().st_mtime_ns == written


def test_of_a_file_that_is_broken_in_part_the_rest_is_kept(session, bookmarks, file, three):
    before = spoil_the_first(file, session)
    bookmarks.add("View 4", "gpt2", WORK, b"")
    assert names(file) == names(session) == ["View 2", "View 3", "View 4"]
    assert session.notice.text == "One bookmark cannot be read."
    assert file.with_suffix(".broken").read_bytes() == before


@pytest.mark.parametrize("name", DAMAGES)
def test_any_damage_inside_a_bookmark_leaves_the_others(session, bookmarks, file, three, name):
    with zipfile.ZipFile(file) as archive:
        parts = {part: archive.read(part) for part in archive.namelist()}
    parts[f"{bookmark_file.FOLDER}{three[1]}.helix"] = damaged_work(name)
    file.write_bytes(archive_of(parts))
    before = file.read_bytes()
    Bookmarks(session, file, InlineJobs()).load()
    assert names(session) == ["View 1", "View 3"]
    assert session.notice.text == "One bookmark cannot be read."
    assert file.with_suffix(".broken").read_bytes() == before


def test_broken_files_are_put_aside_and_nothing_that_was_is_written_over(session, bookmarks, file):
    file.parent.mkdir()
    for n in (1, 2, 3):
        file.write_bytes(b"broken %d" % n)
        Bookmarks(session, file, InlineJobs()).load()
    kept = {one.name: one.read_bytes() for one in file.parent.glob("*.broken")}
    assert kept == {
        "bookmarks.broken": b"broken 1",
        "bookmarks.2.broken": b"broken 2",
        "bookmarks.3.broken": b"broken 3",
    }
    assert session.notice.advice == f"The file is kept as {file.with_suffix('.3.broken')}."
    assert session.bookmarks == ()
    assert "cannot be read" in session.notice.text
    bookmarks.add("View 1", "gpt2", WORK, b"")
    assert names(file) == ["View 1"]


@pytest.fixture
def unreadable(file, monkeypatch):
    """Let reading the file of bookmarks fail, until it is told otherwise."""
    state = {"fails": True}

    def read(path):
        if path == file and state["fails"]:
            fail(errno.EIO)
        return open_regular(path)

    monkeypatch.setattr(bookmark_file, "open_regular", read)
    return state


def test_what_cannot_be_read_now_is_not_broken(session, bookmarks, file, three, unreadable):
    before = file.stat()
    fresh_session = Session()
    fresh = Bookmarks(fresh_session, file, InlineJobs())
    fresh.load()
    assert "cannot be read: the disk" in fresh_session.notice.text
    fresh.add("View 4", "gpt2", WORK, b"")
    assert "cannot be changed: the disk" in fresh_session.notice.text
    assert (file.stat().st_mtime_ns, file.stat().st_ino) == (before.st_mtime_ns, before.st_ino)
    assert not list(file.parent.glob("*.broken"))
    unreadable["fails"] = False
    fresh.load()
    assert names(fresh_session) == ["View 1", "View 2", "View 3"]


def spoil_the_first(file, session):
    bad = replace(session.bookmarks[0], key="no key")
    write_bookmarks((bad, *session.bookmarks[1:]), file)
    return file.read_bytes()


def test_a_damaged_file_stays_where_nothing_can_be_written(
    session, bookmarks, file, three, monkeypatch
):
    before = spoil_the_first(file, session)

    def full(*_):
        raise WorkError("The bookmarks cannot be written: No space left on device")

    monkeypatch.setattr("gui.services.work_files.work_file.write_bookmarks", full)
    Bookmarks(session, file, InlineJobs()).load()
    assert names(session) == ["View 2", "View 3"]
    assert "No space left" in session.notice.text
    assert file.read_bytes() == before
    assert not list(file.parent.glob("*.broken"))


def test_nothing_is_put_aside_while_another_window_writes(
    session, bookmarks, file, three, monkeypatch
):
    before = spoil_the_first(file, session)
    monkeypatch.setattr(module, "WAIT_S", 0)
    with FileLock(file.with_suffix(".lock"), is_singleton=False):
        bookmarks.load()
    assert file.read_bytes() == before
    assert not list(file.parent.glob("*.broken"))
    assert "another window is writing" in session.notice.text
    bookmarks.load()
    assert names(file) == ["View 2", "View 3"]


def test_a_view_of_a_later_version_stays_in_the_list(session, bookmarks, file, three, monkeypatch):
    before = file.read_bytes()
    monkeypatch.setattr("gui.services.work_files.work_file.VERSION", 0)
    fresh = Bookmarks(session, file, InlineJobs())
    fresh.load()
    fresh.add("View 4", "gpt2", WORK, b"")
    assert "The bookmark “View 1” was saved by a newer" in session.notice.text
    assert file.read_bytes() == before
    assert not file.with_suffix(".broken").exists()


def test_what_cannot_be_kept_is_said_and_not_shown(session, bookmarks, file):
    file.parent.write_text("in the way")
    bookmarks.add("View 1", "gpt2", WORK, b"")
    assert session.bookmarks == ()
    assert "cannot be changed" in session.notice.text


def test_there_is_an_end_to_it(session, bookmarks, three, monkeypatch):
    monkeypatch.setattr(module, "MAX_BOOKMARKS", 3)
    bookmarks.add("View 4", "gpt2", WORK, b"")
    assert "already 3 bookmarks" in session.notice.text
    assert len(session.bookmarks) == 3


# ---- going there -------------------------------------------------------------------------


@pytest.fixture
def kept(opened, controller):
    """Work of the small helix, seen in another way than it is now."""
    controller.request_positions(20, 150)
    opened.change(components=(2, 1, 4), color_by="norm", selection=(7,), prompt="hi")
    work = take_work(opened, controller.opening.shown, PLACE)
    controller.request_positions(1, 199)
    opened.change(components=(1, 2, 3), color_by="position", selection=(), prompt="")
    return work


def test_the_same_model_is_not_opened_anew(opened, controller, kept):
    model, shown = opened.model, opened.shown
    heard = []
    opened.events.work.connect(heard.append)
    for _ in range(2):  # the second time nothing differs, but for the camera
        controller.reopening.go_to(kept)
        assert opened.model is model
        assert opened.shown == shown
        assert (opened.positions, opened.components) == ((20, 150), (2, 1, 4))
        assert opened.curve.pca.positions == (20, 150)
        assert opened.curve.components == (2, 1, 4)
        assert (opened.color_by, opened.selection, opened.prompt) == ("norm", (7,), "hi")
        assert np.array_equal(opened.turn, np.eye(3))
    assert [work.place for work in heard] == [PLACE, PLACE]
    assert opened.notice is None


def test_another_model_is_opened_first(opened, controller, kept, write_table, helix):
    controller.open(str(write_table(helix(90, 16, 3), "other")))
    assert opened.model.name == "other"
    controller.reopening.go_to(kept)
    assert opened.model.name == "helix"
    assert opened.curve.pca.positions == (20, 150)
    assert (opened.components, opened.selection) == ((2, 1, 4), (7,))
    assert opened.work.place is PLACE
    assert opened.notice is None


def test_a_range_that_the_table_has_no_more_is_cut_and_a_model_that_is_gone_is_said(
    opened, controller, kept
):
    controller.reopening.go_to(replace(kept, positions=(150, 900)))
    assert opened.positions == (150, 199)
    controller.reopening.go_to(replace(kept, source=Source.parse("/nowhere/at/all")))
    assert "nowhere" in opened.notice.text
    assert opened.model.name == "helix"


# ---- killed ------------------------------------------------------------------------------

WRITER = """
import sys
from itertools import count
from pathlib import Path
from geometry.models.sources.source import Source
from gui.services.jobs.jobs import InlineJobs
from gui.services.work_files.bookmarks import Bookmarks
from gui.state.session import Session
from gui.services.work_files.work_file import WorkError
from gui.state.work import Work
bookmarks = Bookmarks(Session(), Path(sys.argv[1]), InlineJobs())
bookmarks.load()
for n in count(len(bookmarks._session.bookmarks) + 1):
    bookmarks.add(f"View {n}", "gpt2", Work(Source.parse("gpt2"), (0, n), {}), bytes(50_000))
    assert len(bookmarks._session.bookmarks) == n
    print(n, flush=True)
"""


@pytest.mark.slow
def test_killed_at_any_moment_none_is_lost(session, bookmarks, file):
    rng = np.random.default_rng(0)
    for _ in range(3):
        told = run_until_killed(WRITER, file, 12, rng)
        found, left_out = read_bookmarks(file)
        assert left_out == 0
        assert [one.name for one in found] == [f"View {n}" for n in range(1, len(found) + 1)]
        assert len(found) >= told > 0  # what it said is kept is kept
    bookmarks.add("After all that", "gpt2", WORK, b"")  # nobody holds the file any more
    assert names(session)[-1] == "After all that"
