"""Rows of numbers with labels in files of Apache Arrow: Parquet, Feather, and streams of Arrow."""

from __future__ import annotations

import struct
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

_ARROW, _FEATHER_1 = b"ARROW1", b"FEA1"
"""The first bytes of Feather's two formats; a stream of messages has none."""

_ROWS = 128
"""Rows with lists or texts that are unpacked at once."""
_NUMBERS = 4_096
"""Rows of nothing but numbers that are unpacked at once."""
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
        entries, values = _values(path, table)
        others = [name for name in table.column_names if name not in entries]
        if len(others) > MAX_COLUMNS:
            raise refused(path, f"has more than {MAX_COLUMNS} columns beside its numbers")
        columns = tuple(
            PositionColumn(shown, "", _column(path, table[name]))
            for shown, name in zip(shown_names(others), others, strict=True)
        )
        return NumberRows(values, columns)


def _table(path: Path) -> Table:
    if path.suffix.lower() == ".parquet":
        from pyarrow import Table, types
        from pyarrow.parquet import ParquetFile

        with ParquetFile(path) as file:
            n_rows, n_columns = file.metadata.num_rows, file.metadata.num_columns
            _check_rows(path, n_rows, n_columns)
            _check_size(path, n_rows * n_columns)
            schema = file.schema_arrow
            alone = all(types.is_primitive(field.type) for field in schema)
            advance = local_read(path.name, size := path.stat().st_size)
            # pyarrow ends the process if it is asked for the sizes of a damaged file's columns.
            batches: list[RecordBatch] = []
            n_bytes = 0
            for batch in file.iter_batches(_NUMBERS if alone else _ROWS):
                batches.append(batch)
                n_bytes += batch.nbytes
                _check_size(path, n_bytes // 8)
                advance(size * batch.num_rows // n_rows)
            return Table.from_batches(batches, schema)
    from pyarrow import ipc
    from pyarrow.feather import read_table

    with open_regular(path) as file:
        head = file.read(len(_ARROW))
        if not head.startswith(_FEATHER_1):  # which is not of messages, and not compressed
            file.seek(8 if head == _ARROW else 0)
            _check_size(path, _unpacked_bytes(file) // 8)
        file.seek(0)
        whole = head == _ARROW or head.startswith(_FEATHER_1)
        table = read_table(file) if whole else ipc.open_stream(file).read_all()
    _check_rows(path, table.num_rows, table.num_columns)
    return table


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


def _unpacked_bytes(file: FileIO) -> int:
    """Return the bytes of the rows in the following messages of Arrow when they are unpacked.

    They stand before each compressed part of a message, whose places are in its description, as
    FlatBuffers (``Message.fbs`` of Arrow).
    """
    from pyarrow import ipc

    total = 0
    for message in ipc.MessageReader.open_stream(file):
        described, body = message.metadata.to_pybytes(), message.body
        if message.type != "record batch" or body is None:
            continue
        header = _field(described, int.from_bytes(described[:4], "little"), 2)
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


def _values(path: Path, table: Table) -> tuple[list[str], np.ndarray]:
    """Return the columns that are the entries of the rows, and the entries, (n_rows, d) float64."""
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
        flat = compute.list_flatten(column).to_numpy()
        return lists, flat.astype(np.float64).reshape(-1, width)
    numeric = [
        field.name
        for field in table.schema
        if types.is_floating(field.type) or types.is_integer(field.type)
    ]
    entries = numbered_alike(numeric) or numeric
    if not entries or any(table[name].null_count for name in entries):
        raise refused(path, "has no columns of numbers without gaps")
    return entries, np.column_stack([_numbers(table[name]) for name in entries])


def _numbers(column: ChunkedArray) -> np.ndarray:
    numbers: np.ndarray = column.to_numpy().astype(np.float64)
    return numbers


def _column(path: Path, column: ChunkedArray) -> tuple[float | str | None, ...]:
    from pyarrow import types

    values = (value.as_py() for value in column)
    kind = column.type
    if types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind):
        return tuple(None if value is None else float(value) for value in values)
    return tuple(None if value is None else _text(path, value) for value in values)


def _text(path: Path, value: object) -> str | None:
    text = str(value)
    if len(text) > _LONGEST:
        raise refused(path, f"has a text of {len(text)} characters")
    return shortened(visible(text), MAX_TEXT_LENGTH) or None
