"""A cache of results with a size limit in bytes."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Mapping
from dataclasses import fields, is_dataclass
from typing import Generic, TypeVar

import numpy as np

T = TypeVar("T")
MAX_RESULTS = 200
"""Maximum number of results: those without arrays, such as verdicts, have no size in bytes."""


class ResultCache(Generic[T]):
    """Least-recently-used cache of results.

    ``max_bytes`` limits all arrays together, ``max_results`` the number of results. A single larger
    result is not cached.
    """

    def __init__(self, max_bytes: int, max_results: int = MAX_RESULTS) -> None:
        self._max_bytes, self._max_results = max_bytes, max_results
        self._results: OrderedDict[Hashable, T] = OrderedDict()
        self.n_bytes = 0

    def get(self, key: Hashable) -> T | None:
        """Return a cached result, or None.

        Keys are (checkpoint fingerprint, function, frozen parameters).
        """
        if key not in self._results:
            return None
        self._results.move_to_end(key)
        return self._results[key]

    def clear(self) -> None:
        """Remove all results."""
        self._results.clear()
        self.n_bytes = 0

    def put(self, key: Hashable, result: T) -> T:
        """Cache a result and return it."""
        self._forget(key)
        n_bytes = array_bytes(result)
        if n_bytes > self._max_bytes:
            return result
        self._results[key] = result
        self.n_bytes += n_bytes
        while self.n_bytes > self._max_bytes or len(self._results) > self._max_results:
            self._forget(next(iter(self._results)))
        return result

    def _forget(self, key: Hashable) -> None:
        if key in self._results:
            self.n_bytes -= array_bytes(self._results.pop(key))


def array_bytes(result: object) -> int:
    """Return the size in bytes of the arrays in a result, including nested containers."""
    if isinstance(result, np.ndarray):
        return result.nbytes
    if is_dataclass(result):
        return sum(array_bytes(getattr(result, f.name)) for f in fields(result))
    if isinstance(result, Mapping):
        return sum(map(array_bytes, result.values()))
    if isinstance(result, tuple | list):
        return sum(map(array_bytes, result))
    return 0
