"""A bound on the time that a worker spends on one checkpoint.

A thread that is computing cannot be stopped, least of all inside a library. So what takes too long
is left alone, and its process ends, to be replaced by another one.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import Future, wait
from typing import TypeVar

T = TypeVar("T")

#: Seconds in which the worker's last result is sent before its process ends.
LEAVES_S = 3.0


class TooLong(Exception):
    """Something took longer than it may, and is still running."""


def within(limit_s: float, work: Callable[[], T]) -> T:
    """Return the result of ``work``, or raise its exception; TooLong if it takes too long."""
    found: Future[T] = Future()

    def run() -> None:
        try:
            found.set_result(work())
        except BaseException as error:  # for the thread that waits
            found.set_exception(error)

    threading.Thread(target=run, name="within a limit", daemon=True).start()
    if not wait([found], timeout=limit_s).done:
        raise TooLong
    return found.result()


def leave_soon() -> None:
    """End this process after some seconds, whatever it is doing; its nanny starts another one."""
    timer = threading.Timer(LEAVES_S, os._exit, (1,))
    timer.daemon = True
    timer.start()
