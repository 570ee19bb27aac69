"""Tables that no model has learned, opened by name like one: the sinusoidal encodings.

``sinusoidal`` is the encoding of "Attention Is All You Need" (Vaswani et al. 2017, section 3.5), a
cosine right of each sine; ``sinusoidal-fairseq`` that of fairseq and tensor2tensor, all sines left
of all cosines. A size may follow: ``sinusoidal:512x128`` has 512 positions and 128 dimensions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from geometry.architecture import Architecture
from geometry.errors import SourceError
from geometry.families import ALONE, Sinusoid
from geometry.sinusoids import sinusoid
from geometry.stores import FloatArray, OnThisMachine, TensorInfo

if TYPE_CHECKING:
    from geometry.model import PositionalModel

#: Positions and dimensions of a table whose size is not said: those of GPT-2 small.
DEFAULT_SIZE = (1024, 768)
#: Numbers of the largest table: a quarter of a gigabyte.
MOST_NUMBERS = 2**25

_SINUSOIDS: Mapping[str, Sinusoid] = {
    "sinusoidal": "interleaved",
    "sinusoidal-fairseq": "tensor2tensor",
}
_SIZE = re.compile(r"([1-9][0-9]{0,8})\s*[x×]\s*([1-9][0-9]{0,8})", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ComputedTable:
    """A table that is computed when it is opened.

    Attributes
    ----------
    source
        What it is opened by.
    family
        Which formula: "sinusoidal", …
    name
        Short, for captions and files.
    make
        Computes its (n_positions, d_model) float64 numbers.
    """

    source: str
    family: str
    name: str
    make: Callable[[], npt.NDArray[np.float64]]


def find_computed(source: str) -> ComputedTable | None:
    """Read a source as the name of a computed table.

    Returns
    -------
    None if it is none.

    Raises
    ------
    SourceError
        What follows the name is no size, or the size of no table.
    """
    name, colon, size = source.strip().partition(":")
    kind = _SINUSOIDS.get(name)
    if kind is None:
        return None
    n_positions, d_model = _size(source, size) if colon else DEFAULT_SIZE
    usual = (n_positions, d_model) == DEFAULT_SIZE
    return ComputedTable(
        source=name if usual else f"{name}:{n_positions}x{d_model}",
        family=name,
        name=name if usual else f"{name}-{n_positions}x{d_model}",
        make=lambda: sinusoid(kind, n_positions, d_model),
    )


def is_computed(source: str) -> bool:
    """Tell whether a source names a computed table, perhaps with a size that cannot be."""
    return source.strip().partition(":")[0] in _SINUSOIDS


def open_computed(table: ComputedTable) -> PositionalModel:
    """Compute a table, and open it as a model without tokens and layers."""
    from geometry.model import PositionalModel  # what only lists the tables need not load it

    store = OneTable(table.family, table.make())
    place = Architecture(table.family, ALONE, "", table.family, {})
    return PositionalModel(store, place, source=table.source, name=table.name)


class OneTable(OnThisMachine):
    """A :class:`geometry.stores.TensorStore` of a single table in memory.

    Parameters
    ----------
    name
        What the table is called.
    values : (n_positions, d_model) float64
        Its numbers.
    """

    def __init__(self, name: str, values: npt.NDArray[np.float64]) -> None:
        self._values = values
        info = TensorInfo(name, values.shape, "F64", values.nbytes)
        self._tensors = MappingProxyType({name: info})

    @property
    def tensors(self) -> Mapping[str, TensorInfo]:
        """The table's name and shape."""
        return self._tensors

    @property
    def bytes_read(self) -> int:
        """Nothing is read from anywhere."""
        return 0

    def read(self, name: str) -> FloatArray:
        """Return the table; KeyError for any other name."""
        return self._values.reshape(self._tensors[name].shape)


def _size(source: str, size: str) -> tuple[int, int]:
    found = _SIZE.fullmatch(size.strip())
    if found is None:
        raise SourceError(
            f"{source!r} should end in positions x dimensions, as in sinusoidal:512x128.",
            "Write two whole numbers with an x between them.",
        )
    n_positions, d_model = int(found[1]), int(found[2])
    if n_positions * d_model > MOST_NUMBERS:
        raise SourceError(
            f"A table of {n_positions} × {d_model} numbers is larger than any that is computed"
            f" here: {MOST_NUMBERS:,} numbers at most.",
            "Ask for fewer positions or dimensions.",
        )
    return n_positions, d_model
