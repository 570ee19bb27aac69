"""Writing to the cache in the background.

Writing three megabytes durably takes as long as downloading them over a fast connection. So each
cache has a writing thread, which pauses while models are being opened and finishes before the
program ends. Readers wait for pending writes.
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
"""Maximum pause, in seconds; a longer opening does not delay writing further."""

_lock = threading.Lock()
_changed = threading.Condition(_lock)
_queues: dict[Path, deque[_Work]] = {}
_openings = 0


@dataclass(eq=False, slots=True)
class _Work:
    """A pending write to the cache.

    Attributes
    ----------
    repo
        The model that it concerns.
    write
        Writes.
    urgent
        Whether a reader waits for this write or a later one.
    done
        Set after the write.
    """

    repo: str
    write: Callable[[], None]
    urgent: bool = False
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
    """Call ``write`` on the thread of the cache in ``root``, after earlier writes.

    It writes data of the model ``repo``.
    """
    with _lock:
        if root in _queues:
            _queues[root].append(_Work(repo, write))
            return
        # Not a daemon, even if the calling thread is: writing finishes before the program ends.
        thread = threading.Thread(target=_keep, args=(root,), name="keeping", daemon=False)
        thread.start()  # first: no other thread may wait for one that failed to start
        _queues[root] = deque([_Work(repo, write)])


def _keep(root: Path) -> None:
    """Write queued entries until there are none left."""
    while True:
        work = _next(root)
        try:
            work.write()
        # Any exception, even a library's panic: otherwise readers of this entry or later ones would
        # wait forever.
        except BaseException:
            log.exception("The download of %s could not be kept", work.repo)
        with _lock:
            _queues[root].popleft()
            work.done.set()
            if not _queues[root]:
                del _queues[root]
                return


def _next(root: Path) -> _Work:
    """Return the next entry to write, once openings permit."""
    with _changed:
        work = _queues[root][0]
        _changed.wait_for(lambda: work.urgent or not _openings, PATIENCE_S)
        return work


def wait_until_kept(root: Path, repo: str | None = None, *, but_for: int = 0) -> None:
    """Wait for the pending writes of a model, or of all models, except the last ``but_for``."""
    with _changed:
        queue = list(_queues.get(root, ()))
        wanted = [number for number, work in enumerate(queue) if repo in (None, work.repo)]
        wanted = wanted[: len(wanted) - but_for] if but_for < len(wanted) else []
        for work in queue[: wanted[-1] + 1] if wanted else ():
            work.urgent = True
        _changed.notify_all()
    for number in wanted:
        queue[number].done.wait()
