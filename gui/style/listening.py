"""Connections to the session that are disconnected together."""

from __future__ import annotations

from collections.abc import Callable

from psygnal import SignalInstance


class Listening:
    """The connections of one listener.

    A psygnal callback to a deleted widget raises, so listeners must disconnect before they are
    deleted.
    """

    def __init__(self) -> None:
        self._connections: list[tuple[SignalInstance, Callable[..., object]]] = []

    def to(self, signal: SignalInstance, slot: Callable[..., object]) -> None:
        """Call a slot on every change, until :meth:`stop`."""
        signal.connect(slot)
        self._connections.append((signal, slot))

    def stop(self) -> None:
        """Disconnect everything."""
        for signal, slot in self._connections:
            signal.disconnect(slot, missing_ok=True)
        self._connections.clear()
