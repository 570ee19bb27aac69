"""Files that are whole or as they were."""

import os

import pytest

from geometry.checkpoints import whole_files
from geometry.checkpoints.whole_files import part_of, whole_file, write_text


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


def test_what_a_killed_process_left_is_written_over(tmp_path):
    out = tmp_path / "a.txt"
    part_of(out).write_text("half, and longer than the whole")
    write_text("whole\n", out)
    assert out.read_bytes() == b"whole\n"
    assert os.listdir(tmp_path) == ["a.txt"]


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
