"""A pair of pipes between two processes, through which messages go.

Pipes have no name: nobody but the two processes can reach them, so that no secret is needed.
"""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import Generic, Protocol, TypeVar

import msgspec

from gui.channel.messages import MAX_BYTES, BadMessage, Message, decode, encode

M = TypeVar("M")
_LENGTH = 4
"""Bytes before each message, with its length, big-endian."""


class Pipe(Protocol):
    """An unbuffered binary file."""

    def read(self, size: int, /) -> bytes | None:
        """Return at most so many bytes; none at the end."""

    def write(self, data: memoryview, /) -> int | None:
        """Write at least one byte; return the number of those written."""

    def close(self) -> None:
        """Close it."""


class Gone(Exception):
    """The other process has closed the pipes, or ended."""


class Pipes(Generic[M]):
    """Sends messages and receives those of some kinds.

    Parameters
    ----------
    reading, writing
        The ends of the two pipes, unbuffered.
    kinds
        What reads the messages that may be received.
    """

    def __init__(self, reading: Pipe, writing: Pipe, kinds: msgspec.json.Decoder[M]) -> None:
        self._reading, self._writing, self._kinds = reading, writing, kinds
        self._lock = threading.Lock()

    def send(self, message: Message) -> None:
        """Send a message; from any thread.

        Raises
        ------
        Gone
            Nobody reads it.
        BadMessage
            It cannot be sent.
        """
        encoded = encode(message)
        left = memoryview(len(encoded).to_bytes(_LENGTH, "big") + encoded)
        try:
            with self._lock:
                while left:
                    left = left[self._writing.write(left) or 0 :]
        except (OSError, ValueError) as error:  # ValueError: closed here
            raise Gone from error

    def receive(self) -> M:
        """Wait for a message, and return it; from one thread.

        Raises
        ------
        Gone
            There are no more.
        BadMessage
            It is none of the kinds, or too long; nothing after it can be read.
        """
        length = int.from_bytes(self._read(_LENGTH), "big")
        if length > MAX_BYTES:
            raise BadMessage(f"it would have {length} bytes, and at most {MAX_BYTES} are read")
        return decode(self._read(length), self._kinds)

    def close(self) -> None:
        """Close both pipes."""
        with self._lock, suppress(OSError):
            self._writing.close()
        with suppress(OSError):
            self._reading.close()

    def _read(self, count: int) -> bytes:
        parts = []
        while count:
            try:
                part = self._reading.read(count)
            except (OSError, ValueError) as error:
                raise Gone from error
            if not part:
                raise Gone
            parts.append(part)
            count -= len(part)
        return b"".join(parts)
