"""Processes that are killed with SIGKILL while they write, and windows while they are worked in.

A child that is forked from a warm parent writes one kind of file over an older one, and is killed
at a call of choice (opening, writing, closing, syncing, renaming, …) or at any moment. Every file
is the older one or the new one then, byte for byte; the next write succeeds, a run of training goes
on to the same model, and what was half-written is gone.

``python -m tools.campaigns.kills --seed 1 --cases 600``
"""

from __future__ import annotations

import importlib
import logging
import os
import pickle
import random
import shutil
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tools.campaigns.campaign import Fault, main
from tools.campaigns.failing_disk import IN_MEMORY, FailingDisk
from tools.campaigns.writes import WRITES, Expected, Write, check_whole, expected, sample

AT_A_CALL = 0.6
"""Share of the cases that are killed at a call; the rest are killed at any moment."""
SLOW = {"training": 0.3, "report": 0.3, "time-lapse numbers": 0.5}
"""How often those that take long are tried."""
_WARM = ("torch", "safetensors.torch", "tokenizers", "filelock", "geometry.training.run",
         "transformers.models.gpt2.modeling_gpt2", "gui.commands.report_files",
         "gui.plots.figure_base", "gui.export.save_picture", "gui.export.scene_html",
         "gui.export.scene_glb", "gui.export.timelapse_film",
         "tests.gui.services.work_files.test_work_file")  # fmt: skip


class Child:
    """A forked process that does some work; its result comes through a pipe."""

    def __init__(self, work: Callable[[Callable[[], None]], Any]) -> None:
        """Start it; ``work`` calls what it is given when it may be killed."""
        reading, writing = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(reading)
            self._work(work, writing)
        os.close(writing)
        self._pipe = os.fdopen(reading, "rb")
        self._began = b""

    @staticmethod
    def _work(work: Callable[[Callable[[], None]], Any], writing: int) -> None:
        status = 1
        try:
            result = work(lambda: os.write(writing, b"!") and None)
            os.write(writing, b"." + pickle.dumps(result))
            status = 0
        except BaseException:
            os.write(writing, b"E" + traceback.format_exc().encode())
        finally:
            os._exit(status)  # nothing of the parent's is to be tidied up here

    def wait_until_ready(self) -> None:
        """Wait until it may be killed, or has ended."""
        self._began = self._pipe.read(1)

    def kill(self) -> None:
        """Kill it."""
        os.kill(self.pid, signal.SIGKILL)

    def end(self) -> tuple[bool, Any]:
        """Wait for its end; return whether it was killed, and its result.

        Raises Fault: it ended with a traceback.
        """
        with self._pipe:
            said = self._began + self._pipe.read()
        _, status = os.waitpid(self.pid, 0)
        said = said.removeprefix(b"!")
        if said.startswith(b"E"):
            raise Fault("traceback", said[1:].decode())
        if os.WIFSIGNALED(status):
            if os.WTERMSIG(status) != signal.SIGKILL:
                raise Fault("crash", f"signal {os.WTERMSIG(status)}")
            return True, None
        return False, pickle.loads(said[1:])


def in_child(work: Callable[[], Any]) -> Any:
    """Do some work in a forked process, and return its result."""
    return Child(lambda _: work()).end()[1]


def end_all(children: Sequence[Child]) -> list[Any]:
    """Wait for all children, and return their results; raises the first Fault at the end."""
    results, faults = [], []
    for child in children:
        try:
            results.append(child.end()[1])
        except Fault as fault:
            faults.append(fault)
    if faults:
        raise faults[0]
    return results


class Kills:
    """The campaign: what each write leaves, and folders for the cases."""

    def __init__(
        self, root: Path, writes: Sequence[Write] = WRITES, at_a_call: float = AT_A_CALL
    ) -> None:
        self._root, self._at_a_call = root, at_a_call
        self._writes = [write for write in writes if write.forks]
        self._known: dict[str, tuple[Expected, float]] = {}
        self._number = 0

    def case(self, rng: random.Random) -> str:
        """Kill one process, and look at what it leaves."""
        folder = self._root / str(self._number)
        self._number += 1
        folder.mkdir(parents=True)
        try:
            weights = [SLOW.get(write.name, 1.0) for write in self._writes]
            return self._kill_a_write(rng.choices(self._writes, weights)[0], rng, folder)
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _expected(self, write: Write) -> tuple[Expected, float]:
        """Return what a write leaves, and how many seconds one takes."""
        if write.name not in self._known:
            folder = self._root / f"known {write.name}"
            folder.mkdir()

            def learn() -> tuple[Expected, float]:
                start = time.monotonic()
                known = expected(write, folder)
                return known, time.monotonic() - start

            self._known[write.name] = in_child(learn)
        return self._known[write.name]

    def _kill_a_write(self, write: Write, rng: random.Random, folder: Path) -> str:
        known, seconds = self._expected(write)
        at = rng.randrange(known.calls) if rng.random() < self._at_a_call else None
        older = not write.goes_on and rng.random() < 0.9

        def work(ready: Callable[[], None]) -> None:
            if older:
                write.run(folder, 0)
            ready()
            if at is not None:
                with FailingDisk(folder, at, lambda _: os.kill(os.getpid(), signal.SIGKILL)):
                    write.run(folder, 1)
                return
            for version in (1, 0) * (1 if write.goes_on else 50):
                write.run(folder, version)

        child = Child(work)
        child.wait_until_ready()
        if at is None:
            time.sleep(rng.uniform(0.0, seconds))
            child.kill()
        killed, _ = child.end()
        check_whole(write, folder, known)
        in_child(lambda: write.run(folder, 1))
        check_whole(write, folder, known, at_the_end=True)
        when = "at a call" if at is not None else "at any moment"
        return f"killed {when}" if killed else "ended before"


def prepare() -> None:
    """Import what the writes need, so that a kill costs no more than a fork."""
    warnings.simplefilter("ignore")
    logging.getLogger().addHandler(logging.NullHandler())
    for name in _WARM:
        importlib.import_module(name)
    import torch

    torch.set_num_threads(1)  # threads do not live on in a forked process
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    assert sample().W_pos.size
    from tools.campaigns.writes import _Corpus

    _Corpus.folder()


def run(arguments: Sequence[str] | None = None) -> int:
    """Run the campaign as a command."""
    prepare()
    with tempfile.TemporaryDirectory(dir=IN_MEMORY) as folder:
        campaign = Kills(Path(folder))
        return main(campaign.case, __doc__ or "", cases=600, arguments=arguments)


if __name__ == "__main__":
    sys.exit(run())
