"""Uncompressed zip archives, on disk or remote, of which single entries are read.

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

from geometry.checkpoints.boundary import AGAIN
from geometry.checkpoints.errors import HelixscopeError, SourceError
from geometry.checkpoints.stores import ByteFile

_HEADER = 30
ROOM = 512
"""Bytes that include torch's longest header, with name and padding."""
_ALIGNMENT = 64

MAX_DIRECTORY = 4_000_000
"""Maximum bytes of an archive's directory: 80 times that of gpt2-xl's 580 tensors. It may have
90,000 entries, which take a second."""


MAX_PADDING = 4_096 + 128
"""Maximum bytes between entries: the "extra" field, with which torch aligns the data at 64 bytes
(or at memory pages, if configured), and a data descriptor."""

_ENTRY, _END, _END_64 = 46, 22, 76
"""Bytes of an entry in the directory without its texts, and of the record after the directory with
its place and size, without and with a 64-bit copy in large archives."""


@dataclass(frozen=True, slots=True)
class Record:
    """An entry: a file (a :class:`geometry.checkpoints.stores.ByteFile`) within a file.

    Attributes
    ----------
    file
        The archive.
    start
        Offset of the entry's local header.
    length
        Number of bytes in the entry.
    checksum
        CRC-32 of the bytes; 0 if it was not computed.
    """

    file: ByteFile
    start: int
    length: int
    checksum: int

    @property
    def name(self) -> str:
        """Name of the archive; the entry's own is meaningless to the user."""
        return self.file.name

    def size(self) -> int:
        """Length of the whole archive, an upper bound for any tensor in it."""
        return self.file.size()

    def read_at(self, offset: int, nbytes: int) -> npt.NDArray[np.uint8]:
        """Return exactly ``nbytes`` bytes from ``offset`` within the entry, usually in one read."""
        begin, length = self.extent(offset, nbytes)
        piece = self.file.read_at(begin, length)
        header = piece[self.start - begin :][:_HEADER].tobytes()
        if len(header) < _HEADER or header[:4] != b"PK\x03\x04":
            raise SourceError(f"{self.name} is damaged: its directory is invalid.", AGAIN)
        name, extra = (int.from_bytes(header[i : i + 2], "little") for i in (26, 28))
        first = self.start + _HEADER + name + extra + offset
        data = piece[first - begin :][:nbytes]
        if len(data) < nbytes:
            return self.file.read_at(first, nbytes)
        return data if (first - begin) % _ALIGNMENT == 0 else data.copy()

    def extent(self, offset: int, nbytes: int) -> tuple[int, int]:
        """Return the archive offset and the number of bytes to read for a part of the entry."""
        # Start at a multiple of the alignment, so that tensors that torch aligned are aligned in
        # memory.
        begin = self.start - self.start % _ALIGNMENT
        # The header's length varies: the start of the data is known only after reading it.
        length = ROOM + (offset + nbytes if offset <= ROOM else 0)
        return begin, max(0, min(length, self.file.size() - begin))

    def is_sound(self, data: npt.NDArray[np.uint8]) -> bool:
        """Return whether the bytes match the checksum; True for a part of them."""
        return (
            not self.checksum or len(data) != self.length or zlib.crc32(data.data) == self.checksum
        )


def read_directory(file: ByteFile) -> list[zipfile.ZipInfo]:
    """Read the directory at the end of an archive.

    Raises
    ------
    SourceError
        There is none, it is too large, or the file has more than the archive, such as other
        archives before it.
    """
    try:
        with zipfile.ZipFile(_Seekable(file)) as archive:
            _check_cover(archive, file)
            return archive.infolist()
    except HelixscopeError:
        raise
    # zipfile also raises errors of struct, zlib and Unicode.
    except Exception as error:
        raise SourceError(
            f"{file.name} is truncated or damaged: it starts like a zip archive but does not end "
            "like one.",
            AGAIN,
        ) from error


def _check_cover(archive: zipfile.ZipFile, file: ByteFile) -> None:
    """Check that entries and directory fill the file from its first byte to its last."""
    end, padding = 0, 0
    entries = sorted(archive.infolist(), key=lambda entry: entry.header_offset)
    for entry in entries:
        if entry.header_offset > end + padding:
            raise _uncovered(file, end)
        named = entry.header_offset + _HEADER + len(_stored_name(entry))
        end, padding = max(end, named + entry.compress_size), MAX_PADDING
    if archive.start_dir > end + padding:
        raise _uncovered(file, end)
    end = archive.start_dir + sum(
        _ENTRY + len(_stored_name(entry)) + len(entry.extra) + len(entry.comment)
        for entry in entries
    )
    end += len(archive.comment)
    if file.size() not in (end + _END, end + _END_64 + _END):
        raise _uncovered(file, end)


def _stored_name(entry: zipfile.ZipInfo) -> bytes:
    return entry.orig_filename.encode("utf-8" if entry.flag_bits & 0x800 else "cp437")


def _uncovered(file: ByteFile, end: int) -> SourceError:
    return SourceError(
        f"{file.name} is not one archive: at byte {end} of {file.size()} is something that its "
        "directory does not describe, such as another archive.",
        AGAIN,
    )


def open_archive(data: bytes) -> zipfile.ZipFile:
    """Open an archive in memory, unless its directory is too large.

    Raises
    ------
    SourceError
        Its directory is too large.
    Exception
        Any other: it is not an archive, or is damaged.
    """
    stream = _BoundedBytes(data)
    archive = zipfile.ZipFile(stream)
    stream.max_read = len(data)
    return archive


class _BoundedBytes(io.BytesIO):
    """Bytes with a maximum size of a read, ``max_read``."""

    max_read = MAX_DIRECTORY

    def read(self, size: int | None = -1, /) -> bytes:
        if size is not None and size > self.max_read:
            raise SourceError(f"The archive has a directory of {size} bytes.", AGAIN)
        return super().read(size)


def record_of(file: ByteFile, entry: zipfile.ZipInfo) -> Record:
    """Return an entry of the directory as a file."""
    return Record(file, entry.header_offset, entry.file_size, entry.CRC)


class _Seekable(io.RawIOBase):
    """Adapts a ByteFile to Python's zipfile."""

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
            raise OSError("seek before the beginning of the file")
        self._position = start[whence] + offset
        return self._position

    def read(self, size: int = -1) -> bytes:
        left = max(0, self._file.size() - self._position)
        nbytes = left if size < 0 else min(size, left)
        if not nbytes:
            return b""
        if nbytes > MAX_DIRECTORY:
            raise SourceError(
                f"{self._file.name} has a directory of {nbytes} bytes; at most {MAX_DIRECTORY} are "
                "read.",
                "Check that this is the weights file.",
            )
        data = self._file.read_at(self._position, nbytes)
        self._position += nbytes
        return data.tobytes()
