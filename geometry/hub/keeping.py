"""Keeping what was fetched without anyone waiting for the disk.

Writing three megabytes so that they survive a power cut takes as long as fetching them over a good
line. So it is done on a thread of its own, one for each cache, and while models are being opened it
leaves the processor and the disk to that; the program ends when it has ended. Whoever looks for
what is kept waits for what is being kept.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

log = logging.getLogger(__name__)

#: Openings that take longer are no reason to keep nothing meanwhile.
PATIENCE_S = 1.0

_lock = threading.Lock()
_changed = threading.Condition(_lock)
_queues: dict[Path, deque[_Work]] = {}
_openings = 0


@dataclass(eq=False, slots=True)
class _Work:
    repo: str
    write: Callable[[], None]
    #: Whether somebody waits for it, or for what comes after it.
    urgent: bool = False
    done: threading.Event = field(default_factory=threading.Event)


@contextmanager
def opening() -> Iterator[None]:
    """Let the disk wait while the block runs."""
    global _openings
    with _lock:
        _openings += 1
    try:
        yield
    finally:
        with _changed:
            _openings -= 1
            _changed.notify_all()


def keep_soon(root: Path, repo: str, write: Callable[[], None]) -> None:
    """Write on another thread, after what is to be written there already.

    Parameters
    ----------
    root
        The cache's folder.
    repo
        The model that the writing is for.
    write
        Does it.
    """
    with _lock:
        if root in _queues:
            _queues[root].append(_Work(repo, write))
            return
        # It takes after nobody: a thread of the window may be broken off by the program's end.
        thread = threading.Thread(target=_keep, args=(root,), name="keeping", daemon=False)
        thread.start()  # first: whoever waits cannot wait for what never started
        _queues[root] = deque([_Work(repo, write)])


def _keep(root: Path) -> None:
    """Write what waits, until nothing does."""
    while True:
        work = _next(root)
        try:
            work.write()
        # Whatever it is: those who wait for this, or for what comes after it, would wait for ever.
        except Exception:
            log.exception("What was fetched of %s could not be kept", work.repo)
        with _lock:
            _queues[root].popleft()
            work.done.set()
            if not _queues[root]:
                del _queues[root]
                return


def _next(root: Path) -> _Work:
    """Return what is to be written next, when openings leave room for it."""
    with _changed:
        work = _queues[root][0]
        _changed.wait_for(lambda: work.urgent or not _openings, PATIENCE_S)
        return work


def wait_until_kept(root: Path, repo: str | None = None) -> None:
    """Wait until what is being written of a model, or of all of them, is kept."""
    with _changed:
        queue = list(_queues.get(root, ()))
        wanted = [number for number, work in enumerate(queue) if repo in (None, work.repo)]
        for work in queue[: wanted[-1] + 1] if wanted else ():
            work.urgent = True
        _changed.notify_all()
    for number in wanted:
        queue[number].done.wait()
