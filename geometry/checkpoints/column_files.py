"""A user's table: columns of values for positions, or rows of numbers with labels."""

from __future__ import annotations

import csv
import itertools
import math
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from geometry.checkpoints.errors import SourceError
from geometry.checkpoints.plain_text import shortened, visible
from geometry.checkpoints.result import result
from geometry.checkpoints.stores import open_regular, reading_file
from geometry.checkpoints.transfer import local_read

MAX_FILE = 50_000_000
"""Maximum bytes of a file."""
MAX_CELLS = 2_000_000
"""Maximum cells: each takes up to 100 bytes of memory, so that all take 200 MB."""

MAX_POSITIONS = 262_144
"""Maximum positions: twice those of any known table."""

MAX_COLUMNS = 500
"""Maximum columns, each of which is an entry of a menu."""

MAX_WIDTH = 65_536
"""Maximum numbers of a row: twice any model's width."""

MIN_LABELLED = 3
"""Minimum columns of a table whose first line can be a label and numbers, and no header."""

MAX_TEXT_LENGTH = 60
"""Maximum characters of a name or a category, which are shown beside the curve."""

MAX_NUMBER = 1e30
"""Upper limit of numbers: larger ones are not measurements, and overflow in plots."""

POSITION = "position"
_LINE, _LINE_OF_WORDS = re.compile(r"[^\r\n]*(?:\r\n?|\n)|[^\r\n]+"), re.compile(r"[^\n]*\n|[^\n]+")
"""Lines of a table, with their ends, and those of words, which can have "\\r" in them."""
_PART = 1 << 16
"""Characters after which the reading of a text is reported, and can be cancelled."""
_DELIMITERS = ",;\t"
_ADVICE = "Save it as CSV in UTF-8, with a header and a line for each row."
_NUMBERED = re.compile(r"(.*?)\d+")
_INFINITE = frozenset(sign + word for sign in ("", "-", "+") for word in ("inf", "infinity"))
_MISSING = _INFINITE | {"", "nan", "na", "n/a", "null", "none"}


@dataclass(frozen=True, slots=True)
class PositionColumn:
    """A column of a table: numbers, or texts as categories.

    Attributes
    ----------
    name
        Its name.
    file
        Name of its file; "" for a column of a model itself.
    values
        By position, from 0; None where there is no value.
    """

    name: str
    file: str
    values: tuple[float | str | None, ...]

    @property
    def numeric(self) -> bool:
        """Whether its values are numbers."""
        return not any(isinstance(value, str) for value in self.values)

    def numbers(self, n_positions: int) -> np.ndarray:
        """Return (n_positions,) float64 values of a numeric column, NaN where there are none."""
        padded = np.full(n_positions, np.nan)
        values = self.values[:n_positions]
        padded[: len(values)] = [np.nan if v is None else float(v) for v in values]
        return padded


def read_columns(path: Path) -> tuple[PositionColumn, ...]:
    """Read the columns of a table with a header: CSV with commas, semicolons or tabs.

    A column "position" gives the position of each row; without it, the first row is position 0.
    Other columns have numbers, or texts as categories. Empty cells have no value.

    Raises
    ------
    SourceError
        It cannot be read, or is not such a table.
    """
    with reading_file(path, _ADVICE, fault="cannot be read as a table"):
        return _parsed(path, read_text(path, MAX_FILE, _ADVICE))


@result
class NumberRows:
    """The rows of a table, in its order.

    Attributes
    ----------
    values
        (n_rows, d) float64.
    columns
        The other columns, with a value for each row.
    """

    values: npt.NDArray[np.float64]
    columns: tuple[PositionColumn, ...]


def read_rows(path: Path) -> NumberRows:
    """Read the rows of a table: CSV with commas, semicolons or tabs, or numbers with spaces.

    The entries of a row are the columns with numbered names, such as "x0", "x1", … or "0", "1", …;
    of several kinds, the one with the most columns. In a table without such names, they are all
    columns of numbers; a table without a header has only entries, and perhaps a label at the
    beginning of each row, as GloVe's. The other columns are labels and values for colouring. The
    sizes in the first line of word2vec's texts are passed over.

    Raises
    ------
    SourceError
        It cannot be read, or is not such a table.
    Cancelled
        Its reading was cancelled.
    """
    with reading_file(path, _ADVICE, fault="cannot be read as a table"):
        if path.stat().st_size > MAX_FILE:  # as of millions of words
            raise SourceError(
                f"{path.name} is longer than {MAX_FILE} bytes.",
                f"Open its first lines: head -n 20000 {path.name} > first.txt",
            )
        text = read_text(path, MAX_FILE, _ADVICE)
        delimiter = _delimiter(text)
        comma = delimiter == ";"

        def rows(first: int = 0) -> Iterator[list[str]]:
            read = _rows(path, text, delimiter) if delimiter else _words(path, text)
            return itertools.islice(read, first, None)

        names = next(rows(), [])
        if not names:
            raise refused(path, "is empty")
        if len(names) > MAX_WIDTH:
            raise refused(path, f"has more than {MAX_WIDTH} columns")
        header = _is_header(names, comma=comma)
        if not header:
            labelled = _number(names[0], comma=comma) is None
            names = ["label"][:labelled] + [str(n) for n in range(len(names) - labelled)]
        # Texts are not kept, which take many times as much, but those of labels are read again.
        cells = itertools.chain.from_iterable(rows(header))
        read = (_nan_or_number(cell, comma=comma) for cell in cells)
        numbers = np.fromiter(read, np.float64).reshape(-1, len(names))
        if not len(numbers):
            raise refused(path, "has a header but no rows")
        if len(numbers) > MAX_POSITIONS:
            raise refused(path, f"has more than {MAX_POSITIONS} rows")
        entries = entry_columns(names, ~np.isnan(numbers))
        if not entries:
            raise refused(path, "has no columns of numbers")
        labels = sorted(set(range(len(names))).difference(entries))
        if len(labels) > MAX_COLUMNS:
            raise refused(path, f"has more than {MAX_COLUMNS} columns beside its numbers")
        values = np.ascontiguousarray(numbers[:, entries])
        for n, at in np.argwhere(np.isnan(values))[:1]:
            cell = shortened(next(rows(header + n))[entries[at]], MAX_TEXT_LENGTH)
            name = shortened(names[entries[at]], MAX_TEXT_LENGTH)
            raise refused(path, f"has {cell!r} in row {n + 1} of the column {name!r}, not a number")
        columns = []
        if labels:
            texts = [[row[at] for at in labels] for row in rows(header)]
            advance = local_read(path.name, len(text), "Converting")
            shown = shown_names([names[at] for at in labels])
            for name, column in zip(shown, zip(*texts, strict=True), strict=True):
                columns.append(PositionColumn(name, "", _values(column, comma=comma)))
                advance(len(text) // len(labels))
        return NumberRows(values, tuple(columns))


def _is_header(names: Sequence[str], *, comma: bool) -> bool:
    """Return whether a first line has names: not only numbers, unless they count up.

    A name before several numbers is the label of a row.
    """
    counting = ([str(first + i) for i in range(len(names))] for first in (0, 1))
    counted = len(names) > 1 and [name.strip() for name in names] in counting
    texts = [at for at, name in enumerate(names) if _number(name, comma=comma) is None]
    if texts == [0] and len(names) > MIN_LABELLED:
        return all(name.strip().isdecimal() for name in names[1:])
    return counted or bool(texts)


def entry_columns(names: Sequence[str], known: npt.NDArray[np.bool_]) -> list[int]:
    """Return the columns that are entries of the rows.

    Parameters
    ----------
    names
        Of all columns.
    known : (n_rows, len(names)) bool
        Which cells are numbers.
    """
    numeric = np.flatnonzero(known.any(axis=0)).tolist()
    if alike := numbered_alike([names[at].strip() for at in numeric]):
        chosen = set(alike)
        return [at for at in numeric if names[at].strip() in chosen]
    whole: list[int] = np.flatnonzero(known.all(axis=0)).tolist()
    return whole


def numbered_alike(names: Sequence[str]) -> list[str]:
    """Return the largest group of names that differ only in the number at their end, [] if none."""
    alike: dict[str, list[str]] = {}
    for name in names:
        if numbered := _NUMBERED.fullmatch(name):
            alike.setdefault(numbered[1], []).append(name)
    largest = max(alike.values(), key=len, default=[])
    return largest if len(largest) > 1 else []


METADATA = "metadata.tsv"
"""The labels of the Embedding Projector."""


def labels_beside(path: Path, n_rows: int) -> tuple[PositionColumn, ...]:
    """Read the labels of the Embedding Projector beside its rows, such as ``tensors.tsv``.

    Of one column, it has no header. () if there is none, or it is not such a file.
    """
    labels = path.with_name(metadata_name(path))
    if labels == path or not labels.is_file():
        return ()
    with suppress(SourceError), reading_file(labels, _ADVICE, fault="cannot be read as a table"):
        text = read_text(labels, MAX_FILE, _ADVICE)
        lines = text.rstrip("\n").split("\n")
        if len(lines) == n_rows and "\t" not in lines[0]:
            return (PositionColumn("label", "", _values(lines, comma=False)),)
        columns = _parsed(labels, text)
        return columns if len(columns[0].values) == n_rows else ()
    return ()


def metadata_name(path: Path) -> str:
    """Return the name of the file with the labels of a table for the Embedding Projector."""
    name, known = re.subn(r"(tensors?|vectors?|vecs|embeddings?)\.tsv$", METADATA, path.name)
    return name if known else METADATA


def read_text(path: Path, max_bytes: int, advice: str) -> str:
    """Return the text of a file in UTF-8, with or without a byte order mark.

    Raises
    ------
    SourceError
        It is longer than ``max_bytes``, or is not such a text.
    OSError
        It cannot be read.
    """
    with open_regular(path) as file:
        data = file.read(min(max_bytes, os.fstat(file.fileno()).st_size) + 1)
    if len(data) > max_bytes:
        raise SourceError(f"{path.name} is longer than {max_bytes} bytes.", advice)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise SourceError(f"{path.name} is not text in UTF-8.", advice) from None


def _delimiter(text: str) -> str:
    """Return the most frequent delimiter of the first line; "" if only spaces are between words."""
    first = text.partition("\n")[0].strip()
    delimiter = max(_DELIMITERS, key=first.count)
    return delimiter if delimiter in first or " " not in first else ""


def column_named(columns: Sequence[PositionColumn], name: str | None) -> PositionColumn:
    """Return the column of a name; for None, the first numeric column, or the first of all.

    Raises SourceError: there is no column of that name.
    """
    if name is None:
        return next((column for column in columns if column.numeric), columns[0])
    named = next((column for column in columns if column.name == name), None)
    if named is None:
        names = ", ".join(column.name for column in columns)
        raise SourceError(f"{columns[0].file} has no column “{name}”.", f"Its columns are {names}.")
    return named


def refused(path: Path, why: str) -> SourceError:
    """Return the error for a file that is not such a table."""
    return SourceError(f"{path.name} {why}.", _ADVICE)


def _parsed(path: Path, text: str) -> tuple[PositionColumn, ...]:
    delimiter = _delimiter(text)
    rows = _rows(path, text, delimiter)
    names = next(rows, [])
    _check_header(path, names)
    places = [name.strip().casefold() for name in names]
    key = places.index(POSITION) if POSITION in places else None
    by_position: dict[int, list[str]] = {}
    for number, row in enumerate(rows):
        at = number if key is None else _position(path, row[key])
        if at in by_position:
            raise refused(path, f"has position {at} twice")
        by_position[at] = row
    if not by_position:
        raise refused(path, "has a header but no rows")
    n_positions = max(by_position) + 1
    if n_positions > MAX_POSITIONS:
        raise refused(path, f"has more than {MAX_POSITIONS} positions")
    comma = delimiter == ";"
    columns = []
    for index, name in enumerate(shown_names(names)):
        if index != key:
            cells: list[str] = [""] * n_positions
            for at, row in by_position.items():
                cells[at] = row[index]
            columns.append(PositionColumn(name, visible(path.name), _values(cells, comma=comma)))
    return tuple(columns)


def _rows(path: Path, text: str, delimiter: str) -> Iterator[list[str]]:
    """Yield the rows that are not empty, each as long as the header."""
    n_columns = n_cells = 0
    reader = csv.reader(_lines(path, text, _LINE), delimiter=delimiter)
    try:
        for row in reader:
            if not any(cell.strip() for cell in row):
                continue
            n_columns = n_columns or len(row)
            if len(row) > n_columns:
                raise refused(
                    path, f"has {len(row)} cells in line {reader.line_num}, but {n_columns} columns"
                )
            n_cells += n_columns
            if n_cells > MAX_CELLS:
                raise refused(path, f"has more than {MAX_CELLS} cells")
            yield [*row, *[""] * (n_columns - len(row))]
    except csv.Error:
        raise refused(path, f"cannot be read as a table at line {reader.line_num}") from None


def _words(path: Path, text: str) -> Iterator[list[str]]:
    """Yield the words of each line that is not empty or a comment, as many as of the first."""
    # Words of an embedding can have any character but these in them.
    split = (line.strip(" \t\r\n").split(" ") for line in _lines(path, text, _LINE_OF_WORDS))
    words = ([word for word in line if word] for line in split)
    lines = (line for line in words if line and not _is_comment(line))
    first = next(lines, [])
    second = next(lines, [])
    if len(first) == 2 < len(second) and first[1].isdecimal() and len(second) == int(first[1]) + 1:
        first = []  # the numbers of words and of dimensions, of word2vec
    n_words = len(first or second)
    for number, row in enumerate(filter(None, itertools.chain((first, second), lines)), start=1):
        if len(row) != n_words:
            raise refused(path, f"has {len(row)} words in row {number}, but {n_words} in others")
        if number * n_words > MAX_CELLS:
            raise refused(path, f"has more than {MAX_CELLS} numbers")
        yield row


def _lines(path: Path, text: str, line: re.Pattern[str]) -> Iterator[str]:
    """Yield the lines of a text with their ends; it can be cancelled between parts of it."""
    if text.count("\n") + text.count("\r") > MAX_CELLS:
        raise refused(path, f"has more than {MAX_CELLS} lines")
    advance, before = local_read(path.name, len(text)), 0
    for match in line.finditer(text):
        if match.end() - before >= _PART:
            advance(match.end() - before)
            before = match.end()
        yield match[0]
    advance(len(text) - before)


def _is_comment(words: list[str]) -> bool:
    """Return whether a line is a comment, and not a row whose label begins with "#"."""
    if not words[0].startswith("#"):
        return False
    return len(words) <= MIN_LABELLED or any(_number(w, comma=False) is None for w in words[1:])


def _check_header(path: Path, names: Sequence[str]) -> None:
    if not names:
        raise refused(path, "is empty")
    if len(names) > MAX_COLUMNS:
        raise refused(path, f"has more than {MAX_COLUMNS} columns")
    if all(_number(name, comma=False) is not None for name in names):
        raise refused(path, "has no header: its first line contains only numbers")
    if [name.strip().casefold() for name in names] == [POSITION]:
        raise refused(path, "has no column other than “position”")


def _position(path: Path, cell: str) -> int:
    number = _number(cell, comma=False)
    if number is None or number != int(number) or not 0 <= number < MAX_POSITIONS:
        raise refused(path, f"has {shortened(cell, MAX_TEXT_LENGTH)!r} as a position")
    return int(number)


def shown_names(names: Sequence[str]) -> list[str]:
    """Return distinct names for display."""
    unique: list[str] = []
    for number, name in enumerate(names, start=1):
        base = shortened(visible(name.strip()), MAX_TEXT_LENGTH) or f"column {number}"
        unique.append(base if base not in unique else f"{base} ({number})")
    return unique


def _values(cells: Sequence[str], *, comma: bool) -> tuple[float | str | None, ...]:
    """Return numbers if all cells are numbers; otherwise their texts."""
    texts = [cell.strip() for cell in cells]
    known = [text for text in texts if text.casefold() not in _MISSING]
    numbers = {text: _number(text, comma=comma) for text in dict.fromkeys(known)}
    if all(number is not None for number in numbers.values()):
        return tuple(numbers.get(text) for text in texts)
    return tuple(shortened(visible(text), MAX_TEXT_LENGTH) or None for text in texts)


def _nan_or_number(text: str, *, comma: bool) -> float:
    number = _number(text, comma=comma)
    return math.nan if number is None else number


def _number(text: str, *, comma: bool) -> float | None:
    """Parse a finite number, which may have a decimal comma if ``comma``; None if it is not one."""
    text = text.replace(",", ".") if comma else text
    if "_" in text:  # Python reads 1_2 as 12
        return None
    try:
        number = float(text.replace("\N{MINUS SIGN}", "-"))
    except ValueError:
        return None
    return number if math.isfinite(number) and abs(number) < MAX_NUMBER else None
