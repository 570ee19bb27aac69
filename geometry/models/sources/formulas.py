"""Names of computed tables, which are opened by name like a model: sinusoidal encodings, curves.

``sinusoidal`` is the encoding of "Attention Is All You Need" (Vaswani et al. 2017, section 3.5),
each sine followed by its cosine; ``sinusoidal-fairseq`` that of fairseq and tensor2tensor, with all
sines before all cosines. A size may follow: ``sinusoidal:512x128`` has 512 positions and 128
dimensions. ``synthetic:helix,n=1024,turns=1.85`` is a curve of :mod:`geometry.measures.synthetic`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from geometry.checkpoints.errors import SourceError
from geometry.measures.sinusoids import Sinusoid, sinusoid
from geometry.measures.synthetic import MAX_NUMBERS, parse_curve

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
    if n_positions * d_model > MAX_NUMBERS:
        raise SourceError(
            f"A table of {n_positions} × {d_model} numbers is too large: at most {MAX_NUMBERS:,} "
            "numbers are computed.",
            "Use fewer positions or dimensions.",
        )
    return n_positions, d_model
