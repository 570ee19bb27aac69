"""Saved work and bookmarks that would take a machine's time or memory."""

import io
import json
import os
import sys
import tracemalloc
import zipfile
from dataclasses import replace

import numpy as np
import pytest

from geometry.checkpoints.formats import zip_records
from gui.services.work_files import work_file
from gui.services.work_files.work_file import (
    ARRAYS,
    JSON,
    LIST,
    WorkError,
    pack_work,
    read_bookmarks,
    read_work,
    write_bookmarks,
)
from gui.state.fields import MAX_NAME_LENGTH, MAX_TEXT_LENGTH
from gui.state.work import MAX_BOOKMARKS, MAX_OTHERS, Bookmark
from tests.gui.services.work_files.test_work_file import WORK, archive_of


@pytest.fixture
def path(tmp_path):
    return tmp_path / "work.helix"


def parts_of(work=WORK):
    with zipfile.ZipFile(io.BytesIO(pack_work(work))) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def bookmark(key="0" * 32, **more):
    return Bookmark(**{"key": key, "name": "n", "note": "", "model": "m", "work": WORK,
                       "picture": b"", **more})  # fmt: skip


def most_memory(read, path):
    tracemalloc.start()
    try:
        found = read(path)
        return found, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_arrays_that_are_not_known_are_not_unpacked(path):
    arrays = io.BytesIO()
    np.savez_compressed(arrays, turn=WORK.turn, unknown=np.zeros(16_000_000))
    path.write_bytes(archive_of({**parts_of(), ARRAYS: arrays.getvalue()}))
    work, most = most_memory(read_work, path)
    assert most < 60_000_000  # reading the file makes room for the largest that is allowed
    np.testing.assert_array_equal(work.turn, WORK.turn)


def test_known_arrays_of_any_other_size_are_refused(path):
    arrays = io.BytesIO()
    np.savez_compressed(arrays, turn=np.zeros(6_000_000))
    path.write_bytes(archive_of({**parts_of(), ARRAYS: arrays.getvalue()}))
    with pytest.raises(WorkError, match="is damaged"):
        read_work(path)


def test_all_parts_together_have_a_bound(path, monkeypatch):
    many = tuple(bookmark(f"{n:032x}", picture=bytes(10_000)) for n in range(4))
    path.write_bytes(pack_work(replace(WORK, bookmarks=many)))
    assert len(read_work(path).bookmarks) == 4
    monkeypatch.setattr(work_file, "LARGEST", path.stat().st_size)
    with pytest.raises(WorkError, match="is damaged"):
        read_work(path)


@pytest.mark.parametrize("read", [read_work, read_bookmarks])
def test_a_part_larger_than_the_directory_says_is_not_unpacked(read, path):
    name = JSON if read is read_work else LIST
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for part, content in ({**parts_of(), name: bytes(2**27)}).items():
            archive.writestr(part, content)
        archive.getinfo(name).file_size = 1000
    assert path.stat().st_size < 2**20

    def refused(path):
        with pytest.raises(WorkError):
            read(path)

    _, most = most_memory(refused, path)
    assert most < 60_000_000  # reading the file makes room for the largest that is allowed


def test_an_archive_that_holds_itself_ends(path):
    # A bookmark's view is a file of saved work, which could have bookmarks again.
    inner = replace(WORK, bookmarks=(bookmark(),))
    path.write_bytes(pack_work(replace(WORK, bookmarks=(bookmark(work=inner),))))
    (found,) = read_work(path).bookmarks
    assert found.work.bookmarks == ()


def test_a_directory_without_end_is_not_read(path, monkeypatch):
    path.write_bytes(archive_of({**parts_of(), **{f"x{n}": b"" for n in range(99)}}))
    read_work(path)
    monkeypatch.setattr(zip_records._BoundedBytes, "max_read", 1000)
    with pytest.raises(WorkError, match="is damaged"):
        read_work(path)


def change(name, value):
    parts = parts_of()
    said = json.loads(parts[JSON])
    place = said
    *folders, last = name.split("/")
    for folder in folders:
        place = place[folder]
    place[last] = value
    return archive_of({**parts, JSON: json.dumps(said).encode()})


OTHER = {"source": "a", "positions": [0, 1], "components": [1, 2, 3]}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("model/source", "a" * (MAX_NAME_LENGTH + 1)),
        ("others", [OTHER] * (MAX_OTHERS + 1)),
        ("version", 10**400),
    ],
)
def test_values_that_no_window_has(name, value, path):
    path.write_bytes(change(name, value))
    with pytest.raises(WorkError) as refused:
        read_work(path)
    assert path.name in str(refused.value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("positions", [0, 10**400]),
        ("window", [2**31, 1]),
        ("window", [1e999, 1]),
        ("session/norms_after", 2**31),
        ("session/selection", list(range(100_001))),
        ("session/prompt", "a" * (MAX_TEXT_LENGTH + 1)),
        ("panel", "a" * (MAX_NAME_LENGTH + 1)),
    ],
)
def test_values_of_a_view_that_no_window_has_are_left_out(name, value, path):
    path.write_bytes(change(name, value))
    (left_out,) = read_work(path).left_out
    assert left_out.startswith(name.rpartition("/")[2].split("_")[0])


def test_more_bookmarks_than_are_allowed(tmp_path):
    path = tmp_path / "bookmarks.zip"
    write_bookmarks([bookmark()], path)
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    said = json.loads(parts[LIST])
    said["bookmarks"] *= MAX_BOOKMARKS + 1
    path.write_bytes(archive_of({**parts, LIST: json.dumps(said).encode()}))
    with pytest.raises(WorkError, match="cannot be read: the file is damaged"):
        read_bookmarks(path)


@pytest.mark.skipif(sys.platform == "win32", reason="has no such files")
@pytest.mark.parametrize("read", [read_work, read_bookmarks])
def test_a_pipe_is_refused_at_once(read, path):
    os.mkfifo(path)
    with pytest.raises(WorkError, match="is a pipe"):
        read(path)


@pytest.mark.parametrize("read", [read_work, read_bookmarks])
def test_a_file_larger_than_any_is_refused(read, path, monkeypatch):
    monkeypatch.setattr(work_file, "LARGEST", 1000)
    path.write_bytes(bytes(1001))
    with pytest.raises(WorkError, match="too large to be"):
        read(path)
