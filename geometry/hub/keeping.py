"""Keeping what was fetched without anyone waiting for the disk.

Writing three megabytes so that they survive a power cut takes as long as fetching them over a good
line. So it is done on threads of their own; the program ends when they have ended. Whoever looks
for what is kept waits for what is being kept.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

_lock = threading.Lock()
_under_way: list[tuple[Path, str, threading.Thread]] = []


def keep_soon(root: Path, repo: str, write: Callable[[], None]) -> None:
    """Write on another thread.

    Parameters
    ----------
    root
        The cache's folder.
    repo
        The model that the writing is for.
    write
        Does it.
    """

    def work() -> None:
        try:
            write()
        finally:
            with _lock:
                _under_way.remove(entry)

    # Else it would take after the thread that fetches, which the end of the program may break off.
    thread = threading.Thread(target=work, name=f"keeping {repo}", daemon=False)
    entry = (root, repo, thread)
    with _lock:
        thread.start()  # first: whoever waits cannot wait for what never started
        _under_way.append(entry)


def wait_until_kept(root: Path, repo: str | None = None) -> None:
    """Wait until what is being written of a model, or of all of them, is kept."""
    with _lock:
        threads = [one for place, name, one in _under_way if place == root and repo in (None, name)]
    for thread in threads:
        thread.join()
