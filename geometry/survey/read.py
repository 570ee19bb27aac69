"""The rows of a survey for who looks at them: from its file, and from its parts while it runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import numpy as np

from geometry.checkpoints.config import first_int, read_json
from geometry.checkpoints.errors import SourceError
from geometry.checkpoints.stores import reading_file
from geometry.claims.scalar_results import QUANTITIES
from geometry.survey.parts import RUNNING, VERSION, SurveyError, in_order, numbered_parts, told_of
from geometry.survey.rows import schema

if TYPE_CHECKING:
    import pyarrow as pa

T = TypeVar("T")

Kind = Literal["count", "share", "number", "text"]
Stamp = tuple[tuple[str, int, int, int], ...]
"""Names, sizes, times and numbers of the files that a survey consists of; equal if none changed."""

ENDING, PARTS = ".parquet", ".parquet.parts"

#: Rows and columns that are read at most; the largest population has some thousand rows.
MAX_ROWS = 200_000
MAX_COLUMNS = 200

#: Bytes of a file once it is decompressed, or so many times its own: numbers hardly shrink, and
#: components, which are not read, take gigabytes in half precision.
MAX_BYTES = 256_000_000
MAX_RATIO = 20

#: Letters of the texts of all rows, for a text that many rows have is stored once.
MAX_TEXT = 64_000_000

#: So often the parts of a running survey may be replaced by a larger one while they are read.
TRIES = 5

_NEEDED = ("source", "group", "seed", "step", "layer", "error")
_TITLES = {
    "source": "Checkpoint",
    "tokens": "Tokens seen",
    "first_position": "First position",
    "last_position": "Last position",
}
_MEANINGS = {
    "source": "What was measured.",
    "group": "Its population, its model or its folder.",
    "seed": "The random seed in its name.",
    "step": "Step of its training.",
    "layer": "Layer of a network of which the positions inside were measured.",
    "tokens": "Tokens seen in training by then.",
    "commit": "Its commit on the Hub.",
    "fingerprint": "The same for the same table.",
    "scheme": "Where its positions come from.",
    "first_position": "First position of the range.",
    "last_position": "Last position of the range.",
    "table": "Chosen as its positions; none where it has no such tensor or side.",
    "error": "Why it could not be measured.",
}


@dataclass(frozen=True, eq=False)
class SurveyColumn:
    """A column of a survey.

    Attributes
    ----------
    name
        In the file.
    title, unit
        For display; "" for no unit.
    kind
        The format of its values.
    meaning
        A sentence.
    decimals
        Of a share or a number.
    values
        (n,): float64, NaN where there is none; of a "text" an object array of str, "" for none.
    """

    name: str
    title: str
    unit: str
    kind: Kind
    meaning: str
    decimals: int
    values: np.ndarray

    @property
    def known(self) -> np.ndarray:
        """(n,) bool: whether a row has a value."""
        found: np.ndarray = self.values != "" if self.kind == "text" else ~np.isnan(self.values)
        return found

    @cached_property
    def keys(self) -> np.ndarray:
        """(n,) what rows are sorted by: the numbers, or the places of texts in their order."""
        if self.kind == "text":
            places: np.ndarray = np.unique(self.values, return_inverse=True)[1]
            return places
        return self.values


@dataclass(frozen=True, eq=False)
class Survey:
    """Rows of a survey, in columns.

    Attributes
    ----------
    path
        Its file, which need not be there yet.
    columns
        By their names, in the file's order.
    total
        Checkpoints of the survey that writes it now, or was killed; None if there is none.
    others
        Rows of checkpoints that this survey does not name.
    dashboard
        Address of the dashboard of its cluster; "" if it has none.
    stamp
        Of the files that were read, see :func:`stamp_of`.
    """

    path: Path
    columns: Mapping[str, SurveyColumn]
    total: int | None
    others: int
    dashboard: str
    stamp: Stamp

    def __len__(self) -> int:
        return len(self.columns["source"].values)

    @property
    def in_parts(self) -> bool:
        """Whether some of its rows are in parts beside the file."""
        return any(name.startswith("part-") for name, *_ in self.stamp)

    @cached_property
    def failed(self) -> int:
        """Number of checkpoints that could not be measured."""
        return int(self.columns["error"].known.sum())

    @cached_property
    def runs(self) -> tuple[np.ndarray, ...]:
        """Rows of each training with at least two steps, by their step."""
        step = self.columns["step"]
        names = ("group", "seed", "layer")
        keys = [np.unique(self.columns[name].values, return_inverse=True)[1] for name in names]
        rows = np.flatnonzero(step.known)
        if not rows.size:
            return ()
        rows = rows[np.lexsort((step.values[rows], *(key[rows] for key in reversed(keys))))]
        of = np.stack([key[rows] for key in keys])
        begins = np.flatnonzero((of[:, 1:] != of[:, :-1]).any(axis=0)) + 1
        return tuple(run for run in np.split(rows, begins) if run.size > 1)


def survey_path(path: Path) -> Path:
    """Return the file of a survey by itself, by its folder of parts, or by one of these."""
    for folder in (path, path.parent):
        if folder.name.lower().endswith(PARTS):
            return folder.with_name(folder.name.removesuffix(".parts"))
    return path


def stamp_of(path: Path) -> Stamp:
    """Return what differs after a change of a survey's files; never raises."""
    return tuple(_stamps(path))


def _stamps(path: Path) -> Iterator[tuple[str, int, int, int]]:
    for file in (path, *_parts(path), _folder(path) / RUNNING):
        try:
            found = file.stat()
        except OSError:
            continue
        yield file.name, found.st_size, found.st_mtime_ns, found.st_ino


def read_survey(path: Path) -> Survey:
    """Read the rows of a survey; of several rows of a checkpoint the last one counts.

    Raises SurveyError: there is no such file, it is none of a survey, or pyarrow is not installed;
    SourceError: it is damaged, or cannot be read.
    """
    if find_spec("pyarrow") is None:
        raise SurveyError(
            "To open a survey, Helixscope needs the package pyarrow.",
            'Install Helixscope with it: pip install ".[survey]".',
        )

    def read(files: Sequence[Path], stamp: Stamp) -> Survey:
        running = _running(path)
        if not files and running[0] is None:
            raise SurveyError(f"{path} does not exist.", "Check the path.")
        return Survey(path, _columns(_joined([_read(file) for file in files])), *running, stamp)

    return read_unchanged(path, read)


def read_unchanged(path: Path, read: Callable[[Sequence[Path], Stamp], T]) -> T:
    """Read a survey's files, those with newer rows last; again where several parts became one.

    ``read`` gets the files and their stamp, which is taken first, so that no change is missed.

    Raises SourceError: one is damaged, or they change all the time.
    """
    for _ in range(TRIES - 1):
        stamp, files = stamp_of(path), _files(path)
        try:
            return read(files, stamp)
        except SourceError:
            if _files(path) == files:
                raise
    stamp = stamp_of(path)
    return read(_files(path), stamp)


def _folder(path: Path) -> Path:
    return path.with_name(path.name + ".parts")


def _parts(path: Path) -> list[Path]:
    try:
        return [part for _, part in numbered_parts(_folder(path))]
    except OSError:  # mostly there is no such folder
        return []


def _files(path: Path) -> tuple[Path, ...]:
    """Return the files that have rows of a survey, those with newer ones last."""
    parts = _parts(path)
    return (path, *parts) if path.exists() else tuple(parts)


def _running(path: Path) -> tuple[int | None, int, str]:
    """Return number of checkpoints, other rows and dashboard of the survey that writes a file."""
    try:
        told = read_json(_folder(path) / RUNNING)
        total, others = (first_int(told, (key,)) for key in ("total", "others"))
    except (OSError, SourceError):
        return None, 0, ""
    if total is None or others is None or not 0 <= total < 2**53 or not 0 <= others < 2**53:
        return None, 0, ""
    dashboard = str(told.get("dashboard"))
    return total, others, dashboard if dashboard.startswith(("http://", "https://")) else ""


def _read(path: Path) -> pa.Table:
    """Read a file's columns of numbers and texts.

    Raises SourceError: it is damaged, or not there any more.
    """
    with reading_survey(path):
        return _table(path)


@contextmanager
def reading_survey(path: Path) -> Iterator[None]:
    """Report whatever goes wrong with the file of a survey as a SourceError."""
    with reading_file(path, "Run the survey again: it measures what is missing."):
        try:
            yield
        except OSError as error:
            if error.errno:
                raise
            raise ValueError(str(error)) from error  # damaged: no fault of the system


def _table(path: Path) -> pa.Table:
    from pyarrow import parquet

    with path.open("rb") as raw:
        file = parquet.ParquetFile(raw)
        found = file.schema_arrow
        told = told_of(found.metadata or {})
        if told is None or any(name not in found.names for name in _NEEDED):
            raise SurveyError(
                f"{path} is not the file of a survey.", "“helixscope survey” writes such files."
            )
        if told.get("version") != VERSION:
            raise SurveyError(
                f"{path} is of another version of Helixscope.", "Open it with that version."
            )
        kinds = {one.name: kind for one in found if (kind := _kind(one.type)) is not None}
        # Not of each column: for some damaged ones, asking pyarrow that ends the process.
        groups = map(file.metadata.row_group, range(file.metadata.num_row_groups))
        size = sum(group.total_byte_size for group in groups)
        if (
            file.metadata.num_rows > MAX_ROWS
            or len(found.names) > MAX_COLUMNS
            or size > max(MAX_BYTES, MAX_RATIO * path.stat().st_size)
        ):
            raise _too_large(path)
        texts = [name for name, kind in kinds.items() if kind == "text"]
        # Each text once, and not in every row that has it.
        again = parquet.ParquetFile(raw, read_dictionary=texts, page_checksum_verification=True)
        table = _shown(again.read(columns=[*kinds]))
        if sum(_text_bytes(table.column(name)) for name in texts) > MAX_TEXT:
            raise _too_large(path)
        return table


def _too_large(path: Path) -> SurveyError:
    return SurveyError(f"{path} is too large for a survey.", "Survey fewer checkpoints.")


def _text_bytes(column: Any) -> int:
    """Return how long the texts of all rows are, of a column that holds each text once."""
    import pyarrow.compute as pc

    total = 0
    for chunk in column.chunks:
        lengths = np.asarray(pc.binary_length(chunk.dictionary).fill_null(0), dtype=np.int64)
        total += int(lengths[np.asarray(chunk.indices.drop_null())].sum())
    return total


def _shown(table: pa.Table) -> pa.Table:
    """Return the columns of a table that are shown, without its metadata."""
    kept = table.select([one.name for one in table.schema if _kind(one.type)])
    return kept.replace_schema_metadata(None)


def _kind(of: pa.DataType) -> Kind | None:
    """Return the kind of a column by its type; None if it is not shown."""
    import pyarrow as pa

    if pa.types.is_dictionary(of):
        of = of.value_type
    if pa.types.is_string(of) or pa.types.is_large_string(of):
        return "text"
    if pa.types.is_integer(of):
        return "count"
    return "number" if pa.types.is_floating(of) else None


def _joined(tables: list[pa.Table]) -> pa.Table:
    """Return the rows of all files, the last one of each checkpoint, in the file's order."""
    import pyarrow as pa

    if not tables:  # a survey that has just begun
        return _shown(schema(0).empty_table())
    table = pa.concat_tables(tables, promote_options="default")
    if len(tables) == 1:
        return table
    return table.take(in_order(table))


def _columns(table: pa.Table) -> dict[str, SurveyColumn]:
    return {
        field.name: _column(field.name, _kind(field.type) or "text", table.column(field.name))
        for field in table.schema
    }


def _column(name: str, kind: Kind, stored: Any) -> SurveyColumn:
    values = _texts(stored) if kind == "text" else stored.to_numpy().astype(np.float64)
    quantity = _quantities().get(name)
    if quantity is not None and (quantity.kind == "text") == (kind == "text"):
        title, unit, meaning = quantity.title, quantity.unit, quantity.meaning
        return SurveyColumn(name, title, unit, quantity.kind, meaning, quantity.decimals, values)
    of = _quantities().get(name.removesuffix("_outcome"))
    if of is not None and kind == "text":
        meaning = f"The outcome of the claim about “{of.title}”."
        return SurveyColumn(name, f"{of.title}: outcome", "", kind, meaning, 2, values)
    title = _TITLES.get(name, name[:1].upper() + name[1:].replace("_", " "))
    return SurveyColumn(name, title, "", kind, _MEANINGS.get(name, ""), 2, values)


def _texts(stored: Any) -> np.ndarray:
    """Return the texts of a column, "" for none; rows with the same text share it."""
    found = [np.zeros(0, dtype=object)]
    for chunk in stored.dictionary_encode().chunks:
        names = np.array([*(one or "" for one in chunk.dictionary.to_pylist()), ""], dtype=object)
        found.append(names[np.asarray(chunk.indices.fill_null(len(names) - 1))])
    return np.concatenate(found)


@cache
def _quantities() -> Mapping[str, Any]:
    return {quantity.key: quantity for quantity in QUANTITIES}
