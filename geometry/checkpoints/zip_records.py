"""Uncompressed zip archives, entry by entry, wherever the file is.

An entry is a local header (30 bytes, its name, an "extra" field which torch pads)
and then its bytes; the directory of all entries is at the end of the file (APPNOTE.TXT 4.3).
"""

from __future__ import annotations

import io
import zipfile
import zlib
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from geometry.checkpoints.errors import HelixscopeError, SourceError
from geometry.checkpoints.stores import ByteFile

AGAIN = "Download or copy the file again."

_HEADER = 30
#: What torch's longest header takes, name and padding included, with much to spare.
ROOM = 512
_ALIGNMENT = 64


@dataclass(frozen=True, slots=True)
class Record:
    """One entry: a file (a :class:`geometry.checkpoints.stores.ByteFile`) within a file.

    Attributes
    ----------
    file
        The archive.
    start
        Where the entry's local header is.
    length
        How many bytes the entry has.
    checksum
        Their CRC-32; 0 where it was not computed.
    """

    file: ByteFile
    start: int
    length: int
    checksum: int

    @property
    def name(self) -> str:
        """The archive's name: an entry's own means nothing to the user."""
        return self.file.name

    def size(self) -> int:
        """Length of the whole archive, which bounds what any tensor in it can take."""
        return self.file.size()

    def read_at(self, offset: int, nbytes: int) -> npt.NDArray[np.uint8]:
        """Exactly ``nbytes`` bytes from ``offset`` within the entry, mostly by one read."""
        begin, length = self.extent(offset, nbytes)
        piece = self.file.read_at(begin, length)
        header = piece[self.start - begin :][:_HEADER].tobytes()
        if len(header) < _HEADER or header[:4] != b"PK\x03\x04":
            raise SourceError(f"{self.name} is damaged: its directory points nowhere.", AGAIN)
        name, extra = (int.from_bytes(header[i : i + 2], "little") for i in (26, 28))
        first = self.start + _HEADER + name + extra + offset
        data = piece[first - begin :][:nbytes]
        if len(data) < nbytes:
            return self.file.read_at(first, nbytes)
        return data if (first - begin) % _ALIGNMENT == 0 else data.copy()

    def extent(self, offset: int, nbytes: int) -> tuple[int, int]:
        """Where in the archive, and how many bytes, are read for a part of the entry."""
        # From a multiple of the alignment on, so that what torch aligned lies aligned in memory.
        begin = self.start - self.start % _ALIGNMENT
        # Where the entry's bytes start is known only from its header, which is of varying length.
        length = ROOM + (offset + nbytes if offset <= ROOM else 0)
        return begin, max(0, min(length, self.file.size() - begin))

    def is_sound(self, data: npt.NDArray[np.uint8]) -> bool:
        """Tell whether these can be the entry's bytes; True for a part, which no sum covers."""
        return (
            not self.checksum or len(data) != self.length or zlib.crc32(data.data) == self.checksum
        )


def read_directory(file: ByteFile) -> list[zipfile.ZipInfo]:
    """Read the directory at the end of an archive.

    Raises
    ------
    SourceError
        There is none.
    """
    try:
        with zipfile.ZipFile(_Seekable(file)) as archive:
            return archive.infolist()
    except HelixscopeError:
        raise
    # zipfile raises struct, zlib, Unicode and other errors of what it is built on.
    except Exception as error:
        raise SourceError(
            f"{file.name} is truncated or damaged: it starts like a zip archive and does not end "
            "like one.",
            AGAIN,
        ) from error


def record_of(file: ByteFile, entry: zipfile.ZipInfo) -> Record:
    """Return an entry of the directory as a file."""
    return Record(file, entry.header_offset, entry.file_size, entry.CRC)


class _Seekable(io.RawIOBase):
    """A ByteFile as Python's zipfile wants it."""

    def __init__(self, file: ByteFile) -> None:
        self._file = file
        self._position = 0

    def seekable(self) -> bool:
        return True

    def readable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._file.size()}
        if start[whence] + offset < 0:
            raise OSError("before the file's beginning")
        self._position = start[whence] + offset
        return self._position

    def read(self, size: int = -1) -> bytes:
        left = max(0, self._file.size() - self._position)
        nbytes = left if size < 0 else min(size, left)
        if not nbytes:
            return b""
        data = self._file.read_at(self._position, nbytes)
        self._position += nbytes
        return data.tobytes()
