"""GGUF files on the Hub: the part before the tensors is read in a few requests."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from geometry.checkpoints.errors import SourceError
from geometry.checkpoints.stores import ByteFile
from geometry.hub.address import HubAddress

FIRST_BYTES = 1_000_000
"""Bytes of the first request; each further request doubles the bytes read. The settings of a model
with 128,000 tokens take 7 MB."""


def only_gguf(address: HubAddress, names: list[str]) -> str:
    """Return the only GGUF file of a repository. Raises SourceError if it has several."""
    if len(names) == 1:
        return names[0]
    some = ", ".join(names[:3]) + ", …" * (len(names) > 3)
    raise SourceError(
        f"{address} holds {len(names)} GGUF files: {some}.",
        f"Name one of them, such as {address.repo}/{names[0]}.",
    )


@dataclass(eq=False, slots=True)
class WithHead:
    """A :class:`geometry.checkpoints.stores.ByteFile` whose beginning is downloaded once and kept.

    Each read must begin near the end of the previous ones.
    """

    file: ByteFile
    _head: npt.NDArray[np.uint8] = field(
        default_factory=lambda: np.empty(0, dtype=np.uint8), init=False
    )

    @property
    def name(self) -> str:
        """Name of the file."""
        return self.file.name

    def size(self) -> int:
        """Length in bytes."""
        return self.file.size()

    def read_at(self, offset: int, nbytes: int) -> npt.NDArray[np.uint8]:
        """Return exactly ``nbytes`` bytes from ``offset``."""
        known, stop = len(self._head), offset + nbytes
        if stop > known:
            until = min(max(stop, 2 * known, FIRST_BYTES), self.size())
            more = self.file.read_at(known, until - known)
            self._head = np.concatenate([self._head, more])
        return self._head[offset:stop]
