"""Bookmarks in files: their own, and those of saved work."""

import io
import json
import zipfile
from dataclasses import replace

import numpy as np
import pytest

from gui.services.work_files.work_file import (
    BOOKMARKS_VERSION,
    FOLDER,
    JSON,
    LIST,
    NewerVersion,
    WorkError,
    pack_bookmarks,
    pack_work,
    read_bookmarks,
    read_work,
    write_bookmarks,
    write_work,
)
from gui.services.work_files.work_file import VERSION as WORK_VERSION
from gui.state.aligned_curve import CurveAlignment, OfRange
from gui.state.work import Bookmark
from tests.gui.services.work_files.test_work_file import WORK, same

ONE = Bookmark("0" * 32, "“Coil”", "From the\nside", "gpt2", WORK, b"\x89PNG one")
OTHER = Bookmark("f" * 32, "View 2", "", "bert", replace(WORK, positions=(0, 5)), b"")
BOTH = (ONE, OTHER)


def alike(a: tuple[Bookmark, ...], b: tuple[Bookmark, ...]) -> bool:
    said = [[(x.key, x.name, x.note, x.model, x.picture) for x in part] for part in (a, b)]
    return said[0] == said[1] and all(same(x.work, y.work) for x, y in zip(a, b, strict=True))


@pytest.fixture
def path(tmp_path):
    return tmp_path / "settings" / "bookmarks.zip"


def rewrite(path, change) -> None:
    """Change the members of a zip archive."""
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    change(parts)
    with zipfile.ZipFile(path, "w") as archive:
        for name, part in parts.items():
            archive.writestr(name, part)


def change_list(path, change) -> None:
    def changed(parts):
        said = json.loads(parts[LIST])
        change(said)
        parts[LIST] = json.dumps(said).encode()

    rewrite(path, changed)


def test_what_goes_in_comes_out_and_there_is_none_before(path):
    assert read_bookmarks(path) == ((), 0)
    write_bookmarks(BOTH, path)
    found, left_out = read_bookmarks(path)
    assert alike(found, BOTH)
    assert left_out == 0
    assert [file.name for file in path.parent.iterdir()] == [path.name]
    write_bookmarks((), path)
    assert read_bookmarks(path) == ((), 0)


def test_saved_work_carries_them_and_is_damaged_if_they_are(path):
    file = path.parent.parent / "mine.helix"
    write_work(replace(WORK, bookmarks=BOTH), file)
    work = read_work(file)
    assert alike(work.bookmarks, BOTH)
    assert same(replace(work, bookmarks=()), WORK)
    rewrite(file, lambda parts: parts.pop(f"{FOLDER}{ONE.key}.png"))
    with pytest.raises(WorkError, match=r"^mine\.helix is damaged"):
        read_work(file)


def said_in(data: bytes) -> dict:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return json.loads(archive.read(JSON))


def test_work_is_of_the_version_of_its_bookmarks_and_without_any_of_the_first():
    assert said_in(pack_work(WORK))["version"] == 1
    assert said_in(pack_work(replace(WORK, bookmarks=BOTH)))["version"] == 2
    aligned = replace(WORK, alignment=CurveAlignment(OfRange((3, 40))))
    carried = (OTHER, replace(ONE, work=aligned))
    assert said_in(pack_work(aligned))["version"] == 4
    assert said_in(pack_work(replace(WORK, bookmarks=carried)))["version"] == 4


def test_of_several_those_that_can_be_read_and_have_names_are_kept(path):
    for spoil in (
        lambda parts: parts.pop(f"{FOLDER}{ONE.key}.helix"),
        lambda parts: parts.pop(f"{FOLDER}{ONE.key}.png"),
        lambda parts: parts.update({f"{FOLDER}{ONE.key}.helix": b"PK"}),
    ):
        write_bookmarks(BOTH, path)
        rewrite(path, spoil)
        found, left_out = read_bookmarks(path)
        assert alike(found, (OTHER,))
        assert left_out == 1
    for wrong in ({"key": "../../evil"}, {"name": 3}, {"note": None}):
        write_bookmarks(BOTH, path)
        change_list(path, lambda said, wrong=wrong: said["bookmarks"][0].update(wrong))
        assert read_bookmarks(path)[1] == 1


def test_what_is_no_file_of_bookmarks_is_refused_and_every_cut_one(path):
    path.parent.mkdir()
    for content in (b"", b"hello", b"PK\x03\x04", b"{}", b"PK\x05\x06" + bytes(18)):
        path.write_bytes(content)
        with pytest.raises(WorkError, match="cannot be read"):
            read_bookmarks(path)
    write_bookmarks(BOTH, path)
    whole = path.read_bytes()
    for end in np.linspace(1, len(whole) - 1, 40).astype(int):
        path.write_bytes(whole[:end])
        with pytest.raises(WorkError):
            read_bookmarks(path)


def test_a_later_version_is_refused_and_one_of_a_view_is_not_left_out(path):
    write_bookmarks(BOTH, path)
    change_list(path, lambda said: said.update(version=BOOKMARKS_VERSION + 1))
    with pytest.raises(NewerVersion, match="newer version of Helixscope"):
        read_bookmarks(path)
    parts = {LIST: json.loads(pack_bookmarks(())[LIST])}
    assert parts[LIST]["version"] == BOOKMARKS_VERSION
    write_bookmarks(BOTH, path)
    rewrite(path, newer_view)
    with pytest.raises(NewerVersion, match=r"^The bookmark .*Coil.* was saved by a newer"):
        read_bookmarks(path)


def newer_view(parts) -> None:
    """Let the first bookmark's view be of a later version than this one knows."""
    name = f"{FOLDER}{ONE.key}.helix"
    with zipfile.ZipFile(io.BytesIO(parts[name])) as archive:
        inside = {member: archive.read(member) for member in archive.namelist()}
    inside[JSON] = json.dumps({**json.loads(inside[JSON]), "version": WORK_VERSION + 1}).encode()
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for member, part in inside.items():
            archive.writestr(member, part)
    parts[name] = packed.getvalue()


def test_a_place_that_cannot_be_written_to_is_said(path):
    path.parent.write_text("in the way")
    with pytest.raises(WorkError, match="cannot be written"):
        write_bookmarks(BOTH, path)
