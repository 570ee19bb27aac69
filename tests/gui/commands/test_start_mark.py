"""The mark of a start under way: kept by one that fails, and by no other."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from gui.commands.start_mark import FOLDER, StartMark


@pytest.fixture
def marks(tmp_path):
    return lambda: sorted((tmp_path / FOLDER).glob("*"))


def test_a_start_that_comes_to_its_end_leaves_no_mark(tmp_path, marks):
    mark = StartMark(tmp_path / "config")
    assert mark.set() is False
    mark.remove()
    mark.remove()
    assert [*(tmp_path / "config").iterdir()] == []


STARTING = """
import sys, time
from pathlib import Path
from gui.commands.start_mark import StartMark
mark = StartMark(Path(sys.argv[1]))
print(mark.set(), flush=True)
time.sleep(600)
"""


def test_only_a_start_whose_process_is_gone_has_failed(tmp_path, marks):
    child = subprocess.Popen(
        [sys.executable, "-c", STARTING, tmp_path], stdout=subprocess.PIPE, text=True
    )
    try:
        assert child.stdout.readline() == "False\n"
        beside = StartMark(tmp_path)
        assert beside.set() is False  # it is alive
        beside.remove()
        assert len(marks()) == 1
    finally:
        child.send_signal(signal.SIGKILL)
        child.wait()
        child.stdout.close()
    # Nor does a mark count between its creation and its lock.
    (tmp_path / FOLDER / "new").touch()
    second = StartMark(tmp_path)
    assert second.set() is True
    beside = StartMark(tmp_path)
    assert beside.set() is False  # the failed one is reported once
    beside.remove()
    second._file.close()  # it fails as well
    third = StartMark(tmp_path)
    assert third.set() is True
    third.remove()
    assert [mark.name for mark in marks()] == ["new"]


def test_where_nothing_can_be_written_no_start_has_failed(tmp_path):
    (tmp_path / "file").touch()
    mark = StartMark(tmp_path / "file")
    assert mark.set() is False
    mark.remove()


def test_a_start_that_ends_at_this_moment_has_not_failed(tmp_path, monkeypatch):
    """Its mark goes while another start looks, at any point."""
    first, second = StartMark(tmp_path), StartMark(tmp_path)
    assert not first.set()
    unlink, seen = Path.unlink, []

    def look(path, **options):
        if path.parent == tmp_path / FOLDER and not seen:
            seen.append(path)
            assert not second.set()
        unlink(path, **options)

    monkeypatch.setattr(Path, "unlink", look)
    first.remove()
    second.remove()
    assert seen
