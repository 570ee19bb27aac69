"""GGUF files on the Hub: what stands before the tensors is read in a few requests."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from geometry.checkpoints.errors import SourceError
from geometry.checkpoints.stores import ByteFile
from geometry.hub.address import HubAddress

FIRST_BYTES = 1_000_000
"""Bytes of the first request; each further one doubles what is there. The settings of a model
with 128,000 tokens take 7 MB."""


def only_gguf(address: HubAddress, found: list[str]) -> str:
    """Return the only GGUF file of a repository; SourceError if it has several."""
    if len(found) == 1:
        return found[0]
    some = ", ".join(found[:3]) + ", …" * (len(found) > 3)
    raise SourceError(
        f"{address} holds {len(found)} GGUF files: {some}.",
        f"Name one of them, such as {address.repo}/{found[0]}.",
    )


@dataclass(eq=False, slots=True)
class WithHead:
    """A :class:`geometry.checkpoints.stores.ByteFile` whose beginning is downloaded once and kept.

    What is read must not be far behind what was read before.
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
        """Exactly ``nbytes`` bytes from ``offset``."""
        there, stop = len(self._head), offset + nbytes
        if stop > there:
            until = min(max(stop, 2 * there, FIRST_BYTES), self.size())
            more = self.file.read_at(there, until - there)
            self._head = np.concatenate([self._head, more])
        return self._head[offset:stop]
