"""Small products and decompositions on a single thread.

A step of the range slider works on matrices of about ten columns. BLAS threads cost more than they
gain there, and while a software renderer keeps all cores busy, each barrier between them waits for
the scheduler, which took ten times the work itself on two cores.
"""

import functools
import sys
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

from threadpoolctl import ThreadpoolController

WIDEST = 1024
"""Maximum width of a model whose report is computed on a single thread."""

_limiting = threading.Lock()


@contextmanager
def one_thread() -> Iterator[None]:
    """Limit linear algebra inside the block to the calling thread.

    The limit applies to the whole process. Of overlapping blocks, only the outermost sets and
    restores it; if each restored the previous value, the last one to exit would leave the limit
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


def threads_for(width: int) -> AbstractContextManager[None]:
    """Limit a report's linear algebra to a single thread, unless the model is wide.

    Measured on two cores, for widths up to 768: alone in the same time, with half the work of two
    threads; beside other programs in a fifth of the time, with a sixth of the work.
    """
    if width > WIDEST:
        return nullcontext()
    import scipy.linalg  # noqa: F401  # its own BLAS is limited only if it is loaded

    return one_thread()


@functools.cache
def _blas(with_scipy: bool) -> ThreadpoolController:
    # Searching the loaded libraries takes milliseconds, so it is done once, and once more
    # after scipy has loaded its own.
    return ThreadpoolController().select(user_api="blas")
