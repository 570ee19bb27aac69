"""Torch's zip-format files (.bin, .pt), opened without reading the weights.

The file's pickle names each tensor's storage, which is an entry of the archive, and its place in
it; see :mod:`geometry.checkpoints.formats.torch_pickle`.
"""

from __future__ import annotations

import math
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from geometry.checkpoints.boundary import AGAIN
from geometry.checkpoints.errors import HelixscopeError, SourceError
from geometry.checkpoints.formats.pickled_values import StandIn
from geometry.checkpoints.formats.torch_pickle import (
    MAX_PICKLE,
    Storage,
    StoredTensor,
    load_pickle,
    tensors_in,
    whole_module,
)
from geometry.checkpoints.formats.zip_records import Record, read_directory, record_of
from geometry.checkpoints.stored_settings import settings_in
from geometry.checkpoints.stores import (
    ITEM_SIZES,
    ByteFile,
    FileIndex,
    LocalFile,
    Region,
    RegionStore,
    TensorInfo,
    check_shape,
)

DTYPES = {
    "float64": "F64",
    "float32": "F32",
    "float16": "F16",
    "bfloat16": "BF16",
    "int64": "I64",
    "int32": "I32",
    "int16": "I16",
    "int8": "I8",
    "uint8": "U8",
    "float8_e4m3fn": "F8_E4M3",
    "float8_e5m2": "F8_E5M2",
    "bool": "BOOL",
    "complex64": "C64",
    "uint16": "U16",
    "uint32": "U32",
    "uint64": "U64",
}

_ITEM_SIZES = {**ITEM_SIZES, "complex128": 16}
"""Bytes per number; 1 if not listed."""


def open_torch(path: Path) -> RegionStore:
    """Open a zip-format torch file by reading only its pickle.

    Raises
    ------
    SourceError
        It is damaged, or has no tensors outside objects whose code would have to run.
    """
    file = LocalFile(path)
    index = read_places(file)
    return RegionStore(index.regions, [file], index.settings)


def read_places(file: ByteFile) -> FileIndex:
    """Find each tensor's region in the file, and the settings.

    Raises
    ------
    SourceError
        See :func:`open_torch`.
    """
    entries = {entry.filename: entry for entry in read_directory(file)}
    pickled = _find_pickle(file, entries)
    folder = pickled.filename.removesuffix("data.pkl")
    order = entries.get(f"{folder}byteorder")
    big_endian = order is not None and record_of(file, order).read_at(0, 3).tobytes() == b"big"
    regions: dict[str, Region] = {}
    content = _load(file, record_of(file, pickled))
    for stored, tensor in tensors_in(file.name, content):
        name = stored.replace("|", ".")  # which tch, in Rust, writes for a dot
        entry = entries.get(f"{folder}data/{tensor.storage.key}")
        if entry is None:
            regions[name] = _without_record(file, name, tensor)
        else:
            record = record_of(file, entry)
            length = min(record.length, file.size() - record.start)
            regions[name] = region_of(record, 0, length, name, tensor, big_endian)
    if not regions:
        raise without_tensors(file.name, content)
    return FileIndex(regions, settings_in(content))


def read_content(file: ByteFile) -> Any:
    """Return the content of a file's pickle, whatever it is.

    Raises
    ------
    SourceError
        The file is damaged, or no such file.
    """
    pickled = _find_pickle(file, {entry.filename: entry for entry in read_directory(file)})
    return _load(file, record_of(file, pickled))


def without_tensors(name: str, content: Any) -> SourceError:
    """Return the error for a file whose content, from a pickle, has no tensors."""
    module = whole_module(name, content)
    if module is not None:
        return SourceError(
            f"{name} holds a whole module ({module}), whose code would have to run. It was not "
            "run.",
            "Where that code is, save its tensors: torch.save(model.state_dict(), "
            '"state_dict.pt").',
        )
    of = f", only an object of {content.of}" if isinstance(content, StandIn) else ""
    return SourceError(f"{name} holds no tensors{of}.", "Open the file with the model's weights.")


def _find_pickle(file: ByteFile, entries: Mapping[str, zipfile.ZipInfo]) -> zipfile.ZipInfo:
    pickled = next((e for name, e in entries.items() if name.endswith("/data.pkl")), None)
    if pickled is None:
        raise SourceError(
            f"{file.name} is a zip archive without torch weights.",
            "Open the file with the model's weights.",
        )
    # In a compressed archive, tensors have no offsets. Of TorchScript, the code is compressed.
    folder = pickled.filename.removesuffix("data.pkl")
    if any(
        entry.compress_type != zipfile.ZIP_STORED
        for name, entry in entries.items()
        if not name.startswith(f"{folder}code/")
    ):
        raise SourceError(
            f"{file.name} was compressed after it was saved, so single tensors cannot be read.",
            "Save it again with torch.save.",
        )
    if pickled.file_size > MAX_PICKLE:
        raise SourceError(
            f"{file.name} holds a pickle of {pickled.file_size} bytes; at most {MAX_PICKLE} "
            "are read.",
            "Check that this is the weights file.",
        )
    return pickled


def _load(file: ByteFile, record: Record) -> Any:
    data = record.read_at(0, record.length)
    if not record.is_sound(data):
        raise SourceError(f"{file.name} is damaged: its checksum does not match.", AGAIN)
    try:
        return load_pickle(data.tobytes())
    except HelixscopeError:
        raise
    # A malicious pickle can raise any exception.
    except Exception as error:
        raise SourceError(
            f"{file.name} is damaged: its pickle ends early, or is larger than that of any model. "
            "It was not run.",
            "Open a safetensors file, or a state dict saved with torch.save.",
        ) from error


def storage_bytes(storage: Storage) -> int:
    """Return the size of a storage in bytes."""
    return storage.size * _ITEM_SIZES.get(DTYPES.get(storage.kind, storage.kind), 1)


def _without_record(file: ByteFile, name: str, tensor: StoredTensor) -> Region:
    """Return the region of a tensor that is named but not stored, of an unreadable type."""
    check_shape(file.name, name, tensor.shape, len(tensor.shape))
    dtype = f"{DTYPES.get(tensor.kind, tensor.kind)} without a record in the archive"
    return Region(file, 0, TensorInfo(name, tensor.shape, dtype, 0))


def region_of(
    file: ByteFile, start: int, length: int, name: str, tensor: StoredTensor, big_endian: bool
) -> Region:
    """Return the region of a tensor in the ``length`` bytes from ``start``, of its storage.

    Raises
    ------
    SourceError
        It exceeds them, or its layout is invalid.
    """
    storage, shape, stride = tensor.storage, tensor.shape, tensor.stride
    dtype = DTYPES.get(tensor.kind, tensor.kind)
    itemsize = _ITEM_SIZES.get(dtype, 1)
    nbytes = storage_bytes(storage)
    if nbytes > length:
        raise SourceError(
            f"{file.name} is truncated: {name!r} is in a part of {nbytes} bytes, and the "
            f"file holds {max(length, 0)} of them.",
            AGAIN,
        )
    check_shape(file.name, name, (*shape, *stride, tensor.offset), len(shape))
    if len(shape) != len(stride):
        raise SourceError(f"{file.name} is damaged: the layout of {name!r} is inconsistent.", AGAIN)
    info = TensorInfo(name, shape, dtype, min(math.prod(shape) * itemsize, nbytes))
    contiguous = all(
        size == 1 or step == math.prod(shape[axis + 1 :])
        for axis, (size, step) in enumerate(zip(shape, stride, strict=True))
    )
    strides = None if contiguous or 0 in shape else stride
    region = Region(file, start + tensor.offset * itemsize, info, strides, big_endian)
    if region.offset + region.span() * itemsize > start + nbytes:
        raise SourceError(f"{file.name} is damaged: {name!r} exceeds its record.", AGAIN)
    return region
