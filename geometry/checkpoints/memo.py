"""Caches of computed values."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, Generic, Self, TypeVar, cast, overload

T = TypeVar("T")
_TURNS = threading.Lock()


class cached_property(Generic[T]):  # noqa: N801 – it stands in for that of functools
    """A property that is computed on first use and kept, like that of functools.

    Up to Python 3.11 that one has a lock of the class: while one model's matrix is fetched, no
    thread could read that of another. Here threads wait for each other only at one object.
    """

    def __init__(self, find: Callable[[Any], T]) -> None:
        self._find, self.__doc__ = find, find.__doc__
        self._name = find.__name__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, one: None, owner: type) -> Self: ...
    @overload
    def __get__(self, one: object, owner: type) -> T: ...
    def __get__(self, one: object | None, owner: type) -> Self | T:
        if one is None:
            return self
        kept, turn_name = one.__dict__, f"{self._name} (being computed)"
        with _TURNS:
            turn = kept.setdefault(turn_name, threading.RLock())
        with turn:
            try:
                if self._name not in kept:
                    kept[self._name] = self._find(one)
                return cast(T, kept[self._name])
            finally:
                with _TURNS:  # whoever waits has it, and whoever comes finds the value
                    kept.pop(turn_name, None)


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

    def get(self, key: Hashable) -> Any:
        """Return the cached value of a key; None if there is none."""
        with self._lock:
            return self._found.get(key)
