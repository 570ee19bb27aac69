"""Rows of numbers with labels in files of Apache Arrow: Parquet, Feather, and streams of Arrow."""

from __future__ import annotations

import os
import struct
from collections.abc import Callable, Iterator
from io import FileIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from geometry.checkpoints.column_files import (
    MAX_COLUMNS,
    MAX_POSITIONS,
    MAX_TEXT_LENGTH,
    MAX_WIDTH,
    NumberRows,
    PositionColumn,
    numbered_alike,
    refused,
    shown_names,
)
from geometry.checkpoints.plain_text import shortened, visible
from geometry.checkpoints.stores import open_regular, reading_file
from geometry.checkpoints.transfer import local_read

if TYPE_CHECKING:
    from pyarrow import ChunkedArray, RecordBatch, Table

SUFFIXES = (".parquet", ".feather", ".arrow")

MAX_NUMBERS = 50_000_000
"""Maximum entries of all columns, and eight times as many bytes: GPT-2's token embeddings have
38,597,376. Equal numbers take hardly any bytes in a file."""

MAX_LABELS = 5_000_000
"""Maximum cells of the other columns: each takes up to 120 bytes of memory."""

_ARROW, _FEATHER_1 = b"ARROW1", b"FEA1"
"""The first bytes of Feather's two formats; a stream of messages has none."""

_ROWS = 128
"""Rows with lists or texts that are unpacked at once."""
_NUMBERS = 4_096
"""Rows of nothing but numbers that are unpacked at once."""
_COLUMNS = 64
"""Columns of a Parquet file that are unpacked at once, with a dictionary of each."""
_BUFFER = 1 << 16
"""Bytes of each that are read at once."""
_BYTES = 8
"""Bytes of a number, and of the reference to a label."""
_LONGEST = 10_000
"""Maximum characters of a text. The same one can be in all rows, and only once in the file."""


def read_arrow(path: Path) -> NumberRows:
    """Read the rows of a table: of a column of lists of numbers, or of columns of numbers.

    As :func:`geometry.checkpoints.column_files.read_rows` does, of columns with numbered names
    those of the largest kind.

    Raises
    ------
    SourceError
        It cannot be read, or is not such a table; or pyarrow is not installed.
    Cancelled
        Its reading was cancelled.
    """
    with reading_file(path, fault="cannot be read as a table"):
        open_regular(path).close()  # a pipe would have no end
        table = _table(path)
        table.validate(full=True)  # that texts and lists are within their bytes
        entries, width = _entries(path, table)
        others = [name for name in _flat(table) if name not in entries]
        if len(others) > MAX_COLUMNS:
            raise refused(path, f"has more than {MAX_COLUMNS} columns beside its numbers")
        if len(others) * table.num_rows > MAX_LABELS:
            raise refused(path, f"has more than {MAX_LABELS} labels")
        n_cells = table.num_rows * (len(entries) * width + len(others))
        advance = local_read(path.name, _BYTES * n_cells, "Converting")
        values = np.empty((table.num_rows, len(entries) * width))
        for number, name in enumerate(entries):
            _fill(values[:, number * width :][:, :width], table[name], advance)
        columns = tuple(
            PositionColumn(shown, "", _column(path, table[name], advance))
            for shown, name in zip(shown_names(others), others, strict=True)
        )
        return NumberRows(values, columns)


def _table(path: Path) -> Table:
    if path.suffix.lower() == ".parquet":
        return _of_parquet(path)
    with open_regular(path) as file:
        _check_size(path, os.fstat(file.fileno()).st_size // 8)
        table = _of_messages(path, file)
    _check_rows(path, table.num_rows, table.num_columns)
    return table


def _of_parquet(path: Path) -> Table:
    from pyarrow import Table, types
    from pyarrow.parquet import ParquetFile

    with ParquetFile(path, buffer_size=_BUFFER, pre_buffer=False) as file:
        n_rows, n_columns = file.metadata.num_rows, file.metadata.num_columns
        _check_rows(path, n_rows, n_columns)
        _check_size(path, n_rows * n_columns)
        schema = file.schema_arrow
        alone = [field.name for field in schema if types.is_primitive(field.type)]
        others = [field.name for field in schema if not types.is_primitive(field.type)]
        advance = local_read(path.name, size := path.stat().st_size)
        # pyarrow ends the process if it is asked for the sizes of a damaged file's columns.
        columns: dict[str, ChunkedArray] = {}
        n_bytes = 0
        for names, n_at_once in (*_groups(alone, _NUMBERS), *_groups(others, _ROWS)):
            batches: list[RecordBatch] = []
            for batch in file.iter_batches(n_at_once, columns=names):
                batches.append(batch)
                n_bytes += batch.nbytes
                _check_size(path, n_bytes // 8)
                advance(size * batch.num_rows * len(names) // (n_rows * len(schema)))
            table = Table.from_batches(batches)
            columns |= {name: table[name] for name in names}
        return Table.from_arrays([columns[name] for name in schema.names], schema=schema)


def _groups(names: list[str], n_rows: int) -> Iterator[tuple[list[str], int]]:
    return ((names[first : first + _COLUMNS], n_rows) for first in range(0, len(names), _COLUMNS))


def _of_messages(path: Path, file: FileIO) -> Table:
    """Read a table in one of Feather's formats, or as a stream of Arrow."""
    from pyarrow import Table, ipc
    from pyarrow.feather import read_table

    head = file.read(len(_ARROW))
    if head.startswith(_FEATHER_1):  # which is not of messages, and not compressed
        file.seek(0)
        return read_table(file)
    file.seek(8 if head == _ARROW else 0)
    n_bytes = _unpacked_bytes(path, file)
    _check_size(path, n_bytes // 8)
    file.seek(0)
    advance = local_read(path.name, n_bytes, "Unpacking")
    batches: list[RecordBatch] = []
    if head == _ARROW:
        reader = ipc.open_file(file)
        parts = map(reader.get_batch, range(reader.num_record_batches))
    else:
        reader = parts = ipc.open_stream(file)
    for batch in parts:
        batches.append(batch)
        advance(batch.nbytes)
    return Table.from_batches(batches, reader.schema)


def _check_rows(path: Path, n_rows: int, n_columns: int) -> None:
    if not n_rows:
        raise refused(path, "has no rows")
    if n_rows > MAX_POSITIONS:
        raise refused(path, f"has more than {MAX_POSITIONS} rows")
    if n_columns > MAX_WIDTH:
        raise refused(path, f"has more than {MAX_WIDTH} columns")


def _check_size(path: Path, n_numbers: int) -> None:
    if n_numbers > MAX_NUMBERS:
        raise refused(path, f"has {n_numbers} entries; at most {MAX_NUMBERS} are read")


def _unpacked_bytes(path: Path, file: FileIO) -> int:
    """Return the bytes of the parts in the following messages of Arrow when they are unpacked.

    They stand before each compressed part of a message, whose places are in its description, as
    FlatBuffers (``Message.fbs`` of Arrow).
    """
    from pyarrow import ipc

    total, advance = 0, local_read(path.name, os.fstat(file.fileno()).st_size)
    for message in ipc.MessageReader.open_stream(file):
        described, body = message.metadata.to_pybytes(), message.body
        advance(len(described) + (body.size if body else 0))
        if message.type not in ("record batch", "dictionary") or body is None:
            continue
        header = _field(described, int.from_bytes(described[:4], "little"), 2)
        if message.type == "dictionary":
            header = _field(described, header, 1)
        buffers = _field(described, header, 2)
        compressed = _field(described, header, 3)
        data = memoryview(body)
        for n in range(int.from_bytes(described[buffers : buffers + 4], "little")):
            at = buffers + 4 + 16 * n
            start, length = struct.unpack_from("<qq", described, at)
            own = struct.unpack_from("<q", data, start)[0] if compressed and length else length
            total += max(own, length)
    return total


def _field(described: bytes, table: int, number: int) -> int:
    """Return where a table or list begins that is a field of a table of FlatBuffers; 0 for none."""
    names = table - struct.unpack_from("<i", described, table)[0]
    if 4 + 2 * number >= struct.unpack_from("<H", described, names)[0]:
        return 0
    offset = struct.unpack_from("<H", described, names + 4 + 2 * number)[0]
    place = table + offset
    return place + struct.unpack_from("<I", described, place)[0] if offset else 0


def _flat(table: Table) -> list[str]:
    """Return the names of the columns whose values have no values in them."""
    from pyarrow import types

    return [field.name for field in table.schema if not types.is_nested(field.type)]


def _entries(path: Path, table: Table) -> tuple[list[str], int]:
    """Return the columns that are the entries of the rows, and the entries of each in a row."""
    from pyarrow import types

    def is_list(kind: Any) -> bool:
        lists = types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)
        return bool(lists and types.is_floating(kind.value_type))

    lists = [field.name for field in table.schema if is_list(field.type)]
    if len(lists) == 1:
        from pyarrow import compute

        column = table[lists[0]]
        width = len(column[0]) if column[0].is_valid else 0
        lengths = compute.list_value_length(column)
        same = not column.null_count and compute.all(compute.equal(lengths, width)).as_py()
        if not same or not 0 < width <= MAX_WIDTH:
            raise refused(path, f"has rows of different lengths in the column {lists[0]!r}")
        _check_size(path, table.num_rows * width)
        return lists, width
    numeric = [
        field.name
        for field in table.schema
        if types.is_floating(field.type) or types.is_integer(field.type)
    ]
    entries = numbered_alike(numeric) or numeric
    if not entries or any(table[name].null_count for name in entries):
        raise refused(path, "has no columns of numbers without gaps")
    _check_size(path, table.num_rows * len(entries))
    return entries, 1


def _fill(rows: np.ndarray, column: ChunkedArray, advance: Callable[[int], None]) -> None:
    """Copy the numbers of a column, or of the lists in it, into (n_rows, width) float64 values."""
    from pyarrow import types

    at = 0
    for chunk in column.chunks:
        numbers = chunk.flatten() if types.is_nested(chunk.type) else chunk
        part = rows[at : at + len(chunk)]
        part[:] = numbers.to_numpy(zero_copy_only=False).reshape(part.shape)
        at += len(chunk)
        advance(_BYTES * part.size)


def _column(
    path: Path, column: ChunkedArray, advance: Callable[[int], None]
) -> tuple[float | str | None, ...]:
    from pyarrow import types

    kind = column.type
    numeric = types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind)
    values: list[float | str | None] = []
    for first in range(0, len(column), _NUMBERS):
        for value in column.slice(first, _NUMBERS):
            read = value.as_py()
            known = read is not None
            values.append((float(read) if numeric else _text(path, read)) if known else None)
        advance(_BYTES * min(_NUMBERS, len(column) - first))
    return tuple(values)


def _text(path: Path, value: object) -> str | None:
    text = str(value)
    if len(text) > _LONGEST:
        raise refused(path, f"has a text of {len(text)} characters")
    return shortened(visible(text), MAX_TEXT_LENGTH) or None
