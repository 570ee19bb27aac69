"""Position tables that are computed, not learned."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from geometry.families import Sinusoid


def sinusoid(kind: Sinusoid, rows: int, d_model: int) -> npt.NDArray[np.float64]:
    """Compute a fixed table: sines in the first half of the columns, cosines in the second.

    Both kinds have geometric frequencies from 1 to about 1/10000 radians per position:
    ``10000^(-2k/d_model)`` ("marian", as in the Transformer paper, not interleaved) or
    ``10000^(-k/(d_model/2 − 1))`` ("tensor2tensor", as in fairseq).

    Parameters
    ----------
    rows
        Rows of the table; row i is angle i times the frequency.
    d_model
        Columns; an odd last one is a sine ("marian") or zero ("tensor2tensor").

    Returns
    -------
    (rows, d_model) float64
    """
    half = d_model // 2
    if kind == "marian":
        sines, cosines = (d_model + 1) // 2, half
        frequencies = 10000.0 ** (-2.0 * np.arange(sines) / d_model)
    else:
        sines = cosines = half
        frequencies = np.exp(np.arange(half) * -(math.log(10000.0) / max(half - 1, 1)))
    angles = np.arange(rows)[:, None] * frequencies
    table = np.zeros((rows, d_model))
    table[:, :sines] = np.sin(angles)
    table[:, sines : sines + cosines] = np.cos(angles[:, :cosines])
    return table
