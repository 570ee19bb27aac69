"""The file of a survey: rows as they come, in Parquet parts beside it, at the end in one.

``FILE.parquet.parts`` is a folder with the rows that are not in ``FILE.parquet`` yet. Whatever
happens, each part is whole, and a later survey into the same file goes on with all of them.
"""

from __future__ import annotations

import json
import logging
import os
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from geometry.checkpoints.config import parse_json
from geometry.checkpoints.errors import HelixscopeError, SourceError
from geometry.checkpoints.folder_lock import lock_folder
from geometry.checkpoints.plain_text import storable
from geometry.checkpoints.stores import cannot_read
from geometry.checkpoints.whole_files import write_bytes, write_text, writing
from geometry.models.sources.locating import may_ask_hub
from geometry.models.sources.source import Source
from geometry.survey.populations import Entry, file_order
from geometry.survey.rows import Row, RowSettings, schema

if TYPE_CHECKING:
    import pyarrow as pa

log = logging.getLogger(__name__)

FORMAT, VERSION = "helixscope-survey", "1"

#: A part is written once there are so many rows, or after so many seconds.
ROWS_OF_A_PART, SECONDS_OF_A_PART = 256, 1.0

#: So many parts are made one, so that thousands of slow rows are not thousands of files.
MAX_PARTS = 64

#: Rows of a group in the file, which a reader may skip as a whole.
ROWS_OF_A_GROUP = 16_384

#: In the folder of parts while a survey runs: how many checkpoints it has, for those who watch it.
RUNNING = "running.json"

_PART = re.compile(r"part-(\d{6,})\.parquet")
_OF_KNOWN = ("source", "commit", "temporary", "error")
_ORDER = ("group", "seed", "step", "layer", "source")


class SurveyError(HelixscopeError):
    """A survey cannot be begun or continued."""


@dataclass(frozen=True, slots=True)
class Known:
    """What is in the file of a checkpoint: its commit, its error, and whether to try it again."""

    commit: str | None
    temporary: bool
    error: str | None


class SurveyFile:
    """The rows of a survey, known ones and new ones; a context manager, which writes the file.

    Rows of checkpoints that a survey does not name stay in the file. No other process may write it
    meanwhile.

    Parameters
    ----------
    out
        The file, a ``.parquet``.
    settings
        What the rows depend on.

    Attributes
    ----------
    known
        What is there, by the source of the checkpoint as of :func:`storable`.
    damage_notes
        Sentences about damaged files that were renamed.

    Raises
    ------
    SurveyError
        The file belongs to no survey, or to one with other settings; or another process is writing
        it.
    HelixscopeError
        It cannot be written.
    """

    def __init__(self, out: Path, settings: RowSettings) -> None:
        self.out, self.settings = Path(os.path.realpath(out)), settings
        self.parts = self.out.with_name(self.out.name + ".parts")
        self.known: dict[str, Known] = {}
        self.damage_notes: list[str] = []
        self._new: list[Row] = []
        self._since = 0.0
        self._last = 0
        self._small: list[Path] = []
        self._held = ExitStack()

    def __enter__(self) -> Self:
        with writing(self.parts):
            self.parts.mkdir(parents=True, exist_ok=True)
        self._held.enter_context(lock_folder(self.parts, SurveyError, named=self.out))
        try:
            self._read()
        except BaseException:
            self._held.close()
            self._remove_folder()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Write the file with all rows so far, also after an error or Ctrl+C."""
        try:
            self.merge()
        except HelixscopeError:
            if error is None:
                raise
            # The parts stay for the next survey; the first error is the one to show.
            log.warning("%s could not be written", self.out, exc_info=True)
        finally:
            self._held.close()
            self._remove_folder()

    # ---- what is there -----------------------------------------------------------------

    def missing(self, entries: Iterable[Entry], *, given_up: str = "") -> tuple[Entry, ...]:
        """Return the checkpoints to measure: unknown ones, failed ones, and moved branches.

        Those with the error ``given_up`` are not tried again.
        """
        return tuple(entry for entry in entries if not self._has(entry, given_up))

    def _has(self, entry: Entry, given_up: str) -> bool:
        known = self.known.get(storable(entry.source))
        if known is None or (known.temporary and known.error != given_up):
            return False
        return None in (entry.commit, known.commit) or entry.commit == known.commit

    def _read(self) -> None:
        for path in self._files():
            table = self._table(path)
            if table is None:
                continue
            told = (table.column(name).to_pylist() for name in _OF_KNOWN)
            for source, commit, temporary, error in zip(*told, strict=True):
                self.known[source] = Known(commit, bool(temporary), error)
            if path != self.out and table.num_rows < ROWS_OF_A_PART:
                self._small.append(path)

    def _files(self) -> tuple[Path, ...]:
        """Return the file and its parts, oldest first: of two rows the later one counts."""
        with writing(self.parts):
            numbered = numbered_parts(self.parts)
        self._last = max([self._last, *(number for number, _ in numbered)])
        parts = tuple(path for _, path in numbered)
        return (self.out, *parts) if self.out.is_file() else parts

    def _table(self, path: Path) -> pa.Table | None:
        """Read a file; None if it is damaged, and now has another name."""
        import pyarrow as pa
        from pyarrow import parquet

        try:
            with path.open("rb") as raw:  # pyarrow opens paths in UTF-8 alone
                file = parquet.ParquetFile(raw, page_checksum_verification=True)
                told = told_of(file.schema_arrow.metadata or {})
                if told is not None:
                    self._check(path, told)
                    table = file.read()
                    self._check_server(path, told["settings"].get("server", ""), table)
                    return table
        except (pa.ArrowException, OSError) as error:
            if isinstance(error, OSError) and error.errno:
                raise cannot_read(path, error) from error
            log.warning("%s is damaged: %s", path, error)
            self._set_aside(path)
            return None
        raise SurveyError(f"{path} is not the file of a survey.", "Choose another name.")

    def _check(self, path: Path, told: Mapping[str, Any]) -> None:
        if told.get("version") != VERSION:
            raise SurveyError(
                f"{path} is of another version of Helixscope.", "Choose another name."
            )
        settings, own = told.get("settings"), replace(self.settings, server=None).to_json()
        if not isinstance(settings, dict) or {**settings, "server": ""} != {**own, "server": ""}:
            raise SurveyError(
                f"The rows in {path} were measured with other settings.",
                "Choose another name, or the same positions, components, table and null "
                "distributions.",
            )

    def _check_server(self, path: Path, server: str, table: pa.Table) -> None:
        """Check the endpoint of a file's rows, which counts if some of them are on a Hub."""
        if server == (self.settings.server or ""):
            return
        if self.settings.server is None:
            self.settings = replace(self.settings, server=server)
        elif server or any(
            may_ask_hub(Source.parse(source)) for source in table.column("source").to_pylist()
        ):
            raise SurveyError(
                f"The rows in {path} are of checkpoints on another server.",
                "Choose another name, or the same HF_ENDPOINT.",
            )

    def _set_aside(self, path: Path) -> None:
        aside = path.with_name(path.name + ".damaged")
        with writing(path):
            os.replace(path, aside)
        self.damage_notes.append(
            f"{path} was damaged, and is {aside.name} now; its rows are measured again."
        )

    def announce(self, entries: Sequence[Entry], dashboard: str = "") -> None:
        """Note for those who watch that a survey of these checkpoints runs.

        ``dashboard`` is the address of its cluster's dashboard; "" if it has none.

        Raises HelixscopeError: it cannot be written.
        """
        named = {storable(entry.source) for entry in entries}
        others = sum(source not in named for source in self.known)
        told = {"total": len(named), "others": others, "dashboard": dashboard}
        with writing(self.parts / RUNNING):
            write_text(json.dumps(told), self.parts / RUNNING)

    # ---- new rows ----------------------------------------------------------------------

    def add(self, row: Row) -> None:
        """Add a row, or replace that of the same checkpoint; written within a second or so.

        Raises HelixscopeError: a part cannot be written.
        """
        if not self._new:
            self._since = time.monotonic()
        row = {name: storable(one) if isinstance(one, str) else one for name, one in row.items()}
        self._new.append(row)
        self.known[row["source"]] = Known(row.get("commit"), bool(row["temporary"]), row["error"])
        if len(self._new) >= ROWS_OF_A_PART:
            self.flush()

    @property
    def due_s(self) -> float | None:
        """Seconds until new rows should be written; None if there are none."""
        if not self._new:
            return None
        return max(0.0, self._since + SECONDS_OF_A_PART - time.monotonic())

    def flush(self) -> None:
        """Write the new rows as a part.

        Raises HelixscopeError: it cannot be written.
        """
        import pyarrow as pa

        if not self._new:
            return
        full = schema(self.settings.kept, chosen=self.settings.table is not None)
        columns = {name: [row.get(name) for row in self._new] for name in full.names}
        path = self._write_part(pa.table(columns, schema=full))
        if len(self._new) < ROWS_OF_A_PART:
            self._small.append(path)
        self._new = []
        if len(self._small) >= MAX_PARTS:
            self._compact()

    def _compact(self) -> None:
        """Make one part of many small ones."""
        import pyarrow as pa

        tables = [table for path in self._small if (table := self._table(path)) is not None]
        rows = pa.concat_tables(tables, promote_options="default")
        path = self._write_part(rows)
        # Only now: a process that ends here leaves the same rows twice.
        for old in self._small:
            with suppress(FileNotFoundError), writing(old):
                old.unlink()
        self._small = [path] if rows.num_rows < ROWS_OF_A_PART else []

    def _write_part(self, table: pa.Table) -> Path:
        self._last += 1
        path = self.parts / f"part-{self._last:06d}.parquet"
        self._write(table, path)
        return path

    def _write(self, table: pa.Table, path: Path) -> None:
        import pyarrow as pa
        from pyarrow import parquet

        told = {"format": FORMAT, "version": VERSION, "settings": self.settings.to_json()}
        table = table.replace_schema_metadata({FORMAT: json.dumps(told, sort_keys=True)})
        sink = pa.BufferOutputStream()
        parquet.write_table(
            table,
            sink,
            row_group_size=ROWS_OF_A_GROUP,
            compression="zstd",
            write_page_checksum=True,
        )
        with writing(path):
            write_bytes(sink.getvalue(), path)

    # ---- the file ----------------------------------------------------------------------

    def merge(self) -> None:
        """Write all rows into the file, sorted, and remove the parts.

        The same rows give the same file, byte for byte, in whatever order they came.

        Raises HelixscopeError: it cannot be written; the parts stay then.
        """
        import pyarrow as pa

        self.flush()
        files = self._files()
        parts = [path for path in files if path != self.out]
        if not parts:
            return
        tables = [table for path in files if (table := self._table(path)) is not None]
        if not tables:
            return
        rows = pa.concat_tables(tables, promote_options="default").combine_chunks()
        self._write(rows.take(in_order(rows)).combine_chunks(), self.out)
        for path in parts:
            with suppress(FileNotFoundError), writing(path):
                path.unlink()
        self._small = []

    def _remove_folder(self) -> None:
        """Remove the folder of parts, if there is nothing in it but the lock."""
        with suppress(OSError):
            (self.parts / RUNNING).unlink(missing_ok=True)
            if {path.name for path in self.parts.iterdir()} <= {"lock"}:
                (self.parts / "lock").unlink(missing_ok=True)
                self.parts.rmdir()


def numbered_parts(folder: Path) -> list[tuple[int, Path]]:
    """Return the parts in a folder with their numbers, oldest first.

    Raises OSError: it cannot be read.
    """
    return sorted(
        (int(match[1]), path) for path in folder.iterdir() if (match := _PART.fullmatch(path.name))
    )


def told_of(metadata: Mapping[bytes, bytes]) -> Mapping[str, Any] | None:
    """Return what a file says of its survey; None if it is none of one."""
    try:
        return parse_json(FORMAT, metadata[FORMAT.encode()])
    except (KeyError, SourceError):
        return None


def in_order(rows: pa.Table) -> list[int]:
    """Return the places of the rows in the file's order; of each checkpoint the last one."""
    last = {source: at for at, source in enumerate(rows.column("source").to_pylist())}
    told = [rows.column(name).to_pylist() for name in _ORDER]
    return sorted(last.values(), key=lambda at: file_order(*(column[at] for column in told)))
