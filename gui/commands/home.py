"""A home folder for the process, where the user has none."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from gui.commands.terminal import note


@contextmanager
def home_provided() -> Iterator[None]:
    """Provide a home folder in the block: a temporary one if the user has none.

    There is none in some containers and services. The variable is set in any case, for libraries
    and child processes.
    """
    home = os.path.expanduser("~")
    if _exists(home):
        os.environ.setdefault("HOME", home)
        yield
        return
    from tempfile import TemporaryDirectory

    note(
        "There is no home folder, so settings and downloads are kept for this run only; set HOME "
        "to a folder to keep them."
    )
    variable = "USERPROFILE" if os.name == "nt" else "HOME"
    with TemporaryDirectory(prefix="helixscope-home-", ignore_cleanup_errors=True) as folder:
        os.environ[variable] = folder
        yield


def _exists(home: str) -> bool:
    try:
        if os.path.isabs(home):
            os.makedirs(home, exist_ok=True)
            return True
    except OSError:
        pass
    return False
