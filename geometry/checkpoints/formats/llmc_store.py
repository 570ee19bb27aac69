"""Checkpoints of llm.c (``.bin``): a header of 256 integers, then all numbers in a fixed order."""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from geometry.checkpoints.boundary import AGAIN
from geometry.checkpoints.errors import SourceError
from geometry.checkpoints.stores import (
    ITEM_SIZES,
    LocalFile,
    Region,
    RegionStore,
    TensorInfo,
    check_shape,
)

HEADER = 256 * 4
"""Bytes of the header."""

MAX_LAYERS = 10_000
"""Maximum number of layers; GPT-2 XL has 48."""

_DTYPES = {1: "F32", 3: "F32", 5: "BF16"}
"""The type of the numbers by the version of the format."""


class _Header(NamedTuple):
    """The numbers of the header in use; ``padded`` is the number of rows of the token table."""

    magic: int
    version: int
    block_size: int
    vocab_size: int
    n_layer: int
    n_head: int
    n_embd: int
    padded: int


def open_llmc(path: Path) -> RegionStore:
    """Open a GPT-2 of llm.c, with the names and settings of nanoGPT.

    Raises
    ------
    SourceError
        It is of another version, or has another size than its header gives.
    """
    file = LocalFile(path)
    header = _Header(*struct.unpack("<8i", file.read_at(0, 32).tobytes()))
    dtype = _DTYPES.get(header.version)
    if dtype is None:
        raise SourceError(
            f"{path.name} is a checkpoint of llm.c in version {header.version} of the format; "
            f"versions {', '.join(map(str, _DTYPES))} are read.",
            "Write it again with a current llm.c.",
        )
    check_shape(path.name, "its header", header[2:], 1)
    regions: dict[str, Region] = {}
    offset = HEADER
    for names, shape in _parts(header) if header.n_layer <= MAX_LAYERS else ():
        nbytes = math.prod(shape) * ITEM_SIZES[dtype]
        if offset + len(names) * nbytes > file.size():
            break
        for name in names:
            regions[name] = Region(file, offset, TensorInfo(name, shape, dtype, nbytes))
            offset += nbytes
    else:
        if offset == file.size() and regions:
            # The rows that pad the vocabulary are no tokens.
            info = TensorInfo(_TOKENS, (header.vocab_size, header.n_embd), dtype, 0)
            regions[_TOKENS] = regions[_TOKENS]._replace(info=info)
            settings = header._asdict()
            del settings["magic"], settings["version"], settings["padded"]
            return RegionStore(regions, [file], settings)
    raise SourceError(
        f"{path.name} is truncated or damaged: it has {file.size()} bytes, which do not fit its "
        "header.",
        AGAIN,
    )


_TOKENS = "transformer.wte.weight"


def _parts(header: _Header) -> Iterator[tuple[list[str], tuple[int, ...]]]:
    """Yield the names of tensors that follow each other, and their shape, in the file's order."""
    d = header.n_embd
    rows = header.vocab_size if header.version == 1 else header.padded
    yield [_TOKENS], (rows, d)
    yield ["transformer.wpe.weight"], (header.block_size, d)
    for part, n_out, n_in in (
        ("ln_1", d, 0),
        ("attn.c_attn", 3 * d, d),
        ("attn.c_proj", d, d),
        ("ln_2", d, 0),
        ("mlp.c_fc", 4 * d, d),
        ("mlp.c_proj", d, 4 * d),
    ):
        names = [f"transformer.h.{layer}.{part}." for layer in range(header.n_layer)]
        yield [f"{name}weight" for name in names], (n_out, n_in) if n_in else (n_out,)
        yield [f"{name}bias" for name in names], (n_out,)
    yield ["transformer.ln_f.weight"], (d,)
    yield ["transformer.ln_f.bias"], (d,)
