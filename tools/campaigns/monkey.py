"""A monkey at the window: gestures at random, and whatever goes wrong meanwhile.

    python -m tools.campaigns.monkey --seed 1 --cases 2000
    python -m tools.campaigns.monkey --soak --minutes 60
    python -m tools.campaigns.monkey --soak --minutes 60 --wayland

A case is one gesture. The window runs in a process of its own (``monkey_window.py``), with a home
of its own and no network, and a new one begins every :data:`WINDOW` gestures, so a crash is a fault
like others, with the gestures before it from the journal. Every second window begins with the
settings and the work that the one before left. The same seed makes the same gestures as far as time
allows; to see a fault again, begin where its home began: the journal has the number for
``--first``.
"""

from __future__ import annotations

import json
import os
import random
import selectors
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from tests.environments.screens import wayland, x_screen
from tools.campaigns.campaign import Counts, Fault, attack, parser

ROOT = Path(__file__).parents[2]
WINDOW = 250
"""Gestures in one window."""
DEAD_S = 150.0
"""Without an answer for so long, the window is taken for dead; longer than its own patience."""
MORE = {"files": 24, "threads": 8, "windows": 8}
"""How much more there may be after a window's gestures than before, once all is shown as at first.
Caches of fonts, pools of threads and kept models take some; what is more grows with the gestures.
In a soak they must not grow by more over the second half either, by a line that is fitted to it.
"""
MORE_MEMORY = 0.05
"""Growth of the memory over the second half of a soak that is a leak, by such a line."""
TICK_S = 0.05
"""How often it is looked whether the machine goes on at all."""
HANG_S = 2.0
"""A longer time without any event is a hang: by then a user believes that the window is dead."""
PAUSES_S = (0.0, 0.0, 0.0, 0.01, 0.03, 0.1, 0.3)
"""Pauses after a gesture: none, so that the next one meets unfinished work, or some."""
MAX_FRAMES = 150
"""Lines of what all threads did."""
CONTINUOUS = ("hover", "drag", "wheel", "in the view")
"""Gestures whose every tick should be shown at once."""


class Windows:
    """The windows of a campaign, one after the other; a case is one gesture in the one open."""

    def __init__(
        self, folder: Path, first: int = 0, *, endless: bool = False, hang_s: float = HANG_S
    ) -> None:
        self._folder, self._endless, self._hang_s = folder, endless, hang_s
        self._child: subprocess.Popen[str] | None = None
        self._home = folder
        self._homes, self._done, self._number = count(), 0, first - 1
        self._used = 0
        self._first: dict[str, float] = {}
        self.took_s: dict[str, list[float]] = defaultdict(list)
        self.longest_s = self._late_s = 0.0
        self.grown: list[dict[str, float]] = []

    def case(self, random: random.Random) -> str:
        """Make one gesture; begin a new window if it is time for one."""
        bits, pause_s = random.getrandbits(64), random.choice(PAUSES_S)
        if self._child is not None and self._done >= WINDOW and not self._endless:
            self.close()
        self._number += 1
        if self._child is None:
            self._begin()
        self._done += 1
        answer = self._order({"number": self._number, "bits": bits, "pause_s": pause_s})
        self.took_s[answer["name"]].append(answer["took_s"])
        self.longest_s = max(self.longest_s, answer["longest_s"])
        # Not what the machine takes, which stands still at times.
        if answer["longest_s"] - self._late_s > self._hang_s:
            took, worked = f"{answer['longest_s']:.1f} s", f"{answer['worked_s']:.1f} s of work"
            read = f"{answer['pages_read']} pages read from the disk"
            answer["faults"].append(f"hang: no event for {took}, {worked}, {read}")
        if not answer["open"]:
            self.close()
        self._check(answer)
        return str(answer["name"])

    def provoke(self, fault: str) -> None:
        """Let the window do what is a fault, of ``monkey_window.PROVOKED``."""
        self._check(self._order({"provoke": fault}))

    def kill(self) -> None:
        """Let the window crash."""
        assert self._child is not None
        self._child.send_signal(signal.SIGSEGV)

    def measure(self) -> dict[str, float]:
        """Return what the process holds, with everything as at first."""
        answer = self._order({"measure": 1})
        self._check(answer)
        return dict(answer["measured"])

    def close(self) -> None:
        """Measure, and close the window; its end is watched as well."""
        if self._child is None:
            return
        child = self._child
        try:
            last = self._order({"measure": 1})
            more = {name: n - self._first[name] for name, n in last["measured"].items()}
            self.grown.append(more)
            end = self._order({"close": 1})
            try:
                status = child.wait(DEAD_S)
            except subprocess.TimeoutExpired:
                raise Fault("hang", "the process does not end" + self._ending()) from None
            if status:
                raise Fault("crash", f"exit status {status} at the end{self._ending()}")
            self._check(last)
            self._check(end)
            leaks = {name: n for name, n in more.items() if n > MORE.get(name, np.inf)}
            if leaks:
                raise Fault("leak", f"more after {self._done} gestures: {leaks}")
        finally:
            self._end()

    def _begin(self) -> None:
        again = self._used == 1
        if not again:
            self._home = self._folder / f"home {next(self._homes)}"
            self._home.mkdir()
            write_models(self._home / "models")
        self._used = 0 if again else 1
        self._done = 0
        with (self._home / "journal.txt").open("a") as journal:
            journal.write(f"a window, before case {self._number}\n")
        self._child = subprocess.Popen(
            [sys.executable, "-X", "faulthandler", "-m", "tools.campaigns.monkey_window",
             str(self._home), "again" if again else "first"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=self._home,
            env=surroundings(self._home),
        )  # fmt: skip
        self._answer()
        first = self._order({"measure": 1})
        self._first = first["measured"]
        self._check(first)

    def _order(self, order: dict[str, Any]) -> dict[str, Any]:
        assert self._child is not None
        assert self._child.stdin is not None
        try:
            self._child.stdin.write(json.dumps(order) + "\n")
            self._child.stdin.flush()
        except BrokenPipeError:
            pass  # what has become of it is seen in its answer
        return self._answer()

    def _answer(self) -> dict[str, Any]:
        child = self._child
        assert child is not None
        assert child.stdout is not None
        self._late_s, ready = 0.0, False
        with selectors.DefaultSelector() as waiting:
            waiting.register(child.stdout, selectors.EVENT_READ)
            for _ in range(round(DEAD_S / TICK_S)):
                begin = time.monotonic()
                if ready := bool(waiting.select(TICK_S)):
                    break
                self._late_s += max(0.0, time.monotonic() - begin - TICK_S)
        line = child.stdout.readline() if ready else ""
        if line:
            answer: dict[str, Any] = json.loads(line)
            return answer
        kind = "crash" if ready else "hang"
        if not ready:
            child.kill()
        status = child.wait()
        ending = self._ending()
        self._end()
        raise Fault(kind, f"exit status {status}{ending}")

    def _check(self, answer: dict[str, Any]) -> None:
        if answer["faults"]:
            what = "\n".join(answer["faults"])
            raise Fault(what.split()[0].strip(":"), what + self._ending(12))

    def _ending(self, lines: int = 40) -> str:
        """Return the end of what the window has left in writing."""
        parts = [f"\n(in {self._home})"]
        for name in ("journal.txt", "faulthandler.txt", "printed.txt"):
            path = self._home / name
            text = path.read_text("utf-8", "replace").splitlines() if path.exists() else []
            if text:
                last = MAX_FRAMES if name == "faulthandler.txt" else lines
                parts.append(f"--- {name}\n" + "\n".join(text[-last:]))
        return "\n".join(parts)

    def _end(self) -> None:
        child, self._child = self._child, None
        if child is not None:
            child.kill()
            child.wait()
            for pipe in (child.stdin, child.stdout):
                assert pipe is not None
                pipe.close()


def surroundings(home: Path) -> dict[str, str]:
    """Return the environment of a window: a home of its own, and no way to any network."""
    kinds = ("CONFIG", "DATA", "CACHE", "STATE")
    folders = {f"XDG_{name}_HOME": str(home / name.lower()) for name in kinds}
    nowhere = "http://127.0.0.1:9"
    proxies = dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"), nowhere)
    return {
        **os.environ, **folders, **proxies,
        "HOME": str(home), "HF_HOME": str(home / "hf"), "HF_ENDPOINT": nowhere,
        "PYTHONPATH": str(ROOT), "PYTHONDEVMODE": "", "QT_LOGGING_TO_CONSOLE": "1",
    }  # fmt: skip


def write_models(folder: Path) -> None:
    """Write small models of all kinds that open, and some that are broken."""
    from tests.gui.conftest import _helix, _write_gpt2
    from tests.gui.training_stage import write_trained
    from tests.small_models import write_small_gpt2

    folder.mkdir(parents=True)
    write_small_gpt2(folder / "small")
    write_small_gpt2(folder / "longer", n_positions=100, d_model=32, n_layers=3)
    write_trained(folder / "trained")
    _write_gpt2(folder / "with a tokenizer")
    np.save(folder / "helix.npy", _helix())
    np.save(folder / "two rows.npy", _helix(2, 8))
    np.save(folder / "not finite.npy", np.full((20, 6), np.nan))
    whole = (folder / "small" / "model.safetensors").read_bytes()
    (folder / "cut.safetensors").write_bytes(whole[: len(whole) // 2])
    (folder / "noise.npz").write_bytes(random.Random(0).randbytes(4000))
    (folder / "noise.bin").write_bytes(b"PK" + random.Random(1).randbytes(4000))
    (folder / "empty").mkdir()
    shutil.copytree(folder / "small", folder / "odd config")
    (folder / "odd config" / "config.json").write_text('{"model_type": ["gpt2"], "n_head": -1}')


def percentiles(took_s: Sequence[float]) -> str:
    """Return the 50th, 90th and 99th percentile and the longest of some times, in ms."""
    found = np.percentile(took_s, (50, 90, 99, 100)) * 1000
    return "  ".join(f"{ms:6.0f}" for ms in found)


def soak(windows: Windows, seed: int, minutes: float) -> Counts:
    """Let the monkey play in one window, and print each minute what the process holds by then."""
    counts, rows = Counts(), []
    begin = time.monotonic()
    for minute in count():
        left = minutes - (time.monotonic() - begin) / 60
        if left <= 0:
            break
        first = 1_000_000 * minute
        part = attack(windows.case, seed=seed, first=first, cases=1_000_000, minutes=min(1.0, left))
        counts.outcomes.update(part.outcomes)
        counts.faults += part.faults
        for case, what in part.faults:  # seen at once, not after hours
            sys.stdout.write(f"case {case}: {what}\n")
        try:
            rows.append(windows.measure())
        except (Fault, AssertionError) as fault:
            counts.faults.append((first, str(fault)))
            continue
        shown = "  ".join(f"{name} {n:.0f}" for name, n in rows[-1].items())
        sys.stdout.write(f"{(time.monotonic() - begin) / 60:6.1f} min  {shown}\n")
        sys.stdout.flush()
    # The first half fills caches, of models that are opened for the first time among others.
    late = rows[len(rows) // 2 :]
    if len(late) > 2:
        for name in late[0]:
            slope, start = np.polyfit(np.arange(len(late)), [row[name] for row in late], 1)
            grown = slope * (len(late) - 1)
            sys.stdout.write(f"{name}: {start:.0f} in the middle, {grown:+.1f} by the end\n")
            most = MORE_MEMORY * start if name == "MB" else MORE.get(name, np.inf)
            if grown > most:
                counts.faults.append((0, f"leak: {name} {start:.0f}, {grown:+.0f} by the end"))
    return counts


def run(arguments: Sequence[str] | None = None) -> int:
    """Run the campaign as a command, print its counts, and return its exit status."""
    made = parser("Gestures at random in the real window.", cases=1000)
    made.add_argument("--soak", action="store_true", help="one window, measured each minute")
    made.add_argument("--wayland", action="store_true", help="under weston, with Xwayland")
    given = made.parse_args(arguments)
    folder = Path(tempfile.mkdtemp(prefix="monkey-"))
    windows = Windows(folder, given.first, endless=given.soak)
    with screen(of_weston=given.wayland):
        if given.soak:
            counts = soak(windows, given.seed, given.minutes or 60)
        else:
            counts = attack(
                windows.case,
                seed=given.seed,
                cases=given.cases,
                first=given.first,
                minutes=given.minutes,
            )
        try:
            windows.close()
        except Fault as fault:
            counts.faults.append((given.first + counts.outcomes.total(), str(fault)))
    sys.stdout.write(f"seed {given.seed}, first case {given.first}\n{counts}\n")
    sys.stdout.write("until the window is idle again, in ms:    50%     90%     99%    all\n")
    ticks = [s for name in CONTINUOUS for s in windows.took_s[name]]
    everything = [s for times in windows.took_s.values() for s in times]
    for name, times in (("hover, drag, wheel, the view", ticks), ("all gestures", everything)):
        if times:
            sys.stdout.write(f"{len(times):8d}  {name:28s}  {percentiles(times)}\n")
    sys.stdout.write(f"{windows.longest_s:8.2f}  s, the longest time without an event\n")
    for more in windows.grown:
        sys.stdout.write("  grown: " + ", ".join(f"{k} {n:+.0f}" for k, n in more.items()) + "\n")
    if counts.faults:
        sys.stdout.write(f"the journals are in {folder}\n")
    else:
        shutil.rmtree(folder)
    return 1 if counts.faults else 0


@contextmanager
def screen(*, of_weston: bool) -> Iterator[None]:
    """A screen for as long as the block runs, where there is none or it is to be one of weston."""
    if not of_weston and (os.environ.get("DISPLAY") or sys.platform != "linux"):
        yield
        return
    with (
        wayland(x=True) if of_weston else x_screen() as variables,
        patch.dict(os.environ, variables),
    ):
        yield


if __name__ == "__main__":
    sys.exit(run())
