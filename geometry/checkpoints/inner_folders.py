"""The choice of a subfolder of a folder without weights."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

from geometry.checkpoints.config import load_json
from geometry.checkpoints.errors import SourceError
from geometry.checkpoints.stores import LocalFile

_LAST, _LATEST = "checkpoint-last", "latest"
"""The folder to open among several of the same training, and DeepSpeed's file with the name of its
last one."""

_MAX_FOLDERS, _MAX_BYTES = 1_000, 1_000_000
"""Maximum number of searched folders, and bytes of a file that names them."""


def inner_folder(folder: Path, has_weights: Callable[[Path], bool]) -> Path | None:
    """Return the only subfolder with weights, or that named by a file beside them.

    Parameters
    ----------
    folder
        A folder without weights.
    has_weights
        Returns whether a folder has weights; may raise OSError and SourceError.

    Returns
    -------
    Path or None
        None if there is none.

    Raises
    ------
    SourceError
        There are several; or the file that names them is damaged.
    """
    paths, candidates = sorted(folder.iterdir()), list[Path]()
    for names in (_named(folder), [_LAST], [path.name for path in paths[:_MAX_FOLDERS]]):
        inside = (path for path in paths if path.name in names)
        candidates = candidates or list(islice(_with_weights(inside, has_weights), 20))
    if len(candidates) > 1:
        some = ", ".join(path.name for path in candidates[:4]) + (
            ", …" if len(candidates) > 4 else ""
        )
        raise SourceError(
            f"The folder {folder} has no weights of its own; several folders in it have: {some}.",
            "Open one of these folders.",
        )
    return candidates[0] if candidates else None


def _with_weights(paths: Iterable[Path], has_weights: Callable[[Path], bool]) -> Iterator[Path]:
    for path in paths:
        with suppress(OSError, SourceError):
            if path.is_dir() and has_weights(path):
                yield path


def _named(folder: Path) -> list[str]:
    """Return the folders of networks for text, as named by a file beside them.

    In sentence-transformers' ``modules.json`` this is the first, in diffusers' ``model_index.json``
    all those of transformers, and in DeepSpeed's ``latest`` the last one.
    """
    modules, parts = _json(folder / "modules.json"), _json(folder / "model_index.json")
    if isinstance(modules, list) and modules and isinstance(modules[0], dict):
        return [modules[0].get("path", "")]
    if isinstance(parts, dict):
        return [name for name, part in parts.items() if _is_of_transformers(part)]
    latest = _content(folder / _LATEST)
    return [] if latest is None else [latest.decode("utf-8", "replace").strip()]


def _is_of_transformers(part: Any) -> bool:
    return isinstance(part, list) and part[:1] == ["transformers"]


def _json(path: Path) -> Any:
    content = _content(path)
    return None if content is None else load_json(path.name, content)


def _content(path: Path) -> bytes | None:
    """Return the content of a small file, or None if there is none."""
    if not path.is_file():
        return None
    file = LocalFile(path)
    return file.read_at(0, file.size()).tobytes() if file.size() <= _MAX_BYTES else None
