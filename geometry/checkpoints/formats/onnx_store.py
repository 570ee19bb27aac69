"""Weights in ONNX files, read by their place, without the graph and without the onnx package.

A file is a message of Protocol Buffers (``ModelProto`` in onnx.proto), with a field for each weight
(``TensorProto``); all other fields are skipped. Weights can also be in files beside it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from geometry.checkpoints.boundary import AGAIN, reading
from geometry.checkpoints.errors import SourceError
from geometry.checkpoints.formats.sharded_store import is_file_name
from geometry.checkpoints.formats.windowed import Windowed
from geometry.checkpoints.stores import (
    LocalFile,
    Region,
    RegionStore,
    TensorInfo,
    checked,
)

MAX_FIELDS = 1_000_000
"""Maximum fields of a file and its graph; large graphs have 10,000."""
MAX_TENSORS = 50_000
"""Maximum weights."""
_MAX_NAME = 10_000

_GRAPH, _INITIALIZER = 7, 5
_DIMS, _TYPE, _FLOATS, _NAME, _RAW, _DOUBLES, _EXTERNAL = 1, 2, 4, 8, 9, 10, 13
_INTEGERS = (5, 7, 11)  # numbers of up to ten bytes each
_DTYPES = {
    1: "F32",
    2: "U8",
    3: "I8",
    4: "U16",
    5: "I16",
    6: "I32",
    7: "I64",
    9: "BOOL",
    10: "F16",
    11: "F64",
    16: "BF16",
    17: "F8_E4M3",
    19: "F8_E5M2",
}
"""The types of weights by their numbers in onnx.proto."""


class _Field(NamedTuple):
    """A field of a message: its number, and its value, or where its bytes begin and how many."""

    number: int
    value: int
    start: int = -1


def open_onnx(path: Path) -> RegionStore:
    """Open an ONNX file by the places of its weights.

    Raises
    ------
    SourceError
        It is damaged, has no weights, or a file with weights is missing.
    """
    file = LocalFile(path)
    files = {path.name: file}
    regions: dict[str, Region] = {}
    with reading(path.name):
        message = _Message(file)
        for graph in message.fields(0, file.size(), _GRAPH):
            for field in message.fields(graph.start, graph.value, _INITIALIZER):
                region = _region(message, field, files)
                regions[region.info.name] = region
                if len(regions) > MAX_TENSORS:
                    raise SourceError(f"{path.name} has more than {MAX_TENSORS} weights.", AGAIN)
    if not regions:
        raise SourceError(f"{path.name} has no weights.", "Open the file with the model's weights.")
    store = RegionStore(regions, files.values())
    store.check_files()
    return store


def _region(message: _Message, tensor: _Field, files: dict[str, LocalFile]) -> Region:
    file = message.file
    dims, kind, name = list[int](), 0, ""
    raw, packed, external = None, False, dict[str, str]()
    for field in message.fields(tensor.start, tensor.value):
        if field.number == _DIMS and field.start < 0:
            dims.append(field.value)
        elif field.number == _DIMS:
            dims += message.packed(field)
        elif field.number == _TYPE:
            kind = field.value
        elif field.number == _NAME:
            name = message.text(field)
        elif field.number in (_RAW, _FLOATS, _DOUBLES, *_INTEGERS) and field.start >= 0:
            raw, packed = field, field.number in _INTEGERS
        elif field.number == _EXTERNAL:
            key, value = (message.text(text) for text in message.fields(field.start, field.value))
            external[key] = value
    dtype = _DTYPES.get(kind, f"ONNX type {kind}")
    if packed:
        dtype = f"{dtype}, as integers"
    if external:
        return _external(file, name, tuple(dims), dtype, external, files)
    start, nbytes = (0, 0) if raw is None else (raw.start, raw.value)
    return checked(Region(file, start, TensorInfo(name, tuple(dims), dtype, nbytes)))


def _external(
    file: LocalFile, name: str, shape: tuple[int, ...], dtype: str, place: dict[str, str],
    files: dict[str, LocalFile],
) -> Region:  # fmt: skip
    location = place.get("location", "")
    if not is_file_name(location):
        raise SourceError(f"{file.name} names {location!r}, which is not a file beside it.", AGAIN)
    beside = file.path.with_name(location)
    if location not in files:
        if not beside.is_file():
            raise SourceError(
                f"{file.name} has its weights in {location}, which is not beside it.",
                "Copy that file into the same folder.",
            )
        files[location] = LocalFile(beside)
    own = files[location]
    start = int(place.get("offset", "0"))
    nbytes = int(place.get("length", str(own.size() - start)))
    return checked(Region(own, start, TensorInfo(name, shape, dtype, nbytes)))


class _Message:
    """Reads fields of a message from a file, in windows."""

    def __init__(self, file: LocalFile) -> None:
        self.file, self._bytes = file, Windowed(file)
        self._left = MAX_FIELDS

    def fields(self, start: int, nbytes: int, number: int | None = None) -> Iterator[_Field]:
        """Yield the fields of the message in these bytes, or those with a number."""
        at, end = start, start + nbytes
        while at < end:
            self._left -= 1
            if not self._left:
                raise SourceError(f"{self.file.name} has more than {MAX_FIELDS} fields.", AGAIN)
            tag, at = self._varint(at)
            kind = tag & 7
            if kind in (1, 5):
                at += 8 if kind == 1 else 4
                continue
            value, at = self._varint(at)
            field = _Field(tag >> 3, value) if kind == 0 else _Field(tag >> 3, value, at)
            if kind == 2:
                at += value
            elif kind != 0:
                raise SourceError(f"{self.file.name} is damaged, or not an ONNX file.", AGAIN)
            if number in (None, field.number) and at <= end:
                yield field
        if at > end:
            raise SourceError(f"{self.file.name} is truncated, or not an ONNX file.", AGAIN)

    def packed(self, field: _Field) -> list[int]:
        """Return numbers that follow each other in a field, such as the sizes of a shape."""
        if field.value > _MAX_NAME:
            raise SourceError(f"{self.file.name} is damaged, or not an ONNX file.", AGAIN)
        numbers, at = list[int](), field.start
        while at < field.start + field.value:
            number, at = self._varint(at)
            numbers.append(number)
        return numbers

    def text(self, field: _Field) -> str:
        """Return the text of a field."""
        return self._bytes.read(field.start, field.value).decode("utf-8", "replace")

    def _varint(self, at: int) -> tuple[int, int]:
        """Return a number, of seven bits in each byte, and where it ends."""
        value = 0
        for n in range(10):
            byte = self._bytes.read(at + n, 1)[0]
            value |= (byte & 127) << 7 * n
            if byte < 128:
                return value, at + n + 1
        raise SourceError(f"{self.file.name} is damaged, or not an ONNX file.", AGAIN)
