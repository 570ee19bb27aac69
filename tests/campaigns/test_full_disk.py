"""A small part of the campaign on full disks, and that it finds what it looks for."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from geometry.checkpoints.whole_files import write_bytes, writing
from tools.campaigns.campaign import attack
from tools.campaigns.failing_disk import IN_MEMORY, FailingDisk, failing
from tools.campaigns.full_disk import FullDisk
from tools.campaigns.writes import WRITES, Write

QUICK = tuple(write for write in WRITES if write.name in (
    "work", "bookmarks", "picture", "window picture", "numbers, csv", "numbers, npz",
    "cache entry", "tokenizer", "directions", "survey",
))  # fmt: skip


@pytest.fixture
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(dir=IN_MEMORY) as made:
        yield Path(made)


def test_files_on_full_disks(folder: Path) -> None:
    campaign = FullDisk(folder, QUICK, drawn=0.0)
    try:
        counts = attack(campaign.case, seed=0, cases=40)
    finally:
        campaign.close()
    assert not counts.faults
    said = [outcome for outcome in counts.outcomes if outcome.endswith(": said")]
    assert len(said) > 2


def _torn(folder: Path, version: int) -> None:
    with writing(folder / "a.txt"):
        (folder / "a.txt").write_bytes(b"%d" % version * 100_000)


def _without_a_sentence(folder: Path, version: int) -> None:
    write_bytes(b"%d" % version * 100_000, folder / "a.txt")


def _left(folder: Path, version: int) -> None:
    out = folder / "a.txt"
    (folder / f".a.txt.{os.urandom(8).hex()}.part").write_bytes(b"half")
    with writing(out):
        write_bytes(b"%d" % version * 100_000, out)
    (folder / f".b.txt.{os.urandom(8).hex()}.part").write_bytes(b"half")


@pytest.mark.parametrize(
    ("run", "found"),
    [(_torn, "lost"), (_without_a_sentence, "OSError"), (_left, "left")],
)
def test_the_campaign_finds_what_it_looks_for(folder: Path, run, found: str) -> None:
    campaign = FullDisk(folder, (Write("a", run),), drawn=0.0)
    try:
        counts = attack(campaign.case, seed=0, cases=20)
    finally:
        campaign.close()
    assert any(found in what for _, what in counts.faults)


def test_each_call_fails_once(tmp_path: Path) -> None:
    out = tmp_path / "a.txt"
    out.touch()
    with FailingDisk(tmp_path) as disk:
        write_bytes(b"whole", out)
    first = ["open", "open", "write", "close", "chmod", "fsync", "replace"]
    assert disk.calls[: len(first)] == first
    for at in range(len(disk.calls)):
        failed = FailingDisk(tmp_path, at, failing(errno.EIO))
        name = disk.calls[at]
        with failed:
            if name == "unlink":  # there is nothing to take away any more
                write_bytes(b"whole", out)
            else:
                with pytest.raises(OSError, match=os.strerror(errno.EIO)):
                    write_bytes(b"whole", out)
        assert failed.was_hit
        assert os.listdir(tmp_path) == ["a.txt"]
