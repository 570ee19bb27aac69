"""Caches of computed values."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, TypeVar, cast

T = TypeVar("T")


class Memo:
    """Computes each value once and keeps it; safe for several threads."""

    def __init__(self) -> None:
        self._found: dict[Hashable, Any] = {}
        self._turns: dict[Hashable, threading.Lock] = {}
        self._lock = threading.Lock()

    def __call__(self, key: Hashable, find: Callable[[], T]) -> T:
        """Return the value of a key, computed by ``find`` on first use; exceptions are not cached.

        Parameters
        ----------
        key
            Everything that determines the value.
        find
            Computes the value; called by one thread at a time.
        """
        with self._lock:
            turn = self._turns.setdefault(key, threading.Lock())
        with turn:
            if key not in self._found:
                self._found[key] = find()
            return cast(T, self._found[key])

    def forget(self, key: Hashable, value: object) -> None:
        """Compute the value of a key anew on next use, if the cached one is ``value`` itself."""
        with self._lock:
            if self._found.get(key) is value:
                del self._found[key]

    def known(self, key: Hashable) -> Any | None:
        """Return the value if it is cached, else None."""
        return self._found.get(key)


class Recent:
    """Least-recently-used cache.

    Safe for several threads, which do not wait for each other: two may compute the same value.

    Parameters
    ----------
    most
        Maximum number of values kept.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._found: OrderedDict[Hashable, Any] = OrderedDict()
        self._lock = threading.Lock()

    def __call__(self, key: Hashable, find: Callable[[], T]) -> T:
        """Return the cached value of a key, or compute it with ``find``."""
        with self._lock:
            known = key in self._found
            value = self._found[key] if known else None
        if not known:
            value = find()
        with self._lock:
            self._found[key] = value
            self._found.move_to_end(key)
            while len(self._found) > self._most:
                self._found.popitem(last=False)
        return cast(T, value)
