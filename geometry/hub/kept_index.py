"""A weights file's index as it is kept: where each tensor lies, without the file.

It is the same for safetensors and torch files, so that neither the header nor the pickle is read
again, and torch need not be imported for it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping

from geometry.checkpoints.stores import ByteFile, Region, TensorInfo
from geometry.checkpoints.zip_records import Record

#: Part of the entry's name: what another version of the program wrote is not read.
VERSION = 1


def dump_index(regions: Mapping[str, Region], size: int, etag: str) -> bytes:
    """Write an index; see :func:`load_index`."""
    tensors = {name: _dump(region) for name, region in regions.items()}
    return json.dumps({"size": size, "etag": etag, "tensors": tensors}).encode("ascii")


def _dump(region: Region) -> list[object]:
    info, record = region.info, region.file
    place = [record.start, record.length, record.checksum] if isinstance(record, Record) else None
    strides = None if region.strides is None else list(region.strides)
    return [
        info.dtype, list(info.shape), info.nbytes, region.offset, strides, region.big_endian, place,
    ]  # fmt: skip


def load_index(data: bytes, open_file: Callable[[int, str], ByteFile]) -> dict[str, Region]:
    """Read an index that :func:`dump_index` wrote.

    Parameters
    ----------
    data
        What it wrote.
    open_file
        Makes the file that the tensors lie in from its length and the Hub's name for it.
    """
    content = json.loads(data)
    file = open_file(content["size"], content["etag"])
    regions = {}
    for name, entry in content["tensors"].items():
        dtype, shape, nbytes, offset, strides, big_endian, place = entry
        regions[name] = Region(
            file if place is None else Record(file, *place),
            offset,
            TensorInfo(name, tuple(shape), dtype, nbytes),
            None if strides is None else tuple(strides),
            big_endian,
        )
    return regions
