"""Small products and decompositions on one thread.

A tick of the range slider works on matrices of some ten columns. Threads that help with them cost
more than they bring, and where a software renderer keeps all cores busy meanwhile, each barrier
between them waits for the scheduler: ten times the work itself on two cores.
"""

import functools
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from threadpoolctl import ThreadpoolController

_limiting = threading.Lock()


@contextmanager
def one_thread() -> Iterator[None]:
    """Keep the linear algebra inside a ``with`` block to the calling thread.

    The limit is the whole process's. Of blocks that overlap, in one thread or several, only the
    first sets it: were each to restore what it found, the last one out would leave it set.
    """
    if not _limiting.acquire(blocking=False):
        yield
        return
    try:
        with _blas("scipy.linalg" in sys.modules).limit(limits=1):
            yield
    finally:
        _limiting.release()


@functools.cache
def _blas(with_scipy: bool) -> ThreadpoolController:
    # Looking through the loaded libraries takes some milliseconds, so it is done once, and once
    # more when scipy has brought its own.
    return ThreadpoolController().select(user_api="blas")
