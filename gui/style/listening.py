"""Listening to the session, undone as one: by everything that goes away before it."""

from __future__ import annotations

from collections.abc import Callable

from psygnal import SignalInstance


class Listening:
    """The connections of one listener.

    A psygnal callback that reaches a deleted widget raises, so each connection has to be undone
    before its listener goes away.
    """

    def __init__(self) -> None:
        self._connections: list[tuple[SignalInstance, Callable[..., object]]] = []

    def to(self, signal: SignalInstance, slot: Callable[..., object]) -> None:
        """Call a slot on every change, until :meth:`stop`."""
        signal.connect(slot)
        self._connections.append((signal, slot))

    def stop(self) -> None:
        """Undo all connections; nothing is heard any more."""
        for signal, slot in self._connections:
            signal.disconnect(slot, missing_ok=True)
        self._connections.clear()
