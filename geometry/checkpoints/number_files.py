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

# A cell that begins with one of these is a formula in spreadsheets, quoted or not
# (https://owasp.org/www-community/attacks/CSV_Injection); wide letters are for Japanese ones.
_FORMULA = tuple("=+-@\t\r\n＝＋－＠")


def write_numbers(numbers: Mapping[str, np.ndarray], path: Path) -> None:
    """Write named arrays in the format given by the file's suffix.

    ``.npz``: the arrays. ``.csv``: each one-dimensional array is a column of that name, and each
    column of a two-dimensional one is called name_1, name_2, …; shorter columns end in empty cells.
    Numbers are in full precision. The file is written completely or left unchanged.

    Raises
    ------
    HelixscopeError
        The suffix is not supported, or the file cannot be written.
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
    """Return the files of tables: ``x.csv``, and ``x-name.csv`` beside it."""
    return {
        name: path.with_name(f"{path.stem}-{name}{path.suffix}") if name else path for name in names
    }


def write_tables(tables: Mapping[str, Mapping[str, np.ndarray]], path: Path) -> None:
    """Write tables as CSV files, with names from :func:`table_files`.

    Raises
    ------
    HelixscopeError
        A file cannot be written; earlier files are complete.
    """
    for name, file in table_files(path, tables).items():
        write_numbers(tables[name], file)


def stacked(tables: Mapping[str, Mapping[str, np.ndarray]]) -> dict[str, np.ndarray]:
    """Return tables of several models as a single table, whose first column is the model."""
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
    """Return a value for a cell of a spreadsheet.

    A text that begins like a formula gets a leading apostrophe, since names of models and tokens
    can be any text. Numbers are unchanged, also as texts.
    """
    if not isinstance(value, str) or not value.startswith(_FORMULA):
        return value
    try:
        float(value)
    except ValueError:
        return f"'{value}"
    return value


def columns_of(numbers: Mapping[str, np.ndarray]) -> dict[str, list[object]]:
    """Return arrays as columns of a table; two-dimensional arrays give several."""
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
    # An open file is passed, since NumPy would append its own suffix to a path.
    arrays: dict[str, Any] = {name: np.asarray(values) for name, values in numbers.items()}
    with path.open("wb") as file:
        np.savez(file, **arrays)
