"""Results kept for when they are asked for again, bounded by bytes."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Mapping
from dataclasses import fields, is_dataclass
from typing import Generic, TypeVar

import numpy as np

T = TypeVar("T")


class ResultCache(Generic[T]):
    """Keeps the results used last; the longest unused go first.

    Parameters
    ----------
    max_bytes
        Bound on the arrays of all kept results together. A single larger result is not kept.
    """

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._results: OrderedDict[Hashable, T] = OrderedDict()
        self.n_bytes = 0

    def get(self, key: Hashable) -> T | None:
        """Return a kept result, or None.

        Keys are (checkpoint fingerprint, function, frozen parameters).
        """
        if key not in self._results:
            return None
        self._results.move_to_end(key)
        return self._results[key]

    def clear(self) -> None:
        """Forget all results."""
        self._results.clear()
        self.n_bytes = 0

    def put(self, key: Hashable, result: T) -> T:
        """Keep a result and return it."""
        self._forget(key)
        n_bytes = array_bytes(result)
        if n_bytes > self._max_bytes:
            return result
        self._results[key] = result
        self.n_bytes += n_bytes
        while self.n_bytes > self._max_bytes:
            self._forget(next(iter(self._results)))
        return result

    def _forget(self, key: Hashable) -> None:
        if key in self._results:
            self.n_bytes -= array_bytes(self._results.pop(key))


def array_bytes(result: object) -> int:
    """Count the bytes of the arrays in a result: a dataclass, a sequence, a mapping, nested too."""
    if isinstance(result, np.ndarray):
        return result.nbytes
    if is_dataclass(result):
        return sum(array_bytes(getattr(result, f.name)) for f in fields(result))
    if isinstance(result, Mapping):
        return sum(map(array_bytes, result.values()))
    if isinstance(result, tuple | list):
        return sum(map(array_bytes, result))
    return 0
