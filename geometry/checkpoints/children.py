"""Subprocesses, none of which imports modules from the current folder."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
"""Folder of this program's packages and `main.py`."""
UNSEEN: int = getattr(subprocess, "CREATE_NO_WINDOW", 0)
"""Flags for creating a process without a console window, which only Windows would open."""


def start_own(
    *arguments: str, variables: Mapping[str, str], **options: Any
) -> subprocess.Popen[str]:
    """Start this program's command line in a subprocess.

    Parameters
    ----------
    arguments
        Arguments of the command line.
    variables
        Additional environment variables.
    options
        Options of Popen.
    """
    # A frozen application is its own interpreter, and takes only the command line's arguments.
    frozen = getattr(sys, "frozen", False)
    program = [sys.executable] if frozen else [sys.executable, str(ROOT / "main.py")]
    return subprocess.Popen(
        [*program, *arguments],
        env={**os.environ, **_absolute_places(str(ROOT)), **variables},
        creationflags=UNSEEN,
        **options,
    )


@contextmanager
def safe_environment() -> Iterator[None]:
    """Keep processes started in the block, by libraries too, from importing the current folder."""
    changed = _absolute_places()
    before = {name: os.environ.get(name) for name in changed}
    os.environ.update(changed)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _absolute_places(*first: str) -> dict[str, str]:
    """Return the variables with which Python searches for modules only in absolute paths.

    Those in ``first`` come before all others.
    """
    given = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    path = os.pathsep.join((*first, *filter(os.path.isabs, given)))
    return {"PYTHONPATH": path, "PYTHONSAFEPATH": "1"}
