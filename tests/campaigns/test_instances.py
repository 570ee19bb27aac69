"""A small part of the campaign of several processes on one home, and that it finds faults."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from gui.services.work_files import work_file
from gui.services.work_files.bookmarks import Bookmarks
from gui.state.work import Work
from gui.window.work import unsaved_work
from tools.campaigns import instances
from tools.campaigns.campaign import Fault

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no such processes"),
    # Of threads: none of them is used in a child.
    pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning"),
]
TOGETHER = (instances.one_file, instances.one_cache, instances.bookmarks, instances.unsaved_work)


@pytest.mark.parametrize("together", TOGETHER, ids=lambda one: one.__name__)
def test_processes_at_once(tmp_path: Path, together) -> None:
    together(tmp_path, 3, random.Random(1))


def test_one_hub(tmp_path: Path, loopback_hub) -> None:
    """``loopback_hub`` for its home alone, which has nothing of the user's."""
    instances.one_hub(tmp_path, 2, random.Random(1))


def test_torn_files_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def write_half(work: Work, path: Path) -> None:
        content = work_file.pack_work(work)
        path.write_bytes(content[: len(content) // 2])

    monkeypatch.setattr(work_file, "write_work", write_half)
    with pytest.raises(Fault):
        instances.one_file(tmp_path, 4, random.Random(1))


def test_lost_bookmarks_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What another window has written is not looked at."""
    monkeypatch.setattr(Bookmarks, "_take_in", lambda _: None)
    with pytest.raises(Fault, match="lost"):
        instances.bookmarks(tmp_path, 3, random.Random(1))


def test_lost_work_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unsaved_work, "write_bytes", lambda *_, **__: None)
    with pytest.raises(Fault, match="lost"):
        instances.unsaved_work(tmp_path, 3, random.Random(1))
