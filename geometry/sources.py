"""Opening a source: a folder, a file, or a model that is already on this machine."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from geometry.architecture import UnknownArchitecture, find_architecture
from geometry.config import read_json
from geometry.errors import SourceError
from geometry.model import PositionalModel
from geometry.safetensors_store import open_safetensors, open_sharded_safetensors
from geometry.stores import TensorStore, cannot_read

__all__ = ["UnknownArchitecture", "open_source"]


def open_source(source: str | os.PathLike[str], *, table: str | None = None) -> PositionalModel:
    """Open a checkpoint: its configuration, its index and P are read, nothing else.

    Parameters
    ----------
    source
        A folder in the Hugging Face layout; or a file (safetensors, torch's zip format, npy, npz).
    table
        The tensor to take as positions, where no family fits; or "encoder" or "decoder".

    Raises
    ------
    SourceError
        It cannot be opened; the message says why.
    NoPositionalEmbeddings
        The family stores no table of positions.
    UnknownArchitecture
        No family fits; its ``candidates`` can be given as ``table``.
    """
    path = Path(source).expanduser()
    if not path.exists():
        raise SourceError(f"There is nothing at {source}.", "Check the path.")
    folder = path if path.is_dir() else path.parent
    weights = _weights_in(path) if path.is_dir() else path
    store = _open_store(weights)
    config_file = folder / "config.json"
    config: dict[str, Any] = read_json(config_file) if config_file.is_file() else {}
    place = find_architecture(store.tensors, config, table)
    return PositionalModel(
        store, place, source=str(source), name=folder.resolve().name, folder=folder
    )


def _weights_in(folder: Path) -> Path:
    for name in ("model.safetensors", "model.safetensors.index.json"):
        if (folder / name).is_file():
            return folder / name
    raise SourceError(f"{folder} holds no weights.", "Open a checkpoint's folder.")


def _open_store(path: Path) -> TensorStore:
    try:
        path.open("rb").close()
    except OSError as error:
        raise cannot_read(path, error) from error
    if path.name.endswith(".index.json"):
        return open_sharded_safetensors(path)
    return open_safetensors(path)
