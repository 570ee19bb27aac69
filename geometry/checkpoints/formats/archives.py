"""Archives that hold a checkpoint's files: tar, as NeMo's ``.nemo`` is, and zip.

Their members are read in place, by their ranges of bytes: nothing is unpacked.
"""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Iterator, Mapping
from functools import partial

from geometry.checkpoints.boundary import AGAIN
from geometry.checkpoints.errors import SourceError
from geometry.checkpoints.formats.windowed import Windowed
from geometry.checkpoints.formats.zip_records import Record, read_directory
from geometry.checkpoints.stores import ByteFile, Part, Region

MAX_MEMBERS = 4_000
"""Maximum members of an archive: ten times those of a training's folder."""

UNTAR, UNZIP = "Unpack it: tar xf {}", "Unpack it: python -m zipfile -e {} unpacked"
"""Advice for archives that cannot be read in place."""

_BLOCK = 512
"""Bytes of a header in a tar file, of whose multiples its members are."""
_HEADER = 30
"""Bytes of a zip member's header without its texts."""

Members = Mapping[str, Callable[[], Part]]
"""The members of an archive by their paths in it, each opened when it is called."""


def members_of(file: ByteFile) -> Members:
    """List the files in an archive.

    Returns
    -------
    Mapping
        What opens each file, by its path in the archive. It raises SourceError for one that is
        compressed or encrypted.

    Raises
    ------
    SourceError
        The archive is damaged, or has too many members.
    """
    if file.read_at(0, min(2, file.size())).tobytes() == b"PK":
        entries = [entry for entry in read_directory(file) if not entry.is_dir()]
        if len(entries) > MAX_MEMBERS:
            raise _too_many(file, UNZIP)
        found = {entry.filename: partial(_of_zip, file, entry) for entry in entries}
    else:
        found = {path: partial(_part, file, path, *place) for path, *place in _in_tar(file)}
    paths = {path.removeprefix("./"): opened for path, opened in found.items()}
    # Beside each file, macOS puts its attributes into archives.
    return {path: opened for path, opened in paths.items() if "/._" not in f"/{path}"}


def in_archive(region: Region, member: Part) -> Region:
    """Return a region of a member as one of the archive."""
    if isinstance(record := region.file, Record):
        start = member.start + record.start
        return region._replace(file=Record(member.file, start, record.length, record.checksum))
    return region._replace(file=member.file, offset=member.start + region.offset)


def _of_zip(file: ByteFile, entry: zipfile.ZipInfo) -> Part:
    name = entry.filename
    if entry.flag_bits & 1:
        raise SourceError(
            f"{file.name} is an encrypted archive with {name} in it.",
            "Unpack it with its password, and open what is in it.",
        )
    if entry.compress_type != zipfile.ZIP_STORED:
        raise SourceError(
            f"{file.name} is a compressed archive with {name} in it, of which single tensors "
            "cannot be read.",
            UNZIP.format(file.name),
        )
    header = file.read_at(entry.header_offset, _HEADER).tobytes()
    texts = sum(int.from_bytes(header[at : at + 2], "little") for at in (26, 28))
    return _part(file, name, entry.header_offset + _HEADER + texts, entry.file_size)


def _in_tar(file: ByteFile) -> Iterator[tuple[str, int, int]]:
    """Yield path, first byte and length of the members (POSIX.1-2001, pax and ustar).

    A member with a long path or a large size has another one before it, with these.
    """
    windows, at, own = Windowed(file), 0, dict[bytes, bytes]()
    for _ in range(MAX_MEMBERS):
        header = windows.read(at, _BLOCK) if at + _BLOCK <= file.size() else b""
        if not header.strip(b"\0"):
            return
        if header[257:262] != b"ustar":
            raise SourceError(f"{file.name} is a damaged tar archive.", AGAIN)
        size = int(own[b"size"]) if b"size" in own else _size(header[124:136])
        kind, start = header[156:157], at + _BLOCK
        at = start + -(-size // _BLOCK) * _BLOCK
        if kind in b"Lx":
            content = windows.read(start, size)
            own |= _pax(content) if kind == b"x" else {b"path": content.rstrip(b"\0")}
            continue
        prefix, path = header[345:500], header[:100]
        parts = [part.partition(b"\0")[0] for part in (prefix, path)]
        # GNU's tar has other things than a prefix there.
        joined = b"/".join(filter(None, parts if header[262:263] == b"\0" else parts[1:]))
        text = own.pop(b"path", joined).decode("utf-8", "replace")
        own.clear()
        if kind in (b"0", b"\0"):
            yield text, start, size
    raise _too_many(file, UNTAR)


def _size(field: bytes) -> int:
    """Return a number in octal digits, or in GNU's binary form after a byte 128."""
    if field[0] == 128:
        return int.from_bytes(field[1:], "big")
    return int(field.strip(b"\0 ") or b"0", 8)


def _pax(content: bytes) -> dict[bytes, bytes]:
    """Return the records of a pax header: of each its length, a space, "key=value", a new line."""
    records = dict[bytes, bytes]()
    while content:
        length = int(content.partition(b" ")[0])
        key, _, value = content[:length].partition(b" ")[2].partition(b"=")
        records[key], content = value.rstrip(b"\n"), content[max(length, 1) :]
    return records


def _part(file: ByteFile, path: str, start: int, length: int) -> Part:
    name = path.rpartition("/")[2]
    if start + length > file.size():
        raise SourceError(f"{file.name} is truncated: {name} in it ends after the file.", AGAIN)
    return Part(file, start, length, name)


def _too_many(file: ByteFile, advice: str) -> SourceError:
    return SourceError(f"{file.name} has more than {MAX_MEMBERS} files.", advice.format(file.name))
