"""Flax's files (``.msgpack``) and spaCy's, read by the places of their arrays.

They are written by :mod:`flax.serialization`: a tree of maps in MessagePack. An array is an
extension of type 1: its shape, the name of its dtype, and its bytes. One above 1 GB is cut into a
map of arrays.

A model of spaCy is such a tree, too. Networks of PyTorch are among its "shims": each is a tree of
its own, with the settings of transformers and a file of torch.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from msgspec import msgpack

from geometry.checkpoints.boundary import AGAIN, reading
from geometry.checkpoints.errors import SourceError
from geometry.checkpoints.formats.torch_store import DTYPES, read_places
from geometry.checkpoints.formats.windowed import Windowed
from geometry.checkpoints.stored_settings import settings_in
from geometry.checkpoints.stores import (
    ByteFile,
    FileIndex,
    LocalFile,
    Region,
    RegionStore,
    TensorInfo,
    checked,
)

MAX_ITEMS = 500_000
"""Maximum items of a tree; that of a large model and its optimiser has 20,000."""
MAX_DEPTH = 64
"""Maximum depth of a tree."""
MAX_NAME = 1_000
"""Maximum characters of an array's name."""

OPTIMISER = "opt_state"
"""The branch of a training's state that has averages of gradients, which look like weights."""

SHIMS = "shims"
"""The branch of a model of spaCy that has networks of other libraries."""
MAX_SETTINGS = 100_000
"""Maximum bytes of a network's settings there."""

_NEAR = 3
"""Levels with networks of other libraries, and with what they consist of."""

_ARRAY = 1
_IN_PARTS = "__msgpack_chunked_array__"

_LENGTHS = {
    **{0xC4 + n: ("bytes", 1 << n) for n in range(3)},
    **{0xC7 + n: ("extension", 1 << n) for n in range(3)},
    **{0xD9 + n: ("text", 1 << n) for n in range(3)},
    **{0xDC + n: ("list", 2 << n) for n in range(2)},
    **{0xDE + n: ("map", 2 << n) for n in range(2)},
}
"""What begins with these bytes, and the number of bytes of its length that follow."""
_FIXED = {
    **{0xD4 + n: ("extension", 1 << n) for n in range(5)},
    **dict.fromkeys((0xC0, 0xC2, 0xC3), ("value", 0)),
    **{0xCA + n: ("value", 4 << n) for n in range(2)},
    **{0xD0 + n: ("value", 1 << n) for n in range(4)},
}
"""What begins with these bytes, and its length: extensions, nothing, truths, floats, integers."""


def open_flax(path: Path) -> RegionStore:
    """Open a file of Flax, or of spaCy, by the places of its arrays.

    Raises
    ------
    SourceError
        It is damaged, or has no arrays.
    """
    file = LocalFile(path)
    with reading(path.name):
        tree = _Tree(file)
        index = _of_spacy(tree) if SHIMS in tree.places else FileIndex(tree.regions)
    if not index.regions:
        raise SourceError(
            f"{path.name} is MessagePack without arrays of Flax or PyTorch.",
            "Open a file written by flax.serialization.",
        )
    store = RegionStore(index.regions, [file], index.settings)
    store.check_files()
    return store


def _of_spacy(model: _Tree) -> FileIndex:
    """Return the places of the tensors of a model's first network of PyTorch, and its settings."""
    for shim, place in model.places.items():
        if shim.startswith(f"{SHIMS}/"):
            network = _Tree(_Joined.of([place]))
            if state := network.places.get("state"):
                config = network.places.get("config")
                settings = {} if config is None else _settings(config)
                return FileIndex(read_places(_Joined.of([state])).regions, settings)
    return FileIndex({})


def _settings(config: Region) -> dict[str, Any]:
    if config.info.nbytes > MAX_SETTINGS:
        return {}
    packed = config.file.read_at(config.offset, config.info.nbytes).tobytes()
    return settings_in({"config": msgpack.decode(packed)})


@dataclass(frozen=True, slots=True)
class _Joined:
    """The bytes of parts of a file, one after the other, as a file."""

    file: ByteFile
    starts: tuple[int, ...]
    ends: tuple[int, ...]

    @classmethod
    def of(cls, parts: Iterable[Region]) -> _Joined:
        """Return the bytes of regions of one file."""
        parts = tuple(parts)
        starts = tuple(part.offset for part in parts)
        return cls(parts[0].file, starts, (*accumulate(part.info.nbytes for part in parts),))

    @property
    def name(self) -> str:
        """Name of the whole file."""
        return self.file.name

    def size(self) -> int:
        """Return the number of bytes."""
        return self.ends[-1]

    def read_at(self, offset: int, nbytes: int) -> npt.NDArray[np.uint8]:
        """Return exactly ``nbytes`` bytes from ``offset``."""
        pieces, end = [], offset + nbytes
        if end > self.size():
            raise SourceError(f"{self.name} is truncated.", AGAIN)
        for part in range(bisect_right(self.ends, offset), len(self.ends)):
            before = self.ends[part - 1] if part else 0
            first, last = max(offset, before), min(end, self.ends[part])
            if last > first:
                pieces.append(self.file.read_at(self.starts[part] + first - before, last - first))
        return np.concatenate(pieces) if pieces else np.empty(0, np.uint8)


class _Tree:
    """The arrays of a file, by their names: those of the maps that they are in, with "/".

    ``places`` has the bytes of other items near the top, by their names.

    Raises
    ------
    SourceError
        The file is damaged, or larger than any tree.
    """

    def __init__(self, file: ByteFile) -> None:
        self.regions: dict[str, Region] = {}
        self.places: dict[str, Region] = {}
        self._file, self._bytes = file, Windowed(file)
        self._at, self._left = 0, MAX_ITEMS
        self._walk(())
        if self._at != file.size():
            raise self._damaged()

    def _damaged(self) -> SourceError:
        return SourceError(f"{self._file.name} is truncated, or not a file of Flax.", AGAIN)

    def _item(self) -> tuple[str, int]:
        """Return what comes next, and its length, number of entries, or value; go to its content.

        The type of an extension is the first byte of its content.
        """
        self._left -= 1
        if self._left < 0:
            raise SourceError(f"{self._file.name} has more than {MAX_ITEMS} items.", AGAIN)
        first = self._number(1)
        if first < 0x80:
            return "integer", first
        if first < 0xC0:
            kind, mask = (("map", 15), ("list", 15), ("text", 31), ("text", 31))[(first >> 4) - 8]
            return kind, first & mask
        if first >= 0xE0:
            return "value", 0
        if 0xCC <= first <= 0xCF:
            return "integer", self._number(1 << (first - 0xCC))
        if (length := _LENGTHS.get(first)) is not None:
            return length[0], self._number(length[1])
        if first not in _FIXED:
            raise self._damaged()
        return _FIXED[first]

    def _number(self, nbytes: int) -> int:
        self._at += nbytes
        return int.from_bytes(self._bytes.read(self._at - nbytes, nbytes), "big")

    def _expected(self, *kinds: str) -> int:
        kind, n = self._item()
        if kind not in kinds:
            raise self._damaged()
        return n

    def _text(self) -> str:
        n = self._expected("text", "bytes")
        self._at += n
        return self._bytes.read(self._at - n, n).decode("utf-8", "replace")

    def _walk(self, path: tuple[str, ...]) -> None:
        if len(path) > MAX_DEPTH or sum(map(len, path)) > MAX_NAME:
            raise SourceError(f"{self._file.name} is a deeper tree than any model.", AGAIN)
        start = self._at
        kind, n = self._item()
        if kind in ("map", "list"):
            for entry in range(n):
                name = self._text() if kind == "map" else str(entry)
                if name == _IN_PARTS:
                    self._walk((*path, name))
                    self._join(path, n - entry - 1)
                    break
                self._walk((*path, name))
        elif kind == "extension":
            end = self._at + 1 + n
            if self._number(1) == _ARRAY and OPTIMISER not in path:
                self._array("/".join(path))
            self._at = end
        elif kind != "integer":
            start = self._at if kind == "bytes" else start
            self._at += n
        if len(path) <= _NEAR:
            name, nbytes = "/".join(path), self._at - start
            info = TensorInfo(name, (nbytes,), "U8", nbytes)
            self.places[name] = Region(self._file, start, info)
        if self._at > self._file.size():
            raise self._damaged()

    def _array(self, name: str) -> None:
        if self._expected("list") != 3:
            raise self._damaged()
        shape = [self._expected("integer") for _ in range(self._expected("list"))]
        dtype = self._text()
        nbytes = self._expected("bytes")
        info = TensorInfo(name, tuple(shape), DTYPES.get(dtype, dtype), nbytes)
        self.regions[name] = checked(Region(self._file, self._at, info))

    def _join(self, path: tuple[str, ...], n_left: int) -> None:
        """Add an array of which the shape and the parts follow, each a map by number."""
        shape, others = dict[int, int](), self.regions
        self.regions = {}
        for _ in range(n_left):
            name = self._text()
            if name == "shape":
                for _ in range(self._expected("map")):
                    axis = int(self._text())
                    shape[axis] = self._expected("integer")
            else:
                self._walk((*path, name))
        parts = {int(name.rpartition("/")[2]): part for name, part in self.regions.items()}
        self.regions = others
        if OPTIMISER in path:
            return
        dtypes = {part.info.dtype for part in parts.values()}
        if len(dtypes) != 1:
            raise self._damaged()
        joined = _Joined.of(parts[number] for number in sorted(parts))
        sizes = tuple(shape[axis] for axis in sorted(shape))
        info = TensorInfo("/".join(path), sizes, dtypes.pop(), joined.size())
        self.regions[info.name] = checked(Region(joined, 0, info))
