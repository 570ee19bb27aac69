"""Arrays of NumPy in pickles (``.pkl``), read as data, without running any of their code.

See :mod:`geometry.checkpoints.formats.pickled_values`. The numbers of an array stay in the file
until they are asked for. NumPy writes arrays of objects, such as a dictionary of arrays, as a
pickle after its header (``.npy``).
"""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from geometry.checkpoints.boundary import reading
from geometry.checkpoints.errors import SourceError
from geometry.checkpoints.formats.array_store import LARGE, ArrayHeader, region_of
from geometry.checkpoints.formats.pickled_values import Place, StandIn
from geometry.checkpoints.formats.torch_pickle import (
    StoredArray,
    load_pickle,
    walk_entries,
    without_array,
)
from geometry.checkpoints.stored_settings import settings_in
from geometry.checkpoints.stores import ByteFile, LocalFile, Region, RegionStore, check_shape
from geometry.checkpoints.transfer import local_read

_FAULT = "is a damaged pickle, or one of something else than arrays. It was not run"
_ADVICE = "Save its arrays with numpy.savez."

_PART = 1 << 16
"""Bytes of a text that are decoded at once."""
_MOST = 6
"""Maximum bytes of a character below 256 in a pickle: those of ``\\u00ff``."""

_NUMPY, _LENGTH = b"\x93NUMPY", 8
"""The first bytes of NumPy's files, and where the length of their header is, of two bytes."""


def open_pickle(path: Path) -> RegionStore:
    """Open a pickle by the places of its arrays.

    Raises
    ------
    SourceError
        It is damaged, or has no arrays.
    Cancelled
        Its reading was cancelled.
    """
    file = LocalFile(path)
    with reading(path.name, _ADVICE, fault=_FAULT):
        content = without_array(_content(file))
    kind = content.of if isinstance(content, StandIn) else None
    if kind is not None:
        content = _attributes(content)
    regions = {region.info.name: region for region in _regions(file, content)}
    if not regions:
        of = f", but an object of {kind}" if kind else ""
        raise SourceError(
            f"{path.name} is a pickle without arrays of numbers{of}. It was not run.",
            "Save the arrays with numpy.savez, or the model with safetensors.",
        )
    return RegionStore(regions, [file], settings_in(content))


def _attributes(content: StandIn) -> Any:
    """Return the attributes of an object, unless they are objects, too: gensim's vectors have none.

    Of a model the most important may be deeper.
    """
    state = content.state
    values = state.values() if type(state) is dict else ()
    deeper = any(isinstance(v, StandIn) and not isinstance(v, StoredArray) for v in values)
    return state if values and not deeper else content


def _content(file: LocalFile) -> Any:
    """Return the content of a pickle."""
    size, before = file.size(), 0
    advance = local_read(file.name, size)
    with file.opened() as stream:

        def read(at: int, nbytes: int) -> bytes:
            nonlocal before
            if at >= size:
                return b""
            advance(at - before)
            before = stream.seek(at)
            return stream.read(nbytes)

        head, at = read(0, _LENGTH + 2), 0
        if head.startswith(_NUMPY):
            at = len(head) + int.from_bytes(head[_LENGTH:], "little")
        content = load_pickle(read, at)
    advance(size - before)
    return content


def _regions(file: LocalFile, content: Any) -> Iterator[Region]:
    """Yield the arrays under their dotted names; one alone has that of the file."""
    for name, value in walk_entries(file.name, content):
        if isinstance(value, StoredArray) and (parts := value.parts()) is not None:
            raw, code, shape, fortran = parts
            name = name or file.path.stem
            check_shape(file.name, name, shape, len(shape))
            header = ArrayHeader(shape, fortran, np.dtype(code), 0)
            if isinstance(raw, Place) and not raw.encoding and raw.nbytes == header.nbytes:
                yield region_of(file, raw.start, name, header)
            elif (numbers := _numbers(file, name, raw, header.nbytes)) is not None:
                yield region_of(numbers, 0, name, header)


def _numbers(file: LocalFile, name: str, raw: bytes | str | Place, nbytes: int) -> ByteFile | None:
    """Return the numbers of an array as a file; None if they are of another size."""
    if isinstance(raw, Place):
        fits = bool(raw.encoding) and nbytes <= raw.nbytes <= _MOST * nbytes
        return _Text(file, name, raw, nbytes) if fits else None
    # Texts of Python 2 were decoded as UTF-8, where they are shorter, or else as Latin-1.
    for encoding in ("latin-1", "utf-8"):
        with suppress(UnicodeEncodeError):
            if len(_encoded(raw, encoding)) == nbytes:
                return _Short(file.name, raw, encoding)
    return None


def _encoded(raw: bytes | str, encoding: str) -> bytes:
    return raw if isinstance(raw, bytes) else raw.encode(encoding)


@dataclass(frozen=True, slots=True)
class _Short:
    """The numbers of a small array as a file, from bytes or a text that others can share."""

    name: str
    raw: bytes | str
    encoding: str

    def size(self) -> int:
        """Return the number of bytes."""
        return len(_encoded(self.raw, self.encoding))

    def read_at(self, offset: int, nbytes: int) -> npt.NDArray[np.uint8]:
        """Return ``nbytes`` bytes from ``offset``."""
        return np.frombuffer(_encoded(self.raw, self.encoding), np.uint8, nbytes, offset)


@dataclass(frozen=True, slots=True)
class _Text:
    """The numbers of an array as a file, from a long text, which is decoded when they are read.

    Each character is a byte.
    """

    file: LocalFile
    array: str
    place: Place
    nbytes: int

    @property
    def name(self) -> str:
        """Name of the pickle."""
        return self.file.name

    def size(self) -> int:
        """Return the number of bytes."""
        return self.nbytes

    def read_at(self, offset: int, nbytes: int) -> npt.NDArray[np.uint8]:
        """Return ``nbytes`` bytes from ``offset``.

        Raises
        ------
        SourceError
            The text is damaged, or has another length.
        Cancelled
            Its reading was cancelled.
        """
        data, done = np.empty(self.nbytes, np.uint8), 0
        long = self.nbytes > LARGE
        advance = local_read(self.array, self.nbytes, "Decoding") if long else None
        with reading(self.name, _ADVICE, fault=_FAULT):
            for part in self._decoded():
                data[done : done + len(part)] = np.frombuffer(part, np.uint8)
                done += len(part)
                if advance is not None:
                    advance(len(part))
            if done != self.nbytes:
                raise ValueError(f"{done} bytes for {self.nbytes}")
        return data[offset : offset + nbytes]

    def _decoded(self) -> Iterator[bytes]:
        decode, rest, left = _DECODERS[self.place.encoding], b"", self.place.nbytes
        with self.file.opened() as stream:
            stream.seek(self.place.start)
            while left:
                part = stream.read(min(_PART, left))
                if not part:
                    raise EOFError
                left -= len(part)
                decoded, used = decode(rest + part, "strict", not left)
                rest = (rest + part)[used:]
                yield decoded.encode("latin-1") if isinstance(decoded, str) else decoded


def _unescape(escaped: bytes, errors: str, final: bool) -> tuple[bytes, int]:
    """Decode a text of Python 2, and return the number of bytes that were used."""
    at = len(escaped) if final else escaped.rfind(b"\\", -4) + 1 or len(escaped)
    begun = (at - len(escaped[:at].rstrip(b"\\"))) % 2  # the last one begins what is not complete
    used = len(escaped) if final or not begun else at - 1
    return codecs.escape_decode(escaped[:used], errors)[0], used


_DECODERS: Mapping[str, Callable[[bytes, str, bool], tuple[str | bytes, int]]] = {
    "utf-8": codecs.utf_8_decode,
    "raw_unicode_escape": codecs.raw_unicode_escape_decode,
    "escape": _unescape,
}
"""By encoding of a :class:`~geometry.checkpoints.formats.pickled_values.Place`."""
