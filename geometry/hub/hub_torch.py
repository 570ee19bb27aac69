"""Torch's zip files on the Hub: their directory is at the end, and it is read at once."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from geometry.checkpoints.stores import ByteFile

#: The end of a file that is fetched at once: the directory of gpt2-xl's 580 storages takes 52 kB.
TAIL_BYTES = 65_536


@dataclass(eq=False, slots=True)
class WithTail:
    """A :class:`geometry.checkpoints.stores.ByteFile` whose end is fetched once and then kept.

    Python's zipfile looks for the directory in several small steps from the end. The rest of what
    is read of a torch file, the pickle, stands at its beginning, which came when it was opened.
    """

    file: ByteFile
    _tail: npt.NDArray[np.uint8] | None = field(default=None, init=False)

    @property
    def name(self) -> str:
        """The file's."""
        return self.file.name

    def size(self) -> int:
        """Length in bytes."""
        return self.file.size()

    def read_at(self, offset: int, nbytes: int) -> npt.NDArray[np.uint8]:
        """Exactly ``nbytes`` bytes from ``offset``."""
        start = max(0, self.size() - TAIL_BYTES)
        if offset < start or offset + nbytes > self.size():
            return self.file.read_at(offset, nbytes)
        if self._tail is None:
            self._tail = self.file.read_at(start, self.size() - start)
        return self._tail[offset - start :][:nbytes]
