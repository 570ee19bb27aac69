"""Values that are found once, and kept for all that ask for them again."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, TypeVar, cast

T = TypeVar("T")


class Memo:
    """Keeps what was found; threads may share one, and find nothing twice."""

    def __init__(self) -> None:
        self._found: dict[Hashable, Any] = {}
        self._turns: dict[Hashable, threading.Lock] = {}
        self._lock = threading.Lock()

    def __call__(self, key: Hashable, find: Callable[[], T]) -> T:
        """Return what ``find`` found when this key was first asked for; what it raises is not kept.

        Parameters
        ----------
        key
            All that decides the value.
        find
            Called unless the value is known, by one thread at a time.
        """
        with self._lock:
            turn = self._turns.setdefault(key, threading.Lock())
        with turn:
            if key not in self._found:
                self._found[key] = find()
            return cast(T, self._found[key])

    def known(self, key: Hashable) -> Any | None:
        """Return what was found, or None."""
        return self._found.get(key)


class Recent:
    """Keeps a number of values; the one that was asked for longest ago goes first.

    Threads may share one, and do not wait for each other: two may find the same value.

    Parameters
    ----------
    most
        So many are kept.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._found: OrderedDict[Hashable, Any] = OrderedDict()
        self._lock = threading.Lock()

    def __call__(self, key: Hashable, find: Callable[[], T]) -> T:
        """Return what is kept under a key, all that decides the value, or what ``find`` finds."""
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
