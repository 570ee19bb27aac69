"""Computed position tables."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
import numpy.typing as npt

#: Layout of a computed table.
Sinusoid = Literal["interleaved", "marian", "tensor2tensor"]


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
