"""Small reads that follow each other, from a file that is read in windows."""

from __future__ import annotations

from geometry.checkpoints.boundary import AGAIN
from geometry.checkpoints.errors import SourceError
from geometry.checkpoints.stores import ByteFile

MAX_READ = 10_000
"""Maximum bytes of a read, such as a name."""
_WINDOW = 1 << 16


class Windowed:
    """Reads a file in windows.

    Parameters
    ----------
    file
        The file.
    """

    def __init__(self, file: ByteFile) -> None:
        self.file = file
        self._window, self._first = b"", 0

    def read(self, at: int, nbytes: int) -> bytes:
        """Return exactly ``nbytes`` bytes from ``at``.

        Raises
        ------
        SourceError
            There are fewer, or they are more than :data:`MAX_READ`.
        """
        if nbytes > MAX_READ:
            raise SourceError(f"{self.file.name} has a name of {nbytes} bytes.", AGAIN)
        if not 0 <= at - self._first <= len(self._window) - nbytes:
            size = min(_WINDOW, self.file.size() - at)
            if size < nbytes:
                raise SourceError(f"{self.file.name} is truncated.", AGAIN)
            self._window, self._first = self.file.read_at(at, size).tobytes(), at
        return self._window[at - self._first :][:nbytes]
