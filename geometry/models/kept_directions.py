"""Disk cache of singular directions, so that a matrix is not decomposed on every start.

Each entry is a file with its own key and checksum (:mod:`geometry.hub.entries`), written
atomically. Failures, such as a full disk, only cost time.
"""

from __future__ import annotations

import logging
import threading
from pathlib import Path

import numpy as np

from geometry.checkpoints.stores import RegionStore
from geometry.hub.address import endpoint, server_name
from geometry.hub.entries import (
    DamagedEntry,
    Key,
    entry_size,
    file_name,
    read_entry,
    sweep,
    touch,
    write_entry,
)
from geometry.hub.pieces import Bytes
from geometry.hub.tensor_cache import default_cache
from geometry.measures.directions import Directions
from geometry.models.model import PositionalModel
from geometry.models.residual_stream import Subject

log = logging.getLogger(__name__)

MAX_BYTES = 1_000_000_000
"""Size limit of all entries, in bytes."""

SMALL = 200_000
"""Size in bytes below which directions are computed faster than written."""

VERSION = 2
"""Increased when the computation or the file format changes."""

_SUFFIX = ".directions"


class DirectionsOnDisk:
    """The cached directions of a model's matrices.

    Parameters
    ----------
    model
        The model; its weights are identified on first use.
    root
        The folder; the user's cache if None. Created on the first write.
    max_bytes
        Size limit of the folder; least recently used entries are removed first.
    """

    def __init__(
        self, model: PositionalModel, root: Path | None = None, max_bytes: int = MAX_BYTES
    ) -> None:
        self._model = model
        self.root = root or default_cache().root.with_name("directions")
        self._max_bytes = max_bytes
        self._identity: str | None = None
        self._lock = threading.Lock()

    def get(self, subject: Subject, *, mapped: bool) -> Directions | None:
        """Return cached directions, or None; a damaged entry is removed."""
        key = self._key(subject, mapped)
        if key is None:
            return None
        path = self._path(key)
        try:
            data = read_entry(path, key, max(self._max_bytes, MAX_BYTES))
            if data is None:
                return None
            touch(path)
            return _unpacked(data)
        except (DamagedEntry, ValueError) as error:
            log.warning("%s is removed: %s", path, error)
            _remove(path)
        except OSError as error:
            log.warning("%s cannot be used: %s", path, error)
        return None

    def put(self, subject: Subject, directions: Directions, *, mapped: bool) -> None:
        """Cache directions, unless they are small or the model cannot be identified."""
        key = self._key(subject, mapped) if directions.vectors.nbytes >= SMALL else None
        if key is None:
            return
        data, incoming = _packed(directions), self.root / "incoming"
        if entry_size(key, data.size) > self._max_bytes:
            return
        path = self._path(key)
        with self._lock:
            sweep(incoming)
            try:
                write_entry(path, key, data, incoming)
                self._make_room(path)
            except OSError as error:
                log.warning("%s cannot be written: %s", path, error)

    def _key(self, subject: Subject, mapped: bool) -> Key | None:
        with self._lock:
            if self._identity is None:
                self._identity = weights_identity(self._model) or ""
            identity = self._identity
        name = f"{subject}{' mapped' if mapped else ''} {VERSION}"
        return Key("directions", identity, name) if identity else None

    def _path(self, key: Key) -> Path:
        return self.root / (file_name(f"{key.name} of {key.commit}") + _SUFFIX)

    def _make_room(self, newest: Path) -> None:
        held = [(path, path.stat()) for path in self.root.glob(f"*{_SUFFIX}")]
        excess = sum(status.st_size for _, status in held) - self._max_bytes
        for path, status in sorted(held, key=lambda entry: entry[1].st_mtime_ns):
            if excess <= 0:
                return
            if path != newest:
                _remove(path)
                excess -= status.st_size


def weights_identity(model: PositionalModel) -> str | None:
    """Return a text that identifies the weights, without reading them.

    The commit, with its endpoint unless it is huggingface.co; otherwise path, size and
    modification time of each of the model's files on opening.

    Returns
    -------
    str or None
        None if they cannot be identified; then nothing may be cached.
    """
    store = model.store
    if model.commit is not None:
        from geometry.hub.hub_store import HubStore  # imports the client, which few models need

        if not isinstance(
            store, RegionStore | HubStore
        ):  # derived from a model, such as one of its tables
            return None
        server = store.server if isinstance(store, HubStore) else server_name(endpoint())
        return f"{model.commit} {_table(model)}{f' at {server}' if server else ''}"
    if not isinstance(store, RegionStore):
        return None
    parts = [_table(model)]
    for file in store.files:
        identity = file.identity
        parts.append(f"{file.path.resolve()} {identity.nbytes} {identity.mtime_ns}")
    return "\n".join(sorted(set(parts)))


def _table(model: PositionalModel) -> str:
    return model.table_choice or model.table


def _packed(directions: Directions) -> Bytes:
    shape = np.array((len(directions.singular_values), *directions.vectors.shape), dtype="<i8")
    numbers = (
        shape,
        directions.singular_values.astype("<f8"),
        directions.vectors.astype("<f8").ravel(),
    )
    return np.concatenate([array.view(np.uint8) for array in numbers])


def _unpacked(data: Bytes) -> Directions:
    k, r, d = (int(n) for n in data[:24].view("<i8"))
    numbers = data[24:].view("<f8").astype(np.float64, copy=False)
    arrays = numbers[:k], numbers[k:].reshape(r, d)
    for array in arrays:
        array.flags.writeable = False
    return Directions(*arrays)


def _remove(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        log.warning("%s cannot be removed: %s", path, error)
