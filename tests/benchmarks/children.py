"""Runs the two sides of start and memory as processes of their own."""

import os
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).parent


def run_child(script: str, *arguments: str, settings: Path) -> dict[str, str]:
    """Run a script of this folder; return what it prints, and times from its start.

    "seconds" is the time to "first", "window_s" to "window", if it prints that.

    ``settings`` is an empty folder: a first start, and nothing of the user's is touched.
    """
    environment = os.environ | {
        "XDG_CONFIG_HOME": str(settings), "XDG_STATE_HOME": str(settings),
    }  # fmt: skip
    start = time.monotonic()
    done = subprocess.run(
        [sys.executable, str(HERE / script), *arguments],
        env=environment, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    printed = dict(line.split(" ", 1) for line in done.stdout.splitlines() if " " in line)
    if "first" not in printed:
        raise RuntimeError(f"{script} painted nothing:\n{done.stdout}{done.stderr}")
    if "window" in printed:
        printed["window_s"] = str(float(printed["window"]) - start)
    return printed | {"seconds": str(float(printed["first"]) - start)}
