"""Arrays of NumPy in pickles (``.pkl``), read as data, without running any of their code.

See :mod:`geometry.checkpoints.pickled_values`. A pickle can be read only as a whole. NumPy writes
arrays of objects, such as a dictionary of arrays, as a pickle after its header (``.npy``).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from geometry.checkpoints.boundary import AGAIN
from geometry.checkpoints.errors import HelixscopeError, SourceError
from geometry.checkpoints.pickled_values import StandIn
from geometry.checkpoints.stored_settings import settings_in
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
from geometry.checkpoints.torch_pickle import StoredArray, load_pickle, walk_entries, without_array
from geometry.checkpoints.transfer import local_read

MAX_BYTES = 2_000_000_000
"""Maximum bytes of a pickle, which stays in memory; protocols 0 to 2 take twice as much."""

_PART = 1 << 24

_NUMPY, _LENGTH = b"\x93NUMPY", 8
"""The first bytes of NumPy's files, and where the length of their header is, of two bytes."""


class PickledStore(OnThisMachine):
    """A :class:`geometry.checkpoints.stores.TensorStore` over the arrays in a pickle.

    Raises
    ------
    SourceError
        It is damaged, too large, or has no arrays.
    """

    def __init__(self, path: Path) -> None:
        self._file = LocalFile(path)
        nbytes = self._file.size()
        if nbytes > MAX_BYTES:
            raise SourceError(
                f"{path.name} is a pickle of {nbytes} bytes; at most {MAX_BYTES} are read.",
                "Save its arrays with numpy.savez.",
            )
        try:
            data = _whole(self._file)
            if data.startswith(_NUMPY):
                del data[: _LENGTH + 2 + int.from_bytes(data[_LENGTH : _LENGTH + 2], "little")]
            content = without_array(load_pickle(data))
        except HelixscopeError:
            raise
        # A malicious pickle can raise any exception.
        except Exception as error:
            raise SourceError(
                f"{path.name} is a damaged pickle, or one of something else than arrays. It was "
                "not run.",
                "Save its arrays with numpy.savez.",
            ) from error
        kind = content.of if isinstance(content, StandIn) else None
        if kind is not None:
            content = _attributes(content)
        self._arrays = dict(_arrays(path.name, content, path.stem, nbytes))
        if not self._arrays:
            of = f", but an object of {kind}" if kind else ""
            raise SourceError(
                f"{path.name} is a pickle without arrays of numbers{of}. It was not run.",
                "Save the arrays with numpy.savez, or the model with safetensors.",
            )
        self.tensors = MappingProxyType(
            {
                name: TensorInfo(name, array.shape, dtype_name(array.dtype), array.nbytes)
                for name, array in self._arrays.items()
            }
        )
        self.settings = settings_in(content)

    def check_files(self) -> None:
        """Raise FileChanged if the file has changed since it was opened."""
        self._file.check()

    def read(self, name: str) -> FloatArray:
        """Return an array as float32 or float64, C-contiguous."""
        info, array = self.tensors[name], self._arrays[name]
        stored_dtype(info)
        self.bytes_read += info.nbytes
        return widen(array, info.dtype)


def _attributes(content: StandIn) -> Any:
    """Return the attributes of an object, unless they are objects, too: gensim's vectors have none.

    Of a model the most important may be deeper.
    """
    state = content.state
    values = state.values() if type(state) is dict else ()
    objects = (v for v in values if isinstance(v, StandIn) and not isinstance(v, StoredArray))
    return state if values and not any(True for _ in objects) else content


def _whole(file: LocalFile) -> bytearray:
    """Return the bytes of a file, read in parts, between which it can be cancelled."""
    advance, data, done = local_read(file.name, file.size()), bytearray(file.size()), 0
    with file.opened() as stream:
        while read := stream.readinto(memoryview(data)[done : done + _PART]):
            done += read
            advance(read)
    return data


def _arrays(
    file: str, content: Any, alone: str, max_bytes: int
) -> Iterator[tuple[str, np.ndarray[Any, Any]]]:
    """Yield the arrays by their dotted names; one alone has that of the file.

    All together have at most ``max_bytes``: more can only be the same bytes many times.
    """
    for name, value in walk_entries(file, content):
        if isinstance(value, StoredArray) and (parts := value.parts()) is not None:
            raw, code, shape, fortran = parts
            check_shape(file, name or alone, shape, len(shape))
            dtype = np.dtype(code)
            max_bytes -= len(raw)
            if max_bytes < 0:
                raise SourceError(f"{file} has the same arrays many times.", AGAIN)
            if math.prod(shape) * dtype.itemsize == len(raw):
                array = np.frombuffer(raw, dtype).reshape(shape, order="F" if fortran else "C")
                yield name or alone, array
