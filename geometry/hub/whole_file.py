"""Tensors of a file that is downloaded completely because its server does not support ranges."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from geometry.checkpoints.boundary import AGAIN
from geometry.checkpoints.errors import SourceError
from geometry.checkpoints.formats.zip_records import ROOM, Record
from geometry.checkpoints.stores import FLOATS, Region, numbers, stored_bytes
from geometry.hub.pieces import Bytes
from geometry.hub.ranged_file import RangedFile

_ENTRY = 1_000
"""Upper bound of the bytes a cache entry takes besides its data."""


def fitting(regions: Iterable[Region], room: int) -> list[Region]:
    """Return the tensors that panels may need and that fit into ``room`` bytes."""
    chosen = []
    for region in regions:
        if region.info.dtype in FLOATS and 0 < stored_bytes(region) + _ENTRY <= room:
            room -= stored_bytes(region) + _ENTRY
            chosen.append(region)
    return chosen


def read_all(
    file: RangedFile, wanted: Region, further: Sequence[Region], keep: Callable[[str, Bytes], None]
) -> Bytes:
    """Read a tensor, and further tensors of the same file, in one download.

    Parameters
    ----------
    file, wanted
        The file, and the tensor to return.
    further
        Further tensors to extract.
    keep
        Called with the name and the bytes of each further tensor that is valid.

    Raises
    ------
    HubError, Cancelled
        As :meth:`RangedFile.sweep`; tensors already passed to ``keep`` are complete.
    SourceError
        The file's directory is wrong.
    """
    extracted: list[Bytes] = []

    def on_part(number: int, data: Bytes) -> None:
        if number == 0:
            extracted.append(cut(wanted, data))
            return
        region = further[number - 1]
        with suppress(SourceError):  # its own reader will report it
            data = cut(region, data)
            if is_sound(region, data):
                keep(region.info.name, data)

    file.sweep([place(region) for region in (wanted, *further)], on_part)
    return extracted[0]


def place(region: Region) -> tuple[int, int]:
    """Return the range of a tensor in the file: first byte, and byte after the last."""
    nbytes = stored_bytes(region)
    if not isinstance(region.file, Record):
        return region.offset, region.offset + nbytes
    begin, _ = region.file.extent(region.offset, nbytes)
    # The start of an entry's data is known only from the header before them.
    end = region.file.start + ROOM + region.offset + nbytes
    return begin, min(end, region.file.size())


def cut(region: Region, data: Bytes) -> Bytes:
    """Extract a tensor's bytes from the data at its :func:`place`.

    Raises SourceError: they are missing: the file's directory is wrong.
    """
    if not isinstance(region.file, Record):
        return data
    record, (begin, _) = region.file, place(region)
    window = _Window(record.name, record.size(), begin, data)
    within = Record(window, record.start, record.length, record.checksum)
    return within.read_at(region.offset, stored_bytes(region))


def is_sound(region: Region, data: Bytes) -> bool:
    """Return whether a tensor's bytes have the right checksum and are finite numbers."""
    if isinstance(region.file, Record) and not region.file.is_sound(data):
        return False
    return bool(np.isfinite(numbers(region, data)).all())


@dataclass(frozen=True, slots=True)
class _Window:
    """A part of a file in memory (a :class:`geometry.checkpoints.stores.ByteFile`)."""

    name: str
    length: int
    begin: int
    data: Bytes

    def size(self) -> int:
        return self.length

    def read_at(self, offset: int, nbytes: int) -> Bytes:
        start = offset - self.begin
        if start < 0 or start + nbytes > len(self.data):
            raise SourceError(f"{self.name} is damaged: its directory is invalid.", AGAIN)
        return self.data[start : start + nbytes]
