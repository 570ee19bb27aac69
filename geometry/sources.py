"""Opening a source: a folder, a file, or a model that is already on this machine."""

from __future__ import annotations

import os
import re
from pathlib import Path

from geometry.architecture import UnknownArchitecture, find_architecture
from geometry.catalogue import find_entry, locate, read_catalogue
from geometry.config import read_json
from geometry.errors import SourceError
from geometry.files import SUFFIXES, open_store, weights_in
from geometry.model import PositionalModel
from geometry.stores import cannot_read

__all__ = ["UnknownArchitecture", "open_source"]

#: A model's id on the Hub, "organisation/name" or, for the oldest, "name"; perhaps a revision.
_HUB_ID = re.compile(r"(?P<id>[\w.-]+(?:/[\w.-]+)?)(?:@(?P<revision>[\w./-]+))?")

#: Names of files and folders that say nothing about the model in them.
_GENERIC = re.compile(r"(pytorch_)?model([.-].*)?|checkpoint|weights", re.IGNORECASE)


def open_source(source: str | os.PathLike[str], *, table: str | None = None) -> PositionalModel:
    """Open a checkpoint: its configuration, its index and P are read, nothing else.

    Parameters
    ----------
    source
        A folder in the Hugging Face layout; a file (safetensors, torch's zip format, npy, npz); or
        the id of a model in the Hub cache or an installed package, perhaps with "@revision".
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
    text = os.fspath(source)
    if text == "sample":
        raise SourceError(
            "There is no bundled model yet.", "Open a checkpoint's folder or file instead."
        )
    try:
        path = Path(text).expanduser()
        here = path.exists()
    except PermissionError as error:
        raise cannot_read(Path(text), error) from error
    except (OSError, ValueError, RuntimeError) as error:
        raise SourceError(f"{text!r} is no path: {error}.", "Check the path.") from error
    if not text or not here:
        folder, name = _on_this_machine(text)
        return _open(folder, text, name, table)
    return _open(_snapshot(path), text, _name(path), table)


def _open(path: Path, source: str, name: str, table: str | None) -> PositionalModel:
    weights = weights_in(path) if path.is_dir() else path
    store = open_store(weights)
    if weights.suffix in (".npy", ".npz"):
        # A bare table: what lies beside it need not belong to it.
        place = find_architecture(store.tensors, {}, table)
        return PositionalModel(store, place, source=source, name=name)
    config_file = weights.parent / "config.json"
    config = read_json(config_file) if config_file.is_file() else {}
    place = find_architecture(store.tensors, config, table)
    return PositionalModel(store, place, source=source, name=name, folder=weights.parent)


def _on_this_machine(text: str) -> tuple[Path, str]:
    """Find a model by its id: its folder and its short name."""
    match = _HUB_ID.fullmatch(text)
    if match is None or text.endswith(SUFFIXES):
        raise SourceError(f"There is nothing at {text!r}.", "Check the path.")
    name, revision = match["id"], match["revision"]
    folder = locate(name, revision)
    short = name.rsplit("/", 1)[-1]
    if folder is not None:
        return folder, short if revision is None else f"{short}@{revision}"
    entry = find_entry(name)
    if entry is None and "/" not in name:
        raise SourceError(
            f"{text!r} is neither a file, a folder nor a model on this machine.",
            "Check the path, or give a model's id such as openai-community/gpt2.",
        )
    raise SourceError(
        f"{text} is not on this machine: it is no file or folder, and not in the Hub cache.",
        f"Download it with `hf download {entry.id if entry else name}`, or open another one's "
        "folder.",
    )


def _snapshot(path: Path) -> Path:
    """Go from a model's folder in the Hub cache to its newest snapshot."""
    if not (path / "snapshots").is_dir() or (path / "config.json").is_file():
        return path
    main = path / "refs" / "main"
    snapshots = sorted((path / "snapshots").iterdir(), key=lambda item: item.stat().st_mtime)
    if main.is_file():
        wanted = path / "snapshots" / main.read_text("utf-8").strip()
        if wanted.is_dir():
            return wanted
    return snapshots[-1] if snapshots else path


def _name(path: Path) -> str:
    """Return a short name for captions."""
    full = Path(os.path.abspath(path))
    folder = full
    if not full.is_dir():
        if not _GENERIC.fullmatch(full.stem):
            return full.stem
        folder = full.parent
    cached = [part for part in full.parts if part.startswith("models--")]
    if cached:
        return cached[-1].rsplit("--", 1)[-1]
    if _GENERIC.fullmatch(folder.name):
        for entry in read_catalogue():
            if entry.folder is not None and locate(entry) == folder:
                return entry.title
        return folder.parent.name or folder.name
    return folder.name
