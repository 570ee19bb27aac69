"""Bytes of a file as they arrive: a part, several parts in one pass, or all to disk."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

Bytes = npt.NDArray[np.uint8]


class Wanted:
    """Bytes ``start`` to ``stop`` of a file, of which ``done`` have been received, in order."""

    def __init__(self, start: int, stop: int) -> None:
        self.start, self.stop, self.done = start, stop, 0

    @property
    def at(self) -> int:
        """File offset of the next byte."""
        return self.start + self.done

    @property
    def missing(self) -> int:
        """Number of bytes not received yet."""
        return self.stop - self.at

    def put(self, chunk: memoryview | Bytes) -> None:
        """Add received bytes."""
        self.done += len(chunk)

    def end_at(self, size: int) -> None:
        """End at the file's length, once that is known."""
        self.stop = min(self.stop, size)


class Piece(Wanted):
    """A part of a file that is kept."""

    def __init__(self, start: int, stop: int) -> None:
        super().__init__(start, stop)
        self.data: Bytes = np.empty(stop - start, dtype=np.uint8)

    def put(self, chunk: memoryview | Bytes) -> None:
        """Append received bytes."""
        self.data[self.done : self.done + len(chunk)] = np.frombuffer(chunk, dtype=np.uint8)
        super().put(chunk)

    def end_at(self, size: int) -> None:
        """Shorten the data to the file's length."""
        super().end_at(size)
        self.data = self.data[: self.stop - self.start]


class Passing(Wanted):
    """A part of a file that is passed on when it arrives, and not kept.

    Parameters
    ----------
    write
        Called with the received bytes, in order.
    """

    def __init__(self, start: int, stop: int, write: Callable[[memoryview | Bytes], None]) -> None:
        super().__init__(start, stop)
        self._write = write

    def put(self, chunk: memoryview | Bytes) -> None:
        """Pass on received bytes."""
        self._write(chunk)
        super().put(chunk)


class Sweep(Wanted):
    """Parts of a file that is read from its beginning, each passed on when complete.

    Parameters
    ----------
    places
        First byte and byte after the last of each part; they may overlap.
    on_part
        Called with a part's number among ``places`` and its bytes.
    """

    def __init__(
        self, places: Sequence[tuple[int, int]], on_part: Callable[[int, Bytes], None]
    ) -> None:
        super().__init__(0, max((stop for _, stop in places), default=0))
        self._on_part = on_part
        self._waiting = deque(sorted((place, number) for number, place in enumerate(places)))
        self._open: list[tuple[int, Piece]] = []

    def put(self, chunk: memoryview | Bytes) -> None:
        """Add received bytes, and pass on the parts that they complete."""
        end = self.done + len(chunk)
        while self._waiting and self._waiting[0][0][0] < end:
            place, number = self._waiting.popleft()
            self._open.append((number, Piece(*place)))
        for _, piece in self._open:
            piece.put(chunk[piece.at - self.done : piece.stop - self.done])
        super().put(chunk)
        complete = [part for part in self._open if not part[1].missing]
        self._open = [part for part in self._open if part[1].missing]
        for number, piece in complete:
            self._on_part(number, piece.data)
