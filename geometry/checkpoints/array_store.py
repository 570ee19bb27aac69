"""numpy's files: ``.npy`` (one array) and ``.npz`` (a zip of arrays); never pickled objects."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from geometry.checkpoints.errors import SourceError
from geometry.checkpoints.stores import (
    FLOATS,
    FloatArray,
    LocalFile,
    OnThisMachine,
    Region,
    RegionStore,
    TensorInfo,
    cannot_read,
    stored_dtype,
    widen,
)


def open_npy(path: Path) -> RegionStore:
    """Open an ``.npy`` file by its header; the array is named after the file.

    Raises
    ------
    SourceError
        It is damaged or holds pickled objects.
    """
    file = LocalFile(path)
    try:
        array: np.memmap[Any, Any] = np.load(path, mmap_mode="r", allow_pickle=False)
    except OSError as error:
        raise cannot_read(path, error) from error
    # On a damaged header numpy raises whatever ast, tokenize, struct and zlib do.
    except Exception as error:
        raise SourceError(
            f"{path.name} is no array of numbers, or is truncated.",
            "Save it again with numpy.save.",
        ) from error
    file.check()
    info = TensorInfo(path.stem, array.shape, _name(array.dtype), array.nbytes)
    strides = tuple(step // array.itemsize for step in array.strides)
    big_endian = array.dtype.byteorder == ">"
    region = Region(file, array.offset, info, strides, big_endian)
    return RegionStore({info.name: region}, [file])


def _name(dtype: np.dtype[Any]) -> str:
    """Return the safetensors name of a floating-point dtype, numpy's own name otherwise."""
    known = {np.dtype(code): name for name, code in FLOATS.items() if name != "BF16"}
    return known.get(dtype.newbyteorder("<"), dtype.name)


class NpzStore(OnThisMachine):
    """A :class:`geometry.checkpoints.stores.TensorStore` over an ``.npz`` file, compressed or not.

    Raises
    ------
    SourceError
        It is damaged or holds pickled objects.
    """

    def __init__(self, path: Path) -> None:
        self._file = LocalFile(path)
        self._bytes_read = 0
        index = {info.name: info for info in self._scan()}
        self._tensors = MappingProxyType(index)

    @property
    def tensors(self) -> Mapping[str, TensorInfo]:
        """The index, from each array's header."""
        return self._tensors

    @property
    def bytes_read(self) -> int:
        """Bytes of array data read so far."""
        return self._bytes_read

    def check_files(self) -> None:
        """Compare the file with the one that was opened; FileChanged if it is another one now."""
        self._file.check()

    def read(self, name: str) -> FloatArray:
        """Read one array as float32 or float64, C-contiguous."""
        info = self._tensors[name]
        stored_dtype(info)
        try:
            with self._file.opened() as file, np.load(file, allow_pickle=False) as archive:
                values = archive[name]
        except SourceError:
            raise
        except Exception as error:
            raise self._damaged() from error
        self._bytes_read += info.nbytes
        return widen(values, info.dtype)

    def _scan(self) -> list[TensorInfo]:
        try:
            with self._file.opened() as file, zipfile.ZipFile(file) as archive:
                members = [name for name in archive.namelist() if name.endswith(".npy")]
                return [self._header(archive, member) for member in members]
        except SourceError:
            raise
        except Exception as error:
            raise self._damaged() from error

    @staticmethod
    def _header(archive: zipfile.ZipFile, member: str) -> TensorInfo:
        with archive.open(member) as file:
            version = np.lib.format.read_magic(file)
            if version == (1, 0):
                shape, _, dtype = np.lib.format.read_array_header_1_0(file)
            else:
                shape, _, dtype = np.lib.format.read_array_header_2_0(file)
        nbytes = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
        return TensorInfo(member.removesuffix(".npy"), tuple(shape), _name(dtype), nbytes)

    def _damaged(self) -> SourceError:
        return SourceError(
            f"{self._file.name} is truncated, or holds something other than arrays of numbers.",
            "Save it again with numpy.savez.",
        )
