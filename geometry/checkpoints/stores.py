"""Tensors in files: an index, read once, and single tensors, read on demand.

A checkpoint of any size is opened by its index alone. :class:`RegionStore` handles every format in
which a tensor is a range of bytes at a known place: safetensors, torch's zip files, NumPy arrays.
"""

from __future__ import annotations

import errno
import math
import os
import re
import stat
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from functools import cache
from io import FileIO
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from geometry.checkpoints.boundary import AGAIN, reading
from geometry.checkpoints.errors import FileChanged, SourceError, TensorUnavailable
from geometry.checkpoints.identity import Identity, identity_of

if TYPE_CHECKING:
    from geometry.checkpoints.transfer import Transfer

FLOATS: Mapping[str, str] = {
    "F64": "<f8",
    "F32": "<f4",
    "F16": "<f2",
    "BF16": "<u2",
    "F8_E4M3": "|u1",
    "F8_E5M2": "|u1",
}
"""The supported floating-point types, by their safetensors name. NumPy has no bfloat16: its bits
are the upper half of a float32's; nor has it types of 8 bits, see :func:`_of_8_bits`."""

INTEGERS: Mapping[str, str] = {
    "I64": "<i8",
    "I32": "<i4",
    "U32": "<u4",
    "I16": "<i2",
    "I8": "|i1",
    "U8": "|u1",
    "F8_E8M0": "|u1",
}
"""The types of quantised matrices and what belongs to them, which :meth:`TensorStore.read_stored`
returns."""

UNQUANTISED = "Open the unquantised checkpoint of this model."

Consent = Literal["whole files", "tokenizer"]
"""Large downloads that need the user's consent: whole files, if the server does not support range
requests, and large tokenizers."""

MAX_AXES = 16
"""Maximum axes of a tensor: twice those of any model's weights. NumPy allows 64."""

NO_SETTINGS: Mapping[str, Any] = MappingProxyType({})
"""The settings of a file without settings."""

FloatArray = npt.NDArray[np.floating[Any]]


class TensorInfo(NamedTuple):
    """An entry of a checkpoint's index.

    ``dtype`` is the safetensors name ("F32", "BF16", "I64", …); ``nbytes`` is the size in the file.
    It is a named tuple, like :class:`Region`, since a checkpoint has hundreds, and a frozen
    dataclass takes three times as long to create.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    nbytes: int


class TensorStore(Protocol):
    """Names, shapes and dtypes of a checkpoint's tensors, and single tensors on request."""

    @property
    def tensors(self) -> Mapping[str, TensorInfo]:
        """The index, in file order; reads no tensor data."""

    @property
    def settings(self) -> Mapping[str, Any]:
        """The model's settings in the same file, as plain values; usually empty.

        See :func:`geometry.checkpoints.stored_settings.settings_in`.
        """

    def known(self, name: str) -> TensorInfo | None:
        """Return an entry of the index; None if there is none, or it would need a request."""

    def read(self, name: str) -> FloatArray:
        """Read a tensor as float32 (or float64 if stored so), C-contiguous, in its full shape.

        Raises
        ------
        FileChanged
            A file of the checkpoint has changed since it was opened.
        TensorUnavailable
            The numbers are not floating-point.
        SourceError
            The file is truncated.
        """

    def read_stored(self, name: str) -> npt.NDArray[Any]:
        """Read a tensor of integers, such as of a quantised matrix, as stored.

        Raises
        ------
        TensorUnavailable
            Its type is not one of :data:`INTEGERS`, or is not read from files of this format.
        """

    def check_files(self) -> None:
        """Check that no local file has changed since it was opened.

        Raises
        ------
        FileChanged
            A file has changed.
        """

    @property
    def bytes_read(self) -> int:
        """Bytes of tensor data read so far."""

    def bytes_to_fetch(self, *names: str) -> int:
        """Return the bytes that reading these tensors would transfer over the network."""

    def through(self, transfer: Transfer) -> AbstractContextManager[None]:
        """Report this thread's reads in the block to ``transfer``, which can also cancel them."""

    def agree(self, to: Consent) -> None:
        """Record the user's consent to a large download, for as long as the store is open."""


class OnThisMachine:
    """The members of :class:`TensorStore` for tensors on disk, without settings or network."""

    tensors: Mapping[str, TensorInfo]
    settings: Mapping[str, Any] = NO_SETTINGS
    bytes_read = 0

    def known(self, name: str) -> TensorInfo | None:
        """Return an entry of the index, or None."""
        return self.tensors.get(name)

    def read_stored(self, name: str) -> npt.NDArray[Any]:
        """Raise TensorUnavailable: integers are not read from files of this format."""
        raise TensorUnavailable(f"{unreadable(self.tensors[name])}.", UNQUANTISED)

    def check_files(self) -> None:
        """Do nothing: there are no files."""

    def bytes_to_fetch(self, *names: str) -> int:
        """Return 0."""
        return 0

    def agree(self, to: Consent) -> None:
        """Do nothing: there are no downloads."""

    def through(self, transfer: Transfer) -> AbstractContextManager[None]:
        """Do nothing: there are no transfers."""
        return nullcontext()


class ByteFile(Protocol):
    """A file that can be read in pieces, on disk or over HTTP."""

    @property
    def name(self) -> str:
        """The name for messages, e.g. "model.safetensors"."""

    def size(self) -> int:
        """Length in bytes."""

    def read_at(self, offset: int, nbytes: int) -> npt.NDArray[np.uint8]:
        """Return exactly ``nbytes`` bytes from ``offset``. Raises SourceError: there are fewer."""


@dataclass(frozen=True, slots=True)
class LocalFile:
    """A file on disk, opened for each read, so that no handle stays open.

    Its identity is recorded on creation and compared before and after each read, so that all reads
    are of the same version of the file.

    Raises
    ------
    SourceError
        There is no such file, or no access to its folder.
    """

    path: Path
    identity: Identity = field(init=False)

    def __post_init__(self) -> None:
        try:
            object.__setattr__(self, "identity", identity_of(self.path))
        except OSError as error:
            raise cannot_read(self.path, error) from error

    @property
    def name(self) -> str:
        """The file's name without its folder."""
        return self.path.name

    def size(self) -> int:
        """Length in bytes when it was opened."""
        return self.identity.nbytes

    @contextmanager
    def opened(self) -> Iterator[FileIO]:
        """Open the file for reading, unbuffered.

        Raises
        ------
        FileChanged
            It has changed before or during the block; raised instead of an error in the block.
        SourceError
            It cannot be read.
        """
        try:
            with open_regular(self.path) as file:
                self._compare(file.fileno())
                try:
                    yield file
                finally:
                    self._compare(file.fileno())
        except OSError as error:
            raise cannot_read(self.path, error) from error

    def check(self) -> None:
        """Raise FileChanged if the file has changed since it was opened.

        A missing or inaccessible file does not count as changed: reading it raises an error.
        """
        with suppress(OSError):
            self._compare(self.path)

    def _compare(self, now: Path | int) -> None:
        if identity_of(now) != self.identity:
            raise FileChanged(self.name)

    def read_at(self, offset: int, nbytes: int) -> npt.NDArray[np.uint8]:
        """Return exactly ``nbytes`` bytes from ``offset``, as a new array."""
        with self.opened() as file:
            data = np.fromfile(file, dtype=np.uint8, count=nbytes, offset=offset)
        if len(data) != nbytes:
            raise SourceError(
                f"{self.name} is truncated: {nbytes} bytes expected at offset {offset}, "
                f"got {len(data)}.",
                AGAIN,
            )
        return data


@dataclass(frozen=True, slots=True)
class Part:
    """A range of a file, as a :class:`ByteFile`.

    Attributes
    ----------
    file
        The whole file.
    start, length
        Its first byte and number of bytes in that.
    named
        Its own name, such as that of a member of an archive; "" for that of the whole file.
    """

    file: ByteFile
    start: int
    length: int
    named: str = ""

    @property
    def name(self) -> str:
        """The name for messages."""
        return self.named or self.file.name

    def size(self) -> int:
        """Return the number of bytes in the range."""
        return self.length

    def read_at(self, offset: int, nbytes: int) -> npt.NDArray[np.uint8]:
        """Return exactly ``nbytes`` bytes from ``offset`` within the range."""
        if offset + nbytes > self.length:
            raise SourceError(f"{self.name} is damaged: a part of it ends early.", AGAIN)
        return self.file.read_at(self.start + offset, nbytes)


def cannot_read(path: Path, error: OSError) -> SourceError:
    """Return the error for a file that could not be read."""
    if isinstance(error, FileNotFoundError):
        return SourceError(f"{path} does not exist.", "Check the path.")
    if isinstance(error, PermissionError):
        return SourceError(
            f"{path} cannot be read: permission denied.", "Change the file's permissions."
        )
    return SourceError(f"{path} could not be read: {error.strerror or error}.", "Check the disk.")


def check_link(path: Path) -> None:
    """Raise SourceError if a path is a link to a missing file."""
    if path.is_symlink() and not path.exists():
        raise SourceError(
            f"{path} is a link to {os.readlink(path)}, which is not there.", "Check the link."
        )


@contextmanager
def reading_file(path: Path, advice: str = AGAIN, *, fault: str = "is damaged") -> Iterator[None]:
    """As :func:`geometry.checkpoints.boundary.reading`, including errors of the file.

    Raises
    ------
    SourceError
        The file is damaged, or cannot be read.
    """
    try:
        with reading(path.name, advice, fault=fault):
            yield
    except OSError as error:
        raise cannot_read(path, error) from error


def open_regular(path: Path) -> FileIO:
    """Open a file for reading, unbuffered.

    Pipes, sockets and devices are refused: they can be endless, or block.

    Raises
    ------
    SourceError
        It is not a regular file.
    OSError
        It cannot be opened.
    """
    # A pipe without a writer would block; this flag has no effect on regular files.
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    try:
        file = open(os.open(path, flags), "rb", buffering=0)  # noqa: SIM115
    except IsADirectoryError:
        raise SourceError(f"{path} is a folder.", "Check the path.") from None
    except OSError as error:
        if error.errno == errno.ENXIO:  # a socket
            raise not_regular(path) from error
        raise
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise not_regular(path)
    return file


def not_regular(path: Path) -> SourceError:
    """Return the error for a pipe, a socket or a device in place of a file."""
    return SourceError(
        f"{path} is a pipe, a socket or a device, not a file.", "Save its content to a file."
    )


def check_shape(file: str, name: str, sizes: Sequence[Any], n_axes: int) -> None:
    """Check that a tensor's sizes are valid, so that their product is quickly computed.

    Raises
    ------
    SourceError
        They are not integers from 0 to 2⁶³ − 1, or there are too many axes.
    """
    if n_axes > MAX_AXES or any(type(n) is not int or not 0 <= n < 2**63 for n in sizes):
        raise SourceError(f"{file} is damaged: {name!r} has an impossible shape.", AGAIN)


class Region(NamedTuple):
    """Location of a tensor's bytes: ``offset`` is that of its first element in ``file``.

    ``strides`` are in elements; None means C order. ``big_endian`` occurs in torch files only.
    """

    file: ByteFile
    offset: int
    info: TensorInfo
    strides: tuple[int, ...] | None = None
    big_endian: bool = False

    def span(self) -> int:
        """Return the number of elements from the first to the last one in memory."""
        if 0 in self.info.shape:
            return 0
        if self.strides is None:
            return math.prod(self.info.shape)
        steps = zip(self.info.shape, self.strides, strict=True)
        return 1 + sum((size - 1) * stride for size, stride in steps)


ITEM_SIZES = {
    **dict.fromkeys(("F64", "I64", "U64", "C64"), 8),
    **dict.fromkeys(("F32", "I32", "U32"), 4),
    **dict.fromkeys(("F16", "BF16", "I16", "U16"), 2),
    **dict.fromkeys(("I8", "U8", "BOOL", "F8_E4M3", "F8_E5M2", "F8_E8M0"), 1),
}
"""Bytes per number, by the safetensors name of the type."""


def checked(region: Region) -> Region:
    """Return a region if its bytes are in its file, and as many as its shape takes.

    Raises
    ------
    SourceError
        They are not.
    """
    info, size = region.info, ITEM_SIZES.get(region.info.dtype)
    check_shape(region.file.name, info.name, info.shape, len(info.shape))
    whole = 0 <= region.offset <= region.offset + info.nbytes <= region.file.size()
    if not whole or (size is not None and region.span() * size != info.nbytes):
        raise SourceError(
            f"{region.file.name} is damaged: {info.name!r} does not have the size of its shape.",
            AGAIN,
        )
    return region


class FileIndex(NamedTuple):
    """The content of a weights file: the region of each tensor by name, and settings."""

    regions: dict[str, Region]
    settings: Mapping[str, Any] = NO_SETTINGS


class RegionStore(OnThisMachine):
    """A :class:`TensorStore` over regions of one or several files.

    Parameters
    ----------
    regions
        The region of each tensor.
    files
        All local files of the checkpoint: once one of them has changed, nothing more is read.
    settings
        Settings stored with the tensors.
    """

    def __init__(
        self,
        regions: Mapping[str, Region],
        files: Iterable[LocalFile] = (),
        settings: Mapping[str, Any] = NO_SETTINGS,
    ) -> None:
        self.settings = settings
        self._regions = dict(regions)
        self._local_files = tuple(files)
        self.tensors = MappingProxyType({name: r.info for name, r in self._regions.items()})
        self._lock = threading.Lock()

    @property
    def files(self) -> tuple[LocalFile, ...]:
        """The local files of the checkpoint."""
        return self._local_files

    def check_files(self) -> None:
        """Raise FileChanged if a file has changed since it was opened."""
        for file in self._local_files:
            file.check()

    def read(self, name: str) -> FloatArray:
        """Read a tensor as float32 or float64, C-contiguous."""
        region = self._regions[name]
        self.check_files()
        stored_dtype(region.info)  # raises
        data = region.file.read_at(region.offset, stored_bytes(region))
        with self._lock:
            self.bytes_read += len(data)
        return numbers(region, data)

    def read_stored(self, name: str) -> npt.NDArray[Any]:
        """Read a tensor of integers as stored."""
        region = self._regions[name]
        if region.info.dtype not in INTEGERS:
            return super().read_stored(name)
        self.check_files()
        data = region.file.read_at(region.offset, stored_bytes(region))
        with self._lock:
            self.bytes_read += len(data)
        return integers(region, data)


def stored_bytes(region: Region) -> int:
    """Return the number of bytes a tensor of floats or integers spans in its file.

    Raises TensorUnavailable: its numbers cannot be read.
    """
    integer = INTEGERS.get(region.info.dtype)
    size = (stored_dtype(region.info) if integer is None else np.dtype(integer)).itemsize
    # An expanded tensor (zero strides) takes more memory than it spans in the file; a malicious one
    # could exhaust it.
    if math.prod(region.info.shape) * size > region.file.size():
        raise TensorUnavailable(
            f"{region.info.name} would take more memory than {region.file.name} holds: its shape "
            f"is {region.info.shape}.",
            AGAIN,
        )
    return region.span() * size


def numbers(region: Region, data: npt.NDArray[np.uint8]) -> FloatArray:
    """Convert the bytes of a tensor into its numbers, see :meth:`TensorStore.read`."""
    return widen(_stored(region, data, stored_dtype(region.info)), region.info.dtype)


def integers(region: Region, data: npt.NDArray[np.uint8]) -> npt.NDArray[Any]:
    """Convert the bytes of a tensor of :data:`INTEGERS`, see :meth:`TensorStore.read_stored`."""
    return _stored(region, data, np.dtype(INTEGERS[region.info.dtype]))


def _stored(region: Region, data: npt.NDArray[np.uint8], stored: np.dtype[Any]) -> npt.NDArray[Any]:
    """Return the bytes of a tensor in its shape, of a dtype."""
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
    return values.reshape(region.info.shape)


def part_of(stack: Region, name: str) -> TensorInfo:
    """Return the description of each table of a stack along its first axis."""
    n, *shape = stack.info.shape
    return TensorInfo(name, tuple(shape), stack.info.dtype, stack.info.nbytes // n)


def read_part(stack: Region, info: TensorInfo, index: int) -> FloatArray:
    """Read only one table of a stack, described by :func:`part_of`."""
    region = Region(stack.file, stack.offset + index * info.nbytes, info)
    return numbers(region, region.file.read_at(region.offset, info.nbytes))


def unreadable(info: TensorInfo) -> str:
    """Return the reason why a tensor's numbers cannot be read, by its dtype; "" if they can."""
    if info.dtype in FLOATS:
        return ""
    # Short integers and floats are weights only with their scales.
    if re.fullmatch(r"q?u?int(4|8|16|32)|[IU](8|16|32)|(F|float)[468].*", info.dtype):
        return f"{info.name} is quantised ({info.dtype})"
    return f"{info.name} is of type {info.dtype}, and not one of {', '.join(FLOATS)}"


def stored_dtype(info: TensorInfo) -> np.dtype[Any]:
    """Return the NumPy dtype of a tensor's bytes. Raises TensorUnavailable if it is not a float."""
    if why := unreadable(info):
        raise TensorUnavailable(f"{why}.", UNQUANTISED)
    return np.dtype(FLOATS[info.dtype])


@cache
def _of_8_bits(dtype: str) -> npt.NDArray[np.float32]:
    """Return the values of all numbers of 8 bits: "F8_E5M2" or "F8_E4M3", which has no infinity."""
    every = np.arange(256, dtype=np.uint16)
    if dtype == "F8_E5M2":  # the upper half of a float16
        return (every << 8).view(np.float16).astype(np.float32)
    exponent, mantissa = (every >> 3) & 15, (every & 7) / 8
    size = np.where(exponent, (1 + mantissa) * 2.0 ** (exponent - 7.0), mantissa * 2.0**-6)
    size[(every & 127) == 127] = np.nan
    return np.where(every < 128, size, -size).astype(np.float32)


def dtype_name(dtype: np.dtype[Any]) -> str:
    """Return the safetensors name of a floating-point dtype, otherwise NumPy's name."""
    if dtype.itemsize == 2 and (dtype.name == "bfloat16" or dtype.kind == "V"):
        return "BF16"  # as ml_dtypes saves it: NumPy has no such type, and two bytes are no other
    known = {np.dtype(code): name for name, code in FLOATS.items() if name != "BF16"}
    return known.get(dtype.newbyteorder("<"), dtype.name)


def widen(values: npt.NDArray[Any], dtype: str) -> FloatArray:
    """Convert stored numbers to float32 (float64 is kept), C-contiguous, in native byte order."""
    if dtype == "BF16":
        bits = values if values.dtype.kind == "u" else values.view("<u2")
        bits = bits.astype(np.uint32, order="C")
        bits <<= np.uint32(16)
        return bits.view(np.float32)
    if dtype.startswith("F8"):
        widened: FloatArray = _of_8_bits(dtype)[values]
        return widened
    target = np.float64 if dtype == "F64" else np.float32
    return np.ascontiguousarray(values, dtype=target)
