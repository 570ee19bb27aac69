"""HDF5 files: arrays, and the weights that Keras and TensorFlow save (``.h5``, ``.keras``).

A file can name others as the places of its data; these are not opened. A ``.keras`` archive is not
compressed as Keras writes it: its weights are read in place. If it is, they are unpacked into a
temporary file.
"""

from __future__ import annotations

import io
import math
import tempfile
import weakref
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import MappingProxyType
from typing import IO, TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from geometry.checkpoints.boundary import AGAIN, reading
from geometry.checkpoints.errors import SourceError
from geometry.checkpoints.formats.array_store import ALWAYS_UNPACKED, LARGE, MAX_RATIO, open_member
from geometry.checkpoints.formats.zip_records import read_directory
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
from geometry.checkpoints.transfer import local_read

if TYPE_CHECKING:
    from h5py import Dataset, File
    from h5py.h5d import DatasetID

WEIGHTS_OF_KERAS = "model.weights.h5"
"""The weights in a ``.keras`` archive."""

MAX_DATASETS = 20_000
"""Maximum arrays of a file."""
MAX_OBJECTS = 100_000
"""Maximum arrays and groups."""
MAX_DEPTH = 64
"""Maximum depth of groups."""

_LOCAL_HEADER = 30
_CHUNK = 1 << 20


class Hdf5Store(OnThisMachine):
    """A :class:`geometry.checkpoints.stores.TensorStore` over the arrays of an HDF5 file.

    Raises
    ------
    SourceError
        It is damaged, or has no arrays; or h5py is not installed.
    Cancelled
        Its unpacking was cancelled.
    """

    def __init__(self, path: Path) -> None:
        self._file = LocalFile(path)
        self._start = 0
        self._unpacked: IO[bytes] | None = None
        if path.name.endswith(".keras"):
            self._find_weights()
        with self._opened() as file:
            self.tensors = MappingProxyType({info.name: info for info in _arrays(path.name, file)})
        if not self.tensors:
            raise SourceError(
                f"{path.name} has no arrays of its own.", "Open the file with the model's weights."
            )

    def check_files(self) -> None:
        """Raise FileChanged if the file has changed since it was opened."""
        self._file.check()

    def read(self, name: str) -> FloatArray:
        """Read an array as float32 or float64, C-contiguous."""
        info = self.tensors[name]
        stored_dtype(info)
        with self._opened() as file:
            dataset = file[name]
            block = math.prod(dataset.chunks or ()) * dataset.dtype.itemsize
            self._check_size(name, max(info.nbytes, block))
            self.bytes_read += info.nbytes
            return widen(_whole(dataset), info.dtype)

    def _check_size(self, name: str, nbytes: int) -> None:
        if nbytes > max(ALWAYS_UNPACKED, MAX_RATIO * self._file.size()):
            raise SourceError(
                f"{name} would unpack to {nbytes} bytes, far more than {self._file.name} holds.",
                "Check that this is the weights file.",
            )

    @contextmanager
    def _opened(self) -> Iterator[File]:
        with reading(self._file.name), self._file.opened() as stream:
            import h5py

            source: Any = _From(stream, self._start) if self._unpacked is None else self._unpacked
            with h5py.File(source, "r") as file:
                yield file

    def _find_weights(self) -> None:
        """Find where the weights begin in an archive, or unpack them if they are compressed."""
        name, entries = self._file.name, {e.filename: e for e in read_directory(self._file)}
        entry = entries.get(WEIGHTS_OF_KERAS)
        if entry is None:
            raise SourceError(f"{name} has no {WEIGHTS_OF_KERAS}.", AGAIN)
        if entry.compress_type == zipfile.ZIP_STORED:
            header = self._file.read_at(entry.header_offset, _LOCAL_HEADER).tobytes()
            lengths = int.from_bytes(header[26:28], "little") + int.from_bytes(
                header[28:], "little"
            )
            self._start = entry.header_offset + _LOCAL_HEADER + lengths
            return
        self._check_size(WEIGHTS_OF_KERAS, entry.file_size)
        advance = local_read(name, entry.file_size, "Unpacking")
        with (
            reading(name),
            self._file.opened() as stream,
            zipfile.ZipFile(stream) as archive,
            open_member(archive, name, WEIGHTS_OF_KERAS) as member,
        ):
            self._unpacked = tempfile.TemporaryFile()  # noqa: SIM115
            weakref.finalize(self, self._unpacked.close)  # which removes it
            left = entry.file_size
            while left > 0 and (part := member.read(min(_CHUNK, left))):
                self._unpacked.write(part)
                left -= len(part)
                advance(len(part))


class _From(io.RawIOBase):
    """An open file from a place on, as a file."""

    def __init__(self, file: io.FileIO, start: int) -> None:
        self._file, self._start = file, start

    def seekable(self) -> bool:
        return True

    def readable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        start = self._start if whence == io.SEEK_SET else 0
        return self._file.seek(start + offset, whence) - self._start

    def tell(self) -> int:
        return self._file.tell() - self._start

    def readinto(self, buffer: Any) -> int | None:
        return self._file.readinto(buffer)


def _whole(dataset: Dataset) -> npt.NDArray[Any]:
    """Return an array; a large one of chunks in parts, between which it can be cancelled."""
    if not dataset.chunks or dataset.nbytes <= LARGE:
        return np.asarray(dataset[()])
    advance = local_read(dataset.name, dataset.nbytes, "Unpacking")
    values = np.empty(dataset.shape, dataset.dtype)
    axis = int(np.argmax(np.divide(values.shape, dataset.chunks)))  # with the most chunks
    size, chunk = values.shape[axis], dataset.chunks[axis]
    step = chunk * max(1, LARGE // (chunk * values.nbytes // size))
    for first in range(0, size, step):
        part = (*[np.s_[:]] * axis, np.s_[first : first + step])
        dataset.read_direct(values, part, part)
        advance(values[part].nbytes)
    return values


def _arrays(where: str, file: File) -> Iterator[TensorInfo]:
    """Yield the arrays by their paths; links to other files are not followed."""
    import h5py

    names, left = list[bytes](), MAX_OBJECTS

    def visit(name: bytes, info: Any) -> object:
        nonlocal left
        left -= 1
        if info.type == h5py.h5o.TYPE_DATASET:
            names.append(name)
        return (
            True if not left or len(names) > MAX_DATASETS or name.count(b"/") > MAX_DEPTH else None
        )

    if h5py.h5o.visit(file.id, visit, info=True):
        raise SourceError(f"{where} has more arrays or groups than any model.", AGAIN)
    for path in names:
        name, dataset = path.decode("utf-8", "replace"), h5py.h5d.open(file.id, path)
        with suppress(TypeError):  # no type of NumPy
            if (shape := _own_shape(dataset)) is not None:
                check_shape(where, name, shape, len(shape))
                dtype = dataset.dtype
                nbytes = math.prod(shape) * dtype.itemsize
                yield TensorInfo(name, shape, dtype_name(dtype), nbytes)


def _own_shape(dataset: DatasetID) -> tuple[int, ...] | None:
    """Return the shape of an array, None if it is empty, or in other files."""
    import h5py

    how = dataset.get_create_plist()
    # Even the shape of a virtual one may need other files.
    if how.get_layout() == h5py.h5d.VIRTUAL or how.get_external_count():
        return None
    shape: tuple[int, ...] | None = dataset.shape
    return shape
