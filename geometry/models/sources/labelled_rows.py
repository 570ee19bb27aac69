"""Rows in an order that is not position: of a table with labels, or of a list of tokens."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from geometry.checkpoints.arrow_files import SUFFIXES, read_arrow
from geometry.checkpoints.column_files import (
    PositionColumn,
    labels_beside,
    metadata_name,
    read_columns,
    read_rows,
)
from geometry.checkpoints.errors import SourceError
from geometry.checkpoints.identity import FolderFiles
from geometry.checkpoints.stores import TensorStore
from geometry.models.model import PositionalModel
from geometry.models.recognition.architecture import Architecture, LabelledRows
from geometry.models.recognition.names_and_shapes import table_shape
from geometry.models.sources.computed import OneTable
from geometry.models.sources.source import Source


def open_rows(path: Path, source: Source, name: str) -> PositionalModel:
    """Open a table of numbers with labels.

    See :func:`geometry.checkpoints.column_files.read_rows`, and
    :func:`geometry.checkpoints.arrow_files.read_arrow`.

    Raises
    ------
    SourceError
        It cannot be read, or is not such a table.
    FileChanged
        It changed while it was read.
    """
    beside = FolderFiles(path.parent, (path.name, metadata_name(path)))
    contents = read_arrow(path) if path.suffix.lower() in SUFFIXES else read_rows(path)
    columns = contents.columns or labels_beside(path, len(contents.values))
    store = OneTable(path.name, contents.values)
    place = Architecture(table=path.name, rows=rows_of(columns))
    return PositionalModel(store, place, source=source, name=name, beside=beside)


def open_array(
    path: Path, store: TensorStore, place: Architecture, source: Source, name: str
) -> PositionalModel:
    """Open a bare array; a CSV file of its name beside it, if any, has labels for its rows.

    :func:`geometry.checkpoints.column_files.read_columns` reads that file. It is ignored if it has
    no texts, or another number of rows.

    Raises
    ------
    SourceError
        The array cannot be read.
    FileChanged
        One of the files changed while they were read.
    """
    labels = path.with_suffix(".csv")
    beside = FolderFiles(path.parent, (labels.name,))
    with suppress(SourceError):  # the file is not such a table
        columns = read_columns(labels) if labels.is_file() else ()
        count = table_shape(store.tensors[place.table])[0]
        if any(not column.numeric for column in columns) and len(columns[0].values) == count:
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
