"""Files that PyTorch wrote before its zip format, in version 1.5 and earlier, and on request since.

They are five pickles, of which the fourth is the content and the last lists the storages, then the
numbers of each storage after their count (``torch.serialization._legacy_save``).
"""

from __future__ import annotations

from pathlib import Path

from geometry.checkpoints.boundary import AGAIN, reading
from geometry.checkpoints.errors import SourceError
from geometry.checkpoints.formats.torch_pickle import MAX_PICKLE, load_legacy, tensors_in
from geometry.checkpoints.formats.torch_store import region_of, storage_bytes, without_tensors
from geometry.checkpoints.stored_settings import settings_in
from geometry.checkpoints.stores import ByteFile, FileIndex, LocalFile, RegionStore

_SIZES = (1 << 16, 1 << 20, MAX_PICKLE)
"""Bytes that are read until the pickles end in them."""
_COUNT = 8
"""Bytes of the count before each storage's numbers."""


def open_legacy(path: Path) -> RegionStore:
    """Open a file of PyTorch's legacy format by reading only its pickles.

    Raises
    ------
    SourceError
        See :func:`geometry.checkpoints.formats.torch_store.open_torch`.
    """
    file = LocalFile(path)
    index = read_legacy_places(file)
    return RegionStore(index.regions, [file], index.settings)


def read_legacy_places(file: ByteFile) -> FileIndex:
    """Find each tensor's region in the file, and the settings.

    Raises
    ------
    SourceError
        See :func:`geometry.checkpoints.formats.torch_store.open_torch`.
    """
    with reading(file.name, fault="is truncated or damaged. It was not run"):
        for size in _SIZES:
            data = file.read_at(0, min(size, file.size())).tobytes()
            try:
                system, content, keys, storages, at = load_legacy(data)
            except Exception:
                if len(data) < size or size == _SIZES[-1]:
                    raise
            else:
                break
        places = dict[str, int]()
        for key in keys:
            places[key] = at + _COUNT
            at += _COUNT + storage_bytes(storages[key])
        if at != file.size():
            raise SourceError(
                f"{file.name} is truncated or damaged: it has {file.size()} bytes, and its index "
                f"lists {at}.",
                AGAIN,
            )
        big_endian = system["little_endian"] is False
    regions = {
        name: region_of(
            file,
            places[tensor.storage.key],
            storage_bytes(tensor.storage),
            name,
            tensor,
            big_endian,
        )
        for name, tensor in tensors_in(file.name, content)
    }
    if not regions:
        raise without_tensors(file.name, content)
    return FileIndex(regions, settings_in(content))
