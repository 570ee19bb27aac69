"""Windows that are killed with SIGKILL while somebody works in them.

The next start shows the work of at most KEEP_MS before, also if it is killed in its turn; closed in
the usual way, it leaves no unsaved work.

``xvfb-run -a python -m tools.campaigns.window_kills --seed 1 --cases 40``
"""

from __future__ import annotations

import json
import os
import random
import select
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gui.window.work.unsaved_work import KEEP_MS
from tests.command_line import ROOT
from tools.campaigns.campaign import Fault, main
from tools.campaigns.failing_disk import IN_MEMORY

SHOWS_S = 180.0
"""Longest start of a window, on a machine that does ten times as much as it can at once."""
SLACK_S = 2.0
"""What autosave may be late by on such a machine."""


class Window:
    """A window in a process of its own, which prints what is done in it, line by line."""

    def __init__(self, home: Path, what: str, seed: int) -> None:
        private = {name: str(home) for name in (
            "HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME",
        )}  # fmt: skip
        environment = {**os.environ, **private, "HF_HUB_OFFLINE": "1"}
        environment.pop("QT_QPA_PLATFORM", None)
        with (home / "errors.txt").open("ab") as errors:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tools.campaigns.window_at_work", what, str(seed)],
                cwd=ROOT,
                env=environment,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
            )
        self._home = home

    def line(self) -> dict[str, Any]:
        """Return the next thing that it prints.

        Raises Fault: it has ended, or prints nothing for long.
        """
        assert self._process.stdout is not None
        if not select.select([self._process.stdout], [], [], SHOWS_S)[0]:
            raise Fault("hang", "a window shows nothing")
        line = self._process.stdout.readline()
        if not line:
            status = self._process.wait()
            errors = (self._home / "errors.txt").read_text("utf-8", "replace")[-2000:]
            raise Fault("crash", f"a window ended with {status}: {errors}")
        found: dict[str, Any] = json.loads(line)
        return found

    def kill(self) -> list[dict[str, Any]]:
        """Kill it, and return what it had still printed."""
        self._process.kill()
        assert self._process.stdout is not None
        if self._process.stdout.closed:
            return []
        with self._process.stdout as rest:
            lines = [json.loads(line) for line in rest if line.endswith("\n")]
        self._process.wait()
        return lines

    def end(self) -> int:
        """Wait until it has ended, and return its status."""
        assert self._process.stdout is not None
        self._process.stdout.close()
        return self._process.wait(SHOWS_S)


def kill_a_window(rng: random.Random, home: Path) -> str:
    """Kill a window in which somebody works, up to two times, and look at the next start."""
    times = rng.choice((1, 1, 2))
    changes: list[dict[str, Any]] = []
    for turn in range(times):
        window = Window(home, "work", rng.randrange(1000))
        until = None
        try:
            while until is None or time.monotonic() < until:
                line = window.line()
                if until is None:  # it shows the model
                    if turn:
                        _check_restored(line, changes, KEEP_MS / 1000)
                    changes = []
                    until = time.monotonic() + rng.uniform(0.0, 1.6 * KEEP_MS / 1000)
                else:
                    changes.append(line)
        finally:
            changes += window.kill()
        killed = time.monotonic()
        changes = [{**line, "killed": killed} for line in changes if "number" in line]
        if not changes:
            return "a window killed before work"
    window = Window(home, "look", 0)
    try:
        _check_restored(window.line(), changes, KEEP_MS / 1000)
        if status := window.end():
            raise Fault("crash", f"a window closed with {status}")
    finally:
        window.kill()
    left = [str(path.relative_to(home)) for path in home.rglob("unsaved/**/*.helix")]
    if left:
        raise Fault("left", f"after closing: {left}")
    return f"a window killed {times}×"


def _check_restored(line: dict[str, Any], changes: list[dict[str, Any]], keep_s: float) -> None:
    """Raise a Fault if more than the last seconds of work are lost."""
    restored = line["restored"]
    killed = changes[0]["killed"]
    old = [one["number"] for one in changes if one["time"] < killed - keep_s - SLACK_S]
    if old and (restored is None or restored < old[-1]):
        raise Fault("lost", f"restored {restored} of {changes[-1]['number']}, not {old[-1]}")


def case(rng: random.Random) -> str:
    """Kill a window, in a home of its own."""
    with tempfile.TemporaryDirectory(dir=IN_MEMORY) as home:
        return kill_a_window(rng, Path(home))


def run(arguments: Sequence[str] | None = None) -> int:
    """Run the campaign as a command."""
    return main(case, __doc__ or "", cases=40, arguments=arguments)


if __name__ == "__main__":
    sys.exit(run())
