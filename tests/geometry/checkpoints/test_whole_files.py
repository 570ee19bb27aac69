"""Files that are whole or as they were."""

import errno
import multiprocessing
import os
import stat
from concurrent.futures import ProcessPoolExecutor
from contextlib import nullcontext
from pathlib import Path

import pytest

from geometry.checkpoints import whole_files
from geometry.checkpoints.errors import HelixscopeError
from geometry.checkpoints.whole_files import (
    part_of,
    parts_in,
    whole_file,
    write_bytes,
    write_text,
    writing,
)


def test_what_was_there_stays_until_the_block_ends_and_if_it_fails(tmp_path):
    out = tmp_path / "a.txt"
    out.write_text("before")

    def write():
        with whole_file(out) as part:
            part.write_text("half")
            raise KeyError("wpe")

    with pytest.raises(KeyError):
        write()
    assert out.read_text() == "before"
    assert os.listdir(tmp_path) == ["a.txt"]
    with whole_file(out) as part:
        part.write_text("half")
        assert out.read_text() == "before"
        part.write_text("whole")
    assert out.read_text() == "whole"
    assert os.listdir(tmp_path) == ["a.txt"]


@pytest.mark.parametrize("lead", ["", "a", "ab", "abc"])
def test_the_name_of_a_part_ends_with_a_whole_character(lead):
    for letter in "äあ𝛼":
        part_of(Path(lead + 100 * letter)).name.encode()


def test_a_file_gets_its_mode_when_it_is_written(tmp_path):
    out = tmp_path / "a.txt"
    out.write_text("before")
    out.chmod(0o640)
    with whole_file(out) as part:
        assert stat.S_IMODE(part.stat().st_mode) == 0o600
        part.write_text("after")
    assert stat.S_IMODE(out.stat().st_mode) == 0o640


def test_a_read_only_file_is_not_replaced(tmp_path, monkeypatch):
    out = tmp_path / "a.txt"
    out.write_text("before")
    out.chmod(0o444)
    monkeypatch.setattr(whole_files.os, "access", lambda *_: False)  # as for all but root
    with pytest.raises(PermissionError):
        write_text("after", out)
    assert os.listdir(tmp_path) == ["a.txt"]


@pytest.mark.parametrize(("busy", "waits"), [(2, 2), (99, 6)])
def test_windows_waits_for_programs_that_have_the_file_open(busy, waits, tmp_path, monkeypatch):
    out, waited, own = tmp_path / "a.txt", [], os.replace
    out.write_text("before")

    def replace(part, place):
        if len(waited) < busy:
            raise PermissionError(errno.EACCES, "in use", str(place))
        own(part, place)

    monkeypatch.setattr(whole_files.sys, "platform", "win32")
    monkeypatch.setattr(whole_files.os, "replace", replace)
    monkeypatch.setattr(whole_files.time, "sleep", waited.append)
    with nullcontext() if busy == waits else pytest.raises(PermissionError):
        write_text("after", out)
    assert (out.read_text(), len(waited)) == ("after" if busy == waits else "before", waits)
    assert os.listdir(tmp_path) == ["a.txt"]


def test_what_killed_processes_left_is_removed_and_what_others_write_stays(tmp_path):
    out = tmp_path / "a.txt"
    for _ in range(2):
        part_of(out).write_text("half")
    foreign = [tmp_path / name for name in (".a.txt.part", ".a.txt.download.part", "a.txt.part")]
    for path in (*foreign, part_of(tmp_path / "b.txt")):
        path.write_text("of somebody else")
    with whole_file(out) as mine:
        mine.write_text("slow")
        write_text("quick\n", out)
        assert out.read_bytes() == b"quick\n"
        assert mine.read_text() == "slow"
    assert out.read_text() == "slow"
    assert [*parts_in(tmp_path).values()] == ["b.txt"]
    assert {path.name for path in foreign} < set(os.listdir(tmp_path))


@pytest.mark.slow
def test_writers_of_one_file_at_once_never_mix(tmp_path):
    """Each in a process of its own, and with a reader beside them."""
    out, texts = tmp_path / "a.txt", {letter * 50_000 for letter in "abc"}
    write_text("a" * 50_000, out)
    with ProcessPoolExecutor(3, multiprocessing.get_context("spawn")) as pool:
        writing = [pool.submit(write_often, text, out) for text in texts]
        while not all(one.done() for one in writing):
            assert out.read_text() in texts
        for one in writing:
            one.result()
    assert os.listdir(tmp_path) == ["a.txt"]


@pytest.mark.skipif(os.name == "nt", reason="there open files cannot be removed")
def test_an_abandoned_part_is_removed_while_it_is_locked(tmp_path, monkeypatch):
    """Otherwise a process that has just created it could lock it in between, and lose it."""
    import fcntl

    part, unlink, locked = part_of(tmp_path / "a.txt"), Path.unlink, []
    part.touch()

    def look(path, **options):
        with path.open("rb") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                locked.append(path)
        unlink(path, **options)

    monkeypatch.setattr(Path, "unlink", look)
    whole_files.remove_abandoned(part)
    assert locked == [part]
    assert not part.exists()


def write_often(text: str, out: Path) -> None:
    for _ in range(100):
        write_bytes(text.encode(), out, durable=False)


@pytest.mark.skipif(os.name == "nt", reason="links need a right there")
def test_a_planted_link_is_not_followed_and_the_mode_is_kept(tmp_path, monkeypatch):
    victim, out = tmp_path / "victim", tmp_path / "a.txt"
    victim.write_text("precious")
    out.write_text("before")
    out.chmod(0o600)
    monkeypatch.setattr(whole_files.secrets, "token_hex", lambda _: "0" * 16)
    part_of(out).symlink_to(victim)
    with pytest.raises(FileExistsError):
        write_text("whole", out)
    assert (victim.read_text(), out.read_text()) == ("precious", "before")
    monkeypatch.undo()
    write_text("whole", out)
    assert stat.S_IMODE(out.stat().st_mode) == 0o600
    new, usual = tmp_path / "new.txt", tmp_path / "usual.txt"
    write_text("whole", new)
    usual.touch()
    assert new.stat().st_mode == usual.stat().st_mode


def test_file_and_folder_are_synced_before_it_counts(tmp_path, monkeypatch):
    done = []
    real = {name: getattr(os, name) for name in ("fsync", "replace")}

    def noted(name):
        def call(*arguments):
            done.append(name)
            return real[name](*arguments)

        return call

    for name in real:
        monkeypatch.setattr(whole_files.os, name, noted(name))
    write_text("whole", tmp_path / "a.txt")
    assert done == ["fsync", "replace", *(["fsync"] if os.name != "nt" else [])]
    done.clear()
    write_bytes(b"soon written anew", tmp_path / "a.txt", durable=False)
    assert done == ["replace"]


def test_any_name_that_the_disk_takes_can_be_written(tmp_path):
    for name in ("x" * 255, "é" * 127, "a\nb", ".hidden"):
        write_text("whole", tmp_path / name)
        assert (tmp_path / name).read_text() == "whole"
        part_of(tmp_path / name).touch()
        write_text("again", tmp_path / name)
    assert not parts_in(tmp_path)


def test_a_place_that_cannot_be_written_to_is_found_before_the_work(tmp_path):
    def write():
        with whole_file(tmp_path / "none" / "a.txt"):
            pytest.fail("it began")

    with pytest.raises(FileNotFoundError):
        write()


def test_that_nothing_can_be_taken_away_does_not_hide_why(tmp_path, monkeypatch):
    """As in a folder that may not be looked into."""
    out = tmp_path / "a.txt"
    monkeypatch.setattr(whole_files.os, "replace", refuse("replaced"))
    monkeypatch.setattr(whole_files.Path, "unlink", refuse("taken away"))
    with pytest.raises(PermissionError, match="replaced"):
        write_text("whole", out)


def refuse(what):
    def refused(*_, **__):
        raise PermissionError(13, f"cannot be {what}")

    return refused


@pytest.mark.skipif(os.name == "nt", reason="links need a right there")
def test_a_link_goes_on_leading_to_the_file(tmp_path):
    (tmp_path / "there").mkdir()
    link = tmp_path / "a.txt"
    link.symlink_to(tmp_path / "there" / "b.txt")
    write_text("whole", link)
    assert link.is_symlink()
    assert (tmp_path / "there" / "b.txt").read_text() == "whole"
    assert os.listdir(tmp_path / "there") == ["b.txt"]


@pytest.mark.parametrize("number", sorted(whole_files._REASONS))
def test_what_the_system_reports_is_one_sentence_with_advice(tmp_path, number):
    with (
        pytest.raises(HelixscopeError, match=r"a\.txt cannot be written: [a-z -]+\.$") as caught,
        writing(tmp_path / "a.txt"),
    ):
        raise OSError(number, os.strerror(number))
    assert caught.value.advice.endswith(".")


@pytest.mark.skipif(os.name == "nt", reason="there are no such files")
def test_a_device_or_a_pipe_is_not_replaced_by_a_file(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for out in (pipe, Path("/dev/full"), tmp_path):
        before = out.stat().st_mode
        with pytest.raises(OSError, match=r"not a regular file|Is a directory"):
            write_text("whole", out)
        assert out.stat().st_mode == before
    assert os.listdir(tmp_path) == ["pipe"]


@pytest.mark.parametrize("number", [errno.EACCES, errno.EINVAL, errno.EIO])
@pytest.mark.skipif(os.name == "nt", reason="folders are not synced there")
def test_a_folder_that_cannot_be_synced(tmp_path, monkeypatch, number):
    """Many cannot, and the file is whole; but an error of the disk is one of the file as well."""
    opened = os.open

    def refused(path, flags, *mode):
        if Path(path) == tmp_path:
            raise OSError(number, os.strerror(number))
        return opened(path, flags, *mode)

    monkeypatch.setattr(whole_files.os, "open", refused)
    with (
        pytest.raises(OSError, match=os.strerror(number)) if number == errno.EIO else nullcontext()
    ):
        write_text("whole", tmp_path / "a.txt")
    assert (tmp_path / "a.txt").read_text() == "whole"


@pytest.mark.skipif(os.name == "nt", reason="modes are another thing there")
def test_while_it_is_written_a_private_file_is_private(tmp_path):
    out = tmp_path / "a.txt"
    out.touch(0o600)
    seen = []
    made = os.open

    def noted(path, flags, mode=0o777):
        opened = made(path, flags, mode)
        seen.append(stat.S_IMODE(os.fstat(opened).st_mode))
        return opened

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(whole_files.os, "open", noted)
        write_text("whole", out)
    assert seen[0] == 0o600
