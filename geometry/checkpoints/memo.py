"""Caches of computed values."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, Generic, Self, TypeVar, cast, overload

T = TypeVar("T")
_TURNS = threading.Lock()


class cached_property(Generic[T]):  # noqa: N801 – it replaces that of functools
    """A property that is computed on first use and cached, like that of functools.

    Up to Python 3.11, functools locks the whole class: while a matrix of one model is downloaded,
    no thread could read that of another. Here threads wait for each other only at the same object.
    """

    def __init__(self, find: Callable[[Any], T]) -> None:
        self._find, self.__doc__ = find, find.__doc__
        self._name = find.__name__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...
    @overload
    def __get__(self, instance: object, owner: type) -> T: ...
    def __get__(self, instance: object | None, owner: type) -> Self | T:
        if instance is None:
            return self
        kept, turn_name = instance.__dict__, f"{self._name} (being computed)"
        with _TURNS:
            turn = kept.setdefault(turn_name, threading.RLock())
        with turn:
            try:
                if self._name not in kept:
                    kept[self._name] = self._find(instance)
                return cast(T, kept[self._name])
            finally:
                with _TURNS:  # waiting threads hold it, and later ones find the value
                    kept.pop(turn_name, None)


class Memo:
    """Computes each value once and caches it; safe for several threads.

    Parameters
    ----------
    lasting
        Those of the memo of an earlier step of the same training; None for none.

    Attributes
    ----------
    lasting
        Values for the memo of a later step, by their keys, of which the newest may be replaced.
    """

    def __init__(self, lasting: dict[Hashable, Any] | None = None) -> None:
        self.lasting: dict[Hashable, Any] = {} if lasting is None else lasting
        self._values: dict[Hashable, Any] = {}
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
            if key not in self._values:
                self._values[key] = find()
            return cast(T, self._values[key])

    def forget(self, key: Hashable, value: object) -> None:
        """Remove the cached value of a key, if it is ``value`` itself."""
        with self._lock:
            if self._values.get(key) is value:
                del self._values[key]

    def known(self, key: Hashable) -> Any | None:
        """Return the value if it is cached, else None."""
        return self._values.get(key)


class Recent:
    """A least-recently-used cache.

    Safe for several threads. These do not wait for each other: two may compute the same value.

    Parameters
    ----------
    max_values
        Maximum number of cached values.
    """

    def __init__(self, max_values: int) -> None:
        self._max_values = max_values
        self._values: OrderedDict[Hashable, Any] = OrderedDict()
        self._lock = threading.Lock()

    def __call__(self, key: Hashable, find: Callable[[], T]) -> T:
        """Return the cached value of a key, or compute it with ``find``."""
        with self._lock:
            known = key in self._values
            value = self._values[key] if known else None
        if not known:
            value = find()
        with self._lock:
            self._values[key] = value
            self._values.move_to_end(key)
            while len(self._values) > self._max_values:
                self._values.popitem(last=False)
        return cast(T, value)

    def get(self, key: Hashable) -> Any:
        """Return the cached value of a key; None if there is none."""
        with self._lock:
            return self._values.get(key)
