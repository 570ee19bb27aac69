"""Models in memory, handed to another process through files.

One process writes a snapshot into a folder that only the user may enter. The other maps the tensors
into its memory and removes the files, so that nothing is copied and nothing is left.
"""

from __future__ import annotations

import json
import mmap
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from geometry.checkpoints.boundary import AGAIN
from geometry.checkpoints.column_files import PositionColumn
from geometry.checkpoints.errors import HelixscopeError, SourceError
from geometry.checkpoints.formats.safetensors_store import read_header
from geometry.checkpoints.live_store import MAX_COPIED, LiveStore
from geometry.checkpoints.stores import (
    ITEM_SIZES,
    RegionStore,
    TensorInfo,
    TensorStore,
    cannot_read,
    open_regular,
)
from geometry.models.model import PositionalModel
from geometry.models.recognition.candidates import NoSuchTable
from geometry.models.sources.live import Content, content_of, open_content
from geometry.models.sources.memory import hold
from geometry.models.sources.source import Source

SNAPSHOT, WEIGHTS = "snapshot.json", "model.safetensors"
MAX_SNAPSHOT = 1 << 28
"""Maximum bytes of what is handed beside the tensors: the labels of 100,000 rows in ten columns."""
SHARED_MEMORY, PREFIX = Path("/dev/shm"), "helixscope-"
"""A folder whose files are in memory, on Linux; the beginning of the names of folders in it."""
SPARE = 1 << 30
"""Bytes of shared memory that are left to other programs, and to what is handed over later."""
ALIGNED = 8
"""Bytes to which tensors are aligned."""


class _Column(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    values: tuple[float | str | None, ...]


class _Snapshot(msgspec.Struct, forbid_unknown_fields=True):
    """All of :class:`Content` but the tensors."""

    name: str
    config: dict[str, Any]
    settings: dict[str, Any]
    choice: str | None
    table: str
    columns: tuple[_Column, ...] | None
    note: str


def folder_for(models: Iterable[PositionalModel]) -> Path:
    """Make a folder that only the user may enter: in shared memory if there is room for the models.

    Raises
    ------
    OSError
        None can be made.
    """
    contents = filter(None, map(content_of, models))
    needed = sum(map(_nbytes, contents)) + SPARE
    with suppress(OSError):
        if shutil.disk_usage(SHARED_MEMORY).free > needed:
            return Path(tempfile.mkdtemp(prefix=PREFIX, dir=SHARED_MEMORY))
    return Path(tempfile.mkdtemp(prefix=PREFIX))


def hand_over(model: PositionalModel, folder: Path) -> None:
    """Write a model in memory into an empty folder.

    Without its weights where these have changed since, or are too large: then the table alone.

    Raises
    ------
    HelixscopeError
        It has no table that could be handed without weights.
    OSError
        The files cannot be written.
    """
    content, why = content_of(model), "an adapter changes them"
    if content is not None:
        why = _too_large(content, folder)
        try:
            if not why:
                _write(model.name, content, folder)
                return
        except HelixscopeError as error:  # of a tensor that has changed
            why = str(error).rstrip(".")
        except (TypeError, ValueError) as error:  # of a setting that JSON does not have
            why = f"its settings cannot be written ({error})"
    if model.no_table:
        raise HelixscopeError(
            f"{model.name} cannot be shown from memory: {why}.",
            "Save the model, and open the file.",
        )
    note = f"Only the table of {model.name} is in this window, without weights: {why}."
    columns = None if model.rows is None else model.rows.columns
    alone = LiveStore({model.table: model.stored_W_pos})
    _write(model.name, Content(alone, table=model.table, columns=columns, note=note), folder)


def take_over(folder: Path) -> Source:
    """Read what :func:`hand_over` wrote, remove it, and return the source by which it opens.

    Raises
    ------
    SourceError
        The files are not there, or damaged.
    """
    path = folder / SNAPSHOT
    try:
        with open_regular(path) as file:
            raw = file.read(MAX_SNAPSHOT + 1)
        snapshot = msgspec.json.decode(raw[:MAX_SNAPSHOT], type=_Snapshot)
    except OSError as error:
        raise cannot_read(path, error) from error
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise SourceError(f"{path.name} is damaged: {error}.", AGAIN) from error
    mapped = _Mapped(folder / WEIGHTS)
    with suppress(OSError):  # on Windows the file stays until this process ends
        path.unlink()
        (folder / WEIGHTS).unlink()
        folder.rmdir()
    columns = snapshot.columns
    content = Content(
        RegionStore(read_header(mapped).regions, settings=snapshot.settings),
        snapshot.config,
        snapshot.choice,
        snapshot.table,
        None if columns is None else tuple(PositionColumn(c.name, "", c.values) for c in columns),
        snapshot.note,
    )

    def opener(source: Source, table: str | None) -> PositionalModel:
        if table is not None and content.columns is not None:
            raise NoSuchTable(f"{source.name} is one table, read in one way.", ())
        return open_content(replace(content, choice=table or content.choice), source)

    return hold(snapshot.name, opener)


class _Mapped:
    """A file mapped into memory, as a :class:`geometry.checkpoints.stores.ByteFile`."""

    def __init__(self, path: Path) -> None:
        self.name = path.name
        try:
            with open_regular(path) as file:
                mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except (OSError, ValueError) as error:  # of an empty file
            raise SourceError(f"{path.name} is damaged: {error}.", AGAIN) from error
        self._bytes = np.frombuffer(mapped, dtype=np.uint8)

    def size(self) -> int:
        """Return the length in bytes."""
        return len(self._bytes)

    def read_at(self, offset: int, nbytes: int) -> npt.NDArray[np.uint8]:
        """Return a part without a copy: nobody writes the file any more."""
        part = self._bytes[offset : offset + nbytes]
        if len(part) != nbytes:
            raise SourceError(f"{self.name} is truncated.", AGAIN)
        return part


def _too_large(content: Content, folder: Path) -> str:
    """Return why the tensors are not handed; "" if they are."""
    nbytes = _nbytes(content)
    small = nbytes <= min(MAX_COPIED, shutil.disk_usage(folder).free)
    if content.table or small:  # rows alone are all that there is
        return ""
    return f"they take {nbytes / 1e9:.1f} GB"


def _nbytes(content: Content) -> int:
    """Return the bytes of all tensors, each counted once."""
    if isinstance(content.store, LiveStore):
        return content.store.nbytes
    return sum(info.nbytes for info in content.store.tensors.values())


def _write(name: str, content: Content, folder: Path) -> None:
    """Write the files, the tensors as safetensors, each once."""
    store = content.store
    columns = content.columns
    snapshot = _Snapshot(
        name,
        dict(content.config),
        dict(store.settings),
        content.choice,
        content.table,
        None if columns is None else tuple(_Column(c.name, tuple(c.values)) for c in columns),
        content.note,
    )
    shared = store.shared if isinstance(store, LiveStore) else {}
    infos = [info for info in store.tensors.values() if info.dtype in ITEM_SIZES]
    infos = [info for info in infos if info.name not in shared]
    infos.sort(key=lambda info: -ITEM_SIZES[info.dtype])  # so that all are aligned
    with (folder / WEIGHTS).open("wb") as file:
        file.write(_header(infos, shared))
        for numbers in _numbers(store, [info.name for info in infos]):
            file.write(numbers.data)
    (folder / SNAPSHOT).write_bytes(msgspec.json.encode(snapshot))


def _header(infos: Iterable[TensorInfo], shared: Mapping[str, str]) -> bytes:
    written: dict[str, Any] = {"__metadata__": dict(shared)}
    end = 0
    for info in infos:
        begin, end = end, end + info.nbytes
        written[info.name] = {
            "dtype": info.dtype,
            "shape": info.shape,
            "data_offsets": (begin, end),
        }
    header = json.dumps(written).encode()
    header += b" " * (-len(header) % ALIGNED)
    return len(header).to_bytes(8, "little") + header


def _numbers(store: TensorStore, names: Iterable[str]) -> Iterator[npt.NDArray[np.uint8]]:
    for name in names:
        values = store.bits(name) if isinstance(store, LiveStore) else store.read(name)
        yield np.ascontiguousarray(values).reshape(-1).view(np.uint8)
