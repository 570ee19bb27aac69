"""Small products and decompositions on a single thread, and work on large tables on several.

A step of the range slider works on matrices of about ten columns. BLAS threads cost more than they
gain there, and while a software renderer keeps all cores busy, each barrier between them waits for
the scheduler, which took ten times the work itself on two cores.
"""

import functools
import os
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import copy_context
from typing import TypeVar

import numpy as np
import numpy.typing as npt
from threadpoolctl import ThreadpoolController

T = TypeVar("T")

WIDEST = 1024
"""Maximum width of a model whose report is computed on a single thread."""

NUMBERS_AT_ONCE = 2**21
"""Numbers of a table in a part. Larger parts take more memory; after smaller ones, a thread waits
more often for the interpreter's lock, each time for as long as a busy thread keeps it."""
MAX_THREADS = 4
"""More threads wait for the memory."""

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


def for_each_part(
    act: Callable[[np.ndarray, np.ndarray], T], rows: np.ndarray, dtype: npt.DTypeLike
) -> list[T]:
    """Call a function with each part of some rows (m, d), on several threads if there are many.

    Parameters
    ----------
    act
        Called with a part, and with an array of its shape for intermediate numbers: new memory for
        each part would take as long as most computations.
    dtype
        Type of these numbers.

    Returns
    -------
    list
        The results, in order.
    """
    size = max(1, NUMBERS_AT_ONCE // rows.shape[1])
    parts = [rows[start : start + size] for start in range(0, len(rows), size)]
    results: dict[int, T] = {}
    remaining = iter(range(len(parts)))

    def work() -> None:
        room = np.empty_like(parts[0], dtype=dtype)
        for at in remaining:
            results[at] = act(parts[at], room[: len(parts[at])])

    threads = min(len(parts), cores(), MAX_THREADS)
    if threads < 2:
        work()
    else:
        with ThreadPoolExecutor(threads) as pool:
            for running in [pool.submit(copy_context().run, work) for _ in range(threads)]:
                running.result()
    return [results[at] for at in range(len(parts))]


def cores() -> int:
    """Return the number of processor cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@functools.cache
def _blas(with_scipy: bool) -> ThreadpoolController:
    # Searching the loaded libraries takes milliseconds, so it is done once, and once more
    # after scipy has loaded its own.
    return ThreadpoolController().select(user_api="blas")
