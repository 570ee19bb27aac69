"""Small products and decompositions on one thread.

A tick of the range slider works on matrices of some ten columns. Threads that help with them cost
more than they bring, and where a software renderer keeps all cores busy meanwhile, each barrier
between them waits for the scheduler: ten times the work itself on two cores.
"""

import functools
from contextlib import AbstractContextManager

from threadpoolctl import ThreadpoolController


def one_thread() -> AbstractContextManager[object]:
    """Keep the linear algebra inside a ``with`` block to the calling thread."""
    limited: AbstractContextManager[object] = _blas().limit(limits=1)
    return limited


@functools.cache
def _blas() -> ThreadpoolController:
    # Looking through the loaded libraries takes some milliseconds, so it is done once. The ones
    # of numpy and scipy are told apart only after both are loaded.
    import scipy.linalg  # noqa: F401

    return ThreadpoolController().select(user_api="blas")
