"""The cached index of a weights file: the region of each tensor, and the settings.

The format is the same for safetensors and torch files, so neither header nor pickle is read again,
and torch need not be imported.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from geometry.checkpoints.boundary import reading
from geometry.checkpoints.config import load_json
from geometry.checkpoints.formats.zip_records import Record
from geometry.checkpoints.stores import ByteFile, FileIndex, Region, TensorInfo

VERSION = 2
"""Part of the entry's name, so that other versions' formats are ignored."""


def dump_index(index: FileIndex, size: int, etag: str) -> bytes:
    """Serialise an index; see :func:`load_index`."""
    tensors = {name: _dump(region) for name, region in index.regions.items()}
    content = {"size": size, "etag": etag, "tensors": tensors, "settings": dict(index.settings)}
    return json.dumps(content).encode("ascii")


def _dump(region: Region) -> list[object]:
    info, record = region.info, region.file
    place = [record.start, record.length, record.checksum] if isinstance(record, Record) else None
    strides = None if region.strides is None else list(region.strides)
    return [
        info.dtype,
        list(info.shape),
        info.nbytes,
        region.offset,
        strides,
        region.big_endian,
        place,
    ]


def load_index(data: bytes, open_file: Callable[[int, str], ByteFile]) -> FileIndex:
    """Read an index from :func:`dump_index`.

    Parameters
    ----------
    data
        The written index.
    open_file
        Creates the file of the tensors, from its length and ETag.

    Raises
    ------
    SourceError
        It is not an index, or too large.
    """
    with reading("A kept index"):
        return _load(load_json("A kept index", data), open_file)


def _load(content: Any, open_file: Callable[[int, str], ByteFile]) -> FileIndex:
    _check_sizes(content["size"])
    file = open_file(content["size"], str(content["etag"]))
    regions = {}
    for name, entry in content["tensors"].items():
        dtype, shape, nbytes, offset, strides, big_endian, place = entry
        _check_sizes(nbytes, offset, *shape, *(place or ()))
        regions[name] = Region(
            file if place is None else Record(file, *place),
            offset,
            TensorInfo(name, tuple(shape), dtype, nbytes),
            None if strides is None else tuple(strides),
            big_endian,
        )
    return FileIndex(regions, dict(content["settings"]))


def _check_sizes(*values: object) -> None:
    for value in values:
        if type(value) is not int or not 0 <= value < 2**63:
            raise ValueError("not a size")
