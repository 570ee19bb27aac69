"""Checkpoints of torch.distributed.checkpoint: parts (``.distcp``) and their index ``.metadata``.

FSDP, torchtitan and others write such folders. The index is a pickle, read as data by
:mod:`geometry.checkpoints.formats.pickled_values`: the shape of each tensor, the chunks that it is
cut into, and the bytes of each chunk in one of the parts, which are a small file of torch's each.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from geometry.checkpoints.boundary import AGAIN, reading
from geometry.checkpoints.errors import SourceError
from geometry.checkpoints.formats.pickled_values import Named, ObjectKey, StandIn, is_whole
from geometry.checkpoints.formats.sharded_store import is_file_name
from geometry.checkpoints.formats.torch_pickle import MAX_PICKLE, load_pickle
from geometry.checkpoints.formats.torch_store import DTYPES, read_content, read_places
from geometry.checkpoints.plain_text import some_of
from geometry.checkpoints.stored_settings import KEYS, settings_in
from geometry.checkpoints.stores import (
    FloatArray,
    LocalFile,
    OnThisMachine,
    Part,
    TensorInfo,
    check_shape,
    numbers,
    stored_bytes,
    stored_dtype,
)

METADATA = ".metadata"
"""Name of the index."""

MAX_SETTINGS = 200
"""Maximum values of settings that are read, each from its own place in a part."""


class _Chunk(NamedTuple):
    """A block of a tensor, and where it is."""

    offsets: tuple[int, ...]
    sizes: tuple[int, ...]
    place: Part


class DistributedStore(OnThisMachine):
    """A :class:`geometry.checkpoints.stores.TensorStore` over such a folder, by its ``.metadata``.

    Raises
    ------
    SourceError
        The index is damaged, or a part is missing.
    """

    def __init__(self, path: Path) -> None:
        index = LocalFile(path)
        if index.size() > MAX_PICKLE:
            raise SourceError(
                f"{path.name} has {index.size()} bytes; at most {MAX_PICKLE} are read.", AGAIN
            )
        with reading(path.name):
            listed = _Index(path, load_pickle(index.read_at(0, index.size()).tobytes()))
        self._files = [index, *listed.files.values()]
        self._chunks = listed.chunks
        self.tensors = MappingProxyType(listed.tensors)
        self.settings = listed.settings()
        self.check_files()

    def check_files(self) -> None:
        """Raise FileChanged if a file has changed since it was opened."""
        for file in self._files:
            file.check()

    def read(self, name: str) -> FloatArray:
        """Read a tensor from its chunks as float32 or float64, C-contiguous."""
        info = self.tensors[name]
        stored = stored_dtype(info)
        self.check_files()
        whole: FloatArray = np.zeros(info.shape, np.float64 if stored.itemsize == 8 else np.float32)
        for chunk in self._chunks[name]:
            with reading(chunk.place.name):
                (region,) = read_places(chunk.place).regions.values()
            if (region.info.shape, region.info.dtype) != (chunk.sizes, info.dtype):
                raise SourceError(
                    f"{chunk.place.name} is damaged: a part of {name!r} has another shape or type "
                    "than in the index.",
                    AGAIN,
                )
            data = region.file.read_at(region.offset, stored_bytes(region))
            self.bytes_read += len(data)
            place = zip(chunk.offsets, chunk.sizes, strict=True)
            block = tuple(slice(first, first + n) for first, n in place)
            whole[block] = numbers(region, data).reshape(chunk.sizes)
        return whole


class _Index:
    """The content of an index."""

    def __init__(self, path: Path, content: Any) -> None:
        self._path = path
        listed, places = (
            _dictionary(content, key) for key in ("state_dict_metadata", "storage_data")
        )
        if not listed or not places:
            raise SourceError(f"{path.name} is not the index of a distributed checkpoint.", AGAIN)
        self.files: dict[str, LocalFile] = {}
        self.chunks: dict[str, list[_Chunk]] = {}
        self.tensors: dict[str, TensorInfo] = {}
        self._places = {_key(key): place for key, place in places.items() if _key(key)[0]}
        self._paths = _dictionary(content, "planner_data")
        self._values = [name for name, entry in listed.items() if not _state(entry)]
        self._open_files()
        for name, entry in listed.items():
            if type(name) is str and (state := _state(entry)):
                self._add(name, state)
        if not self.tensors:
            raise SourceError(f"{path.name} lists no tensors.", AGAIN)

    def _open_files(self) -> None:
        paths = [_state(place).get("relative_path") for place in self._places.values()]
        names = {path if type(path) is str else "" for path in paths}
        absent = []
        for name in names:
            if not is_file_name(name):
                raise self._damaged(f"names {name!r}, which is not a file name")
            if (file := self._path.with_name(name)).is_file():
                self.files[name] = LocalFile(file)
            else:
                absent.append(name)
        if absent:
            raise SourceError(
                f"{self._path.name} names {len(names)} parts, and {len(absent)} of them "
                f"({some_of(sorted(absent), 3)}) are not beside it.",
                "Copy the missing files into the same folder.",
            )

    def _add(self, name: str, state: Mapping[str, Any]) -> None:
        shape, chunks = state.get("size"), state.get("chunks")
        kind = _state(state.get("properties"), first="dtype").get("dtype")
        if type(shape) is not tuple or type(chunks) is not list or not isinstance(kind, Named):
            raise self._damaged(f"does not describe {name!r}")
        check_shape(self._path.name, name, shape, len(shape))
        found = [self._chunk(name, len(shape), _state(chunk)) for chunk in chunks]
        inside = all(
            first + n <= size
            for chunk in found
            for first, n, size in zip(chunk.offsets, chunk.sizes, shape, strict=True)
        )
        if not inside or sum(math.prod(chunk.sizes) for chunk in found) != math.prod(shape):
            raise self._damaged(f"cuts {name!r} into parts that do not fill it")
        dtype = DTYPES.get(kind.name, kind.name)
        nbytes = sum(chunk.place.length for chunk in found)
        if nbytes > sum(file.size() for file in self.files.values()):
            raise self._damaged(f"gives several parts of {name!r} the same bytes")
        self.tensors[name] = TensorInfo(name, shape, dtype, nbytes)
        self.chunks[name] = found

    def _chunk(self, name: str, n_axes: int, state: Mapping[str, Any]) -> _Chunk:
        offsets, sizes = state.get("offsets"), state.get("sizes")
        if type(offsets) is not tuple or type(sizes) is not tuple:
            raise self._damaged(f"does not describe the parts of {name!r}")
        if not len(offsets) == len(sizes) == n_axes:
            raise self._damaged(f"does not describe the parts of {name!r}")
        check_shape(self._path.name, name, (*offsets, *sizes), n_axes)
        place = self._place(name, offsets)
        # Less than a number each can only be of a malicious index.
        if math.prod(sizes) > 8 * place.length:
            raise self._damaged(f"gives a part of {name!r} too few bytes")
        return _Chunk(offsets, sizes, place)

    def _place(self, name: str, offsets: tuple[int, ...] | None = None) -> Part:
        state = _state(self._places.get((name, offsets), self._places.get((name, None))))
        start, length = state.get("offset"), state.get("length")
        file = self.files.get(str(state.get("relative_path")))
        if file is None or type(start) is not int or type(length) is not int:
            raise self._damaged(f"does not say where {name!r} is")
        if state.get("transform_descriptors"):
            raise SourceError(
                f"{self._path.name} lists compressed parts, which cannot be read.",
                "Save the checkpoint without compression.",
            )
        if not 0 <= start <= start + length <= file.size():
            raise SourceError(
                f"{file.name} is truncated: a part of {name!r} is beyond its end.", AGAIN
            )
        return Part(file, start, length)

    def settings(self) -> Mapping[str, Any]:
        """Return the settings of the model among the other values, each of which is read."""
        content: dict[str, Any] = {}
        for name, path in islice(self._setting_paths(), MAX_SETTINGS):
            inner = content
            for key in path[:-1]:
                inner = inner.setdefault(key, {})
                if not isinstance(inner, dict):
                    break
            else:
                inner[path[-1]] = read_content(self._place(name))
        return settings_in(content)

    def _setting_paths(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        for name in self._values:
            path = self._paths.get(name)
            path = path if type(path) is tuple else (name,)
            if path[0] in KEYS and all(type(key) is str for key in path):
                yield name, path

    def _damaged(self, what: str) -> SourceError:
        return SourceError(f"{self._path.name} is damaged: it {what}.", AGAIN)


def _state(value: Any, first: str = "") -> Mapping[str, Any]:
    """Return the attributes of an object; of one with a tuple of them, its first as ``first``."""
    state = value.state if isinstance(value, StandIn) else None
    if first and type(state) is tuple and state:
        return {first: state[0]}
    return state if type(state) is dict else {}


def _dictionary(value: Any, key: str) -> Mapping[Any, Any]:
    inner = _state(value).get(key)
    return inner if isinstance(inner, dict) else {}


def _key(index: Any) -> tuple[str, tuple[int, ...] | None]:
    """Return the name of a tensor and the offsets of a chunk, by which its place is listed."""
    state = _state(index.of) if isinstance(index, ObjectKey) else {}
    name, offsets = state.get("fqn"), state.get("offset")
    # The hash of nested tuples takes time exponential in their depth.
    whole = type(offsets) is tuple and all(map(is_whole, offsets))
    return name if type(name) is str else "", offsets if whole else None
