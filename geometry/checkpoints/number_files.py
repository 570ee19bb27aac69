"""Writing the numbers behind a figure to a file."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Mapping
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np

from geometry.checkpoints.errors import HelixscopeError
from geometry.checkpoints.whole_files import whole_file, writing

FORMATS = (".csv", ".npz")

# A cell that begins with one of these is a formula for spreadsheets, quoted or not
# (https://owasp.org/www-community/attacks/CSV_Injection), in Japanese ones with wide letters too.
_FORMULA = tuple("=+-@\t\r\n＝＋－＠")


def write_numbers(numbers: Mapping[str, np.ndarray], path: Path) -> None:
    """Write named arrays in the format given by the file's suffix.

    ``.npz``: the arrays. ``.csv``: each array of one dimension is a column of that name, and one
    of two dimensions a column for each of its own, called name_1, name_2, …; shorter columns end
    in empty cells. Numbers are in full precision. The file is written completely or left unchanged.

    Raises
    ------
    HelixscopeError
        The suffix is another one, or the file cannot be written.
    """
    write = {".csv": _write_csv, ".npz": _write_npz}.get(path.suffix.lower())
    if write is None:
        ending = path.suffix or "no ending"
        raise HelixscopeError(
            f"{path.name} has {ending}, and numbers are written as {' or '.join(FORMATS)}",
            "Choose a file name with one of these endings.",
        )
    with writing(path), whole_file(path) as part:
        write(numbers, part)


def table_files(path: Path, names: Iterable[str]) -> dict[str, Path]:
    """Return where tables of some names go: ``x.csv``, and ``x-name.csv`` beside it."""
    return {
        name: path.with_name(f"{path.stem}-{name}{path.suffix}") if name else path for name in names
    }


def write_tables(tables: Mapping[str, Mapping[str, np.ndarray]], path: Path) -> None:
    """Write tables as CSV files, one table each, as :func:`table_files` names them.

    Raises
    ------
    HelixscopeError
        A file cannot be written; those before it are.
    """
    for name, file in table_files(path, tables).items():
        write_numbers(tables[name], file)


def stacked(tables: Mapping[str, Mapping[str, np.ndarray]]) -> dict[str, np.ndarray]:
    """Return tables of several models as one, whose first column names the model."""
    parts = {model: columns_of(table) for model, table in tables.items()}
    counts = {model: max(map(len, part.values()), default=0) for model, part in parts.items()}
    names = dict.fromkeys(name for part in parts.values() for name in part)
    columns: dict[str, list[object]] = {"model": [m for m, n in counts.items() for _ in range(n)]}
    for name in names:
        columns[name] = []
        for model, part in parts.items():
            values = part.get(name, [])
            columns[name] += [*values, *[""] * (counts[model] - len(values))]
    return {name: np.array(values, dtype=object) for name, values in columns.items()}


def cell(value: object) -> object:
    """Return what to write into a cell of a table for spreadsheets.

    A text that begins like a formula gets an apostrophe in front, as names of models and tokens may
    be anything. Numbers stay numbers, also as texts.
    """
    if not isinstance(value, str) or not value.startswith(_FORMULA):
        return value
    try:
        float(value)
    except ValueError:
        return f"'{value}"
    return value


def columns_of(numbers: Mapping[str, np.ndarray]) -> dict[str, list[object]]:
    """Return arrays as columns of a table; those of two dimensions are several."""
    columns: dict[str, list[object]] = {}
    for name, values in numbers.items():
        array = np.atleast_1d(values)
        if array.ndim == 1:
            columns[name] = array.tolist()
        else:
            # Not -1: a table without rows has columns too.
            across = array.reshape(len(array), math.prod(array.shape[1:])).T
            columns |= {f"{name}_{i}": column.tolist() for i, column in enumerate(across, start=1)}
    return columns


def _write_csv(numbers: Mapping[str, np.ndarray], path: Path) -> None:
    columns = columns_of(numbers)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(map(cell, columns))
        writer.writerows(map(cell, row) for row in zip_longest(*columns.values(), fillvalue=""))


def _write_npz(numbers: Mapping[str, np.ndarray], path: Path) -> None:
    # Given a path with another suffix, numpy would append its own: so an open file is passed.
    arrays: dict[str, Any] = {name: np.asarray(values) for name, values in numbers.items()}
    with path.open("wb") as file:
        np.savez(file, **arrays)
