"""Safetensors files, opened by reading only the header.

The format: eight bytes of header length (little-endian), a JSON header with each tensor's dtype,
shape and byte range, then the bytes (https://huggingface.co/docs/safetensors).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

from geometry.checkpoints.boundary import AGAIN
from geometry.checkpoints.config import MAX_JSON, load_json
from geometry.checkpoints.errors import SourceError
from geometry.checkpoints.stored_settings import settings_in
from geometry.checkpoints.stores import (
    ITEM_SIZES,
    MAX_AXES,
    NO_SETTINGS,
    ByteFile,
    FileIndex,
    LocalFile,
    Region,
    RegionStore,
    TensorInfo,
)

MAX_HEADER = MAX_JSON
"""Maximum bytes of a header: five times that of any model; the format allows three times more."""

MAX_TENSORS = 100_000
"""Maximum tensors of a file, as many as in all files of the largest checkpoints."""


def open_safetensors(path: Path) -> RegionStore:
    """Open a safetensors file by its header.

    Raises
    ------
    SourceError
        The file is empty or truncated, or its header is invalid.
    """
    file = LocalFile(path)
    index = read_header(file)
    return RegionStore(index.regions, [file], index.settings)


def read_header(file: ByteFile) -> FileIndex:
    """Read a file's header: each tensor's region, and settings in its metadata.

    Raises
    ------
    SourceError
        See :func:`open_safetensors`.
    """
    size = file.size()
    if size < 8:
        raise SourceError(
            f"{file.name} holds {size} bytes; a safetensors file starts with 8 bytes of header "
            "length.",
            AGAIN,
        )
    length = int.from_bytes(file.read_at(0, 8).tobytes(), "little")
    if length > MAX_HEADER:
        raise SourceError(
            f"{file.name} is not a safetensors file: its header would be {length} bytes long, and "
            f"at most {MAX_HEADER} are allowed.",
            "Check that this is the weights file.",
        )
    if length > size - 8:
        raise SourceError(
            f"{file.name} is truncated: its header is {length} bytes long, and the file holds "
            f"{size - 8} after the length.",
            AGAIN,
        )
    entries = _parse(file, file.read_at(8, length).tobytes())
    metadata = entries.pop("__metadata__", {})
    if not isinstance(metadata, dict):
        metadata = {}
    start = 8 + length
    sound = _are_sizes(entries)
    regions = {
        name: _region(file, start, name, entry, sound=sound) for name, entry in entries.items()
    }
    _check_layout(file, start, size, regions)
    return FileIndex({**regions, **_aliases(regions, metadata)}, _settings(metadata))


def _aliases(regions: Mapping[str, Region], metadata: Mapping[str, Any]) -> dict[str, Region]:
    """Return the other names of tied tensors.

    A tensor with several names is stored once, under one of them; the metadata map the others to
    it (``save_model`` of safetensors and of accelerate).
    """
    aliases = {
        alias: regions[name]
        for alias, name in metadata.items()
        if isinstance(name, str) and name in regions and alias not in regions
    }
    return {
        alias: region._replace(info=region.info._replace(name=alias))
        for alias, region in islice(aliases.items(), MAX_TENSORS)
    }


def _settings(metadata: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the configuration that some codes store as a JSON text in the metadata."""
    text = metadata.get("config")
    if not isinstance(text, str) or not text.lstrip().startswith("{"):
        return NO_SETTINGS
    with suppress(SourceError):
        content = load_json("The metadata", text.encode("utf-8", "surrogatepass"))
        return settings_in({"config": content})
    return NO_SETTINGS


def _parse(file: ByteFile, raw: bytes) -> dict[str, Any]:
    entries = _load(file, raw)
    # json keeps the last of duplicate names, so duplicates show as missing entries. An
    # object_pairs_hook would double the parsing time, so this counts first.
    if raw.count(b'"data_offsets"') != len(entries) - ("__metadata__" in entries):
        _load(file, raw, _unique_names(file))
    if len(entries) > MAX_TENSORS:
        raise SourceError(
            f"{file.name} describes {len(entries)} tensors; at most {MAX_TENSORS} are read.",
            "Check that this is the weights file.",
        )
    return entries


def _unique_names(file: ByteFile) -> Callable[[list[tuple[str, Any]]], dict[str, Any]]:
    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        entries = dict(pairs)
        if len(entries) != len(pairs):
            twice = next(name for name, times in Counter(n for n, _ in pairs).items() if times > 1)
            raise SourceError(f"The header of {file.name} names {twice!r} twice.", AGAIN)
        return entries

    return unique


def _load(file: ByteFile, raw: bytes, hook: Any = None) -> dict[str, Any]:
    entries = load_json(f"The header of {file.name}", raw, hook)
    if not isinstance(entries, dict):
        raise SourceError(
            f"The header of {file.name} should be a JSON object, got {type(entries).__name__}.",
            AGAIN,
        )
    return entries


def _are_sizes(entries: dict[str, Any]) -> bool:
    """Return whether all shapes and offsets are valid sizes.

    They are checked together, which takes a fraction of the time.
    """
    try:
        sizes = [n for entry in entries.values() for n in (*entry["data_offsets"], *entry["shape"])]
    except (TypeError, KeyError):
        return False
    return set(map(type, sizes)) == {int} and min(sizes) >= 0 and max(sizes) < 2**63


def _region(file: ByteFile, start: int, name: str, entry: Any, *, sound: bool) -> Region:
    try:
        dtype, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
    except (TypeError, KeyError):
        dtype, shape, offsets = None, None, None
    if not (
        type(dtype) is str
        and type(shape) is type(offsets) is list
        and len(offsets) == 2
        and len(shape) <= MAX_AXES
        and (sound or _are_sizes({name: entry}))
    ):
        raise SourceError(
            f"The header of {file.name} does not describe {name!r} by dtype, shape and "
            "data_offsets.",
            AGAIN,
        )
    nbytes = offsets[1] - offsets[0]
    # Of other types the byte range alone gives the size.
    expected = math.prod(shape) * ITEM_SIZES[dtype] if dtype in ITEM_SIZES else nbytes
    if nbytes < 0 or nbytes != expected:
        raise SourceError(
            f"The header of {file.name} contradicts itself: {name!r} is {dtype} {tuple(shape)}, "
            f"which takes {expected} bytes, and its data_offsets give {nbytes}.",
            AGAIN,
        )
    return Region(file, start + offsets[0], TensorInfo(name, tuple(shape), dtype, nbytes))


def _place(item: tuple[str, Region]) -> tuple[int, int]:
    return item[1].offset, item[1].info.nbytes


def _check_layout(file: ByteFile, start: int, size: int, regions: dict[str, Region]) -> None:
    """Check that tensors follow each other without gap or overlap, up to the end of the file."""
    end, last = start, "the header"
    for name, region in sorted(regions.items(), key=_place):
        if region.offset != end:
            relation = "overlaps" if region.offset < end else "leaves a gap after"
            raise SourceError(f"In {file.name}, {name!r} {relation} {last!r}.", AGAIN)
        end, last = region.offset + region.info.nbytes, name
    if end > size:
        raise SourceError(
            f"{file.name} is truncated: its header describes {end} bytes, and the file holds "
            f"{size}.",
            AGAIN,
        )
    if end < size:
        raise SourceError(
            f"{file.name} holds {size} bytes, and its header describes only {end}.", AGAIN
        )
