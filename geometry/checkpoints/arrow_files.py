"""Rows of numbers with labels in files of Apache Arrow: Parquet and Feather."""

from __future__ import annotations

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
from geometry.checkpoints.stores import reading_file

if TYPE_CHECKING:
    from pyarrow import ChunkedArray, Table

SUFFIXES = (".parquet", ".feather", ".arrow")


def read_arrow(path: Path) -> NumberRows:
    """Read the rows of a table: of a column of lists of numbers, or of columns of numbers.

    As :func:`geometry.checkpoints.column_files.read_rows` does, of columns with numbered names
    those of the largest kind.

    Raises
    ------
    SourceError
        It cannot be read, or is not such a table; or pyarrow is not installed.
    """
    with reading_file(path, fault="cannot be read as a table"):
        table = _table(path)
        entries, values = _values(path, table)
        others = [name for name in table.column_names if name not in entries]
        if len(others) > MAX_COLUMNS:
            raise refused(path, f"has more than {MAX_COLUMNS} columns beside its numbers")
        columns = tuple(
            PositionColumn(shown, "", _column(table[name].to_pylist()))
            for shown, name in zip(shown_names(others), others, strict=True)
        )
        return NumberRows(values, columns)


def _table(path: Path) -> Table:
    if path.suffix.lower() == ".parquet":
        from pyarrow.parquet import ParquetFile

        with ParquetFile(path) as file:
            _check_rows(path, file.metadata.num_rows, file.metadata.num_columns)
            return file.read()
    from pyarrow.feather import read_table

    table = read_table(path, memory_map=False)
    _check_rows(path, table.num_rows, table.num_columns)
    return table


def _check_rows(path: Path, n_rows: int, n_columns: int) -> None:
    if not n_rows:
        raise refused(path, "has no rows")
    if n_rows > MAX_POSITIONS:
        raise refused(path, f"has more than {MAX_POSITIONS} rows")
    if n_columns > MAX_WIDTH:
        raise refused(path, f"has more than {MAX_WIDTH} columns")


def _values(path: Path, table: Table) -> tuple[list[str], np.ndarray]:
    """Return the columns that are the entries of the rows, and the entries, (n_rows, d) float64."""
    from pyarrow import types

    def is_list(kind: Any) -> bool:
        lists = types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)
        return bool(lists and types.is_floating(kind.value_type))

    lists = [field.name for field in table.schema if is_list(field.type)]
    if len(lists) == 1:
        rows = table[lists[0]].to_pylist()
        if None in rows or len({len(row) for row in rows}) != 1 or len(rows[0]) > MAX_WIDTH:
            raise refused(path, f"has rows of different lengths in the column {lists[0]!r}")
        return lists, np.array(rows, dtype=np.float64)
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


def _column(values: list[Any]) -> tuple[float | str | None, ...]:
    if all(value is None or isinstance(value, (int, float)) for value in values):
        return tuple(None if value is None else float(value) for value in values)
    return tuple(
        None if value is None else shortened(visible(str(value)), MAX_TEXT_LENGTH) or None
        for value in values
    )
