"""GGUF files, opened by reading only the index.

The format of llama.cpp: a magic number, the model's settings as typed values, including the
tokenizer, the tensors' names, shapes, types and offsets, and then their bytes
(https://github.com/ggml-org/ggml/blob/master/docs/gguf.md). Quantised tensors are converted
individually by the package ``gguf``.
"""

from __future__ import annotations

import math
import re
import struct
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from geometry.checkpoints.boundary import AGAIN, reading
from geometry.checkpoints.errors import SourceError, TensorUnavailable
from geometry.checkpoints.stores import (
    ByteFile,
    FloatArray,
    LocalFile,
    Region,
    RegionStore,
    TensorInfo,
    check_shape,
    numbers,
    stored_bytes,
)

MAGIC = b"GGUF"
VERSIONS = (2, 3)

MAX_INDEX = 128_000_000
"""Maximum bytes before the tensors: five times those of the largest vocabularies."""
MAX_SETTINGS = 10_000
"""Maximum settings: a hundred times those of any model."""
MAX_TENSORS = 50_000
"""Maximum tensors: ten times those of any model."""
MAX_ITEMS = 2_000_000
"""Maximum items of all lists: twice those of the largest vocabularies with their merges."""
MAX_KEPT = 4096
"""Maximum length of a kept list of numbers, as for each layer; longer ones are skipped."""
MAX_NAME = 1024
"""Maximum bytes of a name."""
MAX_TEXT = 1 << 20
"""Maximum bytes of a kept text: ten times those of the longest chat templates."""
CHUNK = 1 << 20
"""Bytes read at a time."""

TOKENS = "tokenizer.ggml.tokens"
"""Key of the list of tokens, if the file has a tokenizer."""

MAX_PARTS = 500
"""Maximum parts of a split file: five times those of the largest models."""
_PART = re.compile(r"(.+)-(\d{5})-of-(\d{5})\.gguf")

TYPES: Mapping[int, tuple[str, int, int]] = MappingProxyType(
    {
        0: ("F32", 1, 4),
        1: ("F16", 1, 2),
        2: ("Q4_0", 32, 18),
        3: ("Q4_1", 32, 20),
        6: ("Q5_0", 32, 22),
        7: ("Q5_1", 32, 24),
        8: ("Q8_0", 32, 34),
        9: ("Q8_1", 32, 40),
        10: ("Q2_K", 256, 84),
        11: ("Q3_K", 256, 110),
        12: ("Q4_K", 256, 144),
        13: ("Q5_K", 256, 176),
        14: ("Q6_K", 256, 210),
        15: ("Q8_K", 256, 292),
        16: ("IQ2_XXS", 256, 66),
        17: ("IQ2_XS", 256, 74),
        18: ("IQ3_XXS", 256, 98),
        19: ("IQ1_S", 256, 50),
        20: ("IQ4_NL", 32, 18),
        21: ("IQ3_S", 256, 110),
        22: ("IQ2_S", 256, 82),
        23: ("IQ4_XS", 256, 136),
        24: ("I8", 1, 1),
        25: ("I16", 1, 2),
        26: ("I32", 1, 4),
        27: ("I64", 1, 8),
        28: ("F64", 1, 8),
        29: ("IQ1_M", 256, 56),
        30: ("BF16", 1, 2),
        34: ("TQ1_0", 256, 54),
        35: ("TQ2_0", 256, 66),
        39: ("MXFP4", 32, 17),
        40: ("NVFP4", 64, 36),
        41: ("Q1_0", 128, 18),
    }
)
"""Types of tensors by code: name, numbers and bytes of a block."""

QUANTISED = frozenset(name for name, per_block, _ in TYPES.values() if per_block > 1)
"""Names of the types whose numbers are approximate."""

_SCALARS = {
    0: "<B",
    1: "<b",
    2: "<H",
    3: "<h",
    4: "<I",
    5: "<i",
    6: "<f",
    7: "<?",
    10: "<Q",
    11: "<q",
    12: "<d",
}
"""Formats of single values, by the code of their type."""
_STRING, _ARRAY = 8, 9

Setting: TypeAlias = int | float | bool | str | tuple[int | float | bool, ...]


@dataclass(frozen=True, slots=True)
class _Skipped:
    """A list or a text that is skipped."""

    length: int


@dataclass(frozen=True, slots=True)
class GgufIndex:
    """The content of a file before its tensors.

    Attributes
    ----------
    settings
        The values by key; only short lists of numbers are included.
    lengths
        The lengths of all lists.
    regions
        The tensors.
    settings_end
        Offset in the file where the settings end and the list of tensors begins.
    """

    settings: Mapping[str, Setting]
    lengths: Mapping[str, int]
    regions: Mapping[str, Region]
    settings_end: int = 0


class GgufStore(RegionStore):
    """The tensors of a GGUF file.

    Attributes
    ----------
    index
        The index of the file.
    """

    def __init__(self, index: GgufIndex, files: Iterable[LocalFile]) -> None:
        super().__init__(index.regions, files)
        self.index = index

    def read(self, name: str) -> FloatArray:
        """Read a tensor as float32, converted if it is quantised.

        Raises
        ------
        TensorUnavailable
            It is quantised, and the package ``gguf`` is not installed, or does not know its type.
        """
        region = self._regions[name]
        self.check_files()
        data = region.file.read_at(region.offset, tensor_bytes(region))
        with self._lock:
            self.bytes_read += len(data)
        return tensor_numbers(region, data)


def quantised(tensors: Iterable[TensorInfo]) -> Counter[str]:
    """Return the number of tensors of each quantised type."""
    return Counter(info.dtype for info in tensors if info.dtype in QUANTISED)


def tensor_bytes(region: Region) -> int:
    """Return the bytes of a tensor, quantised or not. Raises SourceError if it cannot be read."""
    return region.info.nbytes if region.info.dtype in QUANTISED else stored_bytes(region)


def tensor_numbers(region: Region, data: npt.NDArray[np.uint8]) -> FloatArray:
    """Convert the bytes of a tensor, quantised or not, into its numbers.

    Raises TensorUnavailable, as :meth:`GgufStore.read`.
    """
    if region.info.dtype in QUANTISED:
        return _converted(region.info, data)
    return numbers(region, data)


def without_tensors(head: bytes) -> bytes:
    """Return a GGUF file with only its settings, including the tokenizer.

    Parameters
    ----------
    head
        The file's bytes up to the end of its settings.
    """
    return head[:8] + struct.pack("<Q", 0) + head[16:]


def open_gguf(path: Path) -> GgufStore:
    """Open a GGUF file by its index; for a split one, all parts in its folder.

    Raises
    ------
    SourceError
        The file is truncated, of another version, or contradicts itself, or a part is missing.
    """
    files = []
    for name in part_names(path.name):
        if not (path.parent / name).exists() and name != path.name:
            raise SourceError(
                f"{path.name} is one part of a model, and {name} is missing.",
                "Put all parts into one folder.",
            )
        files.append(LocalFile(path.parent / name))
    return GgufStore(joined_index([read_index(file) for file in files], path.name), files)


def part_names(name: str) -> tuple[str, ...]:
    """Return the names of all parts of a split file, "x-00001-of-00003.gguf"; else its own."""
    match = _PART.fullmatch(name)
    if match is None or not 0 < int(match[3]) <= MAX_PARTS:
        return (name,)
    return tuple(
        f"{match[1]}-{part:05d}-of-{match[3]}.gguf" for part in range(1, int(match[3]) + 1)
    )


def joined_index(parts: Sequence[GgufIndex], name: str) -> GgufIndex:
    """Return the index of a split file, whose settings are in the first of its parts.

    Raises
    ------
    SourceError
        They do not belong together.
    """
    first = parts[0]
    regions: dict[str, Region] = {}
    for number, part in enumerate(parts):
        position = part.settings.get("split.no"), part.settings.get("split.count")
        alone = len(parts) == 1
        if not (alone or position == (number, len(parts))) or regions.keys() & part.regions.keys():
            raise SourceError(f"The parts of {name} do not belong together.", AGAIN)
        regions |= part.regions
    return replace(first, regions=regions)


def read_index(file: ByteFile) -> GgufIndex:
    """Read the index of a GGUF file; see :func:`open_gguf`."""
    reader = _Reader(file)
    if reader.take(4) != MAGIC:
        raise SourceError(f"{file.name} is not a GGUF file.", "Check that it is the right file.")
    version = reader.number("<I")
    if version not in VERSIONS:
        raise SourceError(
            f"{file.name} is a GGUF file of version {version}; {VERSIONS[0]} and {VERSIONS[1]} are "
            "read.",
            "Convert it again with a current llama.cpp.",
        )
    n_tensors, n_settings = reader.number("<Q"), reader.number("<Q")
    if n_tensors > MAX_TENSORS or n_settings > MAX_SETTINGS:
        raise SourceError(
            f"{file.name} describes {n_tensors} tensors and {n_settings} settings, more than any "
            "model has.",
            AGAIN,
        )
    settings: dict[str, Setting] = {}
    lengths: dict[str, int] = {}
    for _ in range(n_settings):
        key = reader.name()
        value = reader.value(reader.number("<I"))
        if isinstance(value, _Skipped):
            lengths[key] = value.length
            continue
        settings[key] = value
        if isinstance(value, tuple):
            lengths[key] = len(value)
    settings_end = reader.place
    entries = [_entry(reader) for _ in range(n_tensors)]
    alignment = settings.get("general.alignment", 32)
    if not isinstance(alignment, int) or not 0 < alignment <= 1 << 20:
        raise SourceError(f"{file.name} has an impossible alignment.", AGAIN)
    start = -(-reader.place // alignment) * alignment
    regions: dict[str, Region] = {}
    for name, shape, kind, offset in entries:
        if name in regions:
            raise SourceError(f"The index of {file.name} names {name!r} twice.", AGAIN)
        regions[name] = _region(file, name, shape, kind, start + offset)
    return GgufIndex(MappingProxyType(settings), MappingProxyType(lengths), regions, settings_end)


class _Reader:
    """Reads the index from its start, in chunks."""

    def __init__(self, file: ByteFile) -> None:
        self._file, self._size = file, file.size()
        self._held, self._from = b"", 0
        self._items = 0
        self.place = 0

    def take(self, nbytes: int) -> bytes:
        """Return the next bytes."""
        self._bring(nbytes)
        begin = self.place - self._from
        self.place += nbytes
        return self._held[begin : begin + nbytes]

    def number(self, form: str) -> int:
        """Return the next integer."""
        (value,) = struct.unpack(form, self.take(struct.calcsize(form)))
        return int(value)

    def name(self) -> str:
        """Return the next text, a name."""
        length = self.number("<Q")
        if length > MAX_NAME:
            raise SourceError(
                f"The index of {self._file.name} has a name of {length} bytes.", AGAIN
            )
        return self.take(length).decode("utf-8", "replace")

    def value(self, kind: int) -> Setting | _Skipped:
        """Return the next value."""
        if kind == _STRING:
            length = self.number("<Q")
            if length > MAX_TEXT:
                self._skip(length)
                return _Skipped(length)
            return self.take(length).decode("utf-8", "replace")
        if kind == _ARRAY:
            return self._list()
        if kind not in _SCALARS:
            raise SourceError(
                f"The index of {self._file.name} has a value of no known type.", AGAIN
            )
        form = _SCALARS[kind]
        (value,) = struct.unpack(form, self.take(struct.calcsize(form)))
        setting: Setting = value
        return setting

    def _list(self) -> Setting | _Skipped:
        kind, length = self.number("<I"), self.number("<Q")
        self._items += length
        if self._items > MAX_ITEMS:
            raise SourceError(f"{self._file.name} has lists of {self._items} values.", AGAIN)
        if kind == _STRING:
            self._skip_texts(length)
        elif kind in _SCALARS:
            form = _SCALARS[kind]
            nbytes = length * struct.calcsize(form)
            if length <= MAX_KEPT:
                return struct.unpack(f"<{length}{form[1:]}", self.take(nbytes))
            self._skip(nbytes)
        else:
            raise SourceError(f"The index of {self._file.name} has a list in a list.", AGAIN)
        return _Skipped(length)

    def _skip_texts(self, count: int) -> None:
        """Skip texts, of which a tokenizer has hundreds of thousands."""
        length_of = struct.Struct("<Q").unpack_from
        while count:
            self._bring(8)
            held, at = self._held, self.place - self._from
            last = len(held) - 8
            while count and at <= last:
                at += 8 + length_of(held, at)[0]
                count -= 1
            self.place = self._from + at
            self._check(0)

    def _skip(self, nbytes: int) -> None:
        self._check(nbytes)
        self.place += nbytes

    def _check(self, nbytes: int) -> None:
        if self.place + nbytes > self._size:
            raise SourceError(f"{self._file.name} is truncated: it ends within its index.", AGAIN)
        if self.place + nbytes > MAX_INDEX:
            raise SourceError(
                f"The index of {self._file.name} is longer than {MAX_INDEX} bytes.",
                "Check that it is the right file.",
            )

    def _bring(self, nbytes: int) -> None:
        """Read the next bytes into the buffer."""
        self._check(nbytes)
        begin = self.place - self._from
        if begin >= 0 and begin + nbytes <= len(self._held):
            return
        count = min(max(nbytes, CHUNK), self._size - self.place)
        self._held, self._from = self._file.read_at(self.place, count).tobytes(), self.place


def _entry(reader: _Reader) -> tuple[str, tuple[int, ...], int, int]:
    """Read name, shape, type and offset of a tensor."""
    name = reader.name()
    n_axes = reader.number("<I")
    check_shape("The index", name, (), n_axes)
    # The first size is that of the contiguous axis.
    shape = tuple(reader.number("<Q") for _ in range(n_axes))[::-1]
    return name, shape, reader.number("<I"), reader.number("<Q")


def _region(file: ByteFile, name: str, shape: tuple[int, ...], kind: int, offset: int) -> Region:
    check_shape(file.name, name, shape, len(shape))
    if kind not in TYPES:
        raise SourceError(
            f"In {file.name}, {name!r} has a type that is not known ({kind}).",
            "Update Helixscope, or open the unquantised checkpoint.",
        )
    dtype, per_block, block_bytes = TYPES[kind]
    count = math.prod(shape)
    if count and (shape or (1,))[-1] % per_block:
        raise SourceError(
            f"In {file.name}, rows of {name!r} are no whole number of blocks of {dtype}.", AGAIN
        )
    nbytes = count // per_block * block_bytes
    if offset + nbytes > file.size():
        raise SourceError(f"{file.name} is truncated: it ends within {name!r}.", AGAIN)
    return Region(file, offset, TensorInfo(name, shape, dtype, nbytes))


def _converted(info: TensorInfo, data: np.ndarray) -> FloatArray:
    """Return the numbers of a quantised tensor, float32."""
    try:
        from gguf import GGMLQuantizationType
        from gguf.quants import dequantize
    except ImportError as error:
        raise TensorUnavailable(
            f"{info.name} is quantised ({info.dtype}), which needs the package gguf.",
            'Install Helixscope with it: pip install ".[gguf]".',
        ) from error
    with reading(f"{info.name} ({info.dtype})"):
        try:
            rows = data.reshape(*info.shape[:-1], -1)  # which are converted in blocks
            values = dequantize(rows, GGMLQuantizationType[info.dtype])
        except (NotImplementedError, KeyError) as error:
            raise TensorUnavailable(
                f"{info.name} is quantised as {info.dtype}, which cannot be converted.",
                "Open the unquantised checkpoint of this model.",
            ) from error
        return np.ascontiguousarray(values.reshape(info.shape), dtype=np.float32)
