"""Tensors in files: what is there (read once) and single tensors, read only when asked for.

A checkpoint of any size is opened by its index alone. :class:`RegionStore` serves every format in
which a tensor is a run of bytes at a known place: safetensors, torch's zip files, numpy arrays.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from geometry.checkpoints.errors import SourceError

if TYPE_CHECKING:
    from geometry.checkpoints.transfer import Transfer

#: The floating-point types that can be read, by their safetensors name. numpy has no bfloat16: its
#: bits are the upper half of a float32's.
FLOATS: Mapping[str, str] = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2"}

#: What a user agrees to: that whole files come where the server sends no parts of them; that a
#: tokenizer comes although it is large.
Consent = Literal["whole files", "tokenizer"]

FloatArray = npt.NDArray[np.floating[Any]]


class TensorInfo(NamedTuple):
    """One entry of a checkpoint's index.

    ``dtype`` is the safetensors name ("F32", "BF16", "I64", …); ``nbytes`` is the size in the file.
    A tuple, as :class:`Region` is: a checkpoint has hundreds, and a frozen dataclass takes three
    times as long to make.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    nbytes: int


class TensorStore(Protocol):
    """Names, shapes and dtypes of a checkpoint's tensors, and single tensors on request."""

    @property
    def tensors(self) -> Mapping[str, TensorInfo]:
        """The index, in the file's order; no tensor data has been touched to make it."""

    def read(self, name: str) -> FloatArray:
        """Read one tensor: float32 (float64 where stored so), C-contiguous, in its full shape.

        Raises
        ------
        SourceError
            The file has changed, ends early, or the numbers are not floating-point.
        """

    @property
    def bytes_read(self) -> int:
        """Bytes of tensor data read so far."""

    def bytes_to_fetch(self, *names: str) -> int:
        """Bytes that would have to come over the network to read these tensors, all together."""

    def through(self, transfer: Transfer) -> AbstractContextManager[None]:
        """Let what this thread reads within be told of, and be stopped, by ``transfer``."""

    def agree(self, to: Consent) -> None:
        """Note that the user agreed to a large download, for as long as this is open."""


class OnThisMachine:
    """The part of a :class:`TensorStore` that is the same for all files on disk."""

    def bytes_to_fetch(self, *names: str) -> int:
        """Nothing."""
        return 0

    def agree(self, to: Consent) -> None:
        """Nothing is downloaded."""

    def through(self, transfer: Transfer) -> AbstractContextManager[None]:
        """Nothing is transferred."""
        return nullcontext()


class ByteFile(Protocol):
    """A file that can be read in pieces; a later kind reads them over HTTP."""

    @property
    def name(self) -> str:
        """The name for messages, e.g. "model.safetensors"."""

    def size(self) -> int:
        """Length in bytes."""

    def read_at(self, offset: int, nbytes: int) -> npt.NDArray[np.uint8]:
        """Exactly ``nbytes`` bytes from ``offset``; SourceError if the file ends before."""


@dataclass(frozen=True, slots=True)
class LocalFile:
    """A file on disk, opened for each read, so that no handle is left behind."""

    path: Path

    @property
    def name(self) -> str:
        """The file's name without its folder."""
        return self.path.name

    def size(self) -> int:
        """Length in bytes."""
        try:
            return self.path.stat().st_size
        except OSError as error:
            raise cannot_read(self.path, error) from error

    def read_at(self, offset: int, nbytes: int) -> npt.NDArray[np.uint8]:
        """Exactly ``nbytes`` bytes from ``offset``, as a new array."""
        try:
            data = np.fromfile(self.path, dtype=np.uint8, count=nbytes, offset=offset)
        except OSError as error:
            raise cannot_read(self.path, error) from error
        if len(data) != nbytes:
            raise SourceError(
                f"{self.name} is truncated: {nbytes} bytes expected at offset {offset}, "
                f"got {len(data)}.",
                "Download or copy the file again.",
            )
        return data


def cannot_read(path: Path, error: OSError) -> SourceError:
    """Say which file could not be read and why, in a sentence."""
    if isinstance(error, FileNotFoundError):
        return SourceError(f"There is nothing at {path}.", "Check the path.")
    if isinstance(error, PermissionError):
        return SourceError(
            f"{path} may not be read: permission denied.", "Change the file's permissions."
        )
    return SourceError(f"{path} could not be read: {error.strerror or error}.", "Check the disk.")


class Region(NamedTuple):
    """Where a tensor's bytes lie: ``offset`` is that of its first element in ``file``.

    ``strides`` are in elements; None means C order. ``big_endian`` is for torch files of such
    machines.
    """

    file: ByteFile
    offset: int
    info: TensorInfo
    strides: tuple[int, ...] | None = None
    big_endian: bool = False

    def span(self) -> int:
        """Elements between the first one and the end of the last one."""
        if 0 in self.info.shape:
            return 0
        if self.strides is None:
            return math.prod(self.info.shape)
        steps = zip(self.info.shape, self.strides, strict=True)
        return 1 + sum((size - 1) * stride for size, stride in steps)


class RegionStore(OnThisMachine):
    """A :class:`TensorStore` over regions of one or several files."""

    def __init__(self, regions: Mapping[str, Region]) -> None:
        self._regions = dict(regions)
        self._tensors = MappingProxyType({name: r.info for name, r in self._regions.items()})
        self._bytes_read = 0
        self._lock = threading.Lock()

    @property
    def tensors(self) -> Mapping[str, TensorInfo]:
        """The index."""
        return self._tensors

    @property
    def files(self) -> tuple[ByteFile, ...]:
        """The files that tensors lie in, each once."""
        return tuple({id(region.file): region.file for region in self._regions.values()}.values())

    @property
    def bytes_read(self) -> int:
        """Bytes of tensor data read so far."""
        return self._bytes_read

    def read(self, name: str) -> FloatArray:
        """Read one tensor as float32 or float64, C-contiguous."""
        region = self._regions[name]
        data = region.file.read_at(region.offset, stored_bytes(region))
        with self._lock:
            self._bytes_read += len(data)
        return numbers(region, data)


def stored_bytes(region: Region) -> int:
    """Return how many bytes of the file a tensor spans; SourceError if it cannot be read."""
    size = stored_dtype(region.info).itemsize
    # A tensor that repeats numbers takes more memory than it spans in the file.
    if math.prod(region.info.shape) * size > region.file.size():
        raise SourceError(
            f"{region.info.name} would take more memory than {region.file.name} holds: its shape "
            f"is {region.info.shape}.",
            "Download or copy the file again.",
        )
    return region.span() * size


def numbers(region: Region, data: npt.NDArray[np.uint8]) -> FloatArray:
    """Turn the bytes that a tensor spans into its numbers, see :meth:`TensorStore.read`."""
    stored = stored_dtype(region.info)
    if region.big_endian:
        stored = stored.newbyteorder(">")
    values = data.view(stored)
    if region.strides is not None:
        values = np.lib.stride_tricks.as_strided(
            values,
            shape=region.info.shape,
            strides=tuple(step * stored.itemsize for step in region.strides),
            writeable=False,
        )
    return widen(values.reshape(region.info.shape), region.info.dtype)


def stored_dtype(info: TensorInfo) -> np.dtype[Any]:
    """Return the numpy dtype of a tensor's bytes; SourceError unless they are real floats."""
    if info.dtype not in FLOATS:
        raise SourceError(
            f"{info.name} holds {info.dtype} numbers; only floating-point tensors "
            f"({', '.join(FLOATS)}) are read.",
            "Open the unquantised checkpoint of this model.",
        )
    return np.dtype(FLOATS[info.dtype])


def widen(values: npt.NDArray[Any], dtype: str) -> FloatArray:
    """Turn stored numbers into float32 (float64 stays), C-contiguous, native byte order."""
    if dtype == "BF16":
        bits = values.astype(np.uint32, order="C")
        bits <<= np.uint32(16)
        return bits.view(np.float32)
    target = np.float64 if dtype == "F64" else np.float32
    return np.ascontiguousarray(values, dtype=target)
