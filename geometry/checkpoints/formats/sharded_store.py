"""Checkpoints in several files, with an index of the file of each tensor."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from geometry.checkpoints.boundary import AGAIN
from geometry.checkpoints.config import parse_file
from geometry.checkpoints.errors import SourceError
from geometry.checkpoints.formats.safetensors_store import read_header
from geometry.checkpoints.plain_text import some_of
from geometry.checkpoints.stores import ByteFile, LocalFile, Region, RegionStore

MAX_NAME_LENGTH = 255
"""Maximum bytes of a file's name, on all common file systems."""


class Shards(Mapping[str, Region]):
    """Regions of tensors by name; a shard's index is read when one of its tensors is needed.

    Parameters
    ----------
    name
        Name of the index file, for messages.
    places
        The shard of each tensor; see :func:`read_weight_map`.
    open_shard
        Reads the index of a shard.

    Raises
    ------
    SourceError
        On access to a tensor: its shard cannot be read, or lacks it.
    """

    def __init__(
        self,
        name: str,
        places: Mapping[str, str],
        open_shard: Callable[[str], Mapping[str, Region]],
    ) -> None:
        self._name = name
        self._places = places
        self._open_shard = open_shard
        self._opened: dict[str, Mapping[str, Region]] = {}

    def __getitem__(self, tensor: str) -> Region:
        shard = self._places[tensor]
        if shard not in self._opened:
            self._opened[shard] = self._open_shard(shard)
        region = self._opened[shard].get(tensor)
        if region is None:
            raise SourceError(f"{self._name} places {tensor!r} in {shard}, which lacks it.", AGAIN)
        return region

    def at_hand(self, tensor: str) -> Region | None:
        """Return a tensor's region if its shard's index has been read."""
        return self._opened.get(self._places.get(tensor, ""), {}).get(tensor)

    # The index alone answers this, without opening a shard.
    def __contains__(self, tensor: object) -> bool:
        return tensor in self._places

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)


def open_sharded(path: Path) -> RegionStore:
    """Open a checkpoint by its index (``model.safetensors.index.json`` or ``….bin.index.json``).

    Raises
    ------
    SourceError
        As for a single file; or a shard is missing, or lacks a tensor that the index lists.
    """
    index = LocalFile(path)
    places = read_weight_map(path.name, parse_file(index))
    shards = sorted(set(places.values()))
    absent = [shard for shard in shards if not (path.parent / shard).is_file()]
    if absent:
        raise SourceError(
            f"{path.name} names {len(shards)} files, and {len(absent)} of them "
            f"({some_of(absent, 3)}) are not beside it.",
            "Download the missing files into the same folder.",
        )
    # All identities are recorded before a shard is read, so that all are of the same version.
    files = {shard: LocalFile(path.parent / shard) for shard in shards}
    regions = Shards(path.name, places, lambda shard: read_index(files[shard]))
    store = RegionStore(dict(regions), [index, *files.values()])
    store.check_files()
    return store


def read_index(file: ByteFile) -> dict[str, Region]:
    """Read the regions of a file's tensors, in the format of its suffix.

    Raises
    ------
    SourceError
        It is damaged.
    """
    if file.name.endswith(".safetensors"):
        return read_header(file).regions
    from geometry.checkpoints.formats.torch_store import read_places

    return read_places(file).regions


def is_file_name(name: str) -> bool:
    """Return whether an external name is that of a file in the same folder."""
    if Path(name).name != name or name in ("", "..") or "\0" in name:
        return False
    return len(name.encode("utf-8", "surrogatepass")) <= MAX_NAME_LENGTH


def read_weight_map(name: str, index: Mapping[str, Any]) -> dict[str, str]:
    """Read an index file, which maps tensor names to shards in the same folder.

    Parameters
    ----------
    name
        File name, for messages.
    index
        Parsed content of the file.

    Raises
    ------
    SourceError
        It is not such an index.
    """
    places = index.get("weight_map")
    if not isinstance(places, dict) or not places:
        raise SourceError(f"{name} has no weight_map.", AGAIN)
    for shard in places.values():
        if not isinstance(shard, str) or not is_file_name(shard):
            raise SourceError(f"{name} names {shard!r}, which is not a file name.", AGAIN)
    return places
