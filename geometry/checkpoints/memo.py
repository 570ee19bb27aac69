"""Values that are found once, and kept for all that ask for them again."""

from __future__ import annotations

import threading
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
