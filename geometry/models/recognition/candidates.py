"""The possible tables of positions of a checkpoint of an unknown family."""

from __future__ import annotations

import re

from geometry.checkpoints.errors import SourceError
from geometry.checkpoints.plain_text import some_of
from geometry.checkpoints.stores import FLOATS, TensorInfo
from geometry.models.recognition.first_rows import EXAMPLES
from geometry.models.recognition.names_and_shapes import Index, table_shape

_SHORT_NAMES = frozenset({"pe", "wpe"})
"""Names of tables of positions, besides names with "pos"."""


class UnknownArchitecture(SourceError):
    """No known family fits; ``candidates`` are the tensors that could be the positions."""

    def __init__(self, message: str, candidates: tuple[TensorInfo, ...], advice: str = "") -> None:
        super().__init__(message, advice)
        self.candidates = candidates


class UnknownRows(UnknownArchitecture):
    """Neither names nor numbers determine which row of the table is position 0.

    Parameters
    ----------
    table
        The table.
    first_rows
        The rows that may be position 0.
    """

    def __init__(self, table: TensorInfo, first_rows: tuple[int, ...]) -> None:
        rows = " or ".join(
            f"{row} ({EXAMPLES[row]})" if row in EXAMPLES else str(row) for row in first_rows
        )
        super().__init__(
            f"It is not known which row of {table.name} is position 0: {rows}.",
            (table,),
            "Put the model's config.json beside the weights, or choose the number of first rows "
            f"that are no positions, such as first_rows={first_rows[-1]}.",
        )
        self.first_rows = first_rows


class NoSuchTable(UnknownArchitecture):
    """The chosen table is not in this checkpoint."""


def candidates(index: Index) -> tuple[TensorInfo, ...]:
    """Return all floating-point matrices: first those named like positions, then in file order."""

    def rank(info: TensorInfo) -> int:
        return 0 if named_like_positions(info.name) else 1 if "embed" in info.name.lower() else 2

    return tuple(sorted(filter(can_be_positions, index.values()), key=rank))


def named_like_positions(name: str) -> bool:
    """Return whether a tensor has a name like those of position tables."""
    name = name.lower()
    return bool(re.search("pos(?!t)", name)) or not _SHORT_NAMES.isdisjoint(name.split("."))


def can_be_positions(info: TensorInfo) -> bool:
    """Return whether a tensor is a floating-point matrix, apart from a batch axis."""
    shape = table_shape(info)
    return info.dtype in FLOATS and len(shape) == 2 and shape[0] > 0 and shape[1] > 0


def offer(options: tuple[TensorInfo, ...]) -> str:
    """Return the advice that names some of the candidates."""
    if not options:
        return "It has no two-dimensional floating-point tensor."
    return f"Choose one of its tables: {some_of([option.name for option in options], 4)}."
