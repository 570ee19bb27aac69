"""HDF5 files: arrays, and the weights that Keras and TensorFlow save (``.h5``, ``.keras``).

A file can name others as the places of its data; these are not opened.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from geometry.checkpoints.array_store import ALWAYS_UNPACKED, MAX_RATIO, open_member
from geometry.checkpoints.boundary import AGAIN, reading
from geometry.checkpoints.errors import SourceError, TensorUnavailable
from geometry.checkpoints.stores import (
    FloatArray,
    LocalFile,
    OnThisMachine,
    TensorInfo,
    check_shape,
    dtype_name,
    stored_dtype,
    widen,
)

if TYPE_CHECKING:
    from h5py import Dataset, File

WEIGHTS_OF_KERAS = "model.weights.h5"
"""The weights in a ``.keras`` archive."""

MAX_DATASETS = 20_000
"""Maximum arrays of a file."""


class Hdf5Store(OnThisMachine):
    """A :class:`geometry.checkpoints.stores.TensorStore` over the arrays of an HDF5 file.

    Raises
    ------
    SourceError
        It is damaged; or h5py is not installed.
    """

    def __init__(self, path: Path) -> None:
        self._file = LocalFile(path)
        with self._opened() as file:
            datasets = list(_datasets(path.name, file))
        self.tensors = MappingProxyType({info.name: info for info in datasets})

    def check_files(self) -> None:
        """Raise FileChanged if the file has changed since it was opened."""
        self._file.check()

    def read(self, name: str) -> FloatArray:
        """Read an array as float32 or float64, C-contiguous."""
        info = self.tensors[name]
        stored_dtype(info)
        with self._opened() as file:
            dataset: Dataset = file[name]
            if dataset.is_virtual or dataset.external:
                raise TensorUnavailable(
                    f"{name} is stored in another file.", "Save it in one file."
                )
            if info.nbytes > max(ALWAYS_UNPACKED, MAX_RATIO * self._file.size()):
                raise SourceError(
                    f"{name} would unpack to {info.nbytes} bytes, far more than the file holds.",
                    "Check that this is the weights file.",
                )
            self.bytes_read += info.nbytes
            return widen(np.asarray(dataset[()]), info.dtype)

    @contextmanager
    def _opened(self) -> Iterator[File]:
        with reading(self._file.name), self._file.opened() as stream:
            import h5py

            source: Any = stream
            if self._file.name.endswith(".keras"):
                with zipfile.ZipFile(stream) as archive:
                    source = io.BytesIO(_weights_of_keras(archive, self._file))
            with h5py.File(source, "r") as file:
                yield file


def _weights_of_keras(archive: zipfile.ZipFile, file: LocalFile) -> bytes:
    nbytes = archive.getinfo(WEIGHTS_OF_KERAS).file_size
    if nbytes > max(ALWAYS_UNPACKED, MAX_RATIO * file.size()):
        raise SourceError(
            f"{file.name} would unpack to {nbytes} bytes, far more than it holds.", AGAIN
        )
    with open_member(archive, file.name, WEIGHTS_OF_KERAS) as member:
        return member.read(nbytes)


def _datasets(where: str, file: File) -> Iterator[TensorInfo]:
    """Yield the arrays by their paths; links to other files are not followed."""
    import h5py

    found: list[tuple[str, Dataset]] = []

    def visit(name: str, item: Any) -> object:
        if isinstance(item, h5py.Dataset):
            found.append((name, item))
        return True if len(found) > MAX_DATASETS else None

    file.visititems(visit)
    if len(found) > MAX_DATASETS:
        raise SourceError(f"{where} has more than {MAX_DATASETS} arrays.", AGAIN)
    for name, dataset in found:
        if dataset.shape is not None:
            check_shape(where, name, dataset.shape, len(dataset.shape))
            yield TensorInfo(name, dataset.shape, dtype_name(dataset.dtype), dataset.nbytes)
