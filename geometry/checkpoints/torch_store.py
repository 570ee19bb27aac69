"""Torch's zip-format files (.bin, .pt), opened without reading the weights.

The file's pickle is read by torch's restricted unpickler, which builds tensors and plain containers
and refuses everything else; under ``FakeTensorMode`` it touches no weights and records where each
storage is. It is given a copy of the archive with the pickle and empty storages, so that it reads
nothing else from a file that may be remote.
"""

from __future__ import annotations

import io
import threading
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from geometry.checkpoints.boundary import AGAIN
from geometry.checkpoints.errors import SourceError
from geometry.checkpoints.stores import ByteFile, LocalFile, Region, RegionStore, TensorInfo
from geometry.checkpoints.zip_records import Record, read_directory, record_of

_DTYPES = {
    "float64": "F64", "float32": "F32", "float16": "F16", "bfloat16": "BF16", "int64": "I64",
    "int32": "I32", "int16": "I16", "int8": "I8", "uint8": "U8", "bool": "BOOL",
    "complex64": "C64",
}  # fmt: skip

#: Larger than any model's pickle, which holds only names and shapes.
_MAX_PICKLE = 100_000_000

#: Entries that torch reads itself; none of them affects the storages' offsets.
_READ = ("data.pkl", "version")

#: FakeTensorMode sets a flag of the whole process and restores the previous value on exit, so only
#: one thread may be in it.
_faking = threading.Lock()


def open_torch(path: Path) -> RegionStore:
    """Open a zip-format torch file by reading its pickle, but no weights.

    Raises
    ------
    SourceError
        It is damaged, or a pickle of anything but tensors (which is never executed).
    """
    file = LocalFile(path)
    return RegionStore(read_places(file), [file])


def read_places(file: ByteFile) -> dict[str, Region]:
    """Find each tensor's region in the file.

    Raises
    ------
    SourceError
        See :func:`open_torch`.
    """
    entries = read_directory(file)
    _check_entries(file, entries)
    order = next((e for e in entries if e.filename.endswith("/byteorder")), None)
    big_endian = order is not None and record_of(file, order).read_at(0, 3).tobytes() == b"big"
    skeleton, storages = _skeleton(file, entries)
    regions: dict[str, Region] = {}
    for name, tensor in _tensors(_load(file, skeleton), ""):
        region = _place(file, storages, name, tensor, big_endian)
        if region is not None:
            regions[name] = region
    if not regions:
        raise SourceError(
            f"{file.name} holds no tensors.", "Open the file with the model's weights."
        )
    return regions


def _check_entries(file: ByteFile, entries: list[zipfile.ZipInfo]) -> None:
    pickles = [entry for entry in entries if entry.filename.endswith("/data.pkl")]
    if not pickles:
        raise SourceError(
            f"{file.name} is a zip archive without torch weights.",
            "Open the file with the model's weights.",
        )
    # In a compressed archive, tensors have no offsets.
    if any(entry.compress_type != zipfile.ZIP_STORED for entry in entries):
        raise SourceError(
            f"{file.name} was compressed after it was saved, so single tensors cannot be read.",
            "Save it again with torch.save.",
        )
    if pickles[0].file_size > _MAX_PICKLE:
        raise SourceError(
            f"{file.name} holds a pickle of {pickles[0].file_size} bytes; at most {_MAX_PICKLE} "
            "are read.",
            "Check that this is the weights file.",
        )


def _skeleton(
    file: ByteFile, entries: list[zipfile.ZipInfo]
) -> tuple[io.BytesIO, dict[int, Record]]:
    """Copy the archive with empty storages; also return the storage at each offset of the copy."""
    copy, storages = io.BytesIO(), {}
    with zipfile.ZipFile(copy, "w", zipfile.ZIP_STORED) as archive:
        for entry in entries:
            record, folder = record_of(file, entry), entry.filename.rpartition("/")[0]
            if entry.filename.endswith(tuple(f"/{name}" for name in _READ)):
                data = record.read_at(0, record.length)
                if not record.is_sound(data):
                    raise SourceError(f"{file.name} is damaged: its checksum is another.", AGAIN)
                archive.writestr(entry.filename, data.tobytes())
            elif folder.endswith("/data") or entry.filename.endswith("/constants.pkl"):
                empty = zipfile.ZipInfo(entry.filename)
                archive.writestr(empty, b"")
                place = empty.header_offset + len(empty.FileHeader())
                storages[place] = record
    copy.seek(0)
    return copy, storages


def _load(file: ByteFile, skeleton: io.BytesIO) -> Any:
    import torch
    from torch._subclasses.fake_tensor import FakeTensorMode

    try:
        with _faking, FakeTensorMode():
            return torch.load(skeleton, map_location="cpu", weights_only=True)
    # A malicious pickle can raise anything; none of it may get through.
    except Exception as error:
        raise SourceError(
            f"{file.name} is a pickle that is no weights file: it holds more than tensors, or is "
            "damaged. It was not run.",
            "Open a safetensors file, or a state dict saved with torch.save.",
        ) from error


def _tensors(content: Any, prefix: str) -> Iterator[tuple[str, Any]]:
    """Yield the tensors of nested dicts under their dotted names."""
    import torch

    if isinstance(content, torch.Tensor):
        yield prefix.removesuffix(".") or "tensor", content
    elif isinstance(content, Mapping):
        for key, value in content.items():
            if isinstance(key, str):
                yield from _tensors(value, f"{prefix}{key}.")


def _place(
    file: ByteFile, storages: Mapping[int, Record], name: str, tensor: Any, big_endian: bool
) -> Region | None:
    """Return the region of a tensor, or None if it is not one block of numbers (sparse, ...)."""
    import torch

    if tensor.layout is not torch.strided or tensor.is_quantized:
        return None
    storage = tensor.untyped_storage()
    record = storages.get(getattr(storage, "_checkpoint_offset", -1))
    if record is None:
        return None
    if storage.nbytes() > record.length or record.start + record.length > file.size():
        raise SourceError(
            f"{file.name} is truncated: {name!r} is in a part of {storage.nbytes()} bytes, and the "
            f"file holds {record.length} of them.",
            AGAIN,
        )
    kind = str(tensor.dtype).removeprefix("torch.")
    info = TensorInfo(
        name,
        tuple(int(n) for n in tensor.shape),
        _DTYPES.get(kind, kind),
        min(tensor.numel() * tensor.element_size(), storage.nbytes()),
    )
    return Region(
        record,
        tensor.storage_offset() * tensor.element_size(),
        info,
        None if tensor.is_contiguous() else tuple(tensor.stride()),
        big_endian,
    )
