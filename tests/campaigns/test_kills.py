"""A small part of the campaign that kills what writes, and that it finds what it looks for."""

from __future__ import annotations

import importlib
import os
import random
import signal
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from geometry.checkpoints.whole_files import write_bytes
from tools.campaigns.campaign import Fault, attack
from tools.campaigns.failing_disk import IN_MEMORY
from tools.campaigns.kills import Child, Kills, in_child
from tools.campaigns.writes import WRITES, Write

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no such processes"),
    # Of threads: none of them is used in a child.
    pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning"),
]
QUICK = tuple(write for write in WRITES if write.name in (
    "work", "autosave", "numbers, csv", "cache entry", "tokenizer", "directions", "survey",
))  # fmt: skip


WARM = (
    "geometry.checkpoints.number_files",
    "geometry.hub.hub_tokenizer",
    "tests.gui.services.work_files.test_work_file",
)
"""Imported here, and not in each child."""


@pytest.mark.slow
def test_writes_that_are_killed_at_each_call() -> None:
    for name in WARM:
        importlib.import_module(name)
    with tempfile.TemporaryDirectory(dir=IN_MEMORY) as folder:
        counts = attack(Kills(Path(folder), QUICK, at_a_call=1.0).case, seed=0, cases=40)
    assert not counts.faults
    assert counts.outcomes["killed at a call"] > 30


def _torn(folder: Path, version: int) -> None:
    with (folder / "a.txt").open("wb", buffering=0) as file:
        for _ in range(100):
            file.write(b"%d" % version)


def _left(folder: Path, version: int) -> None:
    part = folder / f".b.txt.{os.urandom(8).hex()}.part"
    part.write_bytes(b"half")
    write_bytes(b"%d" % version, folder / "a.txt")
    part.unlink()


@pytest.mark.slow
@pytest.mark.parametrize(("write", "found"), [(_torn, "lost"), (_left, "left")])
def test_the_campaign_finds_what_it_looks_for(
    write: Callable[[Path, int], None], found: str
) -> None:
    with tempfile.TemporaryDirectory(dir=IN_MEMORY) as folder:
        campaign = Kills(Path(folder), (Write("a", write),), at_a_call=1.0)
        counts = attack(campaign.case, seed=0, cases=20)
    assert any(what.startswith(found) for _, what in counts.faults)


def test_a_child_returns_its_result_and_its_traceback() -> None:
    assert in_child(lambda: random.Random(1).random()) == random.Random(1).random()
    with pytest.raises(Fault, match="ZeroDivisionError"):
        in_child(lambda: 1 // 0)
    assert Child(lambda _: os.kill(os.getpid(), signal.SIGKILL)).end() == (True, None)
    with pytest.raises(Fault, match="crash"):
        Child(lambda _: os.kill(os.getpid(), signal.SIGTERM)).end()
