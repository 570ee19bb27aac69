"""Torch's zip files on the Hub, whose directory at the end is read in one request."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from geometry.checkpoints.stores import ByteFile

TAIL_BYTES = 65_536
"""Bytes read from the end of a file: the directory of gpt2-xl's 580 storages takes 52 kB."""


@dataclass(eq=False, slots=True)
class WithTail:
    """A :class:`geometry.checkpoints.stores.ByteFile` whose end is downloaded once and kept.

    Python's zipfile searches for the directory in several small reads near the end. The pickle is
    at the beginning, which was read when the file was opened.
    """

    file: ByteFile
    _tail: npt.NDArray[np.uint8] | None = field(default=None, init=False)

    @property
    def name(self) -> str:
        """Name of the file."""
        return self.file.name

    def size(self) -> int:
        """Length in bytes."""
        return self.file.size()

    def read_at(self, offset: int, nbytes: int) -> npt.NDArray[np.uint8]:
        """Return exactly ``nbytes`` bytes from ``offset``."""
        start = max(0, self.size() - TAIL_BYTES)
        if offset < start or offset + nbytes > self.size():
            return self.file.read_at(offset, nbytes)
        if self._tail is None:
            self._tail = self.file.read_at(start, self.size() - start)
        return self._tail[offset - start :][:nbytes]
