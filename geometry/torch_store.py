"""Torch's zip-format files (.bin, .pt), read by the place of each tensor's bytes in the file.

The file's pickle is read by torch's restricted unpickler, which builds tensors and plain containers
and refuses everything else; under ``FakeTensorMode`` it touches no weights and notes where each
storage lies.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from geometry.errors import SourceError
from geometry.stores import LocalFile, Region, RegionStore, TensorInfo, cannot_read

_DTYPES = {
    "float64": "F64", "float32": "F32", "float16": "F16", "bfloat16": "BF16", "int64": "I64",
    "int32": "I32", "int16": "I16", "int8": "I8", "uint8": "U8", "bool": "BOOL",
    "complex64": "C64",
}  # fmt: skip


def open_torch(path: Path) -> RegionStore:
    """Open a zip-format torch file: its pickle is read, no weights are.

    Raises
    ------
    SourceError
        It is damaged, or a pickle of anything but tensors (which is never run).
    """
    return RegionStore(read_places(path))


def read_places(path: Path) -> dict[str, Region]:
    """Find each tensor's region in the file.

    Raises
    ------
    SourceError
        See :func:`open_torch`.
    """
    big_endian = _check_archive(path)
    file = LocalFile(path)
    size = file.size()
    regions: dict[str, Region] = {}
    for name, tensor in _tensors(_load(path), ""):
        region = _place(file, name, tensor, big_endian)
        if region is None:
            continue
        if region.offset + region.info.nbytes > size:
            raise SourceError(
                f"{path.name} is truncated: {name!r} ends at byte "
                f"{region.offset + region.info.nbytes}, and the file holds {size}.",
                "Download or copy the file again.",
            )
        regions[name] = region
    if not regions:
        raise SourceError(
            f"{path.name} holds no tensors.", "Open the file with the model's weights."
        )
    return regions


def _check_archive(path: Path) -> bool:
    """Tell whether the numbers are big-endian; SourceError if this is no torch file."""
    try:
        with zipfile.ZipFile(path) as archive:
            entries = archive.infolist()
            order = next((e for e in entries if e.filename.endswith("/byteorder")), None)
            big_endian = order is not None and archive.read(order)[:3] == b"big"
    except OSError as error:
        raise cannot_read(path, error) from error
    # zipfile raises struct, zlib, Unicode and other errors of what it is built on.
    except Exception as error:
        raise SourceError(
            f"{path.name} is truncated or damaged: it starts like a zip archive and does not end "
            "like one.",
            "Download or copy the file again.",
        ) from error
    if not any(entry.filename.endswith("/data.pkl") for entry in entries):
        raise SourceError(
            f"{path.name} is a zip archive without torch weights.",
            "Open the file with the model's weights.",
        )
    # The tensors' places in the file mean nothing in a compressed archive.
    if any(entry.compress_type != zipfile.ZIP_STORED for entry in entries):
        raise SourceError(
            f"{path.name} was compressed after it was saved, so single tensors cannot be read.",
            "Save it again with torch.save.",
        )
    return big_endian


def _load(path: Path) -> Any:
    import torch
    from torch._subclasses.fake_tensor import FakeTensorMode

    try:
        with FakeTensorMode():
            return torch.load(path, map_location="cpu", weights_only=True)
    # What a malformed pickle raises is up to its author; none of it may get through.
    except Exception as error:
        raise SourceError(
            f"{path.name} is a pickle that is no weights file: it holds more than tensors, or is "
            "damaged. It was not run.",
            "Open a safetensors file, or a state dict saved with torch.save.",
        ) from error


def _tensors(content: Any, prefix: str) -> Iterator[tuple[str, Any]]:
    """Tensors in a state dict, or in dicts within it, under their dotted names."""
    import torch

    if isinstance(content, torch.Tensor):
        yield prefix.removesuffix(".") or "tensor", content
    elif isinstance(content, Mapping):
        for key, value in content.items():
            if isinstance(key, str):
                yield from _tensors(value, f"{prefix}{key}.")


def _place(file: LocalFile, name: str, tensor: Any, big_endian: bool) -> Region | None:
    """Return the region of a tensor, or None if it is not one run of numbers (sparse, ...)."""
    import torch

    if tensor.layout is not torch.strided or tensor.is_quantized:
        return None
    storage = tensor.untyped_storage()
    start = getattr(storage, "_checkpoint_offset", None)
    if start is None:
        return None
    kind = str(tensor.dtype).removeprefix("torch.")
    info = TensorInfo(
        name,
        tuple(int(n) for n in tensor.shape),
        _DTYPES.get(kind, kind),
        min(tensor.numel() * tensor.element_size(), storage.nbytes()),
    )
    return Region(
        file,
        start + tensor.storage_offset() * tensor.element_size(),
        info,
        None if tensor.is_contiguous() else tuple(tensor.stride()),
        big_endian,
    )
