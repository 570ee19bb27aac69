"""Checkpoints in several files, with an index that says which tensor is in which."""

from __future__ import annotations

from pathlib import Path

from geometry.config import read_json
from geometry.errors import SourceError
from geometry.safetensors_store import AGAIN, read_header
from geometry.stores import LocalFile, Region, RegionStore
from geometry.torch_store import read_places


def open_sharded(path: Path) -> RegionStore:
    """Open a checkpoint by its index (``model.safetensors.index.json`` or ``….bin.index.json``).

    Raises
    ------
    SourceError
        As for one file; a shard is missing; a shard lacks a tensor that the index promises.
    """
    places = _weight_map(path)
    shards = {shard: _regions(path.parent / shard) for shard in sorted(set(places.values()))}
    for name, shard in places.items():
        if name not in shards[shard]:
            raise SourceError(f"{path.name} places {name!r} in {shard}, which lacks it.", AGAIN)
    return RegionStore({name: shards[shard][name] for name, shard in places.items()})


def _regions(shard: Path) -> dict[str, Region]:
    if shard.suffix == ".safetensors":
        return read_header(LocalFile(shard))
    return read_places(shard)


def _weight_map(path: Path) -> dict[str, str]:
    """Read the index: each tensor's name and its shard, which lies in the same folder."""
    places = read_json(path).get("weight_map")
    if not isinstance(places, dict) or not places:
        raise SourceError(f"{path.name} has no weight_map.", AGAIN)
    for shard in places.values():
        if not isinstance(shard, str) or Path(shard).name != shard:
            raise SourceError(f"{path.name} names {shard!r}, which is no file name.", AGAIN)
    shards = sorted(set(places.values()))
    absent = [shard for shard in shards if not (path.parent / shard).is_file()]
    if absent:
        raise SourceError(
            f"{path.name} names {len(shards)} files, and {len(absent)} of them "
            f"({', '.join(absent[:3])}{', …' if len(absent) > 3 else ''}) are not beside it.",
            "Download the missing files into the same folder.",
        )
    return places
