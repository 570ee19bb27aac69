"""Files of formats that plugins read, by their suffixes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from geometry.checkpoints.errors import SourceError
from geometry.checkpoints.live_store import LiveStore
from geometry.checkpoints.plugins import Plugin, PluginError, Registry
from geometry.checkpoints.stores import LocalFile
from geometry.checkpoints.suffixes import FILE_SUFFIXES

Reader = Callable[[Path], Mapping[str, Any]]
"""A plugin's function: a file's tensors by their names, as arrays of NumPy or tensors of torch."""

READERS = Registry[Plugin](
    {}, "sources", lambda plugin: plugin, tuple(suffix[1:] for suffix in FILE_SUFFIXES)
)
"""Plugins by the suffixes of the files that they read, without the dot."""


class ReadStore(LiveStore):
    """A :class:`geometry.checkpoints.stores.TensorStore` of what a plugin has read of a file."""

    def __init__(self, file: LocalFile, tensors: Mapping[str, Any]) -> None:
        super().__init__(tensors)
        self._file = file

    def check_files(self) -> None:
        """Raise FileChanged if the file has changed since it was opened."""
        self._file.check()


def plugin_for(name: str) -> Plugin | None:
    """Return the plugin that reads files of this name; None for those that are read without."""
    if name.endswith(FILE_SUFFIXES):
        return None
    return READERS.get(Path(name).suffix.removeprefix("."))


def read_with(plugin: Plugin, path: Path) -> ReadStore:
    """Read a file with a plugin.

    Raises SourceError: The plugin refuses the file by an OSError or a ValueError, or fails.
    """
    file = LocalFile(path)
    try:
        reader = plugin.load(_reader)
        with plugin.contained():
            try:
                tensors = dict(reader(path))
            except (OSError, ValueError) as error:
                raise SourceError(
                    f"{path.name} cannot be read by the plugin {plugin}: {error}"
                ) from error
            return ReadStore(file, tensors)
    except PluginError as error:
        raise SourceError(str(error), error.advice) from error


def _reader(loaded: Any) -> Reader:
    if not callable(loaded):
        raise TypeError(f"{loaded!r} is not a function of a path")
    reader: Reader = loaded
    return reader
