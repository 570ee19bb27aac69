"""Checkpoints that are written again at any moment while they are read.

Each number is that of its version plus its place, so what was read shows which version it is of.
Numbers of two versions in one open checkpoint are a fault, and so is any error that is no sentence.
"""

import os
import random
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from geometry.checkpoints import stores
from geometry.checkpoints.errors import FileChanged, SourceError
from geometry.checkpoints.files import open_store
from tests.geometry.checkpoints.test_identity import WRITERS, write_npy
from tools.campaigns.campaign import Fault, main

#: Share of the calls that read a file or ask about it before or after which it is written.
SHARE = 0.03


class Writer:
    """Writes version after version of a checkpoint, in the way that a program may."""

    def __init__(self, folder: Path, write: Callable[..., Path], chance: random.Random) -> None:
        self.folder, self.chance = folder, chance
        self._write, self._versions, self._times = write, count(1), count(1)
        (folder / "open").mkdir()
        self.path = write(folder / "open", 0)

    def disturb(self) -> None:
        """Write all of another version, or damage this one."""
        ways = (self._replace, self._rewrite, self._truncate, self._remove)
        way = self.chance.choices(ways, (4, 4, 1, 1))[0]
        aside = self.folder / "aside"
        aside.mkdir(exist_ok=True)
        self._write(aside, next(self._versions), self.chance.choice(("", "n" * 99)))
        for path in sorted(aside.iterdir()):
            way(self.folder / "open" / path.name, path.read_bytes())

    def _replace(self, path: Path, content: bytes) -> None:
        part = path.with_name("part")
        part.write_bytes(content)
        part.replace(path)
        self._at_its_time(path)

    def _rewrite(self, path: Path, content: bytes) -> None:
        path.write_bytes(content)
        self._at_its_time(path)

    def _truncate(self, path: Path, content: bytes) -> None:
        path.write_bytes(content[: self.chance.randrange(len(content))])
        self._at_its_time(path)

    def _remove(self, path: Path, _: bytes) -> None:
        path.unlink(missing_ok=True)

    def _at_its_time(self, path: Path) -> None:
        """Set a time of its own, also where the clock of the file system is coarse."""
        os.utime(path, ns=(0, 10**18 + next(self._times)))


@contextmanager
def disturbed(writer: Writer) -> Iterator[None]:
    """Write at random between the calls that read a file."""
    chance = writer.chance

    def around(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **options: Any) -> Any:
            if chance.random() < SHARE:
                writer.disturb()
            found = real(*args, **options)
            if chance.random() < SHARE:
                writer.disturb()
            return found

        return call

    with (
        patch.object(np, "fromfile", around(np.fromfile)),
        patch.object(np, "load", around(np.load)),
        patch.object(stores, "identity_of", around(stores.identity_of)),
    ):
        yield


def case(chance: random.Random) -> str:
    """Open a checkpoint and read its tensors several times, while it is written."""
    write = chance.choice(WRITERS)
    with tempfile.TemporaryDirectory() as folder:
        writer = Writer(Path(folder), write, chance)
        found: set[int] = set()
        outcome = "read"
        with disturbed(writer):
            try:
                store = open_store(writer.path)
            except SourceError:
                return "not opened"
            for _ in range(4):
                name = chance.choice(tuple(store.tensors))
                try:
                    values = store.read(name)
                except FileChanged:
                    outcome = "changed"
                except SourceError:
                    outcome = "missing"
                else:
                    if name.startswith("w"):
                        found |= versions_of(values, write is write_npy)
    if len(found) > 1:
        raise Fault("mixed", f"{write.__name__}: numbers of the versions {sorted(found)}")
    return outcome


def versions_of(values: np.ndarray, doubled: bool) -> set[int]:
    """The versions that numbers are of: each is its version plus its place in the table."""
    places = np.arange(values.size) % (24 if doubled else values.size)
    return {int(version) for version in np.unique(np.rint(values.ravel() - places))}


if __name__ == "__main__":
    sys.exit(main(case, __doc__.partition("\n")[0], cases=2000, budget_s=10))
