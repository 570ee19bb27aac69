"""Rows in an order that is not position: of a table with labels, or of a list of tokens."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from geometry.checkpoints.column_files import PositionColumn, read_columns, read_rows
from geometry.checkpoints.errors import SourceError
from geometry.checkpoints.identity import FolderFiles
from geometry.checkpoints.stores import TensorStore
from geometry.models.model import PositionalModel
from geometry.models.recognition.architecture import Architecture, LabelledRows
from geometry.models.recognition.names_and_shapes import table_shape
from geometry.models.sources.computed import OneTable


def open_rows(path: Path, source: str, name: str) -> PositionalModel:
    """Open a table of numbers with labels.

    See :func:`geometry.checkpoints.column_files.read_rows`.

    Raises
    ------
    SourceError
        It cannot be read, or is no such table.
    FileChanged
        It changed while it was read.
    """
    beside = FolderFiles(path.parent, (path.name,))
    found = read_rows(path)
    store = OneTable(path.name, found.values)
    place = Architecture(None, None, "", path.name, {}, rows=rows_of(found.columns))
    return PositionalModel(store, place, source=source, name=name, beside=beside)


def open_array(
    path: Path, store: TensorStore, place: Architecture, source: str, name: str
) -> PositionalModel:
    """Open a bare array; a CSV file of its name beside it, if any, has labels for its rows.

    The columns of that file are as :func:`geometry.checkpoints.column_files.read_columns` reads
    them. One without texts, or of another number of rows, is about something else, and left out.

    Raises
    ------
    SourceError
        The array cannot be read.
    FileChanged
        One of the files changed while they were read.
    """
    labels = path.with_suffix(".csv")
    beside = FolderFiles(path.parent, (labels.name,))
    with suppress(SourceError):  # of a file that is no such table
        columns = read_columns(labels) if labels.is_file() else ()
        count = table_shape(store.tensors[place.table])[0]
        if any(not one.numeric for one in columns) and len(columns[0].values) == count:
            place = replace(place, rows=rows_of(columns))
    return PositionalModel(store, place, source=source, name=name, beside=beside)


def rows_of(columns: Sequence[PositionColumn]) -> LabelledRows:
    """Return the labels of rows: the first column of texts, or else the first one of numbers."""
    own = tuple(PositionColumn(column.name, "", column.values) for column in columns)
    first = next((column for column in own if not column.numeric), own[0] if own else None)
    if first is None:
        return LabelledRows((), ())
    return LabelledRows(tuple(_label(value) for value in first.values), own)


def _label(value: float | str | None) -> str:
    return "" if value is None else value if isinstance(value, str) else f"{value:.10g}"
