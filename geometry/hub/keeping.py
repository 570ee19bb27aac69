"""Writing to the cache in the background.

Writing three megabytes so that they survive a power cut takes as long as downloading them over a
good line. So each cache has a writing thread, which pauses while models are being opened and is
finished before the program ends. Readers wait for pending writes.
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

PATIENCE_S = 1.0
"""Longest pause: longer openings no longer delay writing."""

_lock = threading.Lock()
_changed = threading.Condition(_lock)
_queues: dict[Path, deque[_Work]] = {}
_openings = 0


@dataclass(eq=False, slots=True)
class _Work:
    repo: str
    write: Callable[[], None]
    urgent: bool = False
    """Whether a reader waits for this entry or a later one."""
    done: threading.Event = field(default_factory=threading.Event)


@contextmanager
def opening() -> Iterator[None]:
    """Delay background writes while the block runs."""
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
    """Write on the cache's thread, after earlier writes.

    Parameters
    ----------
    root
        The cache's folder.
    repo
        The model concerned.
    write
        Does the writing.
    """
    with _lock:
        if root in _queues:
            _queues[root].append(_Work(repo, write))
            return
        # Not a daemon, even if the calling thread is one: writing is finished before the program
        # ends.
        thread = threading.Thread(target=_keep, args=(root,), name="keeping", daemon=False)
        thread.start()  # first, so that nobody waits for a thread that failed to start
        _queues[root] = deque([_Work(repo, write)])


def _keep(root: Path) -> None:
    """Write queued entries until there are none left."""
    while True:
        work = _next(root)
        try:
            work.write()
        # Any exception, a library's panic too: otherwise readers waiting for this entry or later
        # ones would wait for ever.
        except BaseException:
            log.exception("What was fetched of %s could not be kept", work.repo)
        with _lock:
            _queues[root].popleft()
            work.done.set()
            if not _queues[root]:
                del _queues[root]
                return


def _next(root: Path) -> _Work:
    """Return the next entry to write, when openings permit."""
    with _changed:
        work = _queues[root][0]
        _changed.wait_for(lambda: work.urgent or not _openings, PATIENCE_S)
        return work


def wait_until_kept(root: Path, repo: str | None = None, *, but_for: int = 0) -> None:
    """Wait until pending writes of a model, or of all models, are done, but for the last ones."""
    with _changed:
        queue = list(_queues.get(root, ()))
        wanted = [number for number, work in enumerate(queue) if repo in (None, work.repo)]
        wanted = wanted[: len(wanted) - but_for] if but_for < len(wanted) else []
        for work in queue[: wanted[-1] + 1] if wanted else ():
            work.urgent = True
        _changed.notify_all()
    for number in wanted:
        queue[number].done.wait()
