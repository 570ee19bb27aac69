"""TensorFlow's checkpoints: ``x.index``, and the numbers in ``x.data-00000-of-00001``.

The index is a table of LevelDB, which TensorFlow writes without compression: blocks of sorted keys,
each without what it shares with the one before. Its values are small messages of Protocol Buffers
(``BundleHeaderProto`` and ``BundleEntryProto`` in tensor_bundle.proto).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from geometry.checkpoints.boundary import AGAIN, reading
from geometry.checkpoints.errors import SourceError
from geometry.checkpoints.plain_text import some_of
from geometry.checkpoints.stores import (
    ITEM_SIZES,
    LocalFile,
    Region,
    RegionStore,
    TensorInfo,
    check_shape,
)

MAX_INDEX = 4_000_000
"""Maximum bytes of an index; that of GPT-2 XL has 30,000."""
MAX_NAME = 1_000
"""Maximum bytes of a name, each of which can repeat the one before it."""

_GRAPH, _VALUE = "_CHECKPOINTABLE_OBJECT_GRAPH", "/.ATTRIBUTES/VARIABLE_VALUE"
"""The entry with the objects that TensorFlow 2 saved, and the end of the names of their variables,
which are their places among these."""
_SAVED_TWICE = "_all_variables/"
"""The beginning of names in models that Keras exports, of variables with other names as well."""

_FOOTER = 48
_MAGIC = (0xDB4775248B80FB57).to_bytes(8, "little")
MAX_ENTRIES = 100_000
"""Maximum entries of an index."""
_TRAILER = 5  # the kind of compression and a checksum, after each block

_DTYPES = {
    1: "F32",
    2: "F64",
    3: "I32",
    4: "U8",
    5: "I16",
    6: "I8",
    9: "I64",
    10: "BOOL",
    14: "BF16",
    19: "F16",
}
"""The types of tensors by their numbers in types.proto."""


class _Entry(NamedTuple):
    """A tensor, and where its numbers are: the number of the file, and the bytes in it."""

    dtype: str
    shape: tuple[int, ...]
    shard: int
    offset: int
    nbytes: int


def open_tensorflow(path: Path) -> RegionStore:
    """Open a checkpoint of TensorFlow by its index.

    Raises
    ------
    SourceError
        The index is damaged, or a file with numbers is missing.
    """
    index = LocalFile(path)
    if index.size() > MAX_INDEX:
        raise SourceError(
            f"{path.name} has {index.size()} bytes; at most {MAX_INDEX} are read.",
            "Check that this is the index of a checkpoint.",
        )
    data = index.read_at(0, index.size()).tobytes()
    with reading(path.name):
        table = dict(islice(_table(path.name, data), MAX_ENTRIES + 1))
        if len(table) > MAX_ENTRIES:
            raise SourceError(f"{path.name} has more than {MAX_ENTRIES} entries.", AGAIN)
        n_shards = dict(_fields(table.pop(b"", b""))).get(1, 1)
        entries = {key.decode(): _entry(value) for key, value in table.items()}
    if type(n_shards) is not int or not 0 < n_shards <= len(entries):
        raise SourceError(f"{path.name} is damaged: it has no header.", AGAIN)
    stem = path.name.removesuffix(".index")
    names = [f"{stem}.data-{n:05d}-of-{n_shards:05d}" for n in range(n_shards)]
    absent = [name for name in names if not path.with_name(name).is_file()]
    if absent:
        raise SourceError(
            f"{path.name} is the index of a TensorFlow checkpoint, whose numbers are in "
            f"{some_of(names, 2)}; {len(absent)} of these files are not beside it.",
            "Copy the missing files into the same folder.",
        )
    files = [LocalFile(path.with_name(name)) for name in names]
    regions = {name: _region(path.name, name, entry, files) for name, entry in entries.items()}
    if (graph := regions.pop(_GRAPH, None)) is not None and graph.info.nbytes <= MAX_INDEX:
        with reading(path.name):
            data = graph.file.read_at(graph.offset, graph.info.nbytes).tobytes()
            regions = _renamed(regions, dict(_own_names(data)))
    store = RegionStore(regions, [index, *files])
    store.check_files()
    return store


def _region(index: str, name: str, entry: _Entry, files: list[LocalFile]) -> Region:
    check_shape(index, name, entry.shape, len(entry.shape))
    if not 0 <= entry.shard < len(files):
        raise SourceError(f"{index} is damaged: {name!r} is in none of its files.", AGAIN)
    file = files[entry.shard]
    if not 0 <= entry.offset <= entry.offset + entry.nbytes <= file.size():
        raise SourceError(f"{file.name} is truncated: {name!r} is beyond its end.", AGAIN)
    size = ITEM_SIZES.get(entry.dtype)
    if size is not None and math.prod(entry.shape) * size != entry.nbytes:
        raise SourceError(
            f"{index} is damaged: {name!r} does not have the size of its shape.", AGAIN
        )
    return Region(file, entry.offset, TensorInfo(name, entry.shape, entry.dtype, entry.nbytes))


def _own_names(data: bytes) -> Iterator[tuple[str, str]]:
    """Yield the entries of variables and their own names (trackable_object_graph.proto)."""
    length, at = _varint(data, 0)
    graph = data[at + 4 : at + 4 + length]  # after a checksum of the length
    for field, node in _fields(graph):
        attributes = _fields(node) if field == 1 and isinstance(node, bytes) else ()
        for number, attribute in attributes:
            if number == 2 and isinstance(attribute, bytes):
                parts = dict(_fields(attribute))
                own, key = parts.get(2), parts.get(3)
                if isinstance(own, bytes) and isinstance(key, bytes):
                    yield key.decode(), own.decode()


def _renamed(regions: Mapping[str, Region], own: Mapping[str, str]) -> dict[str, Region]:
    """Return the regions of variables by their own names, if no other one has the same."""
    kept = [key for key in regions if not key.startswith(_SAVED_TWICE)]
    kept = kept if any(key.endswith(_VALUE) for key in kept) else [*regions]
    counts = Counter(own.get(key) for key in kept)
    names = {
        key: name if (name := own.get(key)) and counts[name] == 1 else key.removesuffix(_VALUE)
        for key in kept
    }
    return {
        name: regions[key]._replace(info=regions[key].info._replace(name=name))
        for key, name in names.items()
    }


def _table(name: str, data: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yield the keys and values of a table."""
    footer = data[-_FOOTER:]
    if not footer.endswith(_MAGIC):
        raise SourceError(
            f"{name} is truncated, or not the index of a TensorFlow checkpoint.", AGAIN
        )
    _, at = _handle(footer, 0)
    handle, _ = _handle(footer, at)
    end = 0
    for _, value in _block(name, data, *handle):
        (start, length), _ = _handle(value, 0)
        if start < end:
            raise SourceError(f"{name} is damaged: its blocks overlap.", AGAIN)
        end = start + length
        yield from _block(name, data, start, length)


def _block(name: str, data: bytes, start: int, length: int) -> Iterator[tuple[bytes, bytes]]:
    if data[start + length : start + length + _TRAILER][:1] != b"\0":
        raise SourceError(
            f"{name} is damaged, or its index is compressed.",
            "Save the checkpoint with TensorFlow.",
        )
    block = data[start : start + length]
    end = length - 4 * (int.from_bytes(block[-4:], "little") + 1)
    at, key = 0, b""
    while at < end:
        shared, at = _varint(block, at)
        own, at = _varint(block, at)
        n_value, at = _varint(block, at)
        key = key[:shared] + block[at : at + own]
        if len(key) > MAX_NAME:
            raise SourceError(f"{name} is damaged: a name has {len(key)} bytes.", AGAIN)
        yield key, block[at + own : at + own + n_value]
        at += own + n_value


def _entry(message: bytes) -> _Entry:
    dtype, shape = 0, list[int]()
    numbers = {3: 0, 4: 0, 5: 0}
    sliced = False
    for field, value in _fields(message):
        if field == 1 and isinstance(value, int):
            dtype = value
        elif field == 2 and isinstance(value, bytes):
            dims = (inner for key, inner in _fields(value) if key == 2 and isinstance(inner, bytes))
            shape = [int(dict(_fields(dim)).get(1, 0)) for dim in dims]
        elif field in numbers and isinstance(value, int):
            numbers[field] = value
        sliced |= field == 7
    kind = "cut into slices" if sliced else _DTYPES.get(dtype, f"DT_{dtype}")
    return _Entry(kind, tuple(shape), *numbers.values())


def _fields(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Yield the numbers and the values of the fields of a message."""
    at = 0
    while at < len(message):
        tag, at = _varint(message, at)
        if tag & 7 == 0:
            value, at = _varint(message, at)
            yield tag >> 3, value
            continue
        n = {1: 8, 5: 4}.get(tag & 7)
        if n is None:
            n, at = _varint(message, at)
        yield tag >> 3, message[at : at + n]
        at += n


def _handle(data: bytes, at: int) -> tuple[tuple[int, int], int]:
    """Return the start and the length of a block, and where its description ends."""
    start, at = _varint(data, at)
    length, at = _varint(data, at)
    return (start, length), at


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """Return a number, of seven bits in each byte, and where it ends; IndexError if it does not."""
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128 or shift > 63:
            return value, at
