"""Small products and decompositions on one thread.

A tick of the range slider works on matrices of some ten columns. BLAS threads cost more than they
gain there, and while a software renderer keeps all cores busy, each barrier between them waits for
the scheduler: measured at ten times the work itself on two cores.
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
    """Limit linear algebra inside the block to the calling thread.

    The limit holds for the whole process. Of overlapping blocks only the outermost sets and
    restores it: if each restored the value it found, the last one to exit would leave the limit
    set.
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
    # Searching the loaded libraries takes some milliseconds, so it is done once, and once more
    # after scipy has loaded its own.
    return ThreadpoolController().select(user_api="blas")
