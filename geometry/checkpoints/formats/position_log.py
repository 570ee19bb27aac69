"""``positions.log``: the tables of positions that a training appends while it runs.

A header, :data:`HEADER`, then records of one size: :data:`RECORD`, and a table of little-endian
float16 or float32, row by row. A record counts once it is complete and its checksum is right, so
that one which was being written when the training ended is left out. A training that starts again
appends; a step that is recorded again takes the place of that and of all later ones. See
:class:`geometry.history.position_log.PositionLog`, which writes it.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, replace
from pathlib import Path
from weakref import WeakValueDictionary
from zlib import crc32

import numpy as np
import numpy.typing as npt

from geometry.checkpoints.errors import FileChanged, NoStepYet, SourceError
from geometry.checkpoints.identity import identity_of
from geometry.checkpoints.stores import (
    FloatArray,
    LocalFile,
    Region,
    TensorInfo,
    numbers,
    reading_file,
)

LOG_NAME = "positions.log"
MAGIC, VERSION = b"HXPOSLOG", 1
HEADER = np.dtype(
    [
        ("magic", "S8"),
        ("version", "<u4"),
        ("ended", "<u4"),  # 1 once the training has closed it
        ("rows", "<u8"),
        ("columns", "<u8"),
        ("bits", "<u4"),  # of a number: 16 or 32
        ("checksum", "<u4"),  # CRC-32 of all but the magic bytes, "ended" and itself
        ("unused", "V24"),
    ]
)
RECORD = np.dtype(
    [
        ("step", "<i8"),
        ("tokens", "<i8"),  # seen by then; -1 if unknown
        ("time", "<f8"),  # seconds since 1970
        ("loss", "<f8"),  # NaN if unknown
        ("table", "<u4"),  # CRC-32 of the table
        ("head", "<u4"),  # CRC-32 of the fields above
        ("unused", "V24"),
    ]
)
_NOTHING = np.zeros(0, RECORD), np.zeros(0, np.int64)
"""Records and their numbers in the file, of none."""
_ENDED_AT = 12
"""Place of "ended" in the header."""
_HEAD = 36
"""Bytes of a record before "head"."""
MAX_NUMBERS = 2**31
TICK_NS = 2_000_000_000
"""A file that was written more recently may be written again without another time stamp: file
systems count time in steps of up to two seconds."""
AGAIN = "Remove it, and log again."


class GrowingFile(LocalFile):
    """A file to which another process appends; another file at its place is a change."""

    def _compare(self, now: Path | int) -> None:
        found = identity_of(now)
        same = (found.device, found.inode) == (self.identity.device, self.identity.inode)
        if not same or found.nbytes < self.identity.nbytes:
            raise FileChanged(self.name)


@dataclass(frozen=True, eq=False)
class LoggedTables:
    """What a log has.

    Attributes
    ----------
    file
        The file as it was read.
    shape
        (n_positions, d_model) of each table.
    bits
        Of a number, 16 or 32.
    ended
        Whether the training has closed it.
    records : (n,) RECORD
        By increasing step.
    at : (n,) int64
        The number of each record in the file.
    written
        The number of whole records in the file.
    """

    file: GrowingFile
    shape: tuple[int, int]
    bits: int
    ended: bool
    records: npt.NDArray[np.void]
    at: npt.NDArray[np.int64]
    written: int

    def region(self, index: int, name: str) -> Region:
        """Return the place of a table in the file."""
        nbytes = table_size(self.shape, self.bits)
        offset = HEADER.itemsize + int(self.at[index]) * (RECORD.itemsize + nbytes)
        info = TensorInfo(name, self.shape, f"F{self.bits}", nbytes)
        return Region(self.file, offset + RECORD.itemsize, info)

    def table(self, index: int) -> FloatArray:
        """Read a table. Raises SourceError if it is damaged; FileChanged if it was replaced."""
        region = self.region(index, f"step {self.records['step'][index]}")
        with reading_file(self.file.path, AGAIN):
            nbytes = RECORD.itemsize + region.info.nbytes
            stored = self.file.read_at(region.offset - RECORD.itemsize, nbytes)
            if stored[: RECORD.itemsize].tobytes() != self.records[index].tobytes():
                raise FileChanged(self.file.name)  # another file has got its inode
            stored = stored[RECORD.itemsize :]
            if crc32(stored.data) != self.records["table"][index]:
                raise SourceError(f"{region.info.name} of {self.file.path} is damaged.", AGAIN)
            return numbers(region, stored)


def table_size(shape: tuple[int, int], bits: int) -> int:
    """Return the bytes of a table."""
    return shape[0] * shape[1] * bits // 8


def make_header(shape: tuple[int, int], bits: int) -> npt.NDArray[np.void]:
    """Return the header of a log."""
    header = np.zeros((), HEADER)
    header["magic"], header["version"], header["bits"] = MAGIC, VERSION, bits
    header["rows"], header["columns"] = shape
    header["checksum"] = _checksum(header)
    return header


def make_record(
    step: int, tokens: int, time: float, loss: float, table: bytes
) -> npt.NDArray[np.void]:
    """Return what stands before a table."""
    record = np.zeros((), RECORD)
    record["step"], record["tokens"], record["time"], record["loss"] = step, tokens, time, loss
    record["table"] = crc32(table)
    record["head"] = crc32(record.tobytes()[:_HEAD])
    return record


_read_before: WeakValueDictionary[str, LoggedTables] = WeakValueDictionary()
"""What was read of logs that are in use, by their paths."""


def read_log(path: Path) -> LoggedTables:
    """Read the heads of all records; of a log in use only those that are new.

    Raises
    ------
    NoStepYet
        It has not even a header.
    SourceError
        It is not such a log, of a newer version, or cannot be read.
    """
    known = _read_before.get(os.fspath(path))
    with reading_file(path, AGAIN):
        file = GrowingFile(path)
        settled = time.time_ns() - file.identity.mtime_ns > TICK_NS
        if known is not None and settled and known.file.identity == file.identity:
            return known
        if file.size() < HEADER.itemsize:
            raise NoStepYet(f"{path} has no step yet.", "Wait for the first one.")
        header = file.read_at(0, HEADER.itemsize).view(HEADER)[0]
        shape, bits = (int(header["rows"]), int(header["columns"])), int(header["bits"])
        if header["magic"] != MAGIC:
            raise SourceError(f"{path} is not a log of positions.", AGAIN)
        if header["version"] != VERSION:
            raise SourceError(
                f"{path} is a log of version {header['version']}; only version {VERSION} is read.",
                "Update Helixscope.",
            )
        fits = bits in (16, 32) and 0 < shape[0] * shape[1] <= MAX_NUMBERS
        if not fits or header["checksum"] != _checksum(header):
            raise SourceError(f"The header of {path} is damaged.", AGAIN)
        log = LoggedTables(file, shape, bits, bool(header["ended"]), *_NOTHING, 0)
        if known is not None and _goes_on(known, log):
            log = replace(log, records=known.records, at=known.at, written=known.written)
        log = _with_new_records(log)
    _read_before[os.fspath(path)] = log
    return log


def _goes_on(known: LoggedTables, log: LoggedTables) -> bool:
    """Return whether a log was only appended to since it was read."""
    before, now = known.file.identity, log.file.identity
    same_file = (before.device, before.inode) == (now.device, now.inode)
    if not same_file or (known.shape, known.bits) != (log.shape, log.bits):
        return False
    # Another file may have got its inode: its last record would be another one.
    last = known.written - 1
    return last < 0 or _heads(log, last, known.written).tobytes() == known.records[-1:].tobytes()


def _with_new_records(log: LoggedTables) -> LoggedTables:
    """Read the heads of complete records after those that are known, up to a damaged one."""
    size = RECORD.itemsize + table_size(log.shape, log.bits)
    count = (log.file.size() - HEADER.itemsize) // size
    heads = _heads(log, log.written, count)
    at = log.written + np.arange(len(heads))
    if len(heads) and _is_torn(replace(log, records=heads, at=at)):
        heads, at = heads[:-1], at[:-1]
    records, at = np.concatenate([log.records, heads]), np.concatenate([log.at, at])
    kept, written = _in_order(records), log.written + len(heads)
    return replace(log, records=records[kept], at=at[kept], written=written)


def _is_torn(log: LoggedTables) -> bool:
    """Return whether the table of the last record is not all there."""
    try:
        log.table(len(log.at) - 1)
    except FileChanged:
        raise
    except SourceError:
        return True
    return False


def _heads(log: LoggedTables, first: int, end: int) -> npt.NDArray[np.void]:
    """Return the heads of some records, up to the first damaged one."""
    size = RECORD.itemsize + table_size(log.shape, log.bits)
    heads = np.zeros(max(end - first, 0), RECORD)
    with log.file.opened() as opened:
        for index in range(len(heads)):
            opened.seek(HEADER.itemsize + (first + index) * size)
            data = opened.read(RECORD.itemsize)
            head = np.frombuffer(data, RECORD, 1)[0] if len(data) == RECORD.itemsize else None
            if head is None or head["head"] != crc32(data[:_HEAD]):
                return heads[:index]
            heads[index] = head
    return heads


def _in_order(heads: npt.NDArray[np.void]) -> npt.NDArray[np.int64]:
    """Return the records that count, by step: without those after a step that came again."""
    steps = heads["step"]
    later = np.minimum.accumulate(steps[::-1])[::-1]  # the least step from here on
    after = np.append(later[1:], np.iinfo(np.int64).max)
    return np.flatnonzero(steps < after)


def _checksum(header: npt.NDArray[np.void]) -> int:
    parts = (header[name].tobytes() for name in ("version", "rows", "columns", "bits"))
    return crc32(b"".join(parts))


def set_ended(descriptor: int, ended: bool) -> None:
    """Write whether a training has closed its log."""
    os.lseek(descriptor, _ENDED_AT, os.SEEK_SET)
    os.write(descriptor, int(ended).to_bytes(4, "little"))
