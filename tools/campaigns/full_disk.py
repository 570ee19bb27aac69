"""Files written to a disk that is full, used up, broken, read-only or not permitted.

Each case writes one kind of file over an older one, while a call of choice fails (the first, the
second, … as in SQLite's tests), or on a real disk of some megabytes that has too little room, or
where no file may grow beyond some bytes. Whatever happens is one sentence; every file is the older
one or the new one, byte for byte; nothing half-written is left, at the latest after the next write.

``python -m tools.campaigns.full_disk --seed 1 --cases 2000``
"""

from __future__ import annotations

import errno
import gc
import logging
import os
import random
import shutil
import sys
import tempfile
import threading
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path

from geometry.checkpoints.errors import HelixscopeError
from geometry.checkpoints.whole_files import reason
from tools.campaigns.campaign import Fault, main
from tools.campaigns.failing_disk import (
    ERRORS,
    IN_MEMORY,
    FailingDisk,
    SmallDisk,
    failing,
    largest_file,
)
from tools.campaigns.writes import (
    COMMANDS,
    WRITES,
    Expected,
    Kept,
    Write,
    check_whole,
    left_in,
)

DRAWN = 0.05
"""Share of the cases in which something is drawn, which takes a hundred times as long."""
SLOW = {"training": 0.1, "report": 0.3, "film, mp4": 0.3}
"""How often those that take long are tried, of all that draw nothing."""
REAL, LIMITED = 0.25, 0.1
"""Shares of the cases on a real disk that is too small, and with a limit of size."""


class FullDisk:
    """The campaign: writes and what they leave, and a small disk where one may be mounted."""

    def __init__(self, root: Path, writes: Sequence[Write] = WRITES, drawn: float = DRAWN) -> None:
        self._writes, self._drawn = writes, drawn
        self._kept = Kept(root / "kept")
        self._disk = SmallDisk.made(root / "disk")
        self._number = 0

    def close(self) -> None:
        """Unmount the small disk."""
        if self._disk is not None:
            self._disk.close()

    def case(self, rng: random.Random) -> str:
        """Write one kind of file to a disk that fails."""
        writes = COMMANDS if rng.random() < self._drawn else self._writes
        write = rng.choices(writes, [SLOW.get(one.name, 1.0) for one in writes])[0]
        drawn = rng.random()
        if self._disk is not None and (drawn < REAL or writes is COMMANDS):
            return self._on_a_real_disk(write, rng)
        folder = self._kept.root / str(self._number)
        self._number += 1
        try:
            if drawn < REAL + LIMITED:
                return self._limited(write, rng, folder)
            return self._in_the_layer(write, rng, folder)
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _in_the_layer(self, write: Write, rng: random.Random, folder: Path) -> str:
        known = self._begin(write, folder)
        number, lasting = rng.choice(ERRORS), rng.random() < 0.5
        at = rng.randrange(known.calls + 1)
        disk = FailingDisk(folder, at, failing(number), lasting=lasting)

        def run() -> None:
            with disk:
                write.run(folder, 1)

        # What follows from a call that fails, as an empty folder that cannot be taken away, is
        # told in words of its own.
        said = self._run(write, run, number)
        if not disk.was_hit:
            said = "never failed"
        self._check(write, folder, said, healed=not lasting)
        return f"{errno.errorcode[number]}: {said}"

    def _on_a_real_disk(self, write: Write, rng: random.Random) -> str:
        disk = self._disk
        assert disk is not None
        folder = disk.folder / "case"
        known = self._begin(write, folder)
        most = int(1.2 * known.nbytes) + 20_000
        disk.fill(rng.randrange(0, most))
        try:
            said = self._run(write, lambda: write.run(folder, 1), errno.ENOSPC)
            disk.empty()
            self._check(write, folder, said)
        finally:
            disk.empty()
            shutil.rmtree(folder)
        return f"real disk: {said}"

    def _limited(self, write: Write, rng: random.Random, folder: Path) -> str:
        known = self._begin(write, folder)
        nbytes = rng.randrange(known.nbytes + 1)

        def run() -> None:
            with largest_file(nbytes):
                write.run(folder, 1)

        said = self._run(write, run, errno.EFBIG)
        self._check(write, folder, said)
        return f"limit of size: {said}"

    def _begin(self, write: Write, folder: Path) -> Expected:
        known = self._kept.expected(write)
        folder.mkdir(parents=True)
        if not write.goes_on:
            write.run(folder, 0)
        return known

    def _run(self, write: Write, run: Callable[[], None], number: int) -> str:
        """Run a write that may fail; return what became of it."""
        before = threading.active_count(), _open_files()
        try:
            run()
        except HelixscopeError as error:
            sentence = str(error)
            if len(sentence) > 200 or "\n" in sentence:
                raise Fault("sentence", f"{write.name}: {sentence}") from error
            if reason(OSError(number, os.strerror(number)))[0] not in sentence:
                raise Fault("sentence", f"{write.name}: {sentence}") from error
            outcome = "said"
        else:
            outcome = "kept nothing, or written" if write.costs_time_alone else "written"
        after = threading.active_count(), _open_files()
        if after != before:
            gc.collect()  # it takes longer than all the rest
            after = threading.active_count(), _open_files()
        if after != before:
            raise Fault("left", f"{write.name}: threads and files {before} became {after}")
        return outcome

    def _check(self, write: Write, folder: Path, said: str, *, healed: bool = True) -> None:
        known = self._kept.expected(write)
        check_whole(write, folder, known, at_the_end=said in ("written", "never failed"))
        if healed and (left := left_in(folder)):
            raise Fault("left", f"{write.name}: {', '.join(left)}")
        write.run(folder, 1)
        check_whole(write, folder, known, at_the_end=True)


def _open_files() -> int:
    place = Path("/proc/self/fd")
    return len(os.listdir(place)) if place.exists() else 0


def run(arguments: Sequence[str] | None = None) -> int:
    """Run the campaign as a command."""
    # As the app does: what libraries warn of goes to the log.
    warnings.simplefilter("ignore")
    logging.getLogger().addHandler(logging.NullHandler())
    with tempfile.TemporaryDirectory(dir=IN_MEMORY) as folder:
        campaign = FullDisk(Path(folder))
        try:
            return main(campaign.case, __doc__ or "", cases=2000, arguments=arguments)
        finally:
            campaign.close()


if __name__ == "__main__":
    sys.exit(run())
