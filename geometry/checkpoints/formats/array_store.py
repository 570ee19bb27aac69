"""NumPy's files: ``.npy`` (an array) and ``.npz`` (a zip of arrays); not those of objects.

The arrays' headers are checked before any array is read, and an ``.npz`` before it is unpacked:
deflate can make a thousand bytes of one.
"""

from __future__ import annotations

import io
import math
import zipfile
from collections.abc import Iterator
from pathlib import Path
from types import MappingProxyType
from typing import IO, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from geometry.checkpoints.boundary import reading
from geometry.checkpoints.errors import SourceError
from geometry.checkpoints.formats.zip_records import read_directory
from geometry.checkpoints.stores import (
    ByteFile,
    FloatArray,
    LocalFile,
    OnThisMachine,
    Region,
    RegionStore,
    TensorInfo,
    check_shape,
    dtype_name,
    stored_dtype,
    widen,
)
from geometry.checkpoints.transfer import local_read

MAX_HEADER = 10_000
"""Maximum bytes of an array's header, as in NumPy. Real headers have 118."""

MAX_ARRAYS = 4_000
"""Maximum arrays of an archive: ten times those of any model with a table of positions. Reading
this many headers takes half a second."""

ALWAYS_UNPACKED = 64_000_000
"""Size up to which an array is always unpacked, in bytes."""
MAX_RATIO = 20
"""Maximum size of a larger array, per byte of the archive: weights are packed to half at best, and
a table that is mostly zeros to a tenth."""

LARGE = 1 << 24
"""Size from which the unpacking of an array is reported, and can be cancelled, in bytes."""

_FAULT = "is truncated, or holds something other than arrays of numbers"
_AGAIN = "Save it again with numpy."
_CHUNK = 1 << 20


class NotNumbers(SourceError):
    """The items of an array have no size, or are Python objects."""


class ArrayHeader(NamedTuple):
    """The header of an array: its dtype and shape, and its own length in bytes."""

    shape: tuple[int, ...]
    fortran: bool
    dtype: np.dtype[Any]
    length: int

    @property
    def nbytes(self) -> int:
        """Bytes of the numbers."""
        return math.prod(self.shape) * self.dtype.itemsize


def read_header(file: IO[bytes], where: str, name: str) -> ArrayHeader:
    """Read the header of an array in numpy's format.

    Parameters
    ----------
    file
        The file, at the beginning of the header; afterwards at the first number.
    where, name
        Names of the file and of the array, for messages.

    Raises
    ------
    NotNumbers
        Its items have no size, or are Python objects.
    SourceError
        Its shape is invalid.
    Exception
        Any other: it is not such a header.
    """
    version = np.lib.format.read_magic(file)
    size = 2 if version == (1, 0) else 4
    prefix = file.read(size)
    length = int.from_bytes(prefix, "little")
    if len(prefix) < size or length > MAX_HEADER:
        raise ValueError(f"a header of {length} bytes")
    description = io.BytesIO(prefix + file.read(length))
    read = np.lib.format.read_array_header_2_0
    if version == (1, 0):
        read = np.lib.format.read_array_header_1_0
    shape, fortran, dtype = read(description)
    check_shape(where, name, shape, len(shape))
    if dtype.hasobject or not dtype.itemsize:
        raise NotNumbers(f"{where} is not an array of numbers: {name} has dtype {dtype}.", _AGAIN)
    return ArrayHeader(shape, fortran, dtype, np.lib.format.MAGIC_LEN + size + length)


def read_array(
    archive: zipfile.ZipFile, where: str, member: str, max_bytes: int
) -> npt.NDArray[Any]:
    """Read one array of an ``.npz`` archive.

    Parameters
    ----------
    archive, where
        The archive, and its name for messages.
    member
        The array's file in it.
    max_bytes
        Maximum size of the unpacked array.

    Raises
    ------
    SourceError
        It would be larger, or uses a compression method that NumPy does not.
    Cancelled
        Its reading was cancelled; only of one above :data:`LARGE`.
    Exception
        Any other: it is damaged.
    """
    name = member.removesuffix(".npy")
    with open_member(archive, where, member) as file:
        header = read_header(file, where, name)
        _check_size(archive, where, member, header)
        if header.nbytes > max_bytes:
            raise SourceError(
                f"{name} would unpack to {header.nbytes} bytes, far more than {where} holds; at "
                f"most {max_bytes} are read.",
                "Check that this is the weights file.",
            )
        advance = local_read(name, header.nbytes, "Unpacking") if header.nbytes > LARGE else None
        data, done = np.empty(header.nbytes, np.uint8), 0
        while done < len(data):
            piece = file.read(min(_CHUNK, len(data) - done))
            if not piece:
                raise EOFError(f"{name} ends early")
            data[done : done + len(piece)] = np.frombuffer(piece, np.uint8)
            done += len(piece)
            if advance is not None:
                advance(len(piece))
        file.read(1)  # the checksum is verified at the end of the file
    values: npt.NDArray[Any] = data.view(header.dtype)
    return values.reshape(header.shape, order="F" if header.fortran else "C")


def open_member(archive: zipfile.ZipFile, where: str, member: str) -> IO[bytes]:
    """Open a file of an archive, which is unpacked while it is read.

    Parameters
    ----------
    archive, where
        The archive, and its name for messages.
    member
        The file's name in it.

    Raises
    ------
    SourceError
        It uses another compression method than deflate.
    Exception
        Any other: it is damaged, or missing.
    """
    if archive.getinfo(member).compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        # bz2 and lzma unpack a whole block of any size.
        raise SourceError(
            f"{member} in {where} uses a compression method that is not supported.", _AGAIN
        )
    return archive.open(member)


def _check_size(archive: zipfile.ZipFile, where: str, member: str, header: ArrayHeader) -> None:
    if header.length + header.nbytes != archive.getinfo(member).file_size:
        raise SourceError(
            f"{where} is damaged: {member} does not have the size in its header.", _AGAIN
        )


def open_npy(path: Path) -> RegionStore:
    """Open an ``.npy`` file by its header; the array is named after the file.

    Raises
    ------
    SourceError
        It is damaged or holds pickled objects.
    """
    file = LocalFile(path)
    size = file.size()
    start = file.read_at(0, min(size, MAX_HEADER + 64)).tobytes()
    with reading(path.name, _AGAIN, fault=_FAULT):
        header = read_header(io.BytesIO(start), path.name, path.stem)
    if header.length + header.nbytes > size:
        raise SourceError(
            f"{path.name} is truncated: its array takes {header.nbytes} bytes, and the file holds "
            f"{max(0, size - header.length)} of them.",
            _AGAIN,
        )
    return RegionStore({path.stem: region_of(file, header.length, path.stem, header)}, [file])


def region_of(file: ByteFile, offset: int, name: str, header: ArrayHeader) -> Region:
    """Return the region of an array's numbers, which begin at ``offset``."""
    shape, dtype = header.shape, header.dtype
    info = TensorInfo(name, shape, dtype_name(dtype), header.nbytes)
    strides = tuple(math.prod(shape[:axis]) for axis in range(len(shape)))
    return Region(file, offset, info, strides if header.fortran else None, dtype.byteorder == ">")


class NpzStore(OnThisMachine):
    """A :class:`geometry.checkpoints.stores.TensorStore` over an ``.npz`` file, compressed or not.

    Raises
    ------
    SourceError
        It is damaged, or has too many arrays.
    """

    def __init__(self, path: Path) -> None:
        self._file = LocalFile(path)
        self.tensors = MappingProxyType({info.name: info for info in self._scan()})

    def check_files(self) -> None:
        """Raise FileChanged if the file has changed since it was opened."""
        self._file.check()

    def read(self, name: str) -> FloatArray:
        """Read an array as float32 or float64, C-contiguous."""
        info = self.tensors[name]
        stored_dtype(info)
        max_bytes = max(ALWAYS_UNPACKED, MAX_RATIO * self._file.size())
        with (
            reading(self._file.name, _AGAIN, fault=_FAULT),
            self._file.opened() as file,
            zipfile.ZipFile(file) as archive,
        ):
            values = read_array(archive, self._file.name, f"{name}.npy", max_bytes)
            self.bytes_read += info.nbytes
            return widen(values, info.dtype)

    def _scan(self) -> list[TensorInfo]:
        with reading(self._file.name, _AGAIN, fault=_FAULT):
            members = [
                entry.filename
                for entry in read_directory(self._file)
                if entry.filename.endswith(".npy")
            ]
            if len(members) > MAX_ARRAYS:
                raise SourceError(
                    f"{self._file.name} holds {len(members)} arrays; at most {MAX_ARRAYS} are "
                    "read.",
                    "Check that this is the weights file.",
                )
            with self._file.opened() as file, zipfile.ZipFile(file) as archive:
                return list(self._arrays(archive, members))

    def _arrays(self, archive: zipfile.ZipFile, members: list[str]) -> Iterator[TensorInfo]:
        """Yield the arrays of numbers, of which there is one or more if there are members."""
        others: list[NotNumbers] = []  # such as settings
        for member in members:
            try:
                yield self._info(archive, member)
            except NotNumbers as error:
                others.append(error)
        if others and len(others) == len(members):
            raise others[0]

    def _info(self, archive: zipfile.ZipFile, member: str) -> TensorInfo:
        name = member.removesuffix(".npy")
        with open_member(archive, self._file.name, member) as file:
            header = read_header(file, self._file.name, name)
        _check_size(archive, self._file.name, member, header)
        return TensorInfo(name, header.shape, dtype_name(header.dtype), header.nbytes)
