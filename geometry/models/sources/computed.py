"""Computed tables, opened by name like a model: sinusoidal encodings, curves.

``sinusoidal`` is the encoding of "Attention Is All You Need" (Vaswani et al. 2017, section 3.5),
each sine followed by its cosine; ``sinusoidal-fairseq`` that of fairseq and tensor2tensor, with all
sines before all cosines. A size may follow: ``sinusoidal:512x128`` has 512 positions and 128
dimensions. ``synthetic:helix,n=1024,turns=1.85`` is a curve of :mod:`geometry.measures.synthetic`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from geometry.checkpoints.errors import SourceError
from geometry.checkpoints.stores import FloatArray, OnThisMachine, TensorInfo
from geometry.measures.sinusoids import Sinusoid, sinusoid
from geometry.measures.synthetic import MOST_NUMBERS, parse_curve
from geometry.models.families.stack import ALONE
from geometry.models.recognition.architecture import Architecture

if TYPE_CHECKING:
    from geometry.models.model import PositionalModel

DEFAULT_SIZE = (1024, 768)
"""Default positions and dimensions of a table: those of GPT-2 small."""
_SINUSOIDS: Mapping[str, Sinusoid] = {
    "sinusoidal": "interleaved",
    "sinusoidal-fairseq": "tensor2tensor",
}
_CURVE = "synthetic"
_SIZE = re.compile(r"([1-9][0-9]{0,8})\s*[x×]\s*([1-9][0-9]{0,8})", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ComputedTable:
    """A table that is computed on opening.

    Attributes
    ----------
    source
        Its source.
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
    """Parse a source as the name of a computed table.

    Returns
    -------
    ComputedTable or None
        None if the source is something else.

    Raises
    ------
    SourceError
        The size or the curve after the name is invalid.
    """
    name, colon, size = source.strip().partition(":")
    if name == _CURVE and colon:
        return _curve(source, size)
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
    """Return whether a source names a computed table, even with an invalid size."""
    name, colon, _ = source.strip().partition(":")
    return name in _SINUSOIDS or (name == _CURVE and bool(colon))


def computed_name(source: str) -> str:
    """Return the caption of a computed table; other sources unchanged."""
    table = _try_find_computed(source)
    return source if table is None else table.name


def computed_source(source: str) -> str:
    """Return the canonical source of a computed table; other sources unchanged."""
    table = _try_find_computed(source)
    return source if table is None else table.source


def _try_find_computed(source: str) -> ComputedTable | None:
    """Parse a source; None also if its size or curve is invalid."""
    try:
        return find_computed(source)
    except SourceError:
        return None


def open_computed(table: ComputedTable) -> PositionalModel:
    """Compute a table, and open it as a model without tokens and layers."""
    return model_of_table(table.family, table.make(), source=table.source, name=table.name)


def model_of_table(
    family: str, values: npt.NDArray[np.float64], *, source: str = "", name: str = ""
) -> PositionalModel:
    """Open a table in memory as a model without tokens and layers.

    Parameters
    ----------
    family
        Its family, which is also the table's name.
    values : (n_positions, d_model) float64
        Its numbers.
    source, name
        Of the model; the family if "".
    """
    from geometry.models.model import PositionalModel  # avoids loading it just to list the tables

    place = Architecture(family, ALONE, "", family, {})
    return PositionalModel(
        OneTable(family, values), place, source=source or family, name=name or family
    )


class OneTable(OnThisMachine):
    """A :class:`geometry.checkpoints.stores.TensorStore` of a single table in memory.

    Parameters
    ----------
    name
        The table's name.
    values : (n_positions, d_model) float64
        Its numbers.
    of
        The model that it was made of, if any: its files are those of the table.
    """

    def __init__(
        self, name: str, values: npt.NDArray[np.float64], of: PositionalModel | None = None
    ) -> None:
        self._values, self._of = values, of
        info = TensorInfo(name, values.shape, "F64", values.nbytes)
        self._tensors = MappingProxyType({name: info})

    @property
    def tensors(self) -> Mapping[str, TensorInfo]:
        """The table's name and shape."""
        return self._tensors

    def check_files(self) -> None:
        """Compare the files of the model that it was made of with those that were opened."""
        if self._of is not None:
            self._of.check_files()

    @property
    def bytes_read(self) -> int:
        """Zero: nothing is read."""
        return 0

    def read(self, name: str) -> FloatArray:
        """Return the table; KeyError for any other name."""
        return self._values.reshape(self._tensors[name].shape)


def _curve(source: str, text: str) -> ComputedTable:
    try:
        curve = parse_curve(text)
    except ValueError as error:
        raise SourceError(
            f"{source!r} is not a synthetic curve: {error}.",
            "Use the form synthetic:helix,n=1024,d=768,turns=2,climb=0.5.",
        ) from error
    return ComputedTable(curve.source, f"synthetic {curve.kind}", curve.name, curve.table)


def _size(source: str, size: str) -> tuple[int, int]:
    match = _SIZE.fullmatch(size.strip())
    if match is None:
        raise SourceError(
            f"{source!r} should end in positions x dimensions, as in sinusoidal:512x128.",
            "Write two whole numbers with an x between them.",
        )
    n_positions, d_model = int(match[1]), int(match[2])
    if n_positions * d_model > MOST_NUMBERS:
        raise SourceError(
            f"A table of {n_positions} × {d_model} numbers is too large: at most {MOST_NUMBERS:,} "
            "numbers are computed.",
            "Use fewer positions or dimensions.",
        )
    return n_positions, d_model
