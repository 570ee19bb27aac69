"""Several processes on one home: one file, one cache, bookmarks, everyone's unsaved work.

Each case starts two to four processes at once, that

- save one file again and again while another reads it: no reader sees a torn one;
- keep, read, trim and clear one cache, or open a model of a Hub into it: each read gives the bytes
  that belong to its name or nothing, and nothing half-written is left;
- add, rename, move and remove bookmarks: no change of anyone is lost;
- keep unsaved work, while some are killed and others start: of each that was killed the last work
  is restored, once, and of those that live nothing is taken.

``python -m tools.campaigns.instances --seed 1 --cases 200``
"""

from __future__ import annotations

import hashlib
import logging
import os
import random
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from geometry.hub.tensor_cache import TensorCache
from tests.gui.services.work_files.test_work_file import WORK
from tools.campaigns.campaign import Fault, main
from tools.campaigns.failing_disk import IN_MEMORY
from tools.campaigns.kills import Child, end_all
from tools.campaigns.writes import content, files_in, left_in

ROUNDS = 15
"""How often each process does its part."""
BOUND = 120_000
"""Bytes that the shared cache may have: some ten entries, so that there is always one to go."""
UNTIL_KILLED_S = 30.0
"""What a process waits that is to be killed, on a machine that does much else."""
COMMIT = "c" * 40


def case(rng: random.Random) -> str:
    """Let some processes work at once, in a home of their own."""
    together = rng.choice((one_file, one_cache, one_hub, bookmarks, unsaved_work))
    with tempfile.TemporaryDirectory(dir=IN_MEMORY) as home:
        n_processes = rng.randrange(2, 5)
        together(Path(home), n_processes, rng)
    return f"{together.__name__.replace('_', ' ')}, {n_processes} processes"


def at_once(n_processes: int, rng: random.Random, work: Callable[[int, random.Random], Any]) -> Any:
    """Do some work in several processes at once, and return their results."""
    children = []
    for number in range(n_processes):
        seed = rng.random()
        children.append(Child(lambda _, n=number, seed=seed: work(n, random.Random(seed))))
    return end_all(children)


# ---- one file -------------------------------------------------------------------------------


def one_file(home: Path, n_processes: int, rng: random.Random) -> None:
    """Save one file in all processes but the last, which reads it."""
    from gui.services.work_files.work_file import pack_work, read_work, write_work

    out = home / "a.helix"
    works = [_work(number) for number in range(n_processes)]
    whole = {hashlib.sha256(pack_work(work)).hexdigest() for work in works}
    write_work(works[0], out)

    def work(number: int, _: random.Random) -> None:
        for _ in range(ROUNDS):
            if number < n_processes - 1:
                write_work(works[number], out)
            elif content(out) not in whole or read_work(out).positions[1] != 99:
                raise Fault("lost", "a reader saw a torn file")

    at_once(n_processes, rng, work)
    if left := left_in(home):
        raise Fault("left", f"{left}")
    if content(out) not in whole:
        raise Fault("lost", "the file is torn")


def _work(number: int) -> Any:
    return replace(WORK, positions=(number, 99))


# ---- one cache ------------------------------------------------------------------------------


def _data(name: str) -> bytes:
    return hashlib.sha256(name.encode()).digest() * (len(name) * 100)


def one_cache(home: Path, n_processes: int, rng: random.Random) -> None:
    """Keep, read, trim and clear the entries of one cache."""

    def work(_: int, rng: random.Random) -> None:
        kept = TensorCache(home / "hub", BOUND)
        for _ in range(4 * ROUNDS):
            repo, name = rng.choice("abcd"), rng.choice(("wpe", "wte.weight", "config.json"))
            what = rng.random()
            if what < 0.5:
                kept.put(repo, COMMIT, name, _data(repo + name), core=rng.random() < 0.5)
            elif what < 0.9:
                found = kept.get(repo, COMMIT, name)
                if found is not None and found.tobytes() != _data(repo + name):
                    raise Fault("lost", f"{repo} {name} has other bytes")
            elif what < 0.96:
                kept.trim()
            else:
                kept.clear(rng.choice(("a", None)))

    at_once(n_processes, rng, work)
    _check_cache(home / "hub")


def _check_cache(root: Path) -> None:
    kept = TensorCache(root, BOUND)
    kept.put("last", COMMIT, "last", b"last")
    kept.trim()
    if kept.usage() > BOUND:
        raise Fault("memory", f"the cache has {kept.usage()} bytes, more than {BOUND}")
    if left := left_in(root):
        raise Fault("left", f"{left}")
    for commit in kept.commits():
        found = kept.peek(commit.repo, commit.commit, "wpe")
        if (
            found is not None
            and commit.repo in "abcd"
            and found.tobytes() != _data(commit.repo + "wpe")
        ):
            raise Fault("lost", f"{commit.repo} has other bytes")


# ---- one Hub --------------------------------------------------------------------------------


def one_hub(home: Path, n_processes: int, rng: random.Random) -> None:
    """Open models of a Hub at once, while the cache has no room for all of them."""
    from geometry.checkpoints.transfer import Transfer
    from geometry.hub.client import Hub
    from geometry.hub.keeping import wait_until_kept
    from geometry.hub.network import Network
    from geometry.models.sources.opening import open_model
    from tests.loopback.hub import LoopbackHub
    from tests.stand_ins import OPENAI, positions_of, write_stand_in

    names = sorted(OPENAI)[:3]
    with LoopbackHub() as hub:
        for name in names:
            hub.add(name, write_stand_in(home / "stand-ins", name))
        _ask_of(hub.url)

        def work(_: int, rng: random.Random) -> int:
            opened = 0
            for _ in range(4):
                name = rng.choice(names)
                kept = TensorCache(home / "hub", 40 * BOUND if rng.random() < 0.7 else 1)
                model = open_model(name, network=Network(Hub(), kept, Transfer()))
                if (model.W_pos != positions_of(name)).any():
                    raise Fault("lost", f"{name} has other positions")
                opened += 1
            wait_until_kept(home / "hub")  # by threads, which end with the process
            return opened

        at_once(n_processes, rng, work)
        if hub.errors:
            raise Fault("traceback", str(hub.errors))
    if left := left_in(home / "hub"):
        raise Fault("left", f"{left}")


def _ask_of(url: str) -> None:
    """Let this process, and those it forks, take a loopback server for the Hub."""
    from huggingface_hub import constants, hf_api

    os.environ.update(HF_ENDPOINT=url, HF_HUB_OFFLINE="0", HF_TOKEN_PATH="/nowhere/token")
    constants.ENDPOINT = url
    constants.HF_HUB_OFFLINE = False
    constants.HF_TOKEN_PATH = "/nowhere/token"
    template = f"{url}/{{repo_id}}/resolve/{{revision}}/{{filename}}"
    constants.HUGGINGFACE_CO_URL_TEMPLATE = template
    hf_api.api.endpoint = url


# ---- bookmarks ------------------------------------------------------------------------------


def bookmarks(home: Path, n_processes: int, rng: random.Random) -> None:
    """Change the bookmarks of one file in several windows at once."""
    from gui.services.jobs.jobs import InlineJobs
    from gui.services.work_files.bookmarks import Bookmarks
    from gui.services.work_files.work_file import read_bookmarks
    from gui.state.session import Session

    file = home / "settings" / "bookmarks.zip"

    def work(number: int, rng: random.Random) -> tuple[dict[str, str], list[str]]:
        session = Session()
        own = Bookmarks(session, file, InlineJobs())
        own.load()
        names: dict[str, str] = {}
        gone = []
        for count in range(ROUNDS):
            session.notice = None
            what = rng.random()
            key = rng.choice([*names]) if names else None
            if key is None or what < 0.5:
                name = f"View {count} of {number}"
                added = own.add(name, "gpt2", _work(count), b"png")
                if session.notice is None:
                    names[added] = name
            elif what < 0.7:
                own.change(key, name=f"Coil {count} of {number}")
                if session.notice is None:
                    names[key] = f"Coil {count} of {number}"
            elif what < 0.85:
                own.move(key, rng.randrange(-2, 3))
            else:
                own.remove(key)
                if session.notice is None:
                    del names[key]
                    gone.append(key)
            notice = session.notice
            if notice is not None and "another window is writing to it" not in notice.text:
                raise Fault("sentence", notice.text)
        return names, gone

    wanted: dict[str, str] = {}
    removed: list[str] = []
    for names, gone in at_once(n_processes, rng, work):
        wanted |= names
        removed += gone
    found, left_out = read_bookmarks(file)
    there = {one.key: one.name for one in found}
    if there != wanted or left_out or set(there) & set(removed):
        raise Fault("lost", f"{len(set(wanted.items()) - set(there.items()))} bookmarks")
    if left := left_in(home):
        raise Fault("left", f"{left}")


# ---- unsaved work ---------------------------------------------------------------------------


def unsaved_work(home: Path, n_processes: int, rng: random.Random) -> None:
    """Keep the work of several windows, kill some of them, and start others meanwhile."""
    folder = home / "unsaved"
    doomed = rng.randrange(1, n_processes)

    def window(number: int, ready: Callable[[], None]) -> None:
        keeper = _keeper(folder)
        for count in range(1, 4 * ROUNDS):
            keeper.shown = replace(WORK, positions=(number, 10 + count))
            keeper.unsaved.keep()
            (home / f"said {number}").write_bytes(str(10 + count).encode())
            if count == ROUNDS:
                ready()
            if number >= doomed and count > ROUNDS:
                break
        if number < doomed:
            time.sleep(UNTIL_KILLED_S)  # until it is killed
        while not (home / "over").exists():
            time.sleep(0.01)
        last = keeper.unsaved._file.path
        if not last.is_file():
            raise Fault("lost", "the work of a window that lives was taken")
        keeper.unsaved.close()

    children = [Child(lambda ready, n=n: window(n, ready)) for n in range(n_processes)]
    for child in children:
        child.wait_until_ready()
    for child in children[:doomed]:
        time.sleep(rng.uniform(0.0, 0.05))
        child.kill()
    try:
        end_all(children[:doomed])
        found = at_once(2, rng, lambda *_: _restored(folder))
    finally:
        (home / "over").touch()
        end_all(children[doomed:])
    restored = [one for some in found for one in some]
    if sorted(number for number, _ in restored) != [*range(doomed)]:
        raise Fault("lost", f"restored {restored} of {doomed} that were killed")
    for number, count in restored:
        said = int((home / f"said {number}").read_bytes() or b"0")
        if count < said:
            raise Fault("lost", f"window {number} is at {count}, and it said {said}")
    if left := [name for name in files_in(folder) if not name.startswith("tried/")]:
        raise Fault("left", f"{left}")


def _keeper(folder: Path) -> Any:
    """Return a stand-in for a window, which keeps what it shows."""
    from PySide6.QtCore import QCoreApplication

    from gui.services.jobs.jobs import InlineJobs
    from gui.state.session import Session
    from gui.window.work.unsaved_work import UnsavedWork

    keeper: Any = SimpleNamespace(
        qt=QCoreApplication.instance() or QCoreApplication([]),
        session=Session(),
        shown=None,
        changes=SimpleNamespace(any=False),
    )
    keeper.take = lambda: keeper.shown
    keeper.unsaved = UnsavedWork(folder, keeper, InlineJobs())
    return keeper


def _restored(folder: Path) -> list[tuple[int, int]]:
    """Return what starts find, until there is nothing more: window and number of the change."""
    from gui.window.work.unsaved_work import left_over

    found = []
    for _ in range(8):
        left = left_over(folder)
        if left is not None:
            found.append(left.work.positions)
    return found


def prepare() -> None:
    """Import what the cases need before they fork."""
    warnings.simplefilter("ignore")
    logging.getLogger().addHandler(logging.NullHandler())
    import filelock
    import PySide6.QtCore

    import geometry.models.sources.opening
    import gui.services.work_files.bookmarks
    import gui.window.work.unsaved_work

    del filelock, PySide6, geometry, gui


def run(arguments: Sequence[str] | None = None) -> int:
    """Run the campaign as a command."""
    prepare()
    return main(case, __doc__ or "", cases=200, arguments=arguments)


if __name__ == "__main__":
    sys.exit(run())
