"""Computed position tables."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

#: Layout of a computed table.
Sinusoid = Literal["interleaved", "marian", "tensor2tensor"]
_WORDS = {
    "interleaved": "each sine followed by its cosine",
    "marian": "all sines before all cosines",
    "tensor2tensor": "all sines before all cosines, as in fairseq",
}
_FIRST_ROWS = range(4)
"""Rows of a sinusoid at which a table can begin: fairseq's begin after padding."""


def sinusoid(kind: Sinusoid, rows: int, d_model: int) -> npt.NDArray[np.float64]:
    """Compute a fixed table of sines and cosines, a pair of columns for each frequency.

    "interleaved" is the encoding of "Attention Is All You Need" (Vaswani et al. 2017, section 3.5):
    each sine is followed by its cosine. The others have all sines in the first half of the columns
    and all cosines in the second: "marian" is the same table in that order, "tensor2tensor" that of
    fairseq. The frequencies are geometric, from 1 to about 1/10000 radians per position:
    ``10000^(-2k/d_model)``, and for "tensor2tensor" ``10000^(-k/(d_model/2 − 1))``.

    Parameters
    ----------
    rows
        Rows of the table; row i is angle i times the frequency.
    d_model
        Columns; an odd one is another sine, the last of them, or zero ("tensor2tensor").

    Returns
    -------
    (rows, d_model) float64
    """
    half = d_model // 2
    if kind != "tensor2tensor":
        sines, cosines = (d_model + 1) // 2, half
        frequencies = 10000.0 ** (-2.0 * np.arange(sines) / d_model)
    else:
        sines = cosines = half
        frequencies = np.exp(np.arange(half) * -(math.log(10000.0) / max(half - 1, 1)))
    angles = np.arange(rows)[:, None] * frequencies
    table = np.zeros((rows, d_model))
    if kind == "interleaved":
        table[:, 0::2] = np.sin(angles)
        table[:, 1::2] = np.cos(angles[:, :cosines])
        return table
    table[:, :sines] = np.sin(angles)
    table[:, sines : sines + cosines] = np.cos(angles[:, :cosines])
    return table


def sinusoid_in_two(
    grid: tuple[int, int], d_model: int, *, columns_first: bool
) -> npt.NDArray[np.float64]:
    """Compute a fixed table of patches: half of the entries by row, half by column, as in MAE.

    Parameters
    ----------
    grid
        Rows and columns of patches.
    d_model
        Even.
    columns_first
        Whether the first half is that of the columns.

    Returns
    -------
    (rows · columns, d_model) float64, each half a sinusoid of layout "marian"
    """
    by_row, by_column = (sinusoid("marian", size, d_model // 2) for size in grid)
    row, column = np.indices(grid).reshape(2, -1)
    halves = [by_row[row], by_column[column]]
    return np.hstack(halves[::-1] if columns_first else halves)


@dataclass(frozen=True, slots=True)
class FoundSinusoid:
    """The fixed table of sines and cosines that a table is.

    Attributes
    ----------
    kind
        Its layout.
    first
        The row of the sinusoid that row 0 is.
    in_two
        Whether half of the entries are by row and half by column of a picture's patches.
    """

    kind: Sinusoid
    first: int = 0
    in_two: bool = False

    @property
    def words(self) -> str:
        """Which it is, for a sentence."""
        if self.in_two:
            return "fixed sines and cosines of row and column"
        begin = f", from row {self.first} on" if self.first else ""
        return f"a fixed table of sines and cosines ({_WORDS[self.kind]}{begin})"


#: Half of the last place of bfloat16 near 1, and the rounding of an angle for each row.
_COARSEST, _PER_ROW = 2.0**-9, 2.0**-21


def find_sinusoid(
    table: npt.NDArray[np.floating], grid: tuple[int, int] | None = None, first: int = 0
) -> FoundSinusoid | None:
    """Return which fixed table of sines and cosines a table is, up to rounding.

    Parameters
    ----------
    table : (n, d)
        float32, also of numbers that were stored in half precision, or float64.
    grid
        Rows and columns of patches that its rows are; None for positions of a text.
    first
        A row of the sinusoid at which it may begin, besides the first few.
    """
    n, d = table.shape
    starts, few = sorted({*_FIRST_ROWS, first}), min(n, 4)
    if not np.abs(table[:few]).max(initial=0.0) < 1.01:
        return None
    if grid is not None:
        if d % 2 == 0 and min(grid) > 1:
            for columns_first in (True, False):
                made = sinusoid_in_two(grid, d, columns_first=columns_first)
                if _away(table, made) <= _bound(table, 0):
                    return FoundSinusoid("marian", in_two=True)
        return None
    for kind in get_args(Sinusoid):
        made = sinusoid(kind, few + starts[-1], d)
        for start in starts:
            away = _away(table[:few], made[start : start + few])
            if away > _COARSEST + _PER_ROW * (n + start):
                continue  # of most tables, without a look at all of their numbers
            if max(away, off_sinusoid(table, kind, start)) <= _bound(table, start):
                return FoundSinusoid(kind, start)
    return None


def off_sinusoid(table: npt.NDArray[np.floating], kind: Sinusoid, first: int = 0) -> float:
    """Return the largest difference of a table from a sinusoid's rows from ``first`` on."""
    n, d = table.shape
    return _away(table, sinusoid(kind, n + first, d)[first:])


def _away(table: npt.NDArray[np.floating], formula: npt.NDArray[np.float64]) -> float:
    return float(np.abs(table - formula).max())


def _bound(table: npt.NDArray[np.floating], first: int) -> float:
    """Return the difference that rounding can make, of angles and of numbers as stored."""
    bits = np.ascontiguousarray(table, dtype=np.float32).view(np.uint32)
    # Half of the last place of bfloat16, of float16 and of float32, near 1.
    places = ((16, _COARSEST), (13, 2.0**-12))
    stored = (share for zeros, share in places if not (bits & ((1 << zeros) - 1)).any())
    return next(stored, 2.0**-24) + _PER_ROW * (len(table) + first)
